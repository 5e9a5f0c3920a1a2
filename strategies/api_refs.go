package strategies

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// note remembers the symbols that references can mean.
func (a *apiCutter) note(els []connector.Element) {
	a.index = map[string]*connector.Element{}
	for i := range els {
		a.noteOne(&els[i], 0)
	}
}

func (a *apiCutter) noteOne(el *connector.Element, depth int) {
	if el.Symbol == nil || !isPart(el.Symbol.Kind) || depth > maxScopes {
		return
	}
	if key := pathKey(el.Symbol.Path); key != "" && a.index[key] == nil && !strings.HasPrefix(el.Symbol.Kind, "extend") {
		a.index[key] = el
	}
	for i := range el.Children {
		if c := &el.Children[i]; c.Symbol != nil && (c.Symbol.Kind == "message" || c.Symbol.Kind == "enum") {
			a.noteOne(c, depth+1)
		}
	}
}

func pathKey(path []string) string { return strings.Join(path, "\x00") }

// finish describes a chunk, adds what it refers to, and hands it on.
func (a *apiCutter) finish(c connector.Chunk, err error) bool {
	if err != nil {
		return a.yield(c, err)
	}
	span := connector.Span{Start: c.Spans[0].Start - a.w.base, End: c.Spans[len(c.Spans)-1].End - a.w.base}
	lo := max(0, sort.Search(len(a.units), func(i int) bool { return a.units[i].lo > span.Start })-1)
	hi := lo
	for hi < len(a.units) && (hi == lo || a.units[hi].lo < span.End) {
		hi++
	}
	if lo < hi && a.units[lo].el != nil {
		d := &apiDetails{}
		for i := lo; i < hi; i++ {
			if u := &a.units[i]; u.el != nil {
				d.attributes(u.el)
				d.references(&a.w.els[u.top], c.Spans[0].Start, c.Spans[len(c.Spans)-1].End, 0)
			}
		}
		a.describe(&c, a.units[lo:hi], d)
		if a.refs {
			a.refer(&c, a.units[lo:hi], d.refs)
		}
	}
	return a.yield(c, nil)
}

// apiDetails are what the inside of a chunk says.
type apiDetails struct {
	operationID string
	deprecated  bool
	refs        []*connector.Symbol
}

// maxRefs is how many references of a chunk are looked at.
const maxRefs = 64

// attributes reads what a unit says of itself.
func (d *apiDetails) attributes(el *connector.Element) {
	for i := range el.Children {
		c := el.Children[i].Symbol
		if c == nil || c.Kind != "attribute" || len(c.Path) == 0 {
			continue
		}
		switch value := c.Path[len(c.Path)-1]; {
		case c.Name == "operation_id":
			d.operationID = cmp.Or(d.operationID, value)
		case c.Name == "deprecated" && value == "true":
			d.deprecated = true
		}
	}
}

// references gathers the references in a range.
func (d *apiDetails) references(el *connector.Element, start, end, depth int) {
	from := sort.Search(len(el.Children), func(i int) bool { return el.Children[i].Span.End > start })
	for i := from; i < len(el.Children) && el.Children[i].Span.Start < end && len(d.refs) < maxRefs; i++ {
		c := &el.Children[i]
		if c.Symbol == nil {
			continue
		}
		if c.Symbol.Kind == "reference" {
			d.refs = append(d.refs, c.Symbol)
		} else if depth < maxScopes {
			d.references(c, start, end, depth+1)
		}
	}
}

// describe sets headings and metadata of a chunk.
func (a *apiCutter) describe(c *connector.Chunk, units []apiUnit, d *apiDetails) {
	u := &units[0]
	sym := u.el.Symbol
	meta := map[string]any{"symbol_kind": sym.Kind}
	c.Headings = a.crumbOf(u)
	if len(units) > 1 {
		names := []any{}
		for i := range units {
			if el := units[i].el; el != nil && el.Symbol.Name != "" {
				names = append(names, el.Symbol.Name)
			}
		}
		meta["symbols"] = names
	} else {
		c.Headings = sym.Path
		meta["symbol"] = cmp.Or(d.operationID, sym.Name)
		if u.el.Language == "graphql" || u.el.Language == "protocol buffer" {
			meta["symbol"] = cmp.Or(strings.Join(sym.Path, "."), sym.Name)
		}
		if method, path, ok := strings.Cut(sym.Name, " "); ok && sym.Kind == "operation" {
			meta["method"], meta["endpoint"] = method, path
		}
		if d.operationID != "" {
			meta["operation_id"] = d.operationID
		}
		if d.deprecated {
			meta["deprecated"] = true
		}
		if meta["symbol"] == "" {
			delete(meta, "symbol")
		}
	}
	known, unknown := refNames(d.refs)
	if len(known) > 0 {
		meta["references"] = known
	}
	if len(unknown) > 0 {
		meta["unresolved_references"] = unknown
	}
	c.Metadata = meta
}

// refNames are the names of what is referred to, and the references that mean nothing in this document.
func refNames(refs []*connector.Symbol) (known, unknown []any) {
	for _, r := range refs {
		if n := len(r.Path); n > 0 {
			if name := any(r.Path[n-1]); !slices.Contains(known, name) {
				known = append(known, name)
			}
		} else if name := any(r.Name); r.Name != "" && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	return known, unknown
}

// Bounds of what a chunk shows of other symbols.
const (
	maxShown   = 8
	shownLines = 6 // of one that does not fit whole
	refShare   = 2 // the part of a cap that they may take, one in so many
)

// refer adds to the context what a chunk refers to, in the order of the text, as far as there is room.
func (a *apiCutter) refer(c *connector.Chunk, units []apiUnit, refs []*connector.Symbol) {
	taken := slices.Concat(c.Spans, c.ContextSpans)
	var targets []*connector.Element
	for _, r := range refs {
		el := a.index[pathKey(r.Path)]
		if el == nil || len(r.Path) == 0 || len(targets) == maxShown || slices.Contains(targets, el) ||
			slices.ContainsFunc(units, func(u apiUnit) bool { return u.el == el || u.el != nil && overlaps(u.el.Span, el.Span) }) {
			continue
		}
		targets = append(targets, el)
	}
	slices.SortFunc(targets, func(x, y *connector.Element) int { return cmp.Compare(x.Span.Start, y.Span.Start) })
	limit, shown := a.b.share(refShare), ""
	for _, el := range targets {
		for _, s := range views(el) {
			if s.Len() <= 0 || slices.ContainsFunc(taken, func(t connector.Span) bool { return overlaps(t, s) }) {
				continue
			}
			text := el.Text[s.Start-el.Span.Start:s.End-el.Span.Start] + "\n"
			if len(text) > bytesPerUnit*limit[0] || !a.b.within(shown+text, limit) || !a.b.fitsWhole(c.Context+text+c.Text) {
				continue
			}
			shown += text
			c.Context += text
			c.ContextSpans = append(c.ContextSpans, s)
			c.Tokens, c.TokenUnit = 0, ""
			taken = append(taken, s)
			break
		}
	}
	slices.SortFunc(c.ContextSpans, func(x, y connector.Span) int { return cmp.Compare(x.Start, y.Start) })
}

func overlaps(a, b connector.Span) bool { return a.Start < b.End && b.Start < a.End }

// views are the whole of a symbol from its own first line on, and its first lines. Of one that holds operations, it is
// the line that opens it.
func views(el *connector.Element) []connector.Span {
	lo, hi := 0, len(el.Text)
	if h := el.Symbol.Header; h.Len() > 0 {
		lo = max(lo, h.Start-el.Span.Start)
		if d := el.Symbol.Doc; d.Len() > 0 && d.Start < h.Start {
			lo = max(0, d.Start-el.Span.Start)
		}
		lo = lineStart(el.Text, 0, lo)
		if strings.TrimSpace(el.Text[lo:max(lo, h.Start-el.Span.Start)]) != "" && el.Symbol.Doc.Len() == 0 {
			lo = h.Start - el.Span.Start
		}
	}
	if b := el.Symbol.Body; b.Len() > 0 {
		hi = max(lo, b.End-el.Span.Start)
	}
	if slices.ContainsFunc(el.Children, func(c connector.Element) bool { return c.Symbol != nil && standsAlone(c.Symbol.Kind) }) {
		hi = max(lo, el.Symbol.Header.End-el.Span.Start)
	}
	lo, hi = trimSpan(el.Text, lo, hi)
	end := lo
	for n := 0; n < shownLines && end < hi; n++ {
		end = lineEnd(el.Text, end, hi)
	}
	_, end = trimSpan(el.Text, lo, end)
	at := func(lo, hi int) connector.Span {
		return connector.Span{Start: el.Span.Start + lo, End: el.Span.Start + hi}
	}
	return []connector.Span{at(lo, hi), at(lo, end)}
}
