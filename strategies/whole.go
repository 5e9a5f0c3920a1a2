package strategies

import (
	"context"
	"fmt"
	"iter"

	"github.com/kbsync/kbsync/connector"
)

// WholeConfig configures the strategy "whole". It has no keys.
type WholeConfig struct{}

// whole makes one chunk of a document. Only where that exceeds the embedder's limit is it cut, by the rules of recursive.
type whole struct {
	b *budget // nil without a limit
}

var _ connector.Strategy = (*whole)(nil)

// Whole is the strategy "whole".
func Whole() connector.StrategyPlugin {
	return connector.Define("whole", "One chunk a document: FAQs, product cards, posts. Cut only at the embedder's limit.", WholeConfig{}, openWhole)
}

func openWhole(_ context.Context, _ *WholeConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if env.ModelCap.Max <= 0 {
		return &whole{}, nil
	}
	if env.ModelCap.Counter == nil {
		return nil, fmt.Errorf("whole: the embedder's limit is %d, but nothing counts it", env.ModelCap.Max)
	}
	return &whole{b: &budget{caps: []connector.Cap{env.ModelCap}}}, nil
}

// Info describes it.
func (s *whole) Info() connector.StrategyInfo {
	info := connector.StrategyInfo{Name: "whole", Version: 2}
	if s.b != nil {
		info.Caps = s.b.caps
	}
	return info
}

// Chunks holds the whole text.
func (s *whole) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	if s.b != nil {
		return chunkText(ctx, s.b, textCut{cutting: cutting{seps: defaultSeparators(), fill: minFill}, good: levelLatinSemi}, elements)
	}
	return wholeText(ctx, elements, func(text string, yield func(connector.Chunk, error) bool) {
		if start, end := trimSpan(text, 0, len(text)); start < end {
			yield(connector.Chunk{Text: text[start:end], Spans: []connector.Span{{Start: start, End: end}}}, nil)
		}
	})
}
