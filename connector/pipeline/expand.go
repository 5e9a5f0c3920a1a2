package pipeline

import (
	"cmp"
	"context"
	"slices"

	"github.com/kbsync/kbsync/connector"
)

// What stands for a hit in an answer.
const (
	// ExpandAuto takes the parent where a chunk has one (of hierarchical, where enough children hit), and its window where it has one.
	ExpandAuto = "auto"
	// ExpandParent takes the parent, however few of its children hit.
	ExpandParent = "parent"
	// ExpandNeighbours adds the chunks before and behind.
	ExpandNeighbours = "neighbours"
	// ExpandWindow takes the window of a sentence.
	ExpandWindow = "window"
	// ExpandNone leaves hits as they are.
	ExpandNone = "none"
)

func expansions() []string {
	return []string{ExpandAuto, ExpandParent, ExpandNeighbours, ExpandWindow, ExpandNone}
}

const (
	// overfetch is how many hits are asked for, for each answer that may stand for several; then that many times more, up to mostHits.
	overfetch = 4
	mostHits  = 1024
	fetchIDs  = 128 // at a time
)

// expanded answers with what stands for the hits, q.K at most, the best hit first and nothing twice.
func (p *Pipeline) expanded(ctx context.Context, coll connector.Collection, q connector.Query, expand string) ([]Answer, error) {
	k := q.K
	hits, err := p.search(ctx, coll, q)
	if err != nil {
		return nil, err
	}
	x := &expansion{p: p, coll: coll, expand: expand, known: map[string]*connector.Record{}}
	if expand == ExpandNeighbours {
		return x.neighbours(ctx, hits)
	}
	if !x.concerns(hits) {
		out := make([]Answer, len(hits))
		for i := range hits {
			out[i] = answer(hits[i].Score, &hits[i].Record)
		}
		return out, nil
	}
	for want := overfetch * k; ; want *= overfetch {
		q.K = min(want, max(mostHits, k))
		if hits, err = p.search(ctx, coll, q); err != nil {
			return nil, err
		}
		out, err := x.answers(ctx, hits)
		if err != nil || len(out) >= k || len(hits) < q.K || q.K < want {
			return out[:min(k, len(out))], err
		}
	}
}

// expansion is what one question knows of the collection.
type expansion struct {
	p      *Pipeline
	coll   connector.Collection
	expand string
	known  map[string]*connector.Record // parents by id; nil for one that is not there
}

// concerns tells that something else than the hits may stand for them.
func (x *expansion) concerns(hits []connector.Hit) bool {
	for i := range hits {
		parent := x.expand != ExpandNone && x.expand != ExpandWindow && hits[i].ParentID != ""
		if _, window := x.window(&hits[i].Record); parent || window {
			return true
		}
	}
	return false
}

// found is a hit, or what stands for hits.
type found struct {
	record  *connector.Record
	score   float64
	rank    int // of the best hit
	matched []string
}

// merge makes f stand for g as well.
func (f *found) merge(g *found) {
	f.score = max(f.score, g.score)
	ids := g.matched
	if len(ids) == 0 {
		ids = []string{g.record.ChunkID}
	}
	if g.rank < f.rank {
		f.rank, f.matched = g.rank, append(slices.Clone(ids), f.matched...)
		return
	}
	f.matched = append(f.matched, ids...)
}

// answers are what stands for hits.
func (x *expansion) answers(ctx context.Context, hits []connector.Hit) ([]Answer, error) {
	set := map[string]*found{}
	for i := range hits {
		h := &hits[i]
		set[h.ChunkID] = &found{record: &h.Record, score: h.Score, rank: i}
	}
	if x.expand != ExpandWindow {
		if err := x.climb(ctx, set); err != nil {
			return nil, err
		}
		if err := x.absorb(ctx, set); err != nil {
			return nil, err
		}
	}
	list := byRank(set)
	slices.SortStableFunc(list, func(a, b *found) int { return cmp.Compare(b.score, a.score) })
	return x.write(list), nil
}

// write puts windows in place of sentences; a sentence that stands in a better one's window is left out.
func (x *expansion) write(list []*found) []Answer {
	type shown struct {
		at    int // in out
		start int
		end   int
	}
	var out []Answer
	windows := map[string][]shown{} // by document
	for _, f := range list {
		a := answer(f.score, f.record)
		a.Matched = f.matched
		text, ok := x.window(f.record)
		if !ok {
			out = append(out, a)
			continue
		}
		doc, at := f.record.DocID, -1
		for _, w := range windows[doc] {
			if s := f.record.Spans; len(s) > 0 && w.start <= s[0].Start && s[len(s)-1].End <= w.end {
				at = w.at
				break
			}
		}
		if at >= 0 {
			out[at].Matched = append(out[at].Matched, f.record.ChunkID)
			continue
		}
		windows[doc] = append(windows[doc], shown{len(out), number(f.record.Metadata["window_start"]), number(f.record.Metadata["window_end"])})
		a.Content, a.Matched = text, []string{f.record.ChunkID}
		out = append(out, a)
	}
	return out
}

// window is the text around a sentence, where it is asked for and there is one.
func (x *expansion) window(r *connector.Record) (string, bool) {
	if x.expand != ExpandAuto && x.expand != ExpandWindow {
		return "", false
	}
	w := text(r.Metadata["window"])
	return w, w != ""
}

// neighbours answers with every hit between the chunks before and behind it, in their order.
func (x *expansion) neighbours(ctx context.Context, hits []connector.Hit) ([]Answer, error) {
	var ids []string
	for i := range hits {
		x.known[hits[i].ChunkID] = &hits[i].Record
	}
	for i := range hits {
		ids = append(ids, text(hits[i].Metadata["prev_id"]), text(hits[i].Metadata["next_id"]))
	}
	if err := x.fetch(ctx, ids); err != nil {
		return nil, err
	}
	out := []Answer{}
	seen := map[string]bool{}
	for i := range hits {
		h := &hits[i]
		for _, id := range []string{text(h.Metadata["prev_id"]), h.ChunkID, text(h.Metadata["next_id"])} {
			if r := x.known[id]; r != nil && !seen[id] {
				seen[id] = true
				out = append(out, answer(h.Score, r))
			}
		}
	}
	return out, nil
}

// fetch makes records known, in few calls.
func (x *expansion) fetch(ctx context.Context, ids []string) error {
	var missing []string
	asked := map[string]bool{"": true}
	for _, id := range ids {
		if _, ok := x.known[id]; !ok && !asked[id] {
			asked[id] = true
			missing = append(missing, id)
		}
	}
	for batch := range slices.Chunk(missing, fetchIDs) {
		var points []connector.Point
		err := x.p.retry(ctx, "fetch from the sink", func() (err error) {
			points, err = x.coll.Fetch(ctx, batch, false)
			return err
		})
		if err != nil {
			return err
		}
		for _, id := range batch {
			x.known[id] = nil
		}
		for i := range points {
			x.known[points[i].ChunkID] = &points[i].Record
		}
	}
	return nil
}
