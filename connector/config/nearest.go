package config

import "strings"

// hint ends a message about an unknown word: the nearest known one, or all of them where none is near.
func hint(word string, known []string, what string) string {
	if best := nearest(word, known); best != "" {
		return `; did you mean "` + best + `"?`
	}
	if len(known) == 0 {
		return ""
	}
	return "; " + what + ": " + strings.Join(known, ", ")
}

// nearest is the known word that is most like word, or "" if none is.
func nearest(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	fold := func(s string) []rune {
		return []rune(strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(s)))
	}
	w := fold(word)
	best, bestDistance := "", 1+max(1, len(w)/3)
	for _, k := range known {
		if d := distance(w, fold(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best != "" {
		return best
	}
	for _, k := range known {
		if len(word) >= 3 && (strings.HasPrefix(k, word) || strings.HasPrefix(word, k)) {
			return k
		}
	}
	return ""
}

// distance is the optimal string alignment distance: edits, with a swap of neighbours as one.
func distance(a, b []rune) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
