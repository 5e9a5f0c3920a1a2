package wordpieces

import (
	"cmp"
	"slices"
	"strings"
)

// maxPiece bounds the bytes of a piece, and with them the work at one place of a text and the depth of the trie.
const maxPiece = 512

// cell is a node of the trie. A node's child for byte c lies at base+c, if that cell names the node as its parent.
type cell struct {
	base   int32
	parent int32 // -1 where the cell is free
	id     int32 // the piece that ends here, -1 if none
}

// trie finds the pieces that begin at a place of a text: a double array (Aoe 1989), in which a step is one look into memory.
type trie struct {
	cells []cell
	free  int // no cell before it is free, but for the first 256
	wide  int // where nodes of several children look for room
}

// entry is a piece and its id while the trie is built.
type entry struct {
	key string
	id  int32
}

// newTrie holds the entries, which it sorts; of equal keys the first one counts.
func newTrie(entries []entry) *trie {
	order := func(a, b entry) int { return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.id, b.id)) }
	if !slices.IsSortedFunc(entries, order) {
		slices.SortFunc(entries, order)
	}
	t := &trie{}
	n := nodes(entries)
	t.cells = make([]cell, 0, n+n/16+1024) // some cells between nodes of many children stay free
	t.grow(256)
	t.cells[0].parent = 0
	t.free, t.wide = 1, 1
	t.build(0, entries, 0, make([]byte, 0, 256*8))
	return t
}

// nodes counts the nodes that sorted entries need.
func nodes(entries []entry) int {
	n, last := 1, ""
	for _, e := range entries {
		shared := 0
		for shared < min(len(last), len(e.key)) && last[shared] == e.key[shared] {
			shared++
		}
		n += len(e.key) - shared
		last = e.key
	}
	return n
}

func (t *trie) grow(to int) {
	for len(t.cells) < to {
		t.cells = append(t.cells, cell{parent: -1, id: -1})
	}
}

// build makes the children of a node, whose entries all begin with the same depth bytes. Labels is room for the labels of the nodes
// above; it is used as a stack.
func (t *trie) build(node int, entries []entry, depth int, labels []byte) {
	for len(entries) > 0 && len(entries[0].key) == depth {
		if t.cells[node].id < 0 {
			t.cells[node].id = entries[0].id
		}
		entries = entries[1:]
	}
	from := len(labels)
	for i := range entries {
		if c := entries[i].key[depth]; len(labels) == from || labels[len(labels)-1] != c {
			labels = append(labels, c)
		}
	}
	mine := labels[from:]
	if len(mine) == 0 {
		return
	}
	base := t.place(mine)
	t.cells[node].base = int32(base)
	for _, c := range mine {
		t.cells[base+int(c)].parent = int32(node)
	}
	for i := 0; i < len(entries); {
		c, j := entries[i].key[depth], i+1
		for j < len(entries) && entries[j].key[depth] == c {
			j++
		}
		t.build(base+int(c), entries[i:j], depth+1, labels)
		i = j
	}
}

// place finds a base for which the cells of all labels are free. Single labels, which most nodes have, take the first free cell; for
// several the search begins where the last ones ended that took long, so that building stays linear.
func (t *trie) place(labels []byte) int {
	first := int(labels[0])
	from := &t.free
	if len(labels) > 1 {
		from = &t.wide
	}
	at := max(*from, first+1)
	for tries := 0; ; at++ {
		t.grow(at - first + 257)
		if t.cells[at].parent >= 0 {
			tries++
			continue
		}
		if !t.fits(at-first, labels[1:]) {
			tries++
			continue
		}
		if len(labels) == 1 && at > first+1 || tries > 32 {
			*from = at
		}
		return at - first
	}
}

func (t *trie) fits(base int, labels []byte) bool {
	for _, c := range labels {
		if t.cells[base+int(c)].parent >= 0 {
			return false
		}
	}
	return true
}

// step follows a byte from a node, from the root if that is 0; it returns -1 if no piece goes on so.
func (t *trie) step(node int32, c byte) int32 {
	next := t.cells[node].base + int32(c)
	if uint(next) < uint(len(t.cells)) && t.cells[next].parent == node && next != 0 {
		return next
	}
	return -1
}

// id is the piece that ends in a node, -1 if none.
func (t *trie) id(node int32) int32 { return t.cells[node].id }
