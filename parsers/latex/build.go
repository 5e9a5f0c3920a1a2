package latex

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-enry/go-enry/v2"

	"github.com/kbsync/kbsync/connector"
)

// maxDepth is how deep environments are taken apart. What lies deeper is in the text of the last level.
const maxDepth = 8

// builder turns events into elements.
type builder struct {
	*scanner
	levels [8]int // of each rank of sections: those that the document has not take no level
	tables int
	flat   bool // in the preamble nothing is a section or an environment
}

// elements are the blocks of text in order, the preamble first. They tile it.
func elements(text string) []connector.Element {
	b := &builder{scanner: scan(text)}
	level := 0
	for rank, used := range b.used {
		if used && level < 6 {
			level++
		}
		b.levels[rank] = level
	}
	var els []connector.Element
	first := 1
	if b.body > 0 && strings.TrimSpace(text[:b.body]) != "" {
		for first < len(b.events) && b.events[first].lo < b.body {
			first++
		}
		front := connector.Element{Kind: connector.KindFrontMatter, Text: text[:b.body], Span: connector.Span{End: b.body}}
		b.flat = true
		front.Children = solid(b.blocks(1, first, 0, b.body, 0))
		b.flat = false
		for _, key := range []string{"title", "author", "date"} {
			if v := b.facts[key]; v != "" {
				if front.Front == nil {
					front.Front = map[string]any{}
				}
				front.Front[key] = v
			}
		}
		els = append(els, front)
		return append(els, b.blocks(first, len(b.events), b.body, len(text), 0)...)
	}
	return b.blocks(first, len(b.events), 0, len(text), 0)
}

// run is text that is no block of its own: paragraphs, one at a time.
type run struct {
	b     *builder
	out   []connector.Element
	start int
	atoms []connector.Element
}

// to ends the paragraph at hi.
func (r *run) to(hi int) {
	if hi <= r.start {
		return
	}
	el := r.b.element(connector.KindText, r.start, hi)
	el.Children = r.atoms
	r.out = append(r.out, el)
	r.start, r.atoms = hi, nil
}

// block adds an element that ends the paragraph before it.
func (r *run) block(el connector.Element) {
	r.to(el.Span.Start)
	r.out = append(r.out, el)
	r.start = el.Span.End
}

func (b *builder) element(kind connector.Kind, lo, hi int) connector.Element {
	return connector.Element{Kind: kind, Text: b.text[lo:hi], Span: connector.Span{Start: lo, End: hi}}
}

// blocks are the elements of text[lo:hi), in which events[i:j) lie. They tile it.
func (b *builder) blocks(i, j, lo, hi, depth int) []connector.Element {
	r := &run{b: b, start: lo}
	for k := i; k < j; k++ {
		e := &b.events[k]
		start, end := b.extent(e.lo, r.start), b.swallow(e.hi, hi)
		switch {
		case e.what == atBreak:
			r.to(min(e.hi, hi))
		case e.what == atInline:
			atom := b.element(e.kind, e.lo, e.hi)
			atom.Atom = true
			r.atoms = append(r.atoms, atom)
		case e.what == atBlock:
			el := b.element(e.kind, start, end)
			el.Atom = true
			if e.kind == connector.KindCode {
				el.Language = b.language(e)
			}
			r.block(el)
		case b.flat:
		case e.what == atHeading:
			el := b.element(connector.KindHeading, start, end)
			el.Level = b.levels[e.n]
			el.Title = plain(b.text[e.arg.Start:e.arg.End])
			r.block(el)
		case e.what == atBegin && b.closed(k):
			r.block(b.environment(k, start, b.swallow(b.events[e.mate].hi, hi), depth))
			k = e.mate
		}
	}
	r.to(hi)
	return r.out
}

// extent moves the start of a block to that of its line, if only blank space is before it, at least to floor.
func (b *builder) extent(lo, floor int) int {
	i := lo
	for i > floor && (b.text[i-1] == ' ' || b.text[i-1] == '\t') {
		i--
	}
	if i == floor || b.text[i-1] == '\n' {
		return i
	}
	return lo
}

// swallow moves the end of a block behind the blank space, its line end and the blank lines that follow; and what
// combines with its last character.
func (b *builder) swallow(at, limit int) int {
	at = joined(b.text[:limit], at)
	i := at
	for i < limit && (b.text[i] == ' ' || b.text[i] == '\t') {
		i++
	}
	if i < limit && b.text[i] == '\n' {
		i = skipBlankLines(b.text[:limit], i+1)
	}
	return i
}

// joined moves at behind what combines with the character before it.
func joined(text string, at int) int {
	for at < len(text) && text[at] >= utf8.RuneSelf {
		r, n := utf8.DecodeRuneInString(text[at:])
		if !unicode.In(r, unicode.M, unicode.Cf) {
			break
		}
		at += n
	}
	return at
}

// environment is the block that event k begins.
func (b *builder) environment(k, lo, hi, depth int) connector.Element {
	e := &b.events[k]
	end := &b.events[e.mate]
	c := classOf(e.name)
	if b.theorems[e.name] {
		c = classTheorem
	}
	el := b.element(connector.KindText, lo, hi)
	inside := func() []connector.Element {
		if depth >= maxDepth {
			return nil
		}
		return solid(b.blocks(k+1, e.mate, b.swallow(e.hi, end.lo), end.lo, depth+1))
	}
	switch c {
	case classMath:
		el.Kind, el.Atom = connector.KindMath, true
	case classTabular:
		el.Kind, el.Table = connector.KindTable, b.table(e.hi, lo, end.lo, hi)
	case classTable:
		b.tables++
		el.Kind, el.Table = connector.KindTable, &connector.Table{ID: b.tables, FirstRow: 1, Caption: b.caption(e.hi, end.lo)}
		el.Title = el.Table.Caption
		el.Children = inside()
	case classFigure:
		el.Kind, el.Atom, el.Title = connector.KindImage, true, b.caption(e.hi, end.lo)
		el.Children = inside()
	case classListing:
		el.Kind, el.Atom, el.Title = connector.KindCode, true, b.caption(e.hi, end.lo)
	case classList:
		el.Kind, el.Level = connector.KindList, 1+depth
		el.Children = b.items(k, depth)
	case classTheorem:
		el.Atom = true
		el.Children = inside()
	case classQuote:
		el.Kind = connector.KindQuote
		el.Children = inside()
	default:
		el.Children = inside()
	}
	return el
}

// items are those of the list that event k begins.
func (b *builder) items(k, depth int) []connector.Element {
	if depth >= maxDepth {
		return nil
	}
	mate := b.events[k].mate
	var at []int
	for i := k + 1; i < mate; i++ {
		switch e := &b.events[i]; {
		case e.what == atItem:
			at = append(at, i)
		case e.what == atBegin && b.closed(i):
			i = e.mate
		}
	}
	els := make([]connector.Element, 0, len(at))
	floor := b.events[k].hi
	for n, i := range at {
		next, hi := mate, b.events[mate].lo
		if n+1 < len(at) {
			next = at[n+1]
			hi = b.extent(b.events[next].lo, b.events[i].hi)
		}
		el := b.element(connector.KindItem, b.extent(b.events[i].lo, floor), hi)
		el.Level = 1 + depth
		if blocks := solid(b.blocks(i+1, next, el.Span.Start, hi, depth+1)); len(blocks) > 1 || len(blocks) == 1 && len(blocks[0].Children) > 0 {
			el.Children = blocks
		}
		els = append(els, el)
		floor = hi
	}
	return els
}

// solid drops blank elements.
func solid(els []connector.Element) []connector.Element {
	out := els[:0]
	for _, el := range els {
		if strings.TrimSpace(el.Text) != "" {
			out = append(out, el)
		}
	}
	return out
}

// language is that of a listing: \begin{minted}{python}, \begin{lstlisting}[language=Python].
func (b *builder) language(e *event) string {
	head := b.text[e.lo+len(`\begin{}`)+len(e.name) : min(e.hi, e.lo+512)]
	if i := strings.IndexByte(head, '\n'); i >= 0 {
		head = head[:i]
	}
	var name string
	if strings.HasPrefix(e.name, "minted") {
		if i := strings.LastIndexByte(head, '{'); i >= 0 {
			name, _, _ = strings.Cut(head[i+1:], "}")
		}
	} else if _, rest, ok := strings.Cut(head, "language="); ok {
		name = strings.TrimLeft(rest, "{[")
		if i := strings.IndexAny(name, ",]} "); i >= 0 {
			name = name[:i]
		}
	}
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" || len(name) > maxName {
		return ""
	}
	if known, ok := enry.GetLanguageByAlias(name); ok {
		return strings.ToLower(known)
	}
	return name
}
