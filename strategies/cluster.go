package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/kbsync/kbsync/connector"
)

// ClusterConfig configures the strategy "cluster".
type ClusterConfig struct {
	Sizing     `yaml:",inline"`
	Method     string  `yaml:"method" enum:"dynamic,agglomerative" doc:"dynamic: the division of the whole with the greatest similarity inside chunks; agglomerative: the most similar neighbours are joined first, by average linkage"`
	Piece      int     `yaml:"piece" doc:"size in the unit of the pieces that are embedded: whole sentences, or clauses of longer ones"`
	Similarity float64 `yaml:"similarity" doc:"cosine similarity that keeps pieces together; 0: the mean of the text"`
	MinSize    Amount  `yaml:"min_size" doc:"chunks smaller than this join a neighbour, if the cap allows: a number in the unit, or a percentage of the cap; at most 50%"`
}

// Methods of cluster.
const (
	clusterDynamic       = "dynamic"
	clusterAgglomerative = "agglomerative"
)

// Validate checks what does not need the embedder.
func (c ClusterConfig) Validate() error {
	switch {
	case c.Method != "" && c.Method != clusterDynamic && c.Method != clusterAgglomerative:
		return fmt.Errorf("method is %q: choose dynamic or agglomerative", c.Method)
	case c.Piece < 1:
		return fmt.Errorf("piece is %d: it must be positive, such as 50 tokens", c.Piece)
	case c.Similarity < -1 || c.Similarity > 1:
		return fmt.Errorf("similarity is %g: a cosine lies between -1 and 1 (0 takes the mean)", c.Similarity)
	}
	return errors.Join(validMinSize(c.MinSize), c.Sizing.Validate())
}

type cluster struct {
	p    *stretches
	c    ClusterConfig
	most int // pieces of a chunk
}

var _ connector.Strategy = (*cluster)(nil)

// Cluster is the strategy "cluster". The dynamic method is that of Chroma's ClusterSemanticChunker (Smith and Troynikov 2024), with cosines
// in place of dot products, memory that grows with the text and not with its square, and the cap as a law.
func Cluster() connector.StrategyPlugin {
	return connector.Define("cluster", "Divides a text so that what stands in one chunk is as similar in meaning as can be, by vectors.",
		ClusterConfig{Sizing: Sizing{MinChars: 20}, Method: clusterDynamic, Piece: 50}, openCluster)
}

func openCluster(ctx context.Context, c *ClusterConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	p, err := openStretches(ctx, c.Sizing, c.MinSize, env)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	p.limit = 256 << 10
	primary := p.b.caps[0]
	p.piece = &budget{caps: []connector.Cap{{Max: min(c.Piece, primary.Max), Counter: primary.Counter}}}
	s := &cluster{p: p, c: *c, most: max(1, primary.Max/c.Piece)}
	if p.divide = s.dynamic; c.Method == clusterAgglomerative {
		p.divide = s.agglomerative
	}
	return s, nil
}

// Info describes it.
func (s *cluster) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "cluster", Version: 1, Caps: s.p.b.caps, Models: []string{s.p.vectors.Identity()}}
}

// Chunks holds up to 256 KiB of the text; a longer document is divided in such parts.
func (s *cluster) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return s.p.chunks(ctx, elements)
}

// unitText is the text of a unit.
func (t *stretch) unitText(i int) string {
	lo, hi := t.span(segment{i, i + 1})
	return t.text[lo:hi]
}

// dynamic finds the division with the greatest reward: the sum, over all chunks, of the similarities of their pieces above the mean.
func (s *cluster) dynamic(ctx context.Context, t *stretch) ([]segment, error) {
	b := newBand(len(t.units), s.most)
	if err := t.embed(ctx, len(t.units), t.unitText, b.add); err != nil {
		return nil, err
	}
	from := b.best(s.keeps(b.mean()), func(from, to int) bool { return t.within(segment{from, to}) })
	var out []segment
	for to := len(t.units); to > 0; to = from[to-1] {
		out = append(out, segment{from[to-1], to})
	}
	for i, k := 0, len(out)-1; i < k; i, k = i+1, k-1 {
		out[i], out[k] = out[k], out[i]
	}
	return t.bounded(out, nil), nil
}

// keeps is the similarity above which pieces are kept together.
func (s *cluster) keeps(mean float64) float64 {
	if s.c.Similarity != 0 {
		return s.c.Similarity
	}
	return mean
}

// agglomerative joins the most similar neighbours as long as they are similar enough and the caps hold.
func (s *cluster) agglomerative(ctx context.Context, t *stretch) ([]segment, error) {
	var vectors [][]float32
	sum := &meanCosine{}
	err := t.embed(ctx, len(t.units), t.unitText, func(_ int, v []float32) {
		v = unitVector(v)
		sum.add(v)
		vectors = append(vectors, v)
	})
	if err != nil {
		return nil, err
	}
	out := linked(vectors, s.keeps(sum.mean()), func(from, to int) bool { return t.within(segment{from, to}) })
	return t.bounded(out, nil), nil
}
