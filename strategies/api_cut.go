package strategies

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// apiCutter cuts one description.
type apiCutter struct {
	b     *budget
	refs  bool
	yield func(connector.Chunk, error) bool
	f     *flow
	w     *window
	k     *coder
	units []apiUnit

	index map[string]*connector.Element // symbols by their path
}

// crumbOf is what the breadcrumb of a unit names: of loose ones, that they belong to the API.
func (a *apiCutter) crumbOf(u *apiUnit) []string {
	path := u.el.Symbol.Path
	if u.loose && len(path) > 0 {
		path = path[:len(path)-1]
	}
	return path
}

// heads are the lines above a unit that open what it stands in.
func (a *apiCutter) heads(u *apiUnit) []connector.Span {
	if u.owner == nil {
		return nil
	}
	out := []connector.Span{u.owner.Symbol.Header}
	for i := range min(len(u.owner.Children), maxShown) { // parameters of a path are those of all its operations
		if c := &u.owner.Children[i]; u.owner.Symbol.Kind == "path" && c.Symbol != nil && c.Symbol.Name == "parameters" && c.Span.End <= a.w.base+u.lo {
			out = append(out, c.Span)
		}
	}
	return out
}

// contexts are what may stand above a piece, from the richest to the leanest, each within its share of the caps: the
// breadcrumb with all heads, with the innermost, alone.
func (a *apiCutter) contexts(path []string, heads []connector.Span) []*extra {
	line, _ := a.b.breadcrumb(path, a.f.limit)
	limit := a.b.share(contextShare)
	var out []*extra
	add := func(heads []connector.Span) {
		x := &extra{text: line}
		for _, h := range heads {
			if h.Len() > bytesPerUnit*limit[0] {
				return
			}
			x.slice(a.k, h, fullDoc)
		}
		if n := len(out); x.text != "" && (n == 0 || out[n-1].text != x.text) && a.b.within(x.text, limit) {
			out = append(out, x)
		}
	}
	add(heads)
	if len(heads) > 1 {
		add(heads[len(heads)-1:])
	}
	add(nil)
	return out
}

// leanest is the last of some contexts.
func leanest(x []*extra) *extra {
	if len(x) == 0 {
		return nil
	}
	return x[len(x)-1]
}

// below is the richest context below which a range fits.
func (a *apiCutter) below(all []*extra, lo, hi int) (x *extra, ok bool) {
	for _, x := range all {
		if a.k.fits(lo, hi, x) {
			return x, true
		}
	}
	return nil, a.k.fits(lo, hi, nil)
}

func (a *apiCutter) add(lo, hi, top int, x *extra, forced bool) {
	a.f.out.add(a.w, draft{lo: lo, hi: hi, extra: x, first: top, last: top + 1, forced: forced})
}

// unit makes a chunk of the text from a unit on, or cuts it.
func (a *apiCutter) unit(u *apiUnit, hi int, all []*extra) {
	if x, ok := a.below(all, u.lo, hi); ok {
		a.add(u.lo, hi, u.top, x, false)
		return
	}
	a.divide(u.region, a.crumbOf(u), a.heads(u), 0)
}

// divide cuts a symbol that does not fit: what opens it with as many of its parts as fit, then the others below that.
func (a *apiCutter) divide(r region, path []string, heads []connector.Span, depth int) {
	outer := a.contexts(path, heads)
	head := r.el.Symbol.Header
	if head.Len() > 0 && head.Start >= a.w.base+r.lo {
		heads = append(heads[:len(heads):len(heads)], head)
	}
	inner := a.contexts(path, heads)
	parts := a.parts(r)
	if len(parts) < 2 || depth > maxScopes {
		a.lines(r, outer, inner)
		return
	}
	for i := 0; i < len(parts) && !a.f.done; {
		all := inner
		if i == 0 {
			all = outer
		}
		x, ok := a.below(all, parts[i].lo, parts[i].hi)
		if !ok || x == nil && len(all) > 0 && parts[i].el != nil && len(a.parts(parts[i])) > 1 {
			a.part(parts[i], path, heads, all, inner, depth)
			i++
			continue
		}
		j := i + 1
		for j < len(parts) && a.k.fits(parts[i].lo, parts[j].hi, x) {
			j++
		}
		a.add(parts[i].lo, parts[j-1].hi, r.top, x, false)
		i = j
	}
}

// part cuts a part that does not fit.
func (a *apiCutter) part(p region, path []string, heads []connector.Span, outer, inner []*extra, depth int) {
	if p.el != nil {
		a.divide(p, path, heads, depth+1)
		return
	}
	a.lines(p, outer, inner)
}

// lines cuts a range between lines, the first piece below outer, the others below inner.
func (a *apiCutter) lines(r region, outer, inner []*extra) {
	var x *extra
	if len(inner) > 0 {
		x = inner[0]
	}
	for i, p := range a.w.m.splitLines(r.lo, r.hi, a.f.roomBelow(nil, x)) {
		above := x
		if i == 0 {
			above, _ = a.below(outer, p.Start, p.End)
		}
		a.add(p.Start, p.End, r.top, above, p.forcedLo || p.forcedHi)
	}
}

// parts are the parts of a symbol: what stands before the first, and each of these with what follows it.
func (a *apiCutter) parts(r region) []region {
	var out []region
	lo := r.lo
	for i := range r.el.Children {
		c := &r.el.Children[i]
		from, to := c.Span.Start-a.w.base, c.Span.End-a.w.base
		if c.Symbol == nil || !isPart(c.Symbol.Kind) && !strings.HasSuffix(a.w.text[:from], "\n") || from < lo || to > r.hi {
			continue
		}
		if from > lo {
			if n := len(out); n > 0 {
				out[n-1].hi = from
			} else if strings.TrimSpace(a.w.text[lo:from]) != "" {
				out = append(out, region{lo: lo, hi: from, top: r.top})
			}
		}
		out = append(out, region{lo: from, hi: to, top: r.top, el: c})
		lo = to
	}
	if n := len(out); n > 0 {
		out[0].lo = r.lo
		out[n-1].hi = r.hi
	}
	return out
}

// isPart tells the symbols that a symbol may be cut between.
func isPart(kind string) bool { return kind != "reference" && kind != "attribute" }
