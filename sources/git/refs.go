package git

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

const (
	branchPrefix = "refs/heads/"
	tagPrefix    = "refs/tags/"
	mostHints    = 5
)

// refNames are the full names that ref may mean, in order: a branch goes before a tag.
func refNames(ref string) []string {
	switch {
	case ref == "" || ref == "HEAD":
		return []string{"HEAD"}
	case strings.HasPrefix(ref, "refs/"):
		return []string{ref}
	}
	return []string{branchPrefix + ref, tagPrefix + ref}
}

// refMissing says what there is in place of the ref.
func (s *Source) refMissing(known []string) error {
	var names []string
	for _, full := range known {
		if name, ok := strings.CutPrefix(full, branchPrefix); ok {
			names = append(names, name)
		} else if name, ok := strings.CutPrefix(full, tagPrefix); ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return connector.Errorf(connector.ClassNotFound, "git: there is no ref %s in %s: the repository has no commits yet", s.refName(), s.address.display)
	}
	return connector.Errorf(connector.ClassNotFound, "git: there is no ref %s in %s; the nearest of its branches and tags: %s",
		s.refName(), s.address.display, strings.Join(nearestNames(names, s.refName()), ", "))
}

// nearestNames are the few names that take the fewest edits to become want.
func nearestNames(names []string, want string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	type scored struct {
		name string
		cost int
	}
	all := make([]scored, len(names))
	for i, n := range names {
		all[i] = scored{n, edits(strings.ToLower(n), strings.ToLower(want))}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(a.cost, b.cost) })
	out := make([]string, 0, mostHints)
	for _, s := range all[:min(len(all), mostHints)] {
		out = append(out, s.name)
	}
	return out
}

// edits is the Levenshtein distance, of at most 100 bytes each.
func edits(a, b string) int {
	a, b = a[:min(len(a), 100)], b[:min(len(b), 100)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
