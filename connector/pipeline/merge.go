package pipeline

import (
	"context"
	"maps"
	"slices"
)

// climb puts parents in place of hits: in mode parent the next one of each, else all that are due, from the bottom up, as LlamaIndex's
// AutoMergingRetriever does. A parent that is not there leaves its children.
func (x *expansion) climb(ctx context.Context, set map[string]*found) error {
	for {
		kids := map[string][]*found{}
		var ids []string
		for _, f := range byRank(set) {
			if id := f.record.ParentID; id != "" {
				kids[id] = append(kids[id], f)
				ids = append(ids, id)
			}
		}
		if err := x.fetch(ctx, ids); err != nil {
			return err
		}
		merged := false
		for _, id := range ids {
			list := kids[id]
			delete(kids, id)
			parent := x.known[id]
			if parent == nil || len(list) == 0 || x.expand == ExpandAuto && !due(parent.Metadata["merge_ratio"], parent.Metadata["children"], len(list)) {
				continue
			}
			up := set[id]
			if up == nil {
				up = &found{record: parent, score: list[0].score, rank: list[0].rank}
			}
			for _, f := range list {
				delete(set, f.record.ChunkID)
				up.merge(f)
			}
			set[id], merged = up, true
		}
		if !merged || x.expand == ExpandParent {
			return nil
		}
	}
}

// due tells that enough of a parent's children hit: any, or more than the share that the parent names.
func due(ratio, children any, hit int) bool {
	share, ok := ratio.(float64)
	if !ok {
		share = float64(number(ratio))
	}
	return share <= 0 || float64(hit) > share*float64(number(children))
}

// absorb removes what lies inside something else of the set: no text is returned twice.
func (x *expansion) absorb(ctx context.Context, set map[string]*found) error {
	for {
		var unknown []string
		for _, f := range byRank(set) {
			for up := f.record.ParentID; up != ""; {
				if above := set[up]; above != nil {
					above.merge(f)
					delete(set, f.record.ChunkID)
					break
				}
				r, ok := x.known[up]
				if !ok {
					unknown = append(unknown, up)
				}
				if r == nil {
					break
				}
				up = r.ParentID
			}
		}
		if len(unknown) == 0 {
			break
		}
		if err := x.fetch(ctx, unknown); err != nil {
			return err
		}
	}
	return nil
}

// byRank is the set in the order of its best hits.
func byRank(set map[string]*found) []*found {
	return slices.SortedFunc(maps.Values(set), func(a, b *found) int { return a.rank - b.rank })
}
