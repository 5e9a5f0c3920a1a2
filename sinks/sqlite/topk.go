package sqlite

import (
	"cmp"
	"slices"
)

// scored is a slot with its score; higher is better.
type scored struct {
	slot  int64
	score float64
}

// topK keeps the k best of a stream, and every one that ties with the k-th: which of those are hits is decided by
// their ids, which the stream does not know.
type topK struct {
	k       int
	list    []scored
	least   float64 // nothing below can be among the best; valid once full
	full    bool
	compact int // length at which the list is cut back next
}

func newTopK(k int) *topK { return &topK{k: k, compact: 2*k + 1024} }

func (t *topK) add(slot int64, score float64) {
	if t.full && score < t.least {
		return
	}
	t.list = append(t.list, scored{slot, score})
	if len(t.list) >= t.compact {
		t.cut()
		t.compact = 2*len(t.list) + 1024 // ties may keep it long: cut again only after it doubled
	}
}

// cut sorts, best first, and drops what is worse than the k-th.
func (t *topK) cut() {
	slices.SortFunc(t.list, func(a, b scored) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return cmp.Compare(a.slot, b.slot)
	})
	if len(t.list) < t.k || t.k == 0 {
		return
	}
	t.full, t.least = true, t.list[t.k-1].score
	end := t.k
	for end < len(t.list) && t.list[end].score == t.least {
		end++
	}
	t.list = t.list[:end]
}

// merge joins lists that were kept apart.
func merge(parts []*topK) []scored {
	if len(parts) == 0 {
		return nil
	}
	all := parts[0]
	for _, p := range parts[1:] {
		all.list = append(all.list, p.list...)
	}
	all.cut()
	return all.list
}
