package tokens

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// none stands for "no token".
const none = ^uint32(0)

// vocab is a vocabulary, ready for encoding.
type vocab struct {
	trie
	size    uint32
	most    int      // the length in bytes of the longest token
	bytes   string   // the bytes of all tokens, one after another
	off     []uint32 // off[t] and off[t+1] bound token t in bytes
	length  []uint8  // the length of each token in bytes
	prefix  []uint32 // the longest token that is a proper prefix of each, or none
	left    []uint32 // the two tokens that each was merged from; itself for a byte
	right   []uint32
	merges  []uint32 // a hash table of the merged tokens, see merge
	mergers []uint64 // says of nearly all pairs that they do not merge, see merge
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
	for t := range v.size {
		v.length[t] = uint8(v.off[t+1] - v.off[t])
		v.most = max(v.most, int(v.length[t]))
	}
	v.buildTrie()
	for b := range 256 {
		if _, n := v.longest(string([]byte{byte(b)})); n == 0 {
			return fmt.Errorf("no token for the byte %#02x", b)
		}
	}
	return v.buildMerges()
}

// buildMerges finds, for each token, the two tokens that byte-pair encoding
// merges into it: among the ways to cut it into two tokens of lower rank, the
// one whose halves are what encoding makes of their place.
func (v *vocab) buildMerges() error {
	v.left, v.right = make([]uint32, v.size), make([]uint32, v.size)
	v.merges = make([]uint32, v.size*2)
	v.mergers = make([]uint64, mergerWords)
	for t := range v.size {
		v.left[t], v.right[t] = t, t
		s := v.token(t)
		left := v.prefix[t]
		for ; left != none; left = v.prefix[left] {
			if left >= t {
				continue
			}
			right := v.lookup(s[v.length[left]:])
			if right < t && v.joins(left, right) {
				v.left[t], v.right[t] = left, right
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

// mergerWords is the size of vocab.mergers, a Bloom filter: small enough for a
// fast cache, and large enough for nearly all pairs that do not merge.
const mergerWords = 1 << 14

// mergerMask returns the word of vocab.mergers and the bits for a hash.
func mergerMask(hash uint64) (word, mask uint64) {
	return hash >> (64 - 14), 1<<(hash>>44&63) | 1<<(hash>>38&63)
}

// idBits is enough for the number of any token. The rest of a slot of
// vocab.merges is some of the hash, with one bit always set.
const idBits = 18

func mergeHash(left, right uint32) uint64 {
	return (uint64(left)<<32 | uint64(right)) * 0x9E3779B97F4A7C15
}

// mergeSlot returns where a search for the hash in merges starts, and the upper
// bits of the slot.
func (v *vocab) mergeSlot(hash uint64) (at uint64, tag uint32) {
	at, _ = bits.Mul64(hash, uint64(len(v.merges)))
	return at, uint32(hash>>16)>>idBits<<idBits | 1<<31
}

func (v *vocab) addMerge(left, right, merged uint32) {
	hash := mergeHash(left, right)
	word, mask := mergerMask(hash)
	v.mergers[word] |= mask
	at, tag := v.mergeSlot(hash)
	for v.merges[at] != 0 {
		if at++; at == uint64(len(v.merges)) {
			at = 0
		}
	}
	v.merges[at] = tag | merged
}

// merge returns the token that left and right merge into, or none.
func (v *vocab) merge(left, right uint32) uint32 {
	hash := mergeHash(left, right)
	if word, mask := mergerMask(hash); v.mergers[word]&mask != mask {
		return none
	}
	for at, tag := v.mergeSlot(hash); ; {
		slot := v.merges[at]
		if slot == 0 {
			return none
		}
		if slot>>idBits == tag>>idBits {
			if t := slot & (1<<idBits - 1); v.left[t] == left && v.right[t] == right {
				return t
			}
		}
		if at++; at == uint64(len(v.merges)) {
			at = 0
		}
	}
}

// lookup returns the token with exactly these bytes, or none.
func (v *vocab) lookup(s string) uint32 {
	if t, n := v.longest(s); n == len(s) {
		return t
	}
	return none
}
