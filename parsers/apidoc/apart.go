package apidoc

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestRun is how far back the start of an address is looked for.
const longestRun = 2048

// apart tells a place where text may be cut, whatever stands there: no word, number, character or address goes over it.
func apart(text string, p int) bool {
	if p <= 0 || p >= len(text) || text[p-1] == '\n' {
		return true
	}
	before, c := text[p-1], text[p]
	if c >= utf8.RuneSelf {
		r, _ := utf8.DecodeRuneInString(text[p:])
		return (before == ' ' || before == '\t') && !unicode.In(r, unicode.M, unicode.Cf, unicode.Sk)
	}
	switch {
	case before <= ' ' || c <= ' ':
		return true
	case strings.IndexByte("{}[](),;", before) < 0, (before == ',' || before == ';') && c >= '0' && c <= '9':
		return false
	case c == '"':
		return true // ends an address
	}
	for i := p - 1; i >= 0; i-- {
		switch {
		case text[i] <= ' ' || text[i] == '"' || text[i] >= utf8.RuneSelf:
			return true
		case i < p-longestRun, strings.HasPrefix(text[i:], "://"):
			return false
		}
	}
	return true
}
