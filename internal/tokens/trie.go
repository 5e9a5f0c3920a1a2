package tokens

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// trie finds tokens by their bytes: a double array, in which the children of a
// node are the units at its base plus their byte. A unit has, from bit 23, one
// more than the byte that leads to it (or 0 where it is free), at bit 22
// whether it ends a token, and below the base of its children (or 0 where
// there are none). Nodes have different bases, so the byte alone tells whose
// child a unit is. It is the smallest form: encoding is as fast as the caches
// hold it.
type trie struct {
	units []uint32
	ids   []uint32 // the token of each unit that ends one
	root  uint32   // the base of the first bytes
}

const (
	unitLabel = 23
	unitEnds  = 1 << 22
	unitBase  = unitEnds - 1
)

// longest returns the longest token that s starts with, and its length. s must
// not be empty. There is a token for every byte.
func (t *trie) longest(s string) (uint32, int) {
	base := t.root
	var best uint32
	n := 0
	for i := 0; i < len(s); i++ {
		c := uint32(s[i])
		at := base + c
		u := t.units[at]
		if u>>unitLabel != c+1 {
			break
		}
		if u&unitEnds != 0 {
			best, n = at, i+1
		}
		if base = u & unitBase; base == 0 {
			break
		}
	}
	return t.ids[best], n
}

// trieBuilder places the nodes of a trie.
type trieBuilder struct {
	trie
	sorted   string     // the bytes of all tokens in their order
	tokens   []trieItem // the tokens in their order
	prefix   []uint32   // the result for vocab.prefix
	used     []uint64   // a bit for each base
	free     []uint64   // a bit for each free unit
	freshest uint32     // all units from here on are free
	hole     uint32     // the next free unit to try
}

type trieItem struct {
	key      uint64 // the first eight bytes
	id       uint32
	from, to uint32 // in sorted
}

// span is a node to be placed: the tokens that share their first depth bytes.
type span struct {
	lo, hi, depth uint32
	unit          uint32 // 0 for the root
	best          uint32 // the longest token on the way to the node, or none
}

// buildTrie sets trie and prefix. Nodes with many tokens go first, close to
// each other; then the tails of tokens that share them with none, in the order of
// the tokens, which is about that of their use.
func (v *vocab) buildTrie() {
	b := &trieBuilder{prefix: make([]uint32, v.size)}
	b.sort(v)
	b.grow(int(v.size)*2 + 1<<10)
	b.hole, b.freshest = 256, 256
	queue := []span{{hi: v.size, best: none}}
	tails := make([]span, v.size)
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		b.place(at, func(child span) {
			if child.hi-child.lo == 1 {
				tails[b.tokens[child.lo].id] = child
			} else {
				queue = append(queue, child)
			}
		})
	}
	b.hole = 256
	for _, at := range tails {
		if at.hi > 0 {
			b.tail(at)
		}
	}
	v.trie, v.prefix = b.trie, b.prefix
	v.trie.units = slices.Clone(v.trie.units[:b.freshest+256])
	v.trie.ids = slices.Clone(v.trie.ids[:b.freshest+256])
}

// sort puts the tokens in the order of their bytes.
func (b *trieBuilder) sort(v *vocab) {
	b.tokens = make([]trieItem, v.size)
	for t := range v.size {
		var first [8]byte
		copy(first[:], v.token(t))
		b.tokens[t] = trieItem{key: binary.BigEndian.Uint64(first[:]), id: t}
	}
	slices.SortFunc(b.tokens, func(x, y trieItem) int {
		if x.key != y.key {
			return cmp.Compare(x.key, y.key)
		}
		return strings.Compare(v.token(x.id), v.token(y.id))
	})
	var all strings.Builder
	all.Grow(len(v.bytes))
	for i := range b.tokens {
		b.tokens[i].from = uint32(all.Len())
		all.WriteString(v.token(b.tokens[i].id))
		b.tokens[i].to = uint32(all.Len())
	}
	b.sorted = all.String()
}

// place gives the node at its children and calls next for each.
func (b *trieBuilder) place(at span, next func(span)) {
	lo := at.lo
	if first := b.tokens[lo]; first.to-first.from == at.depth {
		b.ends(at, first.id)
		at.best = first.id
		lo++
	}
	var labels [256]byte
	var starts [257]uint32
	n := 0
	for i := lo; i < at.hi; i++ {
		c := b.sorted[b.tokens[i].from+at.depth]
		if n == 0 || labels[n-1] != c {
			labels[n], starts[n] = c, i
			n++
		}
	}
	starts[n] = at.hi
	if n == 0 {
		return
	}
	base := b.base(labels[:n])
	b.setBase(at.unit, base)
	for k, c := range labels[:n] {
		unit := base + uint32(c)
		b.take(unit, c)
		next(span{lo: starts[k], hi: starts[k+1], depth: at.depth + 1, unit: unit, best: at.best})
	}
}

// tail places the rest of the only token of a node.
func (b *trieBuilder) tail(at span) {
	item := b.tokens[at.lo]
	for from := item.from + at.depth; from < item.to; from++ {
		c := b.sorted[from]
		base := b.base([]byte{c})
		b.setBase(at.unit, base)
		at.unit = base + uint32(c)
		b.take(at.unit, c)
	}
	b.ends(at, item.id)
}

func (b *trieBuilder) ends(at span, token uint32) {
	b.units[at.unit] |= unitEnds
	b.ids[at.unit] = token
	b.prefix[token] = at.best
}

func (b *trieBuilder) setBase(unit, base uint32) {
	b.used[base>>6] |= 1 << (base & 63)
	if unit == 0 {
		b.root = base
		return
	}
	b.units[unit] |= base
}

// base finds a base that no node has, with the units of all labels free. It
// looks at a few holes from the last one on, then at the units not used yet.
func (b *trieBuilder) base(labels []byte) uint32 {
	if int(b.freshest)+1024 > len(b.units) {
		b.grow(len(b.units) * 2)
	}
	first := uint32(labels[0])
	f := b.nextFree(b.hole)
	for tries := 0; tries < 16 && f < b.freshest; tries++ {
		if f > first && b.fits(f-first, labels) {
			return f - first
		}
		b.hole = f
		f = b.nextFree(f + 1)
	}
	for f = max(f, b.freshest); ; f++ {
		if b.fits(f-first, labels) {
			return f - first
		}
	}
}

func (b *trieBuilder) fits(base uint32, labels []byte) bool {
	if b.used[base>>6]>>(base&63)&1 != 0 {
		return false
	}
	for _, c := range labels {
		if b.units[base+uint32(c)] != 0 {
			return false
		}
	}
	return true
}

// nextFree returns the first free unit from f on.
func (b *trieBuilder) nextFree(f uint32) uint32 {
	w := f >> 6
	for word := b.free[w] >> (f & 63) << (f & 63); ; word = b.free[w] {
		if word != 0 {
			return w<<6 + uint32(bits.TrailingZeros64(word))
		}
		w++
	}
}

// take marks the unit as the child by label c.
func (b *trieBuilder) take(unit uint32, c byte) {
	b.units[unit] = (uint32(c) + 1) << unitLabel
	b.free[unit>>6] &^= 1 << (unit & 63)
	b.freshest = max(b.freshest, unit+1)
}

// grow makes room for n units.
func (b *trieBuilder) grow(n int) {
	n = n &^ 63
	b.units = append(b.units, make([]uint32, n-len(b.units))...)
	b.ids = append(b.ids, make([]uint32, n-len(b.ids))...)
	b.used = append(b.used, make([]uint64, n>>6-len(b.used))...)
	for len(b.free) < n>>6 {
		b.free = append(b.free, ^uint64(0))
	}
}
