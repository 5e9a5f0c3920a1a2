package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/internal/keywords"
)

// RelatedOptions are a question to the keyword index.
type RelatedOptions struct {
	// Text is the id of a chunk, or a text.
	Text string
	K    int // 0 means 5
}

// RelatedAnswer is a chunk that shares keywords with the question. Its score is the share of the question's keywords, weighted by how few
// chunks have each, that it has: from above 0 to 1.
type RelatedAnswer struct {
	Answer
	// Shared are the keywords that it shares, the chunk's best first.
	Shared []string `json:"shared"`
}

// errNoKeywordIndex says that no sync has found keywords yet.
var errNoKeywordIndex = &GuardError{"there is no index of keywords yet: run kbsync sync"}

const (
	// relatedWords times the keywords of a chunk are taken of a text: it is looked up, not stored.
	relatedWords = 4
	// relatedMost bounds the keywords of a question: those of the fewest chunks count.
	relatedMost = 256
	// relatedUnit is 1 in the index's whole-numbered weights.
	relatedUnit = 1 << 16
)

// Related finds chunks of other documents that share keywords with a chunk, or chunks that share keywords with a text. It asks the ledger, and the
// sink for what it answers with; nothing is embedded.
func (p *Pipeline) Related(ctx context.Context, opts RelatedOptions) ([]RelatedAnswer, error) {
	if strings.TrimSpace(opts.Text) == "" {
		return nil, UsageErrorf("name a chunk by its id, or give a text")
	}
	if p.router.words == nil {
		return nil, UsageErrorf("the configuration asks for no keywords: add keywords: { top: 5 } and run kbsync sync")
	}
	if opts.K <= 0 {
		opts.K = 5
	}
	coll, err := p.live(ctx)
	if err != nil {
		return nil, err
	}
	l, err := p.openLedger(ctx, true)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = errNoKeywordIndex
		}
		return nil, err
	}
	defer func() { _ = l.Close() }()
	t, ok, err := l.FindTarget(ctx, p.sink.Target(), coll.Schema().Generation)
	if err == nil && ok {
		ok, err = t.HasKeywords(ctx)
	}
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errNoKeywordIndex
	}
	q := &relatedQuery{p: p, t: t, coll: coll}
	if err := q.read(ctx, opts.Text); err != nil {
		return nil, err
	}
	return q.answers(ctx, opts.K)
}

// relatedQuery is one question.
type relatedQuery struct {
	p       *Pipeline
	t       *ledger.Target
	coll    connector.Collection
	keys    []string // of the question
	without int64    // the document that it is from
}

// read finds the question's keywords: those that a chunk has, or those of a text.
func (q *relatedQuery) read(ctx context.Context, question string) error {
	if id, err := connector.ParseUUID(strings.TrimSpace(question)); err == nil {
		points, err := q.fetch(ctx, []string{id.String()})
		if err != nil {
			return err
		}
		if len(points) == 0 {
			return UsageErrorf("there is no chunk %s: kbsync query and kbsync export show the ids", id)
		}
		r := &points[0].Record
		d, ok, err := q.t.Doc(ctx, r.Source, r.Path)
		if err != nil {
			return err
		}
		if ok {
			q.without = d.N
		}
		if q.keys = indexed(r); len(q.keys) > 0 {
			return nil
		}
		question = r.Content // a parent has no keywords of its own
	}
	e, err := q.p.router.words.open()
	if err != nil {
		return err
	}
	for _, word := range e.Of(question, relatedWords*q.p.router.words.top) {
		q.keys = append(q.keys, keywords.Key(word))
	}
	for _, key := range keywords.Probes(question) {
		if !slices.Contains(q.keys, key) {
			q.keys = append(q.keys, key)
		}
	}
	return nil
}

func (q *relatedQuery) fetch(ctx context.Context, ids []string) (points []connector.Point, err error) {
	err = q.p.retry(ctx, "fetch from the sink", func() (err error) {
		points, err = q.coll.Fetch(ctx, ids, false)
		return err
	})
	return points, err
}

// weights are the inverse document frequencies of the keys that the index has, in the form of BM25, which is never negative (Lucene).
func (q *relatedQuery) weights(ctx context.Context) (map[string]int64, error) {
	counts, err := q.t.KeywordCounts(ctx, q.keys)
	if err != nil {
		return nil, err
	}
	total, err := q.t.Counts(ctx)
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(counts))
	for key := range counts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(counts[a], counts[b]), cmp.Compare(a, b)) })
	weights := map[string]int64{}
	for _, key := range keys[:min(len(keys), relatedMost)] {
		n := float64(counts[key])
		all := max(float64(total.Chunks), n)
		weights[key] = max(1, int64(math.Round(relatedUnit*math.Log(1+(all-n+0.5)/(n+0.5)))))
	}
	return weights, nil
}

func (q *relatedQuery) answers(ctx context.Context, k int) ([]RelatedAnswer, error) {
	weights, err := q.weights(ctx)
	if err != nil {
		return nil, err
	}
	var total int64
	for _, w := range weights {
		total += w
	}
	found, err := q.t.Related(ctx, weights, q.without, k)
	if err != nil || len(found) == 0 {
		return []RelatedAnswer{}, err
	}
	ids := make([]string, len(found))
	score := map[string]float64{}
	for i := range found {
		ids[i] = found[i].ID.String()
		score[ids[i]] = math.Round(float64(found[i].Weight)/float64(total)*1e4) / 1e4
	}
	points, err := q.fetch(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]RelatedAnswer, 0, len(points))
	for i := range points {
		r := &points[i].Record
		a := RelatedAnswer{Answer: answer(score[r.ChunkID], r), Shared: []string{}}
		for _, word := range keywordsOf(r) {
			if weights[keywords.Key(word)] > 0 {
				a.Shared = append(a.Shared, word)
			}
		}
		out = append(out, a)
	}
	if len(out) < len(found) {
		return out, fmt.Errorf("the sink lacks %d of the chunks that the ledger knows: run kbsync verify --repair", len(found)-len(out))
	}
	return out, nil
}
