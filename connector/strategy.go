package connector

import (
	"context"
	"iter"
)

// Counter measures text in one unit. Safe for concurrent use; the same text always has the same count.
type Counter interface {
	// Name identifies the unit: "chars", "cl100k", "o200k", or a model's tokenizer.
	Name() string
	Count(text string) int
	// Ruler measures ranges of one text after one pass over it.
	Ruler(text string) Ruler
}

// Ruler measures byte ranges of the text it was made for.
type Ruler interface {
	// Count is exactly Counter.Count(text[i:j]).
	Count(i, j int) int
}

// Cap is a hard upper bound of a chunk's embedded text.
type Cap struct {
	Max     int
	Counter Counter
}

// StrategyEnv is what the engine hands to a strategy when it is opened.
type StrategyEnv struct {
	// Counter gives the counter of that name ("chars", "cl100k", "o200k", "model").
	Counter func(name string) (Counter, error)
	// ModelCap is the embedder's own limit; Max is 0 where there is none or no embedder is configured.
	ModelCap Cap
}

// StrategyInfo describes an opened strategy.
type StrategyInfo struct {
	Name string
	// Version is raised whenever the same elements may give other chunks.
	Version int
	// Caps are the bounds that hold for every chunk it makes, the model's included; empty for a strategy that does not cut.
	Caps []Cap
	// Exempt says that word boundaries (law 3) are not promised: windows and compatibility modes.
	Exempt bool
}

// Strategy cuts a document's elements into chunks. It is pure: no network, no files, no state between
// documents; safe for concurrent use.
type Strategy interface {
	Info() StrategyInfo
	// Chunks yields the chunks of one document in reading order. An error from elements ends it with that error.
	// Strategies for line-oriented formats stream: they hold a bounded window of the text.
	Chunks(ctx context.Context, doc *Document, elements iter.Seq2[Element, error]) iter.Seq2[Chunk, error]
}
