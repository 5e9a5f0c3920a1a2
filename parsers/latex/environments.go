package latex

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// maxName bounds the names of environments.
const maxName = 64

// envName reads {name} at position at.
func (s *scanner) envName(at int) (name string, end int, ok bool) {
	t := s.text
	for at < len(t) && t[at] == ' ' {
		at++
	}
	if at < len(t) && t[at] == '*' { // \newtheorem*
		at++
	}
	if at >= len(t) || t[at] != '{' {
		return "", 0, false
	}
	rest := t[at+1 : min(len(t), at+1+maxName)]
	i := strings.IndexAny(rest, "}{\\%$\n")
	if i <= 0 || rest[i] != '}' {
		return "", 0, false
	}
	return strings.TrimSpace(rest[:i]), at + 1 + i + 1, true
}

// begin opens an environment, or passes one that holds no LaTeX.
func (s *scanner) begin(lo, after int) {
	name, hi, ok := s.envName(after)
	if !ok {
		return
	}
	s.at = hi
	switch c := classOf(name); {
	case name == "document":
		if s.body < 0 {
			s.body = lo
			s.headings++ // like a heading, it is inside of nothing
		}
	case c == classVerbatim || c == classComment:
		s.opaque(lo, hi, name, c)
	default:
		s.stack = append(s.stack, len(s.events))
		s.open[name]++
		s.add(event{what: atBegin, lo: lo, hi: hi, name: name, n: s.headings})
	}
}

// opaque passes an environment that only its own \end ends. One that never ends is none.
func (s *scanner) opaque(lo, hi int, name string, c class) {
	end := `\end{` + name + `}`
	if hi < s.hopeless[end] {
		return
	}
	i := strings.Index(s.text[hi:], end)
	if i < 0 {
		s.hopeless[end] = len(s.text)
		return
	}
	kind := connector.KindCode
	if c == classComment {
		kind = connector.KindText
	}
	s.add(event{what: atBlock, lo: lo, hi: hi + i + len(end), kind: kind, name: name})
}

// end closes the innermost environment of its name; those inside that were not closed are text. An end without a begin is text.
func (s *scanner) end(e event) {
	if s.open[e.name] == 0 {
		s.at = e.hi
		return
	}
	for {
		k := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		b := &s.events[k]
		s.open[b.name]--
		if b.name == e.name {
			b.mate = len(s.events)
			break
		}
	}
	e.n = s.headings
	s.add(e)
}

// closed tells whether event k begins an environment that is a block: it is closed and has no section in it.
func (s *scanner) closed(k int) bool {
	b := &s.events[k]
	return b.mate > 0 && s.events[b.mate].n == b.n
}

// caption is the plain text of the first caption in [lo, hi).
func (s *scanner) caption(lo, hi int) string {
	i, j := 0, len(s.captions)
	for i < j {
		if m := (i + j) / 2; s.captions[m].at < lo {
			i = m + 1
		} else {
			j = m
		}
	}
	if i < len(s.captions) && s.captions[i].at < hi {
		c := s.captions[i].arg
		return plain(s.text[c.Start:c.End])
	}
	return ""
}
