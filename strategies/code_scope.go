package strategies

import (
	"strings"
	"unicode"
	"unicode/utf8"

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

// How much of a declaration a context shows, from the least to the most.
const (
	showNothing = iota
	showName    // its name
	showBare    // the line with its name, up to the name
	showHeader  // its header: the signature, the bases
	docLine     // and the first line of its doc comment
	fullDoc     // and all of it
)

// scopeView is what a context shows of the declarations around code: of the innermost one, of the type around that, and of those further out.
type scopeView struct{ own, owner, outer int }

// scopeViews are what may stand above a chunk, the richest first. The doc comment of what is cut is worth more than those around it, and the names of
// all that is around it more than any of their words.
func scopeViews() []scopeView {
	return []scopeView{
		{fullDoc, fullDoc, fullDoc}, {fullDoc, docLine, docLine}, {fullDoc, showHeader, showHeader}, {docLine, docLine, showHeader},
		{docLine, showHeader, showHeader}, {showHeader, showHeader, showHeader}, {showHeader, showHeader, showBare}, {showHeader, showBare, showBare}, {showHeader, showBare, showNothing},
		{showBare, showBare, showNothing}, {showName, showName, showNothing}, {showNothing, showName, showNothing}, {showName, showNothing, showNothing},
	}
}

// contexts are what may stand above a chunk inside s, from the richest to the leanest.
func (s *scope) contexts(k *coder) []*extra {
	if s == nil {
		return nil
	}
	if s.made {
		return s.ctx
	}
	s.made = true
	limit := k.w.f.b.share(contextShare)
	owner := s.owner()
	for _, v := range scopeViews() {
		x := &extra{most: contextBytes * limit[0]}
		s.write(x, k, s, owner, v)
		if n := len(s.ctx); !x.over && x.text != "" && (n == 0 || s.ctx[n-1].text != x.text) && k.w.f.b.within(x.text, limit) {
			s.ctx = append(s.ctx, x)
		}
	}
	if len(s.ctx) == 0 {
		x := &extra{most: contextBytes * limit[0]}
		s.writeOwn(x, k, showBare)
		if first, _, _ := strings.Cut(x.text, "\n"); first != "" {
			s.ctx = append(s.ctx, &extra{text: k.w.f.b.shorten(first, "", ellipsis+"\n", limit), spans: x.spans[:1]})
		}
	}
	return s.ctx
}

// contextBytes bounds the work on a context that is too long anyhow: the bytes that one unit of its limit may have.
const contextBytes = 16

// owner is the declaration with members around s, or s itself if it is one; nil if there is none.
func (s *scope) owner() *scope {
	for ; s != nil; s = s.parent {
		switch s.el.Symbol.Kind {
		case "class", "struct", "interface", "trait", "impl", "enum", "module", "namespace":
			return s
		}
	}
	return nil
}

// write adds the declarations from the outermost to s, each as v says.
func (s *scope) write(x *extra, k *coder, own, owner *scope, v scopeView) {
	detail := v.outer
	switch s {
	case owner:
		detail = v.owner
		if own == owner && v.owner < v.own && v.owner != showNothing {
			detail = v.own
		}
	case own:
		detail = v.own
	}
	if s.parent != nil && !x.over {
		s.parent.write(x, k, own, owner, v)
	}
	if detail != showNothing {
		s.writeOwn(x, k, detail)
	}
}

// writeOwn adds header and doc comment in the order of the text.
func (s *scope) writeOwn(x *extra, k *coder, detail int) {
	doc, head := s.el.Symbol.Doc, s.el.Symbol.Header
	if head.Len() <= 0 {
		lo := s.lo
		head = connector.Span{Start: k.w.base + lo, End: k.w.base + lineEnd(k.w.text, skipBlank(k.w.text, lo, len(k.w.text)), len(k.w.text))}
	}
	if detail < showHeader {
		x.slice(k, s.named(k, head, detail), detail)
		return
	}
	if detail > showHeader && doc.Len() > 0 && doc.Start < head.Start {
		x.slice(k, doc, detail)
		doc = connector.Span{}
	}
	x.slice(k, head, showHeader)
	if detail > showHeader && doc.Len() > 0 && doc.Start >= head.End {
		x.slice(k, doc, detail)
	}
}

// nameReach is how far into a header its name is looked for, in bytes.
const nameReach = 4 << 10

// named is the name in a header, or the start of its line up to it; the first line where there is no name.
func (s *scope) named(k *coder, head connector.Span, detail int) connector.Span {
	lo, hi := head.Start-k.w.base, head.End-k.w.base
	if lo < 0 || hi > len(k.w.text) || lo >= hi {
		return connector.Span{}
	}
	text := k.w.text[lo:min(hi, lo+nameReach)]
	at := wordIndex(text, s.el.Symbol.Name)
	if at < 0 {
		from := skipBlank(k.w.text, lo, hi)
		return connector.Span{Start: head.Start, End: k.w.base + lineEnd(k.w.text, from, hi)}
	}
	out := connector.Span{Start: head.Start + at, End: head.Start + at + len(s.el.Symbol.Name)}
	if detail == showBare {
		out.Start = head.Start + strings.LastIndexByte(text[:at], '\n') + 1
	}
	return out
}

// wordIndex is where word first stands in text and is no part of a longer word; -1 if nowhere.
func wordIndex(text, word string) int {
	if word == "" {
		return -1
	}
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return -1
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		if !inWord(before) && !inWord(after) {
			return at
		}
		at += len(word)
	}
}

func inWord(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// slice adds a stretch of the text with its indentation and a line end. Names stand alone.
func (x *extra) slice(k *coder, span connector.Span, detail int) {
	text := k.w.text
	lo, hi := span.Start-k.w.base, span.End-k.w.base
	if lo < 0 || hi > len(text) || lo >= hi || x.over {
		return
	}
	for from := lo; detail != showName && lo > 0 && (x.most == 0 || from-lo < x.most) && (text[lo-1] == ' ' || text[lo-1] == '\t'); {
		lo--
	}
	if n := len(x.spans); n > 0 { // declarations on one line
		lo = max(lo, x.spans[n-1].End-k.w.base)
	}
	if detail == docLine {
		if x.most > 0 {
			hi = min(hi, lo+x.most)
		}
		hi = docLineEnd(text, lo, hi)
	}
	if x.over = x.most > 0 && hi-lo+len(x.text) > x.most; x.over {
		return
	}
	lo, hi = trimSpan(text, min(lo, hi), hi)
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
