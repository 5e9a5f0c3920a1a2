package strategies

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/kbsync/kbsync/connector"
)

// CodeConfig configures the strategy code.
type CodeConfig struct {
	Sizing `yaml:",inline"`
}

// codeCaps are the caps of code where none is set: a declaration is worth more whole than cut.
var codeCaps = defaults{tokens: 800, chars: 3000}

// Validate reports what cannot work.
func (c CodeConfig) Validate() error { return c.Sizing.Validate() }

// codeStrategy cuts source files by declaration.
type codeStrategy struct{ b *budget }

var _ connector.Strategy = (*codeStrategy)(nil)

// Code is the strategy code: whole declarations while they fit, small neighbours packed together. A declaration that does
// not fit is cut into its members, each below the declarations around it, which stand in the context; a member that
// does not fit is cut between lines, below its own signature too. Text that is no symbol is cut between lines by
// indentation. The text of code is never changed. The idea of greedy packing over the syntax tree is that of cAST
// (Zhang et al. 2025).
func Code() connector.StrategyPlugin {
	return connector.Define("code", "Whole classes and functions while they fit; members of a larger class below its declaration",
		CodeConfig{Sizing: Sizing{MinChars: 20}},
		func(_ context.Context, c *CodeConfig, env connector.StrategyEnv) (connector.Strategy, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("code: %w", err)
			}
			b, err := c.open(env, codeCaps)
			if err != nil {
				return nil, fmt.Errorf("code: %w", err)
			}
			return &codeStrategy{b: b}, nil
		})
}

// Info describes the strategy.
func (s *codeStrategy) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "code", Version: 4, Caps: s.b.caps}
}

// Chunks cuts one file. A text that is no code, as its marked-up parts show, is cut as markdown does.
func (s *codeStrategy) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		next, stop := iter.Pull2(textual(ctx, elements))
		defer stop()
		f := newFlow(s.b, layout{}, yield)
		symbols := false
		for el, err, ok := next(); ok; el, err, ok = next() {
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			if el.Text == "" {
				continue
			}
			if len(f.els) > 0 && f.size() >= windowLimit {
				f.cutCode()
			}
			if f.done {
				return
			}
			symbols = symbols || el.Symbol != nil
			if !symbols && slices.ContainsFunc(el.Children, func(c connector.Element) bool { return inlineAtom(&c) }) {
				cutBlocks(ctx, s.b, layout{prefix: true}, nil, resume(append(f.els, el), next))(yield)
				return
			}
			f.els = append(f.els, el)
		}
		if len(f.els) > 0 {
			f.cutCode()
		}
	}
}

// cutCode cuts what the window holds.
func (f *flow) cutCode() {
	k := &coder{w: f.window()}
	top := make([]region, len(f.els))
	for i := range f.els {
		top[i] = region{lo: k.w.at(i), hi: k.w.at(i + 1), top: i}
		if f.els[i].Symbol != nil {
			top[i].el = &f.els[i]
		}
	}
	k.pack(k.wholeWords(top), nil)
	f.out.flush()
	clear(f.els)
	f.els = f.els[:0]
}

// region is a member of a file or a declaration, with what follows up to the next.
type region struct {
	lo, hi int
	top    int                // the file's element that it lies in
	el     *connector.Element // nil for text between symbols
}

// coder cuts one window of code.
type coder struct{ w *window }

// maxScopes bounds the recursion into declarations; what is deeper is cut between lines.
const maxScopes = 48

// pack makes chunks of regions in order, as many in each as fit. sc is the declaration around them, whose header stands
// in the first region.
func (k *coder) pack(regions []region, sc *scope) {
	regions = k.expand(regions)
	restart := k.restarts(regions)
	i := 0
	for i < len(regions) && !k.w.f.done {
		r := &regions[i]
		in := sc.of(r.lo)
		x, ok := k.context(in, r.lo, r.hi)
		if !ok {
			k.divide(r, sc)
			i++
			continue
		}
		j := i + 1
		for j < len(regions) && !restart[j] && k.fits(r.lo, regions[j].hi, x) {
			j++
		}
		var owner *connector.Element
		if in != sc { // the declaration's own header is here
			owner = sc.el
		}
		k.add(regions[i:j], in, x, owner)
		i = j
	}
}

// fits tells whether the trimmed range fits below x.
func (k *coder) fits(lo, hi int, x *extra) bool {
	lo, hi = trimSpan(k.w.text, lo, hi)
	return lo == hi || k.w.m.fits(lo, hi, k.w.f.roomBelow(nil, x))
}

// context is the richest context of sc below which a range fits; ok is false if it does not fit at all.
func (k *coder) context(sc *scope, lo, hi int) (x *extra, ok bool) {
	for _, x := range sc.contexts(k) {
		if k.fits(lo, hi, x) {
			return x, true
		}
	}
	return nil, k.fits(lo, hi, nil)
}

// add makes a chunk of regions. owner is the declaration whose header they start with; nil where they start with none.
func (k *coder) add(regions []region, sc *scope, x *extra, owner *connector.Element) {
	var syms []*connector.Element
	if owner != nil {
		syms = append(syms, owner)
	}
	within := owner
	if within == nil && sc != nil {
		within = sc.el
	}
	for i := range regions {
		el := regions[i].el
		if el == nil || within != nil && isFunction(within) && el.Symbol.Kind == "variable" { // a local one
			continue
		}
		syms = append(syms, el)
	}
	first, last := &regions[0], &regions[len(regions)-1]
	k.w.f.out.add(k.w, draft{lo: first.lo, hi: last.hi, extra: x, first: first.top, last: k.until(last.top, last.hi), scope: sc, syms: syms})
}

// expand replaces statements that do not fit by their parts, so that these are packed with their neighbours, the header of a function among them.
func (k *coder) expand(regions []region) []region {
	out := make([]region, 0, len(regions))
	for i := range regions {
		r := &regions[i]
		if r.el == nil || !isStatement(r.el) || len(r.el.Children) == 0 || k.fits(r.lo, r.hi, nil) {
			out = append(out, *r)
			continue
		}
		if parts := k.members(r); len(parts) > 1 || len(parts) == 1 && parts[0].el != nil {
			out = append(out, k.expand(parts)...)
		} else {
			out = append(out, *r)
		}
	}
	return out
}

func isFunction(el *connector.Element) bool {
	return el.Symbol.Kind == "function" || el.Symbol.Kind == "method"
}

// isStatement tells what declares nothing.
func isStatement(el *connector.Element) bool {
	return el.Symbol.Kind == "statement" && el.Symbol.Name == ""
}

// divide cuts a region that does not fit.
func (k *coder) divide(r *region, sc *scope) {
	if el := &k.w.els[r.top]; el.Symbol == nil && el.Kind != connector.KindText {
		k.w.pack(k.w.parts(r.top, r.top+1, nil), nil, -1)
		return
	}
	if r.el == nil || isStatement(r.el) {
		k.lines(r, sc.of(r.lo), nil)
		return
	}
	inner := newScope(sc.of(r.lo), r, k.w)
	if members := k.members(r); len(members) > 1 && inner.depth <= maxScopes {
		k.pack(members, inner)
		return
	}
	k.lines(r, inner.parent, inner)
}

// lines cuts a region between lines. The first piece holds the region's own header, the others stand below it; inner is
// nil where there is none.
func (k *coder) lines(r *region, outer, inner *scope) {
	below := outer
	if inner != nil {
		below = inner
	}
	var x *extra
	if all := below.contexts(k); len(all) > 0 {
		x = all[0]
	}
	pieces := k.w.m.splitLines(r.lo, r.hi, k.w.f.roomBelow(nil, x))
	for i, p := range pieces {
		d := draft{lo: p.Start, hi: p.End, extra: x, first: r.top, last: k.until(r.top, r.hi), scope: below, forced: p.forcedLo || p.forcedHi}
		if inner != nil {
			d.syms = []*connector.Element{inner.el}
		}
		if i == 0 || inner != nil && p.Start < inner.headEnd {
			d.scope = outer
			d.extra, _ = k.context(outer, p.Start, p.End)
		}
		k.w.f.out.add(k.w, d)
	}
}

// members are the parts of a declaration: what stands before the first child symbol, and each of these with what follows.
// Text between them that says something is a member of its own.
func (k *coder) members(r *region) []region {
	var out []region
	lo := r.lo
	for i := range r.el.Children {
		child := &r.el.Children[i]
		from, to := child.Span.Start-k.w.base, child.Span.End-k.w.base
		if child.Symbol == nil || from < lo || to > r.hi || to <= from {
			continue
		}
		if speaks(k.w.text[lo:from]) || len(out) == 0 && strings.TrimSpace(k.w.text[lo:from]) != "" {
			out = append(out, region{lo: lo, hi: from, top: r.top})
			lo = from
		} else if n := len(out); n > 0 {
			out[n-1].hi = from
			lo = from
		}
		out = append(out, region{lo: lo, hi: to, top: r.top, el: child})
		lo = to
	}
	if n := len(out); n > 0 && lo < r.hi {
		if speaks(k.w.text[lo:r.hi]) {
			out = append(out, region{lo: lo, hi: r.hi, top: r.top})
		} else {
			out[n-1].hi = r.hi
		}
	}
	return k.wholeWords(out)
}

// wholeWords joins members whose border goes through a word: a grammar that is wrong about its text, as that of the shell is about a manual,
// has a string begin at an apostrophe.
func (k *coder) wholeWords(regions []region) []region {
	out := regions[:0]
	for _, r := range regions {
		if n := len(out); n > 0 && partsWord(k.w.text, r.lo) && (out[n-1].top == r.top || k.isCode(out[n-1].top) && k.isCode(r.top)) {
			out[n-1].hi = r.hi
			continue
		}
		out = append(out, r)
	}
	return out
}

// isCode tells whether an element of the file is cut as code.
func (k *coder) isCode(top int) bool {
	el := &k.w.els[top]
	return el.Symbol != nil || el.Kind == connector.KindText
}

// until is the index behind the element of the file in which a range from that at top ends.
func (k *coder) until(top, hi int) int {
	for top++; top < len(k.w.els) && k.w.at(top) < hi; top++ {
	}
	return top
}

// wordReach is how far around a place words are looked for.
const wordReach = 128

// partsWord tells that p lies inside a word (UAX #29) or a web address.
func partsWord(text string, p int) bool {
	lo, hi := max(0, p-wordReach), min(len(text), p+wordReach)
	if at := strings.LastIndexAny(text[lo:p], " \t\r\n"); at >= 0 {
		lo += at + 1
	}
	if at := strings.IndexAny(text[p:hi], " \t\r\n"); at >= 0 {
		hi = p + at
	}
	lo, hi = runeFloor(text, 0, lo), runeFloor(text, p, hi)
	if lo == p || p == hi {
		return false
	}
	if insideURL(text, lo, p, hi) {
		return true
	}
	at := lo
	for it := words.FromString(text[lo:hi]); at < p && it.Next(); {
		at += len(it.Value())
	}
	return at > p
}

// speaks tells whether text holds more than blank space and closing marks.
func speaks(text string) bool {
	text = strings.Trim(text, " \t\r\n\f;,)]}")
	return text != "" && text != "end"
}

// restarts are the regions at which packing starts afresh, so that an edit far above moves nothing below.
func (k *coder) restarts(regions []region) []bool {
	out := make([]bool, len(regions))
	if n := len(regions); n < 2 || k.fits(regions[0].lo, regions[n-1].hi, nil) {
		return out
	}
	a := anchorer{reach: k.w.f.b.anchorRadius()}
	x, wide := 0, 0
	for i := 1; i < len(regions); i++ {
		c := candidate{at: i}
		c.key, wide = keyAround(k.w.text, regions[i].lo, 0)
		x += k.w.f.b.roughly(regions[i].lo-regions[i-1].lo, wide)
		c.x = x
		a.add(c)
	}
	last := &regions[len(regions)-1]
	a.advance(x + k.w.f.b.roughly(last.hi-last.lo, wide))
	for _, i := range a.found {
		out[i] = true
	}
	return out
}
