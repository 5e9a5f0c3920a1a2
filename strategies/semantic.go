package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/kbsync/kbsync/connector"
)

// SemanticConfig configures the strategy "semantic".
type SemanticConfig struct {
	Sizing     `yaml:",inline"`
	Breakpoint string  `yaml:"breakpoint" enum:"percentile,stddev,interquartile,gradient,threshold,enhanced" doc:"which distances of neighbouring sentences end a chunk"`
	Amount     float64 `yaml:"amount" doc:"percentile and gradient: which percentile (95); stddev (3), enhanced (1) and interquartile (1.5): how many deviations or ranges above the mean; threshold: the distance itself"`
	Buffer     int     `yaml:"buffer" doc:"sentences on either side that are embedded with each one"`
	MinSize    Amount  `yaml:"min_size" doc:"chunks smaller than this are not ended, if the cap allows: a number in the unit, or a percentage of the cap; at most 50%"`
}

// breakpoints.
const (
	breakPercentile    = "percentile"
	breakStddev        = "stddev"
	breakInterquartile = "interquartile"
	breakGradient      = "gradient"
	breakThreshold     = "threshold"
	breakEnhanced      = "enhanced"
)

// mostBuffer bounds the sentences that are embedded with each one: more would make all windows alike.
const mostBuffer = 10

// Validate checks what does not need the embedder.
func (c SemanticConfig) Validate() error {
	switch {
	case c.Buffer < 0 || c.Buffer > mostBuffer:
		return fmt.Errorf("buffer is %d: choose 0 (each sentence alone) to %d", c.Buffer, mostBuffer)
	case c.Amount < 0:
		return fmt.Errorf("amount is %g: it must be positive (leave it out for the default)", c.Amount)
	case (c.Breakpoint == breakPercentile || c.Breakpoint == breakGradient || c.Breakpoint == "") && c.Amount > 100:
		return fmt.Errorf("amount is %g: a percentile is at most 100", c.Amount)
	case c.Breakpoint == breakThreshold && c.Amount == 0:
		return errors.New("breakpoint is threshold and there is no amount: set the cosine distance from which on neighbours are parted, such as 0.2; kbsync chunk shows what it gives")
	}
	switch c.Breakpoint {
	case "", breakPercentile, breakStddev, breakInterquartile, breakGradient, breakThreshold, breakEnhanced:
	default:
		return fmt.Errorf("breakpoint is %q: choose percentile, stddev, interquartile, gradient, threshold or enhanced", c.Breakpoint)
	}
	return errors.Join(validMinSize(c.MinSize), c.Sizing.Validate())
}

func validMinSize(a Amount) error {
	if a.N < 0 || a.Percent && a.N > 50 {
		return fmt.Errorf("min_size is %s: choose 0 to 50%% of the cap, so that two chunks can always be made of what does not fit one", a)
	}
	return nil
}

type semantic struct {
	p *stretches
	c SemanticConfig
}

var _ connector.Strategy = (*semantic)(nil)

// Semantic is the strategy "semantic": the idea is Kamradt's (5 Levels of Text Splitting, 2023), the thresholds are those of LangChain's
// SemanticChunker, and the bounds of size, which that has not, always hold.
func Semantic() connector.StrategyPlugin {
	return connector.Define("semantic", "Cuts where neighbouring sentences differ in meaning, by their vectors; sizes stay within bounds.",
		SemanticConfig{Sizing: Sizing{MinChars: 20}, Breakpoint: breakPercentile, Buffer: 1}, openSemantic)
}

func openSemantic(ctx context.Context, c *SemanticConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("semantic: %w", err)
	}
	least := c.MinSize
	if c.Breakpoint == breakEnhanced && least == (Amount{}) {
		least = Amount{N: 20, Percent: true}
	}
	p, err := openStretches(ctx, c.Sizing, least, env)
	if err != nil {
		return nil, fmt.Errorf("semantic: %w", err)
	}
	p.limit = 1 << 20
	s := &semantic{p: p, c: *c}
	p.divide = s.divide
	return s, nil
}

// Info describes it.
func (s *semantic) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "semantic", Version: 1, Caps: s.p.b.caps, Models: []string{s.p.vectors.Identity()}}
}

// Chunks holds up to a megabyte of the text; a longer document is cut in such parts, each by its own distances.
func (s *semantic) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return s.p.chunks(ctx, elements)
}

// divide ends segments where the distance of neighbours is over the threshold.
func (s *semantic) divide(ctx context.Context, t *stretch) ([]segment, error) {
	distances, err := s.distances(ctx, t)
	if err != nil {
		return nil, err
	}
	ends := breaks(distances, s.c.Breakpoint, s.c.Amount)
	var out []segment
	from := 0
	for i := range t.units {
		if last := i == len(t.units)-1; last || ends[i] && t.enough(segment{from, i + 1}) {
			out = append(out, segment{from, i + 1})
			from = i + 1
		}
	}
	return t.bounded(out, distances), nil
}

// distances are the cosine distances between the window of each unit and the next one's.
func (s *semantic) distances(ctx context.Context, t *stretch) ([]float64, error) {
	var out []float64
	var last []float32
	err := t.embed(ctx, len(t.units), func(i int) string { return t.window(i, s.c.Buffer) }, func(_ int, v []float32) {
		if last != nil {
			out = append(out, 1-cosine(last, v))
		}
		last = v
	})
	return out, err
}
