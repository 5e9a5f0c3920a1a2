package strategies

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// scope is a declaration that was cut, with those around it. Nil is the file.
type scope struct {
	parent  *scope
	el      *connector.Element
	lo      int // where its region starts in the window
	headEnd int // where its header ends
	depth   int
	made    bool
	ctx     []*extra // contexts for what stands inside, from the richest to the leanest
}

func newScope(parent *scope, r *region, w *window) *scope {
	s := &scope{parent: parent, el: r.el, lo: r.lo, headEnd: min(max(r.el.Symbol.Header.End-w.base, r.lo), r.hi), depth: 1}
	if parent != nil {
		s.depth = parent.depth + 1
	}
	return s
}

// of is the scope that a chunk starting at lo stands in: the start of a declaration stands outside it.
func (s *scope) of(lo int) *scope {
	for s != nil && lo <= s.lo {
		s = s.parent
	}
	return s
}

// contextShare is the part of a cap that the declarations around code may take, one in so many.
const contextShare = 3

// contexts are what may stand above a chunk inside s: the headers of all declarations around it with their doc comments,
// with the first lines of these, the headers alone, the innermost header alone.
func (s *scope) contexts(k *coder) []*extra {
	if s == nil {
		return nil
	}
	if s.made {
		return s.ctx
	}
	s.made = true
	limit := k.w.f.b.share(contextShare)
	add := func(x *extra) {
		if n := len(s.ctx); x != nil && x.text != "" && (n == 0 || s.ctx[n-1].text != x.text) && k.w.f.b.within(x.text, limit) {
			s.ctx = append(s.ctx, x)
		}
	}
	for detail := fullDoc; detail >= noDoc; detail-- {
		x := &extra{}
		s.write(x, k, detail)
		add(x)
	}
	x := &extra{}
	s.writeOwn(x, k, noDoc)
	add(x)
	if len(s.ctx) == 0 && x.text != "" {
		first, _, _ := strings.Cut(x.text, "\n")
		add(&extra{text: k.w.f.b.shorten(first, "", ellipsis+"\n", limit), spans: x.spans[:1]})
	}
	return s.ctx
}

// How much of a doc comment a context holds.
const (
	noDoc = iota
	docLine
	fullDoc
)

// write adds the declarations from the outermost to s.
func (s *scope) write(x *extra, k *coder, detail int) {
	if s.parent != nil {
		s.parent.write(x, k, detail)
	}
	s.writeOwn(x, k, detail)
}

// writeOwn adds header and doc comment in the order of the text.
func (s *scope) writeOwn(x *extra, k *coder, detail int) {
	doc, head := s.el.Symbol.Doc, s.el.Symbol.Header
	if head.Len() <= 0 {
		lo := s.lo
		head = connector.Span{Start: k.w.base + lo, End: k.w.base + lineEnd(k.w.text, skipBlank(k.w.text, lo, len(k.w.text)), len(k.w.text))}
	}
	if detail != noDoc && doc.Len() > 0 && doc.Start < head.Start {
		x.slice(k, doc, detail)
		doc = connector.Span{}
	}
	x.slice(k, head, fullDoc)
	if detail != noDoc && doc.Len() > 0 && doc.Start >= head.End {
		x.slice(k, doc, detail)
	}
}

// slice adds a stretch of the text with its indentation and a line end.
func (x *extra) slice(k *coder, span connector.Span, detail int) {
	text := k.w.text
	lo, hi := span.Start-k.w.base, span.End-k.w.base
	if lo < 0 || hi > len(text) || lo >= hi {
		return
	}
	for lo > 0 && (text[lo-1] == ' ' || text[lo-1] == '\t') {
		lo--
	}
	if n := len(x.spans); n > 0 { // declarations on one line
		lo = max(lo, x.spans[n-1].End-k.w.base)
	}
	lo, hi = trimSpan(text, min(lo, hi), hi)
	if detail == docLine {
		hi = docLineEnd(text, lo, hi)
	}
	if lo == hi {
		return
	}
	x.text += text[lo:hi] + "\n"
	x.spans = append(x.spans, connector.Span{Start: k.w.base + lo, End: k.w.base + hi})
}

// docLineEnd is the end of the first line of a comment that says something.
func docLineEnd(text string, lo, hi int) int {
	for p := lo; p < hi; {
		end := lineEnd(text, p, hi)
		if line := strings.Trim(text[p:end], " \t\r\n/*#\"'!-"); line != "" {
			_, end = trimSpan(text, p, end)
			return end
		}
		p = end
	}
	return hi
}

// sameScope tells whether two successive drafts of code may be one chunk: the second stands in the declaration of the
// first, or in one that starts in the first, or only closes what is open.
func (w *window) sameScope(p, d *draft) bool {
	s := d.scope
	for s != nil && s != p.scope && s.lo >= p.lo {
		s = s.parent
	}
	return s == p.scope || !speaks(w.text[d.lo:d.hi])
}

// path is the chain of names down to s.
func (s *scope) path() []string {
	if s == nil {
		return nil
	}
	if len(s.el.Symbol.Path) > 0 {
		return s.el.Symbol.Path
	}
	up := s.parent.path()
	return append(up[:len(up):len(up)], s.el.Symbol.Name)
}

// describeSymbols sets headings and metadata of a chunk of code: the one symbol in it, or the declaration around several
// and their names.
func describeSymbols(d *draft, c *connector.Chunk) {
	if d.scope == nil && len(d.syms) == 0 {
		return
	}
	path, kind := d.scope.path(), ""
	if d.scope != nil {
		kind = d.scope.el.Symbol.Kind
	}
	var names []any
	var only *connector.Element
	for _, el := range d.syms {
		if el.Symbol.Name == "" || only == el {
			continue
		}
		only = el
		names = append(names, el.Symbol.Name)
	}
	if len(names) == 1 {
		kind = only.Symbol.Kind
		if path = only.Symbol.Path; len(path) == 0 {
			path = []string{only.Symbol.Name}
		}
	} else if len(names) == 0 && len(d.syms) > 0 && d.scope == nil {
		kind = d.syms[0].Symbol.Kind
	}
	c.Headings = path
	meta := map[string]any{}
	if len(path) > 0 {
		meta["symbol"] = strings.Join(path, ".")
	}
	if kind != "" {
		meta["symbol_kind"] = kind
	}
	if len(names) > 1 {
		meta["symbols"] = names
	}
	if len(meta) > 0 {
		c.Metadata = meta
	}
}
