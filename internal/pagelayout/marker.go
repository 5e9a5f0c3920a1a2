package pagelayout

import (
	"strings"
	"unicode/utf8"
)

// leader tells entries of a table of contents: dots, and a number.
func leader(text string) bool {
	bare := strings.TrimRight(strings.ToLower(text), "0123456789ivxlc -–")
	if len(bare) == len(text) {
		return false
	}
	dots := 0
	for i := len(bare); i > 0; {
		r, n := utf8.DecodeLastRuneInString(bare[:i])
		switch r {
		case '.', '·', '．', '․':
			dots++
		case '…', '⋯':
			dots += 3
		case ' ':
		default:
			return dots > 2
		}
		i -= n
	}
	return dots > 2
}

// bullets are the characters that mark the items of a list.
const bullets = "•◦▪▫–—-*·●○■□➢➤►▶‣⁃✓✔❖◆◇∙⚫❑\uf0b7\uf0a7\uf0d8\uf076\uf0fc\u2022"

// marker is the mark of a list's item at the start of text: a bullet or a number with what stands behind it; empty where there is none.
func marker(text string) string {
	r := firstRune(text)
	if strings.ContainsRune(bullets, r) {
		n := len(string(r))
		if rest := text[n:]; strings.HasPrefix(rest, " ") && len(rest) > 1 || len(rest) > 0 && !strings.ContainsRune("–—-*·", r) && firstRune(rest) != r {
			return text[:n]
		}
		return ""
	}
	return numbered(text)
}

// bullet tells marks that are no numbers.
func bullet(m string) bool { return strings.ContainsRune(bullets, firstRune(m)) }

// markerAlone tells text that is a mark and nothing else.
func markerAlone(text string) bool {
	text = strings.TrimSpace(text)
	return marker(text+" x") == text
}

// numbered is a number of an item such as "1.", "(a)", "iv)", "①", "（三）" at the start of text.
func numbered(text string) string {
	rest := text
	open := false
	if r := firstRune(rest); r == '(' || r == '（' || r == '[' {
		open = true
		rest = rest[len(string(r)):]
	}
	if r := firstRune(rest); r >= '①' && r <= '⑳' && !open {
		return string(r)
	}
	n, kinds := 0, [3]bool{}
	for _, r := range rest {
		switch {
		case r >= '0' && r <= '9':
			kinds[0] = true
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			kinds[1] = true
		case strings.ContainsRune("一二三四五六七八九十", r):
			kinds[2] = true
		default:
			goto end
		}
		n += len(string(r))
		if n > 9 {
			return ""
		}
	}
end:
	word := rest[:n]
	set := 0
	for _, k := range kinds {
		if k {
			set++
		}
	}
	if set != 1 || kinds[0] && n > 3 || kinds[1] && n > 1 && strings.Trim(strings.ToLower(word), "ivx") != "" {
		return ""
	}
	rest = rest[n:]
	r := firstRune(rest)
	closes := r == ')' || r == '）' || r == ']' && open
	if !(closes || !open && (r == '.' || r == '、' || r == '．')) {
		return ""
	}
	size := len(string(r))
	after := rest[size:]
	if after == "" || r == '.' && !strings.HasPrefix(after, " ") && !wideSure(firstRune(after)) {
		return ""
	}
	return text[:len(text)-len(after)]
}
