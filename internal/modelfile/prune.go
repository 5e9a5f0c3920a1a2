package modelfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/internal/wordpieces"
)

// Prune returns the model without the pieces that keep refuses, and without the rows of the word table that no piece has. Special
// tokens stay, and so does every piece of one character, so that no character becomes unknown. The pieces that are left are sorted, which
// makes loading faster; the score of unknown characters stays what it was. Everything else is shared with m.
func (m *Model) Prune(keep func(piece string) bool) (*Model, error) {
	words, err := m.Tensor(WordTable)
	if err != nil {
		return nil, err
	}
	stride := words.Encoding.Size(1, words.Cols)
	if words.Encoding == Q8 {
		return nil, fmt.Errorf("modelfile: prune: the word table is in q8: prune before it is made so")
	}
	v := m.Vocabulary
	special := []int32{v.Begin, v.End, v.Pad, v.Unknown}
	special = append(special, v.Others...)
	ids := slices.Clone(special)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	fixed := len(ids)
	for i, p := range v.Pieces {
		if id := int32(i); !slices.Contains(special, id) && (single(p) || keep(p)) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids[fixed:], func(a, b int32) int { return cmp.Or(strings.Compare(v.Pieces[a], v.Pieces[b]), cmp.Compare(a, b)) })

	out := &Model{Config: m.Config, Tensors: slices.Clone(m.Tensors), Vocabulary: v}
	to := map[int32]int32{}
	o := &out.Vocabulary
	o.Pieces, o.Scores, o.Others = make([]string, 0, len(ids)), nil, nil
	table := make([]byte, 0, len(ids)*stride)
	for i, id := range ids {
		to[id] = int32(i)
		o.Pieces = append(o.Pieces, v.Pieces[id])
		if len(v.Scores) > 0 {
			o.Scores = append(o.Scores, v.Scores[id])
		}
		table = append(table, words.Data[int(id)*stride:(int(id)+1)*stride]...)
	}
	o.Begin, o.End, o.Pad, o.Unknown = to[v.Begin], to[v.End], to[v.Pad], to[v.Unknown]
	for _, id := range v.Others {
		o.Others = append(o.Others, to[id])
	}
	out.Config.Vocabulary = len(ids)
	for i := range out.Tensors {
		if t := &out.Tensors[i]; t.Name == WordTable {
			t.Rows, t.Data = len(ids), table
		}
	}
	return out, out.Validate()
}

// single says whether a piece is one character, with or without the mark of a word's place.
func single(piece string) bool { return utf8.RuneCountInString(bare(piece)) <= 1 }

func bare(piece string) string {
	return strings.TrimPrefix(strings.TrimPrefix(piece, wordpieces.Mark), "##")
}

// Scripts are sets of pieces for Prune, named for what they hold.
func Scripts(names []string) (func(piece string) bool, error) {
	var tables []*unicode.RangeTable
	for _, name := range names {
		table, ok := unicode.Scripts[name]
		if !ok {
			return nil, fmt.Errorf("modelfile: no script %q: the names are those of Unicode, such as Latin, Han or Cyrillic", name)
		}
		tables = append(tables, table)
	}
	tables = append(tables, unicode.Common, unicode.Inherited)
	return func(piece string) bool {
		for _, r := range bare(piece) {
			if !unicode.In(r, tables...) {
				return false
			}
		}
		return true
	}, nil
}

// Shrink leaves out the rarest pieces of several characters that are neither Latin nor Han until the file has at most limit bytes.
func (m *Model) Shrink(limit int64) (*Model, error) {
	size, err := m.Size()
	if err != nil || size <= limit {
		return m, err
	}
	main, err := Scripts([]string{"Latin", "Han"})
	if err != nil {
		return nil, err
	}
	v := &m.Vocabulary
	var rare []int32
	for i, p := range v.Pieces {
		if len(v.Scores) > 0 && !single(p) && !main(p) {
			rare = append(rare, int32(i))
		}
	}
	slices.SortFunc(rare, func(a, b int32) int { return cmp.Or(cmp.Compare(v.Scores[a], v.Scores[b]), cmp.Compare(a, b)) })
	words, err := m.Tensor(WordTable)
	if err != nil {
		return nil, err
	}
	drop := map[string]bool{}
	for _, id := range rare {
		if size <= limit-4096 { // what padding and the metadata may change
			break
		}
		drop[v.Pieces[id]] = true
		size -= int64(words.Encoding.Size(1, words.Cols) + len(v.Pieces[id]) + 6)
	}
	if size > limit-4096 {
		return nil, fmt.Errorf("modelfile: %d bytes are too few for the Latin and Han pieces: want %d or more", limit, size+4096)
	}
	return m.Prune(func(p string) bool { return !drop[p] })
}
