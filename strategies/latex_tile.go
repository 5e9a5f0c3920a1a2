package strategies

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sentences"
)

// maxTiles bounds how deep children are laid out, below the bound of the block cutter (maxNesting): each level of a document may take three.
const maxTiles = maxNesting - 4

// latexTiler lays the children of one element end to end, so that the block cutter, which gives the text between two children to the
// one before, never cuts an atom for the sake of the text beside it.
type latexTiler struct {
	b    *budget
	text string // of the top-level element
	base int    // where it starts
}

func (t *latexTiler) piece(lo, hi int) connector.Element {
	return connector.Element{Kind: connector.KindText, Text: t.text[lo-t.base : hi-t.base], Span: connector.Span{Start: lo, End: hi}}
}

// add adds text[lo:hi). Blank space stays with what is before it: a chunk that started with it would lose the indentation below.
func (t *latexTiler) add(out []connector.Element, lo, hi int) []connector.Element {
	if lo >= hi || len(out) > 0 && strings.TrimSpace(t.text[lo-t.base:hi-t.base]) == "" {
		return out
	}
	return append(out, t.piece(lo, hi))
}

// inside are the children that fill span, which holds el and may be larger; nil if el has none.
func (t *latexTiler) inside(el *connector.Element, span connector.Span, depth int) []connector.Element {
	switch {
	case len(el.Children) == 0 || depth > maxTiles:
		return nil
	case el.Kind == connector.KindText && allAtoms(el.Children):
		return t.paragraph(el.Children, span, depth)
	}
	out := make([]connector.Element, 0, len(el.Children)+2)
	at := span.Start
	for i := range el.Children {
		c := &el.Children[i]
		next := span.End
		if i+1 < len(el.Children) {
			next = el.Children[i+1].Span.Start
		}
		if i+1 < len(el.Children) && !fixedTile(c) && t.headed(&el.Children[i+1], at) {
			continue
		}
		lo, hi := c.Span.Start, c.Span.End
		if fixedTile(c) {
			if at < lo && t.headed(c, at) {
				lo = at
			} else if at < lo {
				out = t.add(out, at, lo)
			}
		} else {
			lo = at
			hi = next
		}
		out = append(out, t.child(c, lo, hi, depth))
		if at = hi; at < next && (i+1 == len(el.Children) || fixedTile(&el.Children[i+1])) {
			out = t.add(out, at, next)
			at = next
		}
	}
	return out
}

// child is c with its children laid out over [lo, hi).
func (t *latexTiler) child(c *connector.Element, lo, hi, depth int) connector.Element {
	out := *c
	out.Span = connector.Span{Start: lo, End: hi}
	out.Text = t.text[lo-t.base : hi-t.base]
	out.Children = t.inside(c, out.Span, depth+1)
	return out
}

// headed tells a table whose caption, which starts at position at, goes with its header: there is room for both, and for the header
// once more, below any breadcrumb.
func (t *latexTiler) headed(c *connector.Element, at int) bool {
	if c.Table == nil || len(c.Table.Rows) == 0 {
		return false
	}
	limit := t.b.share(breadcrumbShare)
	for k := range limit {
		limit[k] *= breadcrumbShare - 1
	}
	return t.b.within(t.text[at-t.base:c.Table.Rows[0].Span.Start-t.base]+c.Table.HeaderText, limit)
}

// fixedTile tells children that take no text beside them: it is not part of an atom or of a table.
func fixedTile(c *connector.Element) bool { return c.Atom || c.Table != nil }

func allAtoms(els []connector.Element) bool {
	for i := range els {
		if !els[i].Atom {
			return false
		}
	}
	return true
}

// paragraph lays out sentences. One that holds atoms is laid out in turn.
func (t *latexTiler) paragraph(atoms []connector.Element, span connector.Span, depth int) []connector.Element {
	var out []connector.Element
	text := t.text[:span.End-t.base]
	for at := span.Start; at < span.End; {
		n, next := 0, at
		for {
			step := sentences.Next(text, next-t.base) + t.base
			if step <= next {
				step = span.End
			}
			next = step
			for n < len(atoms) && atoms[n].Span.End <= next {
				n++
			}
			if n == len(atoms) || atoms[n].Span.Start >= next {
				break
			}
			if next = atoms[n].Span.End; next >= span.End {
				n++
				break
			}
			if startsSentence(t.text[next-t.base : span.End-t.base]) {
				n++
				break
			}
		}
		out = t.add(out, at, next)
		if n > 0 {
			s := &out[len(out)-1]
			s.Children = t.sentence(atoms[:n], s.Span, depth+1)
		}
		at, atoms = next, atoms[n:]
	}
	return out
}

// startsSentence tells a line end behind an atom that ran over the end of a sentence: a comment, as a rule.
func startsSentence(rest string) bool { return strings.HasPrefix(rest, "\n") }

// sentence lays out text and atoms, each atom with the punctuation and the letters that touch it.
func (t *latexTiler) sentence(atoms []connector.Element, span connector.Span, depth int) []connector.Element {
	var out []connector.Element
	at := span.Start
	for i := range atoms {
		limit := span.End
		if i+1 < len(atoms) {
			limit = atoms[i+1].Span.Start
		}
		atom := &atoms[i]
		lo := t.touchingBefore(atom.Span.Start, at)
		hi := t.touchingAfter(atom.Span.End, limit)
		out = t.add(out, at, lo)
		whole := t.child(atom, atom.Span.Start, atom.Span.End, depth)
		if lo == atom.Span.Start && hi == atom.Span.End {
			out = append(out, whole)
		} else {
			group := t.piece(lo, hi)
			if lo < atom.Span.Start {
				group.Children = append(group.Children, t.piece(lo, atom.Span.Start))
			}
			group.Children = append(group.Children, whole)
			if atom.Span.End < hi {
				group.Children = append(group.Children, t.piece(atom.Span.End, hi))
			}
			out = append(out, group)
		}
		at = hi
	}
	return t.add(out, at, span.End)
}

// touchingBefore is where what touches position lo from the left starts, at least floor.
func (t *latexTiler) touchingBefore(lo, floor int) int {
	for lo > floor {
		r, n := utf8.DecodeLastRuneInString(t.text[:lo-t.base])
		if unicode.IsSpace(r) || wide(r) && !unicode.In(r, unicode.Ps, unicode.Pi) {
			break
		}
		lo -= n
	}
	return lo
}

// touchingAfter is where what touches position hi from the right ends, at most limit.
func (t *latexTiler) touchingAfter(hi, limit int) int {
	for hi < limit {
		r, n := utf8.DecodeRuneInString(t.text[hi-t.base:])
		if unicode.IsSpace(r) || wide(r) && (!unicode.IsPunct(r) || unicode.In(r, unicode.Ps, unicode.Pi)) {
			break
		}
		hi += n
	}
	return hi
}

// body is the first element after the preamble, from \begin{document} on: that line is a heading without a text, on the level of
// the smallest, so that packing starts afresh there.
func (s *latexStrategy) body(el *connector.Element) []connector.Element {
	t := latexTiler{b: s.b, text: el.Text, base: el.Span.Start}
	const begin = `\begin{document}`
	if !strings.HasPrefix(el.Text, begin) {
		el.Children = t.inside(el, el.Span, 0)
		return []connector.Element{*el}
	}
	end := el.Span.Start + len(begin)
	for end < el.Span.End && (el.Text[end-t.base] == ' ' || el.Text[end-t.base] == '\n') {
		end++
	}
	head := t.piece(el.Span.Start, end)
	head.Kind, head.Level = connector.KindHeading, 6
	if end == el.Span.End {
		return []connector.Element{head}
	}
	rest := t.piece(end, el.Span.End)
	whole := *el
	whole.Span, whole.Text = rest.Span, rest.Text
	rest.Children = t.inside(&whole, rest.Span, 0)
	return []connector.Element{head, rest}
}
