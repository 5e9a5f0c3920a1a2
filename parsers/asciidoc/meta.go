package asciidoc

import (
	"strings"
)

// meta is what the lines above a block say of it.
type meta struct {
	start  int // the first of these lines, or that of the block
	title  string
	style  string // what kind of block it is, in lower case
	words  []string
	named  map[string]string
	option map[string]bool
}

const maxAttributes = 64

// meta reads the lines above the block, from i on: attributes, anchors, a title, and comments, which are cut out. The block starts in line next.
func (b *builder) meta(i, hi int) (m meta, next int) {
	m.start = i
	for ; i < hi && (b.Blank(i) || b.Lines[i].Indent == 0); i++ {
		if b.Blank(i) {
			continue
		}
		line := b.Line(i)
		switch {
		case blockTitle(line):
			m.title = plain(line[1:])
		case strings.HasPrefix(line, "[[") && strings.HasSuffix(line, "]]"):
		case attributeLine(line):
			m.add(line[1 : len(line)-1])
		case isComment(line) && i > m.start:
			b.Cut(i, i+1)
		default:
			return m, i
		}
	}
	return m, i
}

// blockTitle tells ".Title".
func blockTitle(line string) bool {
	return line[0] == '.' && len(line) > 1 && line[1] != '.' && line[1] != ' ' && line[1] != '\t'
}

// attributeLine tells "[…]" with what may be attributes.
func attributeLine(line string) bool {
	if line[0] != '[' || line[len(line)-1] != ']' || len(line) > 4096 {
		return false
	}
	if len(line) == 2 {
		return true
	}
	switch c := line[1]; {
	case c == '#', c == '.', c == '%', c == ',', c == '"', c == '{', c == '\'', c == '_', c >= 0x80, c == '*':
		return true
	default:
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
}

// add reads a list of attributes.
func (m *meta) add(list string) {
	for k, part := range commas(list) {
		if name, value, ok := strings.Cut(part, "="); ok && name != "" && !strings.ContainsAny(name, ` "'`) {
			m.set(strings.ToLower(strings.TrimSpace(name)), unquote(value))
			continue
		}
		word := unquote(part)
		if k == 0 {
			m.first(word)
			continue
		}
		if len(m.words) < maxAttributes {
			m.words = append(m.words, word)
		}
	}
}

func (m *meta) set(name, value string) {
	if name == "options" || name == "opts" {
		for o := range strings.SplitSeq(value, ",") {
			m.opt(strings.TrimSpace(o))
		}
		return
	}
	if m.named == nil {
		m.named = map[string]string{}
	}
	if len(m.named) < maxAttributes {
		m.named[name] = value
	}
}

func (m *meta) opt(name string) {
	if m.option == nil {
		m.option = map[string]bool{}
	}
	if len(m.option) < maxAttributes {
		m.option[name] = true
	}
}

// first reads the first word: a style, with the short forms #id, .role and %option behind it.
func (m *meta) first(word string) {
	end := strings.IndexAny(word, "#.%")
	if end < 0 {
		end = len(word)
	}
	if end > 0 {
		m.style = strings.ToLower(word[:end])
	}
	for rest := word[end:]; rest != ""; {
		next := strings.IndexAny(rest[1:], "#.%") + 1
		if next == 0 {
			next = len(rest)
		}
		if rest[0] == '%' {
			m.opt(rest[1:next])
		}
		rest = rest[next:]
	}
}

// commas splits at commas that are not between double quotes.
func commas(s string) []string {
	var out []string
	start, quoted := 0, false
	for i := range len(s) {
		switch s[i] {
		case '"':
			quoted = !quoted
		case ',':
			if !quoted {
				out = append(out, strings.TrimSpace(s[start:i]))
				start = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(s[start:]))
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// language of code: the first word behind the style.
func (m *meta) language(fallback string) string {
	if l := m.named["language"]; l != "" {
		return l
	}
	if len(m.words) > 0 && m.words[0] != "" {
		return m.words[0]
	}
	return fallback
}
