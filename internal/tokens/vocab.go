package tokens

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// none stands for "no token".
const none = ^uint32(0)

// vocab is a vocabulary, ready for encoding. The nodes of its trie are numbered
// so that a node below size is the token of the same number; the rest are
// prefixes of tokens that are none themselves.
type vocab struct {
	size         uint32
	bytes        string      // the bytes of all tokens, one after another
	off          []uint32    // off[t] and off[t+1] bound token t in bytes
	length       []uint8     // the length of each token in bytes
	prefix       []uint32    // the longest token that is a proper prefix of each, or none
	split        [][2]uint32 // the two tokens that each was merged from; itself twice for a byte
	single       [256]uint32 // the token of each byte
	longestToken int         // in bytes
	first        []link      // the trie's node for every two bytes, or noLink
	edges        table       // the trie's deeper edges: node<<8|byte to link
	pairs        table       // the merges: pairKey to the merged token
	merges       []uint64    // a bit for the hash of each key in pairs, few others
}

// idBits is enough for the number of any token, nodeBits for any trie node.
const (
	idBits   = 18
	nodeBits = 20
	edgeBits = nodeBits + 16
)

// link is a trie node with a mask of 16 bits above nodeBits: the bits maskBit
// of all bytes that lead on from the node. Most ends of a walk show there.
type link uint64

// noLink leads nowhere.
const noLink = link(1<<nodeBits - 1)

func (l link) node() uint32 { return uint32(l) & (1<<nodeBits - 1) }

func (l link) leads(b byte) bool { return l&maskBit(b) != 0 }

func maskBit(b byte) link { return 1 << nodeBits << ((b ^ b>>4) & 15) }

// table is a hash table with open addressing from keys, none of them 0, to
// values of a fixed number of bits.
type table struct {
	slots []uint64
	shift uint // bits of a value
}

// pairKey is the key of two tokens in vocab.pairs.
func pairKey(left, right uint32) uint64 { return uint64(left+1)<<idBits | uint64(right) }

func newTable(n int, valueBits uint) table {
	return table{slots: make([]uint64, n*2+8), shift: valueBits}
}

// find returns the place of key in slots, or the empty place where it belongs.
func (t *table) find(key uint64) uint64 {
	h, _ := bits.Mul64(key*0x9E3779B97F4A7C15, uint64(len(t.slots)))
	for {
		if s := t.slots[h]; s>>t.shift == key || s == 0 {
			return h
		}
		if h++; h == uint64(len(t.slots)) {
			h = 0
		}
	}
}

// loadVocab reads the vocabulary file of that name from the embedded assets.
func loadVocab(file string) (*vocab, error) {
	data, err := assets.Assets.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("tokens: vocabulary: %w", err)
	}
	v, err := parseVocab(data)
	if err == nil {
		err = v.build()
	}
	if err != nil {
		return nil, fmt.Errorf("tokens: vocabulary %s: %w", file, err)
	}
	return v, nil
}

// parseVocab reads lines "base64 rank", in the order of the ranks from 0.
func parseVocab(data []byte) (*vocab, error) {
	var digit [256]uint8
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range digit {
		digit[i] = 0xFF
	}
	for i, c := range []byte(alphabet) {
		digit[c] = uint8(i)
	}
	v := &vocab{off: make([]uint32, 1, len(data)/16)}
	var all strings.Builder
	all.Grow(len(data) / 2)
	for p := 0; p < len(data); {
		var acc, have, rank uint32
		for ; p < len(data) && digit[data[p]] != 0xFF; p++ {
			acc = acc<<6 | uint32(digit[data[p]])
			if have += 6; have >= 8 {
				have -= 8
				all.WriteByte(byte(acc >> have))
			}
		}
		for p < len(data) && (data[p] == '=' || data[p] == ' ') {
			p++
		}
		for ; p < len(data) && data[p]-'0' < 10; p++ {
			rank = rank*10 + uint32(data[p]-'0')
		}
		if p == len(data) || data[p] != '\n' || rank != v.size {
			return nil, fmt.Errorf("line %d is not as expected", v.size+1)
		}
		p++
		size := uint32(all.Len()) - v.off[v.size]
		if size == 0 || size > 0xFF {
			return nil, fmt.Errorf("line %d has a token of %d bytes", v.size+1, size)
		}
		v.off = append(v.off, uint32(all.Len()))
		v.size++
	}
	if v.size >= 1<<idBits {
		return nil, fmt.Errorf("%d tokens are too many", v.size)
	}
	v.bytes = all.String()
	return v, nil
}

// token returns the bytes of token t.
func (v *vocab) token(t uint32) string { return v.bytes[v.off[t]:v.off[t+1]] }

// build makes the trie and the tables of merges.
func (v *vocab) build() error {
	v.length = make([]uint8, v.size)
	v.prefix = make([]uint32, v.size)
	v.first = make([]link, 1<<16)
	for i := range v.first {
		v.first[i] = noLink
	}
	for i := range v.single {
		v.single[i] = none
	}
	if err := v.buildTrie(v.byLength()); err != nil {
		return err
	}
	for b, t := range v.single {
		if t == none {
			return fmt.Errorf("no token for the byte %#02x", b)
		}
	}
	return v.buildMerges()
}

// byLength returns the tokens in the order of their lengths, and sets length.
func (v *vocab) byLength() []uint32 {
	var start [257]int
	for t := range v.size {
		v.length[t] = uint8(v.off[t+1] - v.off[t])
		start[int(v.length[t])+1]++
		v.longestToken = max(v.longestToken, int(v.length[t]))
	}
	for i := 1; i < len(start); i++ {
		start[i] += start[i-1]
	}
	order := make([]uint32, v.size)
	for t := range v.size {
		n := &start[v.length[t]]
		order[*n] = t
		*n++
	}
	return order
}

// buildTrie adds the tokens, shortest first: so every token on the way to
// another is there already, under its own number.
func (v *vocab) buildTrie(order []uint32) error {
	v.edges = newTable(len(v.bytes)/3, edgeBits)
	next := v.size
	for _, t := range order {
		s := v.token(t)
		best := v.single[s[0]]
		if len(s) == 1 {
			v.single[s[0]], v.prefix[t] = t, none
			continue
		}
		at := &v.first[int(s[0])<<8|int(s[1])]
		if *at == noLink {
			*at, next = link(next), next+1
			if len(s) == 2 {
				*at, next = link(t), next-1
			}
		}
		for i := 2; i < len(s); i++ {
			from := at.node()
			if from < v.size {
				best = from
			}
			*at |= maskBit(s[i])
			key := uint64(from)<<8 | uint64(s[i])
			slot := &v.edges.slots[v.edges.find(key)]
			if *slot == 0 {
				to := t
				if i < len(s)-1 {
					to, next = next, next+1
				}
				*slot = key<<edgeBits | uint64(to)
			}
			at = (*link)(slot)
		}
		if at.node() != t {
			return fmt.Errorf("token %d is there twice", t)
		}
		v.prefix[t] = best
	}
	if next >= noLink.node() {
		return errors.New("too many prefixes")
	}
	return nil
}

// buildMerges finds, for each token, the two tokens that byte-pair encoding
// merges into it: among the ways to cut it into two tokens of lower rank, the
// one whose halves are what encoding makes of their place.
func (v *vocab) buildMerges() error {
	v.split = make([][2]uint32, v.size)
	v.pairs = newTable(int(v.size), idBits)
	v.merges = make([]uint64, mergeWords)
	for t := range v.size {
		v.split[t] = [2]uint32{t, t}
		s := v.token(t)
		left := v.prefix[t]
		for ; left != none; left = v.prefix[left] {
			if left >= t {
				continue
			}
			right := v.lookup(s[v.length[left]:])
			if right < t && v.joins(left, right) {
				v.split[t] = [2]uint32{left, right}
				v.addMerge(left, right, t)
				break
			}
		}
		if left == none && len(s) > 1 {
			return fmt.Errorf("token %d is not a merge of two others", t)
		}
	}
	return nil
}

// mergeWords is the size of vocab.merges: small enough for a fast cache, and
// large enough for nine in ten of the pairs that are no merge.
const mergeWords = 1 << 15

// mergeBit returns the place of a key of pairs in vocab.merges.
func mergeBit(key uint64) (word, bit uint64) {
	h := key * 0xD6E8FEB86659FD93
	return h >> (64 - 15), h >> 40 & 63
}

func (v *vocab) addMerge(left, right, merged uint32) {
	key := pairKey(left, right)
	v.pairs.slots[v.pairs.find(key)] = key<<idBits | uint64(merged)
	word, bit := mergeBit(key)
	v.merges[word] |= 1 << bit
}

// merge returns the token that left and right merge into, or none.
func (v *vocab) merge(left, right uint32) uint32 {
	key := pairKey(left, right)
	if word, bit := mergeBit(key); v.merges[word]>>bit&1 == 0 {
		return none
	}
	if s := v.pairs.slots[v.pairs.find(key)]; s != 0 {
		return uint32(s & (1<<idBits - 1))
	}
	return none
}

// lookup returns the token with exactly these bytes, or none.
func (v *vocab) lookup(s string) uint32 {
	if t, n := v.longest(s); n == len(s) {
		return t
	}
	return none
}

// longest returns the longest token that s starts with, and its length. s must
// not be empty.
func (v *vocab) longest(s string) (uint32, int) {
	best, n := v.single[s[0]], 1
	if len(s) < 2 {
		return best, n
	}
	at := v.first[int(s[0])<<8|int(s[1])]
	if at == noLink {
		return best, n
	}
	for i := 2; ; i++ {
		if node := at.node(); node < v.size {
			best, n = node, i
		}
		if i >= len(s) || !at.leads(s[i]) {
			return best, n
		}
		slot := v.edges.slots[v.edges.find(uint64(at.node())<<8|uint64(s[i]))]
		if slot == 0 {
			return best, n
		}
		at = link(slot)
	}
}
