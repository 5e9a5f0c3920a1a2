package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// stretches is what the strategies that cut by meaning share: a document is read in stretches, whose units (sentences, or small
// pieces) get vectors and are divided into segments, each of which becomes a chunk.
type stretches struct {
	b       *budget
	piece   *budget // of units that are packed of sentences; nil: each sentence is one
	window  *budget // the model's own cap; nil where there is none
	least   int     // the least size of a segment in the primary unit, if the cap allows
	limit   int     // bytes from which on a stretch ends
	vectors connector.Vectorizer
	seps    *separators
	// divide divides the units of a stretch into consecutive segments that keep the caps.
	divide func(ctx context.Context, t *stretch) ([]segment, error)
}

// segment is a run of units: from up to, not including, to.
type segment struct{ from, to int }

func openStretches(ctx context.Context, c Sizing, least Amount, env connector.StrategyEnv) (*stretches, error) {
	b, err := c.open(env, proseDefaults)
	if err != nil {
		return nil, err
	}
	if env.Vectors == nil {
		return nil, errors.New("there is no embedder here, and it cuts by vectors")
	}
	vectors, err := env.Vectors(ctx)
	if err != nil {
		return nil, err
	}
	p := &stretches{b: b, vectors: vectors, seps: sentenceSeparators(), least: least.of(b.caps[0].Max)}
	if 2*p.least > b.caps[0].Max {
		return nil, fmt.Errorf("min_size is %s but the cap (the smaller of the rule's and the embedder's) is %d: choose at most half of it", least, b.caps[0].Max)
	}
	if env.ModelCap.Max > 0 && env.ModelCap.Counter != nil {
		p.window = &budget{caps: []connector.Cap{env.ModelCap}}
	}
	return p, nil
}

// chunks cuts a document.
func (p *stretches) chunks(ctx context.Context, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		g := &gathering{p: p, yield: yield}
		for el, err := range textual(ctx, elements) {
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			if el.Text == "" {
				continue
			}
			if g.size >= p.limit && !g.flush(ctx, false) {
				return
			}
			g.add(&el)
		}
		g.flush(ctx, true)
	}
}

// gathering is the state of one document.
type gathering struct {
	p     *stretches
	yield func(connector.Chunk, error) bool

	parts []string
	size  int
	base  int  // where the parts start in the parsed text
	later bool // something was cut before
	open  bool // the last cut went through a word

	atoms    []connector.Span // what is not cut while it fits, in the parsed text
	whole    []connector.Span // blocks that are kept together while they fit, but may be parted between their lines
	headings []connector.Span
	trail    []trailMark
}

// trailMark is a place in the parsed text from which on headings and page hold.
type trailMark struct {
	at       int
	headings []string
	page     int
}

func (g *gathering) add(el *connector.Element) {
	g.parts = append(g.parts, el.Text)
	g.size += len(el.Text)
	g.addAtoms(el)
	var last trailMark
	if n := len(g.trail); n > 0 {
		last = g.trail[n-1]
	}
	next := trailMark{at: el.Span.Start, headings: last.headings, page: el.Page}
	if el.Kind == connector.KindHeading && el.Level > 0 {
		g.headings = append(g.headings, el.Span)
		next.headings = make([]string, el.Level)
		copy(next.headings, last.headings[:min(el.Level-1, len(last.headings))])
		next.headings[el.Level-1] = el.Title
	} else if next.page == last.page {
		return
	}
	g.trail = append(g.trail, next)
}

// addAtoms notes what may not be cut while it fits, at any depth.
func (g *gathering) addAtoms(el *connector.Element) {
	switch {
	case el.Span.Len() == 0:
	case el.Atom:
		g.atoms = append(g.atoms, el.Span)
	case el.Kind == connector.KindTable, el.Kind == connector.KindCode, el.Kind == connector.KindMath:
		g.whole = append(g.whole, el.Span)
	}
	if el.Table != nil {
		for _, row := range el.Table.Rows {
			g.atoms = append(g.atoms, row.Span)
		}
	}
	for k := range el.Children {
		g.addAtoms(&el.Children[k])
	}
}

// flush cuts what is gathered. Unless final, the last unit is kept: what comes may belong to it.
func (g *gathering) flush(ctx context.Context, final bool) bool {
	if g.size == 0 {
		return true
	}
	t := &stretch{p: g.p, text: strings.Join(g.parts, ""), base: g.base, trail: g.trail}
	t.m = g.p.b.measure(t.text)
	if g.p.window != nil {
		t.reach = g.p.window.measure(t.text)
	}
	t.headings = within(g.headings, t.base)
	t.fitting(g.atoms, g.whole)
	if final && !g.later && t.fits(0, len(t.text)) {
		if lo, hi := trimSpan(t.text, 0, len(t.text)); lo < hi {
			t.units = []grain{{lo: lo, hi: hi}}
			return t.emit(segment{0, 1}, 0, g.yield)
		}
		return true
	}
	t.split(g.open)
	carry := len(t.text)
	if n := len(t.units); !final && n > 1 {
		carry = t.units[n-1].lo
		g.open = t.units[n-1].cutLo
		t.units = t.units[:n-1]
	} else if !final {
		return true // one unit: go on gathering
	}
	if err := ctx.Err(); err != nil {
		g.yield(connector.Chunk{}, err)
		return false
	}
	if len(t.units) > 0 && !g.cut(ctx, t) {
		return false
	}
	g.later = true
	g.keep(t, carry)
	return true
}

// cut divides a stretch and emits its chunks.
func (g *gathering) cut(ctx context.Context, t *stretch) bool {
	segments, err := g.p.divide(ctx, t)
	if err != nil {
		g.yield(connector.Chunk{}, err)
		return false
	}
	before := 0
	for _, s := range segments {
		if !t.emit(s, before, g.yield) {
			return false
		}
		before = s.from + 1
	}
	return true
}

// keep drops the text before carry.
func (g *gathering) keep(t *stretch, carry int) {
	rest := t.text[carry:]
	g.parts, g.size, g.base = []string{rest}, len(rest), g.base+carry
	g.atoms, g.whole, g.headings = behind(g.atoms, g.base), behind(g.whole, g.base), behind(g.headings, g.base)
	gone := sort.Search(len(g.trail), func(k int) bool { return g.trail[k].at > g.base })
	g.trail = append([]trailMark(nil), g.trail[max(0, gone-1):]...)
}

// behind are the spans that end behind base.
func behind(spans []connector.Span, base int) (out []connector.Span) {
	for _, s := range spans {
		if s.End > base {
			out = append(out, s)
		}
	}
	return out
}

// within are spans of the parsed text as spans of a text that starts at base.
func within(spans []connector.Span, base int) []connector.Span {
	out := make([]connector.Span, len(spans))
	for i, s := range spans {
		out[i] = connector.Span{Start: max(0, s.Start-base), End: s.End - base}
	}
	return out
}

// embedBatch is how many texts are asked for at a time.
const embedBatch = 256

// embed gives take the vectors of n texts, in order. Blank ones do not occur.
func (t *stretch) embed(ctx context.Context, n int, text func(i int) string, take func(i int, v []float32)) error {
	for i := 0; i < n; i += embedBatch {
		batch := make([]string, 0, embedBatch)
		for k := i; k < min(n, i+embedBatch); k++ {
			batch = append(batch, text(k))
		}
		got, err := t.p.vectors.Vectors(ctx, batch)
		if err != nil {
			return err
		}
		for k, v := range got {
			take(i+k, v)
		}
	}
	return ctx.Err()
}

// chars tells whether a range has at least n characters.
func atLeast(text string, n int) bool {
	return len(text) >= n*utf8.UTFMax || utf8.RuneCountInString(text) >= n
}
