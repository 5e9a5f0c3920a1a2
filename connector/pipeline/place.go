package pipeline

import "iter"

// place is where a chunk stands in its document: its number among the chunks that are embedded, and the ids of those before and behind it,
// empty at the ends. What is only stored is numbered apart and has no neighbours: a chunk's neighbours are what is searched, not its parent.
type place struct {
	index      int
	prev, next string
}

// placedPiece is a piece at its place. number counts all pieces of the document.
type placedPiece struct {
	*piece
	place
	number int
}

// placed gives pieces their places. It holds back one that is embedded, and what is only stored behind it, until the next one comes.
func placed(pieces iter.Seq2[*piece, error]) iter.Seq2[*placedPiece, error] {
	return func(yield func(*placedPiece, error) bool) {
		var held []*placedPiece
		release := func(next string) bool {
			for _, x := range held {
				if !x.StoreOnly {
					x.next = next
				}
				if !yield(x, nil) {
					return false
				}
			}
			held = held[:0]
			return true
		}
		number, embedded, stored, prev := 0, 0, 0, ""
		for pc, err := range pieces {
			if err != nil {
				yield(nil, err)
				return
			}
			x := &placedPiece{piece: pc, number: number}
			number++
			if pc.StoreOnly {
				x.index = stored
				stored++
				held = append(held, x)
				continue
			}
			x.index, x.prev = embedded, prev
			embedded++
			if !release(pc.ID.String()) {
				return
			}
			held, prev = append(held, x), pc.ID.String()
		}
		release("")
	}
}
