package pipeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash"
	"iter"
	"math"
	"sort"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/counters"
	"github.com/kbsync/kbsync/internal/sentences"
)

// Late chunking (Günther, Mohr, Williams, Wang and Xiao 2024): consecutive chunks of a document form groups, as they do for contextual
// models. The text of a group is read in windows of what the model takes, which overlap, and the vector of a chunk is the mean
// of its tokens' vectors in the window in which it stands most centrally.

const (
	// lateEdition is part of every address: raised with anything that gives the same group other vectors. Documents are then looked at
	// again if it is put into their fingerprint too.
	lateEdition = 1
	// lateWindows bounds a group, in windows of the model: an edit costs the reading of one group or two.
	lateWindows = 4
	// lateOverlap is the part of a window, as a divisor, that the next one repeats.
	lateOverlap = 4
	// lateItems and lateBytes bound a group whatever the model takes, lateTokens the windows of a model that names no limit.
	lateItems  = 256
	lateBytes  = 1 << 20
	lateTokens = 8192
)

// lateReading is how a model reads groups.
type lateReading struct {
	model   connector.TokenEmbedder
	counter connector.Counter
	tokens  int // of a window
}

// lateReading is how the embedder reads; nil where it gives no vectors of tokens.
func (p *Pipeline) lateReading() *lateReading {
	e, ok := p.embedder.(connector.TokenEmbedder)
	if !ok {
		return nil
	}
	r := &lateReading{model: e, counter: p.model.Counter, tokens: p.model.MaxInputTokens}
	if r.tokens <= 0 {
		r.tokens = lateTokens
	}
	if r.counter == nil {
		c, err := counters.Named("cl100k")
		if err != nil {
			return nil
		}
		r.counter = c
	}
	return r
}

func (r *lateReading) limits() groupLimits {
	return groupLimits{lateItems, lateWindows * r.tokens, lateBytes}
}

// gathered yields a document's pieces with the groups in which they get their vectors: all of a contextual model, else those that are
// late.
func (w *writer) gathered(pieces iter.Seq2[*piece, error]) iter.Seq2[*piece, error] {
	if w.p.model.Contextual {
		return grouped(pieces, limitsOf(&w.p.model), nil)
	}
	if r := w.p.lateReading(); r != nil {
		return grouped(pieces, r.limits(), r)
	}
	return func(yield func(*piece, error) bool) {
		for pc, err := range pieces {
			if err == nil && pc.Late {
				w.alone.Do(func() { w.p.log.Warn(noLate(&w.p.model)) })
			}
			if !yield(pc, err) {
				return
			}
		}
	}
}

// LateAlone says what becomes of the chunks of the strategy late where a rule names it and the embedder cannot read them together; empty
// where none does, or it can.
func (v *Preview) LateAlone() string {
	if v.p.embedder == nil || v.p.model.Contextual || v.p.lateReading() != nil {
		return ""
	}
	for i := range v.p.file.Rules {
		if s := v.p.file.Rules[i].Strategy; s != nil && s.Kind == "late" {
			return noLate(&v.p.model)
		}
	}
	return ""
}

// noLate says what becomes of late chunks beside a model that cannot read them together.
func noLate(m *connector.Model) string {
	return fmt.Sprintf("the embedder %s gives no vectors of tokens, so the chunks of the strategy late are embedded alone, as by any other: use local, "+
		"or a model that reads chunks together, such as jina with late_chunking or voyage-context-3", m.Provider)
}

// lateGroup is the text of a group, and where its members stand in it.
type lateGroup struct {
	how  *lateReading
	text string
	at   []connector.Span
}

// newLateGroup joins the texts of members: what one repeats of the one before is written once, and a line end stands where text was left
// out between them.
func newLateGroup(members []*piece, how *lateReading) *lateGroup {
	g := &lateGroup{how: how}
	var b strings.Builder
	for i, pc := range members {
		text, from := pc.embedText(), b.Len()
		if i > 0 {
			if n := members[i-1].repeatedBy(pc); n > 0 {
				from, text = from-n, text[n:]
			} else if !members[i-1].meets(pc) {
				b.WriteByte('\n')
				from++
			}
		}
		b.WriteString(text)
		g.at = append(g.at, connector.Span{Start: from, End: b.Len()})
	}
	g.text = b.String()
	return g
}

// repeatedBy is how many bytes at the end of c the next piece starts with: the overlap of the strategy.
func (c *piece) repeatedBy(next *piece) int {
	if len(c.Spans) != 1 || len(next.Spans) != 1 || next.Context != "" {
		return 0
	}
	n := c.Spans[0].End - next.Spans[0].Start
	if n <= 0 || n > len(c.Content) || n > len(next.Content) || c.Content[len(c.Content)-n:] != next.Content[:n] {
		return 0
	}
	return n
}

// meets tells that the next piece starts where c ends.
func (c *piece) meets(next *piece) bool {
	return len(c.Spans) > 0 && len(next.Spans) > 0 && next.Context == "" && c.Spans[len(c.Spans)-1].End == next.Spans[0].Start
}

// address writes what makes these vectors others than those of the texts alone.
func (g *lateGroup) address(h hash.Hash) {
	_, _ = fmt.Fprintf(h, "late %d %d %d %s\n", lateEdition, g.how.tokens, lateOverlap, g.how.counter.Name())
	for _, s := range g.at {
		_, _ = h.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(s.Start)), uint64(s.End))) //nolint:gosec // never negative
	}
	_, _ = h.Write([]byte(g.text))
}

// windows are the parts of the text that are read, and for each member the one that its vector is taken from.
func (g *lateGroup) windows() (windows []connector.Span, of []int) {
	stops := g.stops()
	ruler := g.how.counter.Ruler(g.text)
	fits := func(lo, hi int) bool { return ruler.Count(lo, hi) <= g.how.tokens }
	for first := 0; ; {
		last := first + sort.Search(len(stops)-first-1, func(n int) bool { return !fits(stops[first], stops[first+1+n]) })
		last = max(last, first+1)
		windows = append(windows, connector.Span{Start: stops[first], End: stops[last]})
		if last == len(stops)-1 {
			break
		}
		next := last - sort.Search(last-first-1, func(n int) bool { return ruler.Count(stops[last-1-n], stops[last]) > g.how.tokens/lateOverlap })
		first = next
	}
	for _, s := range g.at {
		best, most := -1, -1
		for i, win := range windows {
			if s.Start < win.Start || s.End > win.End {
				continue
			}
			if room := g.room(s, win); room > most {
				best, most = i, room
			}
		}
		if best < 0 {
			best = len(windows)
			windows = append(windows, g.around(s, stops, fits))
		}
		of = append(of, best)
	}
	return windows, of
}

// room is how much text there is on the side of s that has less of it in a window; the ends of the group are no borders.
func (g *lateGroup) room(s, win connector.Span) int {
	before, behind := s.Start-win.Start, win.End-s.End
	if win.Start == 0 {
		before = len(g.text)
	}
	if win.End == len(g.text) {
		behind = len(g.text)
	}
	return min(before, behind)
}

// around is the window with a member in its middle, for one that stands in no other.
func (g *lateGroup) around(s connector.Span, stops []int, fits func(lo, hi int) bool) connector.Span {
	lo, hi := sort.SearchInts(stops, s.Start), sort.SearchInts(stops, s.End)
	for grown := true; grown; {
		grown = false
		if lo > 0 && fits(stops[lo-1], stops[hi]) {
			lo, grown = lo-1, true
		}
		if hi < len(stops)-1 && fits(stops[lo], stops[hi+1]) {
			hi, grown = hi+1, true
		}
	}
	return connector.Span{Start: stops[lo], End: stops[hi]}
}

// stops are where a window may start and end: where members do, and sentences.
func (g *lateGroup) stops() []int {
	set := map[int]bool{0: true, len(g.text): true}
	for _, s := range g.at {
		set[s.Start], set[s.End] = true, true
		for _, end := range sentences.All(g.text[s.Start:s.End]) {
			set[s.Start+end] = true
		}
	}
	out := make([]int, 0, len(set))
	for p := range set {
		out = append(out, p)
	}
	sort.Ints(out)
	return out
}

// readLate asks for the vectors of a group's tokens and makes those of its members.
func (w *writer) readLate(ctx, more context.Context, g *lateGroup) ([][]float32, error) {
	windows, of := g.windows()
	out := make([][]float32, len(g.at))
	for i, win := range windows {
		text := g.text[win.Start:win.End]
		if strings.TrimSpace(text) == "" {
			continue
		}
		var vectors [][]float32
		var spans []connector.Span
		err := w.send(more, g.how.counter.Count(text), func() (err error) {
			vectors, spans, err = g.how.model.EmbedTokens(ctx, text)
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(vectors) != len(spans) {
			return nil, fmt.Errorf("embedder %s returned %d vectors for %d tokens", w.p.model.Provider, len(vectors), len(spans))
		}
		w.proof.took.Store(true)
		for k, s := range g.at {
			if of[k] != i {
				continue
			}
			out[k] = pooled(vectors, spans, connector.Span{Start: s.Start - win.Start, End: s.End - win.Start}, w.p.model.Normalized)
			if out[k] == nil { // the tokenizer leaves all of it out: what is around it is all there is
				out[k] = pooled(vectors, spans, connector.Span{End: len(text)}, w.p.model.Normalized)
			}
		}
	}
	return out, nil
}

// pooled is the mean of the vectors of the tokens in a span, of length 1 where the model's are; nil if there is none.
func pooled(vectors [][]float32, spans []connector.Span, of connector.Span, unit bool) []float32 {
	var sum []float64
	n := 0
	for i, s := range spans {
		if s.Len() == 0 || s.End <= of.Start || s.Start >= of.End {
			continue
		}
		if sum == nil {
			sum = make([]float64, len(vectors[i]))
		}
		for d, x := range vectors[i] {
			sum[d] += float64(x)
		}
		n++
	}
	if n == 0 {
		return nil
	}
	scale, square := 1/float64(n), 0.0
	for _, x := range sum {
		square += float64(x * x)
	}
	if unit && square > 0 {
		scale = 1 / math.Sqrt(square)
	}
	out := make([]float32, len(sum))
	for d, x := range sum {
		out[d] = float32(x * scale)
	}
	return out
}
