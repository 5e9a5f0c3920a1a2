package strategies

import (
	"context"
	"iter"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/counters"
)

// env is an environment without an embedder; "model" counts cl100k.
func env(tb testing.TB) connector.StrategyEnv {
	tb.Helper()
	return connector.StrategyEnv{Counter: func(name string) (connector.Counter, error) {
		if name == "model" {
			name = "cl100k"
		}
		return counters.Named(name)
	}}
}

// textElements gives a text as one element of plain text.
func textElements(text string) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if text != "" {
			yield(connector.Element{Kind: connector.KindText, Text: text, Span: connector.Span{End: len(text)}}, nil)
		}
	}
}

func mustOpen(tb testing.TB, p connector.StrategyPlugin, config any) connector.Strategy {
	tb.Helper()
	s, err := p.Open(context.Background(), config, env(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func chunksOf(tb testing.TB, s connector.Strategy, elements iter.Seq2[connector.Element, error]) []connector.Chunk {
	tb.Helper()
	var out []connector.Chunk
	for c, err := range s.Chunks(context.Background(), &connector.Document{Path: "doc"}, elements) {
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}
