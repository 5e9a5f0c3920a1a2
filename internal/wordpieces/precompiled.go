package wordpieces

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"unicode/utf8"
)

// ParseCharsmap reads SentencePiece's precompiled_charsmap: the length of a double array (darts-clone), the array, and the
// strings that characters become, each ended by a zero. Of its keys only single characters are returned: the others are sequences
// with a composed form.
func ParseCharsmap(raw []byte) ([]Mapping, error) {
	if len(raw) < 4 {
		return nil, errors.New("wordpieces: the map of characters is cut off")
	}
	size := binary.LittleEndian.Uint32(raw)
	if uint64(size) > uint64(len(raw)-4) {
		return nil, errors.New("wordpieces: the map of characters is cut off")
	}
	units, strs := raw[4:4+size], raw[4+size:]
	unit := func(i uint32) uint32 {
		if uint64(i)*4+4 > uint64(len(units)) {
			return 1 << 31 // has a label that no byte has
		}
		return binary.LittleEndian.Uint32(units[4*i:])
	}
	// As in darts-clone, a unit holds its label in the low byte, a flag for a value, and the offset to its children.
	offset := func(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }
	var table []Mapping
	var key [utf8.UTFMax]byte
	var walk func(at uint32, depth int)
	walk = func(at uint32, depth int) {
		u := unit(at)
		children := at ^ offset(u)
		if r, n := utf8.DecodeRune(key[:depth]); u>>8&1 == 1 && depth > 0 && n == depth && r != utf8.RuneError || depth == 3 && string(key[:3]) == "\uFFFD" && u>>8&1 == 1 {
			from := unit(children) &^ (1 << 31)
			if to, ok := cString(strs, from); ok {
				table = append(table, Mapping{From: r, To: to})
			}
		}
		if depth == len(key) || depth > 0 && utf8.FullRune(key[:depth]) {
			return
		}
		for c := 1; c < 256; c++ {
			if next := children ^ uint32(c); unit(next)&(1<<31|0xff) == uint32(c) {
				key[depth] = byte(c)
				walk(next, depth+1)
			}
		}
	}
	walk(0, 0)
	slices.SortFunc(table, func(a, b Mapping) int { return cmp.Compare(a.From, b.From) })
	return slices.CompactFunc(table, func(a, b Mapping) bool { return a.From == b.From }), nil
}

// cString is the string at a place, up to the zero that ends it.
func cString(strs []byte, at uint32) (string, bool) {
	if uint64(at) >= uint64(len(strs)) {
		return "", false
	}
	end := slices.Index(strs[at:], 0)
	if end < 0 {
		return "", false
	}
	return string(strs[at : int(at)+end]), true
}
