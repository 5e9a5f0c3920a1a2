package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// QueryOptions are a question.
type QueryOptions struct {
	Text   string
	K      int                  // 0 means 5
	Mode   connector.SearchMode // empty means hybrid where the sink can, else dense
	Filter connector.Filter
	Fusion connector.Fusion
	// Exact compares with every vector where the sink can.
	Exact bool
	// Expand is what stands for a hit in the answer: one of the Expand constants; empty means [ExpandAuto].
	Expand string
}

// Answer is a hit as `kbsync query` prints it.
type Answer struct {
	Score     float64        `json:"score"`
	ChunkID   string         `json:"chunk_id"`
	Source    string         `json:"source"`
	Path      string         `json:"path"`
	Section   string         `json:"section"`
	Page      int            `json:"page"`
	LineStart int            `json:"line_start"`
	Content   string         `json:"content"`
	Metadata  map[string]any `json:"metadata"`
	// Matched are the ids of the chunks that this stands for, best first, where it is not a hit itself.
	Matched []string `json:"matched,omitempty"`
}

// Query answers a question from the live collection.
func (p *Pipeline) Query(ctx context.Context, opts QueryOptions) ([]Answer, error) {
	if err := p.checkQuery(&opts); err != nil {
		return nil, err
	}
	coll, err := p.live(ctx)
	if err != nil {
		return nil, err
	}
	q := connector.Query{Mode: opts.Mode, Text: opts.Text, K: opts.K, Filter: opts.Filter, Fusion: opts.Fusion, Share: p.model.HybridShare, Exact: opts.Exact}
	post := p.file.PostChunking.Strategy != nil && opts.Expand != ExpandNone
	if opts.Mode != connector.ModeLexical {
		if have := coll.Schema().Model; have != p.model.Identity() {
			return nil, &GuardError{fmt.Sprintf("the collection was made by %s and the configuration names %s, whose vectors do not compare: "+
				"run kbsync sync --allow-rebuild, or query with --mode lexical", have, p.model.Identity())}
		}
	}
	if opts.Mode != connector.ModeLexical || post {
		err := p.retry(ctx, "embed the question", func() (err error) {
			q.Vector, err = p.embedder.EmbedQuery(ctx, opts.Text)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if post {
		return p.postChunked(ctx, coll, q)
	}
	return p.expanded(ctx, coll, q, opts.Expand)
}

// checkQuery fills in what a question leaves open and refuses what cannot be.
func (p *Pipeline) checkQuery(opts *QueryOptions) error {
	if strings.TrimSpace(opts.Text) == "" {
		return UsageErrorf("the question is empty")
	}
	modes := p.sink.Capabilities().Modes
	switch {
	case opts.Mode == "" && slices.Contains(modes, connector.ModeHybrid):
		opts.Mode = connector.ModeHybrid
	case opts.Mode == "":
		opts.Mode = connector.ModeDense
	case !slices.Contains(modes, opts.Mode):
		return UsageErrorf("this sink cannot answer in mode %s: choose one of %v", opts.Mode, modes)
	}
	if opts.Expand == "" {
		opts.Expand = ExpandAuto
	}
	if !slices.Contains(expansions(), opts.Expand) {
		return UsageErrorf("expand is %q: choose one of %s", opts.Expand, strings.Join(expansions(), ", "))
	}
	if opts.K <= 0 {
		opts.K = 5
	}
	return nil
}

// search asks a collection.
func (p *Pipeline) search(ctx context.Context, coll connector.Collection, q connector.Query) (hits []connector.Hit, err error) {
	err = p.retry(ctx, "search", func() (err error) {
		hits, err = coll.Search(ctx, q)
		return err
	})
	return hits, err
}

// Collection opens the live collection; connector.ErrNoCollection before the first sync.
func (p *Pipeline) Collection(ctx context.Context) (connector.Collection, error) { return p.live(ctx) }

func (p *Pipeline) live(ctx context.Context) (coll connector.Collection, err error) {
	err = p.retry(ctx, "open the collection", func() (err error) {
		coll, err = p.sink.Live(ctx)
		return err
	})
	if errors.Is(err, connector.ErrNoCollection) {
		return nil, connector.ErrNoCollection
	}
	return coll, err
}

func answer(score float64, r *connector.Record) Answer {
	return Answer{Score: score, ChunkID: r.ChunkID, Source: r.Source, Path: r.Path, Section: text(r.Metadata["section"]),
		Page: number(r.Metadata["page"]), LineStart: number(r.Metadata["line_start"]), Content: r.Content, Metadata: r.Metadata}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func number(v any) int {
	switch n := v.(type) {
	case int:
		return n
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}

// Export yields every chunk of this pipeline as the live collection holds it, by id.
func (p *Pipeline) Export(ctx context.Context, vectors bool) iter.Seq2[connector.Point, error] {
	return func(yield func(connector.Point, error) bool) {
		coll, err := p.live(ctx)
		if err == nil {
			err = p.retry(ctx, "flush the sink", func() error { return coll.Flush(ctx) })
		}
		if err != nil {
			yield(connector.Point{}, err)
			return
		}
		for pt, err := range coll.Scan(ctx, vectors) {
			if err == nil && text(pt.Metadata["pipeline"]) != p.file.Name {
				continue
			}
			if !yield(pt, err) || err != nil {
				return
			}
		}
	}
}

// hashOf is the content hash of what a sink holds, computed anew.
func hashOf(r *connector.Record) string {
	sum := textHash(r.EmbedText)
	return hex.EncodeToString(sum[:])
}

func textHash(text string) [32]byte { return sha256.Sum256([]byte(text)) }
