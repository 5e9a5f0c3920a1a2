package lightmarkup

import (
	"slices"
	"sort"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// finished is a document whose elements have their texts.
type finished struct {
	els    []connector.Element
	starts []int // where they start in the source
	cuts   []cut
}

// finish tiles els, which ascend, takes out what was cut, and sets texts.
func (s *Source) finish(els []connector.Element) finished {
	s.sortCuts()
	m := mapping{cuts: s.cuts, text: s.remaining()}
	f := finished{cuts: s.cuts}
	if m.text == "" {
		return f
	}
	if len(els) == 0 {
		els = []connector.Element{{Kind: connector.KindText}}
	}
	els[0].Span.Start = 0
	pos := 0
	for i := range els {
		el := &els[i]
		el.Span.Start = pos
		el.Span.End = len(s.Text)
		if i+1 < len(els) {
			el.Span.End = min(max(els[i+1].Span.Start, pos), len(s.Text))
		}
		pos = el.Span.End
		start := el.Span.Start
		if m.place(el, connector.Span{End: len(m.text)}) {
			f.els = append(f.els, *el)
			f.starts = append(f.starts, start)
		}
	}
	return f
}

// sortCuts orders the cuts, none of them in another, and counts.
func (s *Source) sortCuts() {
	slices.SortFunc(s.cuts, func(a, b cut) int { return a.lo - b.lo })
	out := s.cuts[:0]
	sum, end := 0, 0
	for _, c := range s.cuts {
		if c.lo = max(c.lo, end); c.lo >= c.hi {
			continue
		}
		c.before = sum
		sum += c.hi - c.lo
		end = c.hi
		out = append(out, c)
	}
	s.cuts = out
}

// remaining is the text without what was cut.
func (s *Source) remaining() string {
	if len(s.cuts) == 0 {
		return s.Text
	}
	var b strings.Builder
	at := 0
	for _, c := range s.cuts {
		b.WriteString(s.Text[at:c.lo])
		at = c.hi
	}
	b.WriteString(s.Text[at:])
	return b.String()
}

// mapping leads from the source to the text that remains.
type mapping struct {
	cuts []cut
	text string
}

func (m *mapping) at(pos int) int {
	i := sort.Search(len(m.cuts), func(i int) bool { return m.cuts[i].lo >= pos }) - 1
	if i < 0 {
		return pos
	}
	c := &m.cuts[i]
	return pos - c.before - (min(pos, c.hi) - c.lo)
}

func (m *mapping) span(s, within connector.Span) connector.Span {
	lo := min(max(m.at(s.Start), within.Start), within.End)
	return connector.Span{Start: lo, End: min(max(m.at(s.End), lo), within.End)}
}

// place moves an element with all that is in it; false if nothing remains of it.
func (m *mapping) place(el *connector.Element, within connector.Span) bool {
	el.Span = m.span(el.Span, within)
	if el.Span.Len() <= 0 {
		return false
	}
	el.Text = m.text[el.Span.Start:el.Span.End]
	if el.Table != nil {
		m.placeTable(el)
	}
	kept := el.Children[:0]
	rest := el.Span
	for i := range el.Children {
		if c := el.Children[i]; m.place(&c, rest) {
			rest.Start = c.Span.End
			kept = append(kept, c)
		}
	}
	if el.Children = kept; len(kept) == 0 {
		el.Children = nil
	}
	return true
}

func (m *mapping) placeTable(el *connector.Element) {
	t := el.Table
	rest := el.Span
	if t.HeaderSpan.Len() > 0 {
		t.HeaderSpan = m.span(t.HeaderSpan, el.Span)
		rest.Start = t.HeaderSpan.End
	}
	if t.HeaderText = m.text[t.HeaderSpan.Start:t.HeaderSpan.End]; t.HeaderText == "" {
		t.HeaderSpan, t.Header = connector.Span{}, nil
	} else if !strings.HasSuffix(t.HeaderText, "\n") {
		t.HeaderText += "\n"
	}
	kept := t.Rows[:0]
	for _, row := range t.Rows {
		row.Span = m.span(row.Span, rest)
		if row.Span.Len() <= 0 || strings.TrimSpace(m.text[row.Span.Start:row.Span.End]) == "" {
			continue
		}
		rest.Start = row.Span.End
		kept = append(kept, row)
	}
	t.Rows = kept
}
