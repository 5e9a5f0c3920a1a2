//go:build cgo

package code

import (
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// lead gathers what stands before a declaration and belongs to it.
type lead struct {
	start, end int
	doc        connector.Span // the comments in it
	bound      bool           // holds more than comments: belongs to what follows whatever the distance
}

// sequence is a list of siblings in the making.
type sequence struct {
	t       *tree
	path    []string
	depth   int
	items   []decl
	pending *lead
}

// declarations are the top-level declarations of t.
func (t *tree) declarations() []decl {
	return t.sequence(0, nil, 0)
}

// sequence makes the declarations of the children of i, with comments that stand before it.
func (t *tree) sequence(i int, path []string, depth int, comments ...int) []decl {
	s := &sequence{t: t, path: path, depth: depth}
	for _, c := range comments {
		s.add(c)
	}
	s.addAll(i)
	s.flush()
	return s.items
}

func (s *sequence) addAll(i int) {
	for c := range s.t.children(i) {
		n := &s.t.nodes[c]
		if n.start >= n.end || !n.named && n.kind != errorKind {
			continue
		}
		if s.t.rules.through[s.t.nodes[i].kind] && (n.field == "name" || n.field == "condition" || n.field == "value") {
			continue // of the container itself: what an #if asks, the "C" of extern "C"
		}
		s.add(c)
	}
}

func (s *sequence) add(i int) {
	r, n := s.t.rules, &s.t.nodes[i]
	if name := s.t.packageName(i); name != "" && s.depth == 0 {
		s.path = []string{name}
	}
	if r.lead[n.kind] || r.leads != nil && r.leads(s.t, i) {
		s.addLead(n)
		return
	}
	if s.pending != nil && !s.pending.bound && blankBetween(s.t.text, s.pending.end, n.start) {
		s.flush()
	}
	switch {
	case s.throughable(i):
		s.splice(i)
	case n.kind == errorKind && strings.Contains(s.t.text[n.start:n.end], "\n"):
		s.broken(n)
	case r.imports[n.kind]:
		s.put(decl{symbol: connector.Symbol{Kind: "import"}, start: n.start, end: trimmed(s.t.text, n.start, n.end)})
	default:
		if d, ok := s.t.declaration(i, s.path, s.depth); ok {
			s.put(d)
		} else {
			s.put(s.t.statement(i, s.path, s.depth))
		}
	}
}

// broken adds text that did not parse and holds nothing that did, by its indentation.
func (s *sequence) broken(n *node) {
	for _, d := range blocks(s.t.text, lines(s.t.text, n.start, n.end), s.path, s.depth) {
		s.put(d)
	}
}

// packageName is the package or namespace that the rest of the file belongs to, if i says so; dots between its parts.
func (t *tree) packageName(i int) string {
	roles := t.rules.packages[t.nodes[i].kind]
	if len(roles) == 0 || t.child(i, "body") >= 0 {
		return ""
	}
	for c := range t.children(i) {
		n := &t.nodes[c]
		if n.named && (slices.Contains(roles, n.field) || slices.Contains(roles, n.kind)) {
			return strings.NewReplacer("\\", ".", "::", ".", " ", "").Replace(shorten(t.text[n.start:n.end]))
		}
	}
	return ""
}

// addLead notes a comment or an attribute for what follows. A comment at the end of a line belongs to what precedes it.
func (s *sequence) addLead(n *node) {
	comment := isComment(n.kind)
	end := trimmed(s.t.text, n.start, n.end)
	if last := len(s.items) - 1; comment && s.pending == nil && last >= 0 && !strings.Contains(s.t.text[s.items[last].end:max(n.start, s.items[last].end)], "\n") {
		s.items[last].end = max(end, s.items[last].end)
		return
	}
	if s.pending != nil && !s.pending.bound && blankBetween(s.t.text, s.pending.end, n.start) {
		s.flush()
	}
	if s.pending == nil {
		s.pending = &lead{start: n.start}
	}
	s.pending.end = end
	if !comment {
		s.pending.bound = true
		return
	}
	if s.pending.doc.Len() == 0 {
		s.pending.doc.Start = n.start
	}
	s.pending.doc.End = end
}

// flush makes a statement of comments that belong to nothing.
func (s *sequence) flush() {
	if p := s.pending; p != nil {
		s.pending = nil
		s.items = append(s.items, decl{symbol: statementSymbol(p.start, p.end), start: p.start, end: p.end})
	}
}

// throughable says that the children of i stand for it: it is a mere container, or broken text with declarations inside.
func (s *sequence) throughable(i int) bool {
	r, n := s.t.rules, &s.t.nodes[i]
	if r.through[n.kind] {
		return s.depth < maxNesting && i+1 < n.next
	}
	if n.kind != errorKind || s.depth >= maxNesting {
		return false
	}
	for c := range s.t.children(i) {
		k := s.t.nodes[c].kind
		if _, ok := r.decl[k]; ok || r.through[k] || r.wrap[k] || r.imports[k] {
			return true
		}
	}
	return false
}

// splice takes in the children of i. The text of i before the first and after the last of them goes with these.
func (s *sequence) splice(i int) {
	n := s.t.nodes[i]
	first, reach, pending := len(s.items), s.end(), s.pending
	s.depth++
	s.addAll(i)
	s.depth--
	switch {
	case len(s.items) > first:
		s.items[first].start = min(n.start, s.items[first].start)
	case s.end() == reach && s.pending == pending:
		s.put(s.t.statement(i, s.path, s.depth))
		return
	case s.end() == reach:
		return // nothing but comments
	}
	end := n.end
	if s.pending != nil { // a comment that belongs to what follows i
		end = max(min(end, s.pending.start), n.start)
	}
	last := &s.items[len(s.items)-1]
	last.end = max(trimmed(s.t.text, n.start, end), last.end)
}

// end is where the last item ends, -1 if there is none.
func (s *sequence) end() int {
	if len(s.items) == 0 {
		return -1
	}
	return s.items[len(s.items)-1].end
}

// put appends d with what leads to it, or joins it to the one before.
func (s *sequence) put(d decl) {
	if s.pending != nil {
		d.start = s.pending.start
		if d.symbol.Doc.Len() == 0 && d.symbol.Kind != "statement" {
			d.symbol.Doc = s.pending.doc
		}
	}
	hasLead := s.pending != nil
	s.pending = nil
	if len(s.items) == 0 {
		s.items = append(s.items, d)
		return
	}
	last := &s.items[len(s.items)-1]
	kind := last.symbol.Kind
	switch {
	case kind != d.symbol.Kind:
	case kind == "import" && !hasLead:
		last.end = d.end
		return
	case kind == "statement" && !blankBetween(s.t.text, last.end, d.start):
		if len(last.children) == 0 {
			last.children = []decl{*last}
		}
		last.children = append(last.children, d)
		last.end = d.end
		last.symbol.Body.End = d.end
		return
	case s.t.rules.equations && d.symbol.Name != "" && d.symbol.Name == last.symbol.Name && !hasLead:
		last.end = d.end
		last.symbol.Body.End = d.end
		return
	}
	s.items = append(s.items, d)
}
