package apidoc

import (
	"strings"
	"unicode/utf8"
)

// token is a word, a mark, a string or a comment of GraphQL or Protocol Buffers.
type token struct {
	kind       tokenKind
	start, end int
}

type tokenKind uint8

const (
	wordToken tokenKind = iota
	markToken
	stringToken
	commentToken
)

// lexer takes text apart. What does not end (a string, a comment) ends with its line or with the text.
type lexer struct {
	text  string
	proto bool
}

// tokens lists all tokens.
func (l *lexer) tokens() []token {
	var out []token
	for i := 0; i < len(l.text); {
		c := l.text[i]
		if c <= ' ' {
			i++
			continue
		}
		t := token{start: i, end: i + 1, kind: markToken}
		rest := l.text[i:]
		switch {
		case l.proto && strings.HasPrefix(rest, "//"), !l.proto && c == '#':
			t.kind, t.end = commentToken, lineFeed(l.text, i)
		case l.proto && strings.HasPrefix(rest, "/*"):
			t.kind, t.end = commentToken, len(l.text)
			if k := strings.Index(rest[2:], "*/"); k >= 0 {
				t.end = i + k + 4
			}
		case !l.proto && strings.HasPrefix(rest, `"""`):
			t.kind, t.end = stringToken, l.blockString(i)
		case c == '"' || l.proto && c == '\'':
			t.kind, t.end = stringToken, l.quotedEnd(i)
		case wordByte(c):
			t.kind = wordToken
			for t.end < len(l.text) && (wordByte(l.text[t.end]) || l.proto && l.text[t.end] == '.') {
				t.end++
			}
		case l.proto && c == '.':
			t.kind = wordToken
			for t.end < len(l.text) && (wordByte(l.text[t.end]) || l.text[t.end] == '.') {
				t.end++
			}
		case c == utf8.RuneSelf-1:
		}
		out = append(out, t)
		i = t.end
	}
	return out
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

func (l *lexer) quotedEnd(i int) int {
	for k := i + 1; k < len(l.text); k++ {
		switch l.text[k] {
		case '\\':
			k++
		case '\n':
			return k
		case l.text[i]:
			return k + 1
		}
	}
	return len(l.text)
}

// blockString is the end of a block string: """ that no backslash stands before.
func (l *lexer) blockString(i int) int {
	for k := i + 3; k < len(l.text); k++ {
		if l.text[k] == '\\' && strings.HasPrefix(l.text[k+1:], `"""`) {
			k += 3
		} else if strings.HasPrefix(l.text[k:], `"""`) {
			return k + 3
		}
	}
	return len(l.text)
}

// reader goes over tokens.
type reader struct {
	text string
	toks []token
	at   int
}

func (r *reader) more() bool { return r.at < len(r.toks) }

// is tells whether the token at i is that word or mark.
func (r *reader) is(i int, word string) bool {
	return i >= 0 && i < len(r.toks) && r.toks[i].kind <= markToken && r.text[r.toks[i].start:r.toks[i].end] == word
}

// word is the text of token i if it is a word.
func (r *reader) word(i int) string {
	if i < 0 || i >= len(r.toks) || r.toks[i].kind != wordToken {
		return ""
	}
	return r.text[r.toks[i].start:r.toks[i].end]
}

// next is the first token from i on that is no comment.
func (r *reader) next(i int) int {
	for i < len(r.toks) && r.toks[i].kind == commentToken {
		i++
	}
	return i
}

// pairs finds for every opening bracket the closing one of its kind, for others and unclosed ones -1. A bracket that
// closes something further out closes what is open inside too.
func (r *reader) pairs() []int {
	out := make([]int, len(r.toks))
	var open []int
	depth := map[byte]int{}
	for i := range r.toks {
		out[i] = -1
		if r.toks[i].kind != markToken {
			continue
		}
		c := r.text[r.toks[i].start]
		switch c {
		case '{', '(', '[':
			open = append(open, i)
			depth[c]++
		case '}', ')', ']':
			want := map[byte]byte{'}': '{', ')': '(', ']': '['}[c]
			for depth[want] > 0 {
				last := open[len(open)-1]
				open = open[:len(open)-1]
				mark := r.text[r.toks[last].start]
				depth[mark]--
				if mark == want {
					out[last] = i
					break
				}
			}
		}
	}
	return out
}
