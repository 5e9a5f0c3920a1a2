//go:build cgo

package code

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// declaration reads i as a declaration.
func (t *tree) declaration(i int, path []string, depth int) (decl, bool) {
	outerStart, end := t.nodes[i].start, trimmed(t.text, t.nodes[i].start, t.nodes[i].end)
	headerStart := outerStart
	for t.rules.wrap[t.nodes[i].kind] {
		inner := t.wrapped(i)
		if inner < 0 {
			break
		}
		if t.rules.bare[t.nodes[i].kind] {
			headerStart = t.nodes[inner].start
		}
		i = inner
	}
	r, ok := t.rules.decl[t.nodes[i].kind]
	if !ok || r.when != nil && !r.when(t, i) {
		return decl{}, false
	}
	d := decl{start: outerStart, end: end}
	d.symbol = connector.Symbol{Kind: r.kind, Name: t.name(i, r.name), Doc: connector.Span{Start: outerStart, End: outerStart}}
	body := t.body(i, r)
	before := t.commentsBefore(i, body)
	from := body
	if len(before) > 0 {
		from = before[0]
	}
	d.symbol.Header, d.symbol.Body = t.divide(headerStart, end, from)
	if t.brokenBefore(i, body) {
		d.symbol.Header, d.symbol.Body = t.divide(headerStart, end, -1)
	}
	d.symbol.Path = append(path[:len(path):len(path)], d.symbol.Name)
	if body < 0 && callable(r.kind) && end-headerStart < largeText && !strings.Contains(t.text[headerStart:end], "{") {
		d.symbol.Header, d.symbol.Body = connector.Span{Start: headerStart, End: end}, connector.Span{Start: end, End: end}
	}
	if t.rules.adjust != nil {
		t.rules.adjust(t, i, &d)
	}
	if body < 0 {
		if d.end-d.start >= largeText && len(d.children) == 0 {
			d.children = t.parts(i, d.symbol.Path, depth+1)
		}
		return d, true
	}
	if t.rules.docstring {
		d.symbol.Doc = t.docstring(body, d.symbol.Doc)
	}
	switch {
	case len(d.children) > 0:
		if isType(d.symbol.Kind) {
			callMethods(d.children)
		}
	case r.members && depth < maxNesting && t.rules.decl[t.nodes[body].kind].kind != "":
		d.children = t.direct(i, body, d.symbol.Path, depth+1)
	case r.members && depth < maxNesting:
		d.children = t.sequence(body, d.symbol.Path, depth+1, before...)
		if isType(r.kind) {
			callMethods(d.children)
		}
	case d.end-d.start >= largeText:
		d.children = t.parts(body, d.symbol.Path, depth+1)
	}
	return d, true
}

// direct makes the declarations of the children of i from body on, where no block is around them.
func (t *tree) direct(i, body int, path []string, depth int) []decl {
	s := &sequence{t: t, path: path, depth: depth}
	for c := range t.children(i) {
		if n := &t.nodes[c]; c >= body && n.named && n.start < n.end {
			s.add(c)
		}
	}
	s.flush()
	return s.items
}

// wrapped is the declaration inside the wrapper i, or -1.
func (t *tree) wrapped(i int) int {
	for c := range t.children(i) {
		if _, ok := t.rules.decl[t.nodes[c].kind]; ok || t.rules.wrap[t.nodes[c].kind] {
			return c
		}
	}
	return -1
}

func (t *tree) body(i int, r rule) int {
	for _, p := range r.body {
		b := t.find(i, p)
		for c := b; c >= 0 && c < t.nodes[i].next && !t.nodes[b].named; c = t.nodes[c].next {
			if n := &t.nodes[c]; n.named && n.field == p { // the role is that of a brace too
				b = c
			}
		}
		if b >= 0 && t.nodes[b].start < t.nodes[b].end {
			return b
		}
	}
	for c := range t.children(i) {
		if t.rules.bodies[t.nodes[c].kind] {
			return c
		}
	}
	return -1
}

// commentsBefore are the comments on lines of their own between the header of i and its body: they belong to the first member.
func (t *tree) commentsBefore(i, body int) []int {
	var out []int
	for c := range t.children(i) {
		n := &t.nodes[c]
		switch {
		case body < 0 || n.start >= t.nodes[body].start:
			return out
		case t.rules.lead[n.kind] && isComment(n.kind) && strings.Contains(t.text[trimmed(t.text, 0, n.start):n.start], "\n"):
			out = append(out, c)
		default:
			out = nil
		}
	}
	return out
}

// brokenBefore says that something before the body did not parse, so that what looks like a header may be anything.
func (t *tree) brokenBefore(i, body int) bool {
	for c := range t.children(i) {
		if body < 0 || c >= body {
			return false
		}
		if t.nodes[c].kind == errorKind {
			return true
		}
	}
	return false
}

func isComment(kind string) bool { return strings.Contains(kind, "comment") || kind == "haddock" }

// callable says that a declaration without a body is all header: a prototype, a method of an interface.
func callable(kind string) bool { return kind == "function" || kind == "method" }

// divide tells the header of a declaration from its body, a node that may be -1; the body is then what follows the first line.
func (t *tree) divide(start, end, body int) (header, rest connector.Span) {
	split := end
	if body >= 0 {
		split = t.nodes[body].start
		if split < end && t.text[split] == '{' {
			split++
		} else {
			split = trimmed(t.text, start, max(t.openingBrace(split, end), split))
		}
	} else if k := strings.IndexByte(t.text[start:end], '\n'); k >= 0 {
		split = start + k
	}
	split = min(max(split, start), end)
	return connector.Span{Start: start, End: split}, connector.Span{Start: split, End: end}
}

// openingBrace is the end of the line of pos if a brace opens there ("struct {"); otherwise pos.
func (t *tree) openingBrace(pos, end int) int {
	k := strings.IndexByte(t.text[pos:max(pos, end)], '\n')
	if k > 0 && strings.HasSuffix(strings.TrimRight(t.text[pos:pos+k], " \t"), "{") {
		return pos + k
	}
	return pos
}

func (t *tree) docstring(body int, doc connector.Span) connector.Span {
	for c := range t.children(body) {
		n := &t.nodes[c]
		if n.kind == "comment" {
			continue
		}
		if n.kind == "expression_statement" && strings.ContainsAny(t.text[n.start:min(n.start+2, n.end)], `"'`) {
			return connector.Span{Start: n.start, End: n.end}
		}
		break
	}
	return doc
}

// statement reads i as a statement, with parts if it is large.
func (t *tree) statement(i int, path []string, depth int) decl {
	start, end := t.nodes[i].start, trimmed(t.text, t.nodes[i].start, t.nodes[i].end)
	d := decl{symbol: statementSymbol(start, end), start: start, end: end}
	if end-start >= largeText {
		d.children = t.parts(i, path, depth+1)
	}
	return d
}

// parts divides a large node: into its children, or into those of the child that makes up most of it.
func (t *tree) parts(i int, path []string, depth int) []decl {
	for range maxDepth {
		most := -1
		for c := range t.children(i) {
			if n := &t.nodes[c]; n.named && 10*(n.end-n.start) >= 9*(t.nodes[i].end-t.nodes[i].start) && c+1 < n.next {
				most = c
			}
		}
		if most < 0 {
			break
		}
		if _, ok := t.rules.decl[t.nodes[most].kind]; ok {
			break
		}
		i = most
	}
	if depth > maxParts {
		return nil
	}
	return t.sequence(i, path, depth)
}
