package latex

import (
	"sort"
	"strings"
	"unicode"

	"github.com/kbsync/kbsync/connector"
)

// maxGroup bounds the arguments that are looked through, in bytes; once so much has been looked through that much of the document was
// more than once, lastGroup does.
const (
	maxGroup  = 64 << 10
	lastGroup = 256
)

// group is the end of the group that starts at position at with a brace or a bracket, comments and escapes aside. With short it
// ends before a blank line.
func (s *scanner) group(at int, short bool) (end int, ok bool) {
	t, depth, i := s.text, 0, at
	bracket := t[at] == '['
	limit := maxGroup
	if s.budget <= 0 {
		limit = lastGroup
	}
	limit = min(len(t), at+limit)
scan:
	for i < limit {
		switch t[i] {
		case '\\':
			i++
		case '%':
			i = lineEnd(t, i) - 1
		case '\n':
			if short && skipBlankLines(t, i+1) > i+1 {
				break scan
			}
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 && !bracket {
				s.budget -= i - at
				return i + 1, true
			}
			if depth < 0 {
				break scan
			}
		case ']':
			if bracket && depth == 0 {
				s.budget -= i - at
				return i + 1, true
			}
		}
		i++
	}
	s.budget -= i - at
	return 0, false
}

// gap is where the next argument starts: behind blank space, at most one line end, and comments.
func (s *scanner) gap(at int) int {
	t, i := s.text, at
	for lines := 0; i < len(t) && i-at < maxGroup; {
		switch t[i] {
		case ' ', '\t':
			i++
		case '\n':
			if lines++; lines > 1 {
				return at
			}
			i++
		case '%':
			i = min(lineEnd(t, i)+1, len(t))
		default:
			return i
		}
	}
	return i
}

// arguments is the end of a command's arguments: a star, a command that is being defined, parameters, and up to most groups, with
// blank space between them or not.
func (s *scanner) arguments(at, most int, spaced bool) int {
	t, end := s.text, at
	if end < len(t) && t[end] == '*' {
		end++
	}
	start := end
	for n := 0; n < most; {
		i := end
		if spaced {
			i = s.gap(end)
		}
		if i >= len(t) {
			break
		}
		switch {
		case t[i] == '{' || t[i] == '[':
			next, ok := s.group(i, false)
			if !ok {
				return at
			}
			end = next
			n++
		case t[i] == '\\' && end == start && letters(t[i+1:]) != "":
			end = i + 1 + len(letters(t[i+1:]))
		case t[i] == '#' && i+1 < len(t) && t[i+1] >= '0' && t[i+1] <= '9' && n == 0:
			end = i + 2
		default:
			n = most
		}
	}
	if end == start {
		return at
	}
	return end
}

// verb reads \verb|…|, and the like with options, language, and braces.
func (s *scanner) verb(lo, after int, name string) {
	t, at := s.text, after
	if at < len(t) && t[at] == '*' {
		at++
	}
	if name != "verb" {
		for _, mark := range []byte{'[', '{'} {
			if at < len(t) && t[at] == mark && (mark == '[' || name == "mintinline") {
				end, ok := s.group(at, true)
				if !ok {
					return
				}
				at = end
			}
		}
	}
	if at >= len(t) || t[at] <= ' ' || t[at] >= 0x80 {
		return
	}
	if name != "verb" && t[at] == '{' {
		if end, ok := s.group(at, true); ok {
			s.inline(lo, end, connector.KindCode)
		}
		return
	}
	line := lineEnd(t, at)
	if i := strings.IndexByte(t[at+1:line], t[at]); i >= 0 {
		s.inline(lo, at+1+i+1, connector.KindCode)
	}
}

// addresses finds web addresses: up to blank space, quotes, angle brackets or anything beyond ASCII, less the stops at the end.
func addresses(text string) []connector.Span {
	var out []connector.Span
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return out
		}
		lo, end := at+i, at+i
		for end < len(text) && text[end] > ' ' && text[end] < 0x7f && text[end] != '"' && text[end] != '<' && text[end] != '>' {
			end++
		}
		if head := text[:lo]; strings.HasSuffix(head, "http") || strings.HasSuffix(head, "https") || strings.HasSuffix(head, "ftp") {
			out = append(out, connector.Span{Start: lo, End: lo + len(strings.TrimRight(text[lo:end], `.,;:!?)]}'*_"`))})
		}
		at = end
	}
}

// past is the end of the web address that position at is in, and of the word that the address ends in; or at.
func (s *scanner) past(at int) int {
	i := sort.Search(len(s.links), func(i int) bool { return s.links[i].End > at })
	if i < len(s.links) && s.links[i].Start <= at {
		rest := s.text[s.links[i].End:]
		if end := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Han, r) }); end >= 0 {
			return s.links[i].End + end
		}
		return len(s.text)
	}
	return at
}

// address is the end of an argument in which % is no comment; it stands on one line.
func (s *scanner) address(at int) int {
	limit := min(len(s.text), at+maxGroup)
	if s.budget <= 0 {
		limit = min(limit, at+lastGroup)
	}
	depth, i := 0, at
	for ; i < limit && s.text[i] != '\n'; i++ {
		switch s.text[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			break
		}
	}
	s.budget -= i - at
	if i == at || i >= limit || s.text[i] != '}' {
		return at
	}
	return i + 1
}

// iffalse passes \iffalse … \fi, which is how people comment out much.
func (s *scanner) iffalse(lo, after int) {
	if after < s.hopeless["fi"] {
		return
	}
	depth, i := 1, after
	for i < len(s.text) {
		k := strings.IndexByte(s.text[i:], '\\')
		if k < 0 {
			break
		}
		i += k + 1
		name := letters(s.text[i:])
		i += max(len(name), 1)
		switch {
		case name == "fi":
			depth--
		case strings.HasPrefix(name, "if") && name != "iff" && name != "ifthenelse" && name != "iftoggle" && name != "ifbool":
			depth++
		}
		if depth == 0 {
			s.add(event{what: atBlock, lo: lo, hi: i, kind: connector.KindText, name: "comment"})
			return
		}
	}
	s.hopeless["fi"] = len(s.text)
}

// letters is the name of a command at the start of t.
func letters(t string) string {
	i := 0
	for i < len(t) && (t[i] >= 'a' && t[i] <= 'z' || t[i] >= 'A' && t[i] <= 'Z' || t[i] == '@') {
		i++
	}
	return t[:i]
}

// lineEnd is where the line that holds at ends, before its line end.
func lineEnd(t string, at int) int {
	if i := strings.IndexByte(t[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(t)
}

// skipBlankLines is the position behind the blank lines that start at position at.
func skipBlankLines(t string, at int) int {
	for i := at; i < len(t); i++ {
		switch t[i] {
		case '\n':
			at = i + 1
		case ' ', '\t':
		default:
			return at
		}
	}
	return len(t)
}
