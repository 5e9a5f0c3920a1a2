package latex

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// what an event is.
type what int

const (
	atBegin   what = iota // \begin{name}
	atEnd                 // \end{name}
	atHeading             // a sectioning command with its arguments and the label behind it
	atItem                // \item
	atBreak               // blank lines between paragraphs
	atInline              // what is not cut inside a paragraph
	atBlock               // an environment that holds no LaTeX, or display math
)

// event is a place that structure depends on.
type event struct {
	what   what
	lo, hi int
	name   string         // of an environment or a command
	kind   connector.Kind // of inline things and blocks
	arg    connector.Span // a heading's title
	mate   int            // the event that closes a begin; 0 if none does
	n      int            // of a heading its rank; of begin and end how many headings came before
}

// scanner makes the events of one text in one pass.
type scanner struct {
	text     string
	at       int
	events   []event
	headings int
	used     [8]bool // which ranks of sections occur
	body     int     // where \begin{document} starts; -1 if nowhere
	stack    []int   // environments that are open
	open     map[string]int
	theorems map[string]bool
	captions []place
	facts    map[string]string // title, author, date
	links    []connector.Span  // web addresses, in order
	inputs   []input           // commands that take in other files
	hopeless map[string]int    // up to where an end was looked for in vain
	budget   int               // how many bytes may still be looked at in vain
}

// place is an argument of a command.
type place struct {
	at  int
	arg connector.Span
}

func scan(text string) *scanner {
	s := &scanner{
		text: text, body: -1, open: map[string]int{}, theorems: map[string]bool{}, facts: map[string]string{}, hopeless: map[string]int{},
		budget: 1<<20 + 4*len(text), links: addresses(text), events: []event{{}}, // event 0 is none, so that mate 0 means unclosed
	}
	for s.at < len(text) {
		i := strings.IndexAny(text[s.at:], "\\%$\n:")
		if i < 0 {
			break
		}
		s.at += i
		switch text[s.at] {
		case '\\':
			s.command()
		case '%':
			s.inline(s.at, lineEnd(text, s.at), connector.KindText)
		case '$':
			s.dollar()
		case '\n':
			s.newline()
		case ':':
			s.link()
		}
	}
	return s
}

// add notes an event. No border of blocks falls inside a web address, which may run on behind a closing brace.
func (s *scanner) add(e event) {
	if e.hi = s.past(e.hi); e.what == atInline {
		e.hi = joined(s.text, e.hi)
	}
	s.events = append(s.events, e)
	s.at = e.hi
}

func (s *scanner) inline(lo, hi int, kind connector.Kind) {
	s.add(event{what: atInline, lo: lo, hi: hi, kind: kind})
}

// newline ends a paragraph where blank lines follow.
func (s *scanner) newline() {
	s.at++
	if end := skipBlankLines(s.text, s.at); end > s.at {
		s.add(event{what: atBreak, lo: s.at, hi: end})
	}
}

// link passes a web address, in which % and $ mean nothing.
func (s *scanner) link() {
	s.at = max(s.at+1, s.past(s.at))
}

// command reads what starts with a backslash.
func (s *scanner) command() {
	lo := s.at
	name := letters(s.text[lo+1:])
	if name == "" {
		s.symbol()
		return
	}
	after := lo + 1 + len(name)
	s.at = after
	rank := sectioning(name)
	switch {
	case rank > 0:
		s.heading(lo, after, rank)
	case name == "begin":
		s.begin(lo, after)
	case name == "end":
		if env, hi, ok := s.envName(after); ok {
			s.end(event{what: atEnd, lo: lo, hi: hi, name: env})
		}
	case name == "item", name == "bibitem":
		s.add(event{what: atItem, lo: lo, hi: after, name: name})
	case name == "verb", name == "lstinline", name == "mintinline":
		s.verb(lo, after, name)
	case name == "iffalse":
		s.iffalse(lo, after)
	case name == "caption", name == "title", name == "author", name == "date":
		s.note(name, after)
	case defines(name):
		s.definition(lo, after, name)
	case name == "url", name == "nolinkurl", name == "path", name == "href":
		if hi := s.address(after); hi > after {
			if name == "href" && hi < len(s.text) && s.text[hi] == '{' {
				if end, ok := s.group(hi, true); ok {
					hi = end
				}
			}
			s.inline(lo, hi, connector.KindText)
		}
	case refers(name):
		if takesIn(name) {
			s.input(lo, after, name)
		}
		if hi := s.arguments(after, 4, false); hi > after {
			s.inline(lo, hi, connector.KindText)
		}
	}
}

// symbol reads a backslash with what is no letter: \[ and \( start math, everything else is escaped.
func (s *scanner) symbol() {
	lo := s.at
	s.at = min(lo+2, len(s.text))
	if s.at < lo+2 {
		return
	}
	switch s.text[lo+1] {
	case '[':
		if end, ok := s.closing(lo+2, `\]`); ok {
			s.add(event{what: atBlock, lo: lo, hi: end, kind: connector.KindMath})
		}
	case '(':
		if end, ok := s.closing(lo+2, `\)`); ok {
			s.inline(lo, end, connector.KindMath)
		}
	case '\n':
		s.at-- // a blank line may follow
	}
}

// dollar reads $…$ and $$…$$.
func (s *scanner) dollar() {
	lo := s.at
	if strings.HasPrefix(s.text[lo:], "$$") {
		if end, ok := s.closing(lo+2, "$$"); ok {
			s.add(event{what: atBlock, lo: lo, hi: end, kind: connector.KindMath})
			return
		}
		s.at += 2
		return
	}
	if end, ok := s.closing(lo+1, "$"); ok {
		s.inline(lo, end, connector.KindMath)
		return
	}
	s.at++
}

// closing is the end of math that delim ends: before a blank line, a section or an item, which math cannot hold. So a stray mark
// swallows no more than a paragraph.
func (s *scanner) closing(from int, delim string) (end int, ok bool) {
	if from < s.hopeless[delim] {
		return 0, false
	}
	t := s.text
	i := from
scan:
	for i < len(t) {
		switch c := t[i]; {
		case strings.HasPrefix(t[i:], delim):
			return i + len(delim), true
		case c == '%':
			i = lineEnd(t, i)
		case c == '\\':
			if name := letters(t[i+1:]); name == "item" || sectioning(name) > 0 {
				break scan
			}
			i += 2
		case c == '\n' && skipBlankLines(t, i+1) > i+1:
			break scan
		default:
			i++
		}
	}
	s.hopeless[delim] = min(i, len(t))
	return 0, false
}

// heading reads a section's arguments: a star, a short title in brackets, the title, and a label behind it.
func (s *scanner) heading(lo, after, rank int) {
	at := after
	if at < len(s.text) && s.text[at] == '*' {
		at++
	}
	at = s.gap(at)
	if at < len(s.text) && s.text[at] == '[' {
		end, ok := s.group(at, true)
		if !ok {
			return
		}
		at = s.gap(end)
	}
	if at >= len(s.text) || s.text[at] != '{' {
		return
	}
	end, ok := s.group(at, true)
	if !ok {
		return
	}
	arg := connector.Span{Start: at + 1, End: end - 1}
	for {
		label := s.gap(end)
		if !strings.HasPrefix(s.text[label:], `\label{`) {
			break
		}
		next, ok := s.group(label+len(`\label`), true)
		if !ok {
			break
		}
		end = next
	}
	s.headings++
	s.used[rank] = true
	s.add(event{what: atHeading, lo: lo, hi: end, arg: arg, n: rank})
}

// note keeps the argument of a caption, or the first of a title, author or date. It stays text.
func (s *scanner) note(name string, after int) {
	at := after
	if at < len(s.text) && s.text[at] == '*' {
		at++
	}
	at = s.gap(at)
	if at < len(s.text) && s.text[at] == '[' {
		end, ok := s.group(at, false)
		if !ok {
			return
		}
		at = s.gap(end)
	}
	if at >= len(s.text) || s.text[at] != '{' {
		return
	}
	end, ok := s.group(at, false)
	if !ok {
		return
	}
	if name == "caption" {
		s.captions = append(s.captions, place{after, connector.Span{Start: at + 1, End: end - 1}})
		return
	}
	if s.facts[name] == "" {
		s.facts[name] = plain(s.text[at+1 : end-1])
	}
}

// definition passes a command that defines something with all its arguments.
func (s *scanner) definition(lo, after int, name string) {
	hi := s.arguments(after, 6, true)
	if hi == after {
		return
	}
	if name == "newtheorem" {
		if env, _, ok := s.envName(after); ok {
			s.theorems[env] = true
		}
	}
	s.inline(lo, hi, connector.KindText)
}
