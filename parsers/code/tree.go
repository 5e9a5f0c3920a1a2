//go:build cgo

package code

import "strings"

// node is one node of a syntax tree in pre-order. Only nodes that the rules ask for, and large ones, have their children with them.
type node struct {
	kind       string
	field      string // the role it has in its parent
	named      bool   // not a mere token
	start, end int
	next       int // the node after this one and all below it
}

// errorKind is what the parser calls text that it could not place.
const errorKind = "ERROR"

// tree is the flattened syntax tree of one text; nodes[0] is the root.
type tree struct {
	text  string
	nodes []node
	rules *rules
	inner func(language string, lo, hi int) []decl // divides a part in another language
}

// children yields the direct children of i.
func (t *tree) children(i int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for c := i + 1; c < t.nodes[i].next; c = t.nodes[c].next {
			if !yield(c) {
				return
			}
		}
	}
}

// child is the first child of i that has the given role or kind, or -1.
func (t *tree) child(i int, want string) int {
	for c := range t.children(i) {
		if t.nodes[c].field == want || t.nodes[c].kind == want {
			return c
		}
	}
	return -1
}

// find follows a path of roles or kinds, separated by dots, below i; -1 if it leads nowhere.
func (t *tree) find(i int, path string) int {
	for path != "" && i >= 0 {
		step, rest, _ := strings.Cut(path, ".")
		i, path = t.child(i, step), rest
	}
	return i
}

// name is the declared name of i by the first path that leads somewhere.
func (t *tree) name(i int, paths []string) string {
	for _, p := range paths {
		c := t.find(i, p)
		if c < 0 {
			continue
		}
		for {
			inner := t.child(c, "declarator")
			if inner < 0 {
				break
			}
			c = inner
		}
		return shorten(unquoted(t.text[t.nodes[c].start:t.nodes[c].end]))
	}
	return ""
}

// unquoted is a name without the quotes around it.
func unquoted(s string) string {
	if n := len(s); n > 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}

// blankBetween says that an empty line stands between two places.
func blankBetween(text string, from, to int) bool {
	if from >= to {
		return false
	}
	from = trimmed(text, 0, from)
	return strings.Count(text[from:to], "\n") > 1
}
