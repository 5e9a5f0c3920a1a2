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
	// Strategy opens another strategy of this program, as the same pipeline would: for those that work over others. A Choice without a
	// Config gets that kind's defaults. A kind that this build lacks is [errors.ErrUnsupported].
	Strategy func(ctx context.Context, c Choice) (Strategy, error)
	// Vectors is the pipeline's embedder; an error where there is none. Only a strategy that needs it asks, when it is opened.
	Vectors func(ctx context.Context) (Vectorizer, error)
	// LLM is the pipeline's language model, which keeps its answers and budget; [errors.ErrUnsupported] where none is configured. Only
	// a strategy that needs it asks, when it is opened.
	LLM func(ctx context.Context) (LLM, error)
}

// Choice is a kind of plugin and its configuration, inside the configuration of another one: a field of type *Choice with the tag
// kinds:"strategy" is written like the rule's own strategy, as in of: { markdown: { max_tokens: 256 } }.
type Choice struct {
	Kind string
	// Config is the pointer that the plugin's Config made, filled; nil means the defaults.
	Config any
}

// Vectorizer gives texts their vectors, as the engine does for chunks: what is kept from before costs nothing, and the rest is embedded
// in requests within the model's limits, retried, paced, kept. Safe for concurrent use.
type Vectorizer interface {
	// Identity is the model's: see [Model.Identity]. It belongs into [StrategyInfo.Models].
	Identity() string
	// Vectors returns one vector for each text, in order, as the model gives them for documents. No text is blank.
	Vectors(ctx context.Context, texts []string) ([][]float32, error)
}

// StrategyInfo describes an opened strategy.
type StrategyInfo struct {
	Name string
	// Parser is the kind of parser whose elements the strategy is made for, where a document that a rule gives it would be read by another
	// one; empty: any.
	Parser string
	// Version is raised whenever the same elements may give other chunks.
	Version int
	// Caps are the bounds that hold for every chunk it makes, the model's included; empty for a strategy that does not cut.
	Caps []Cap
	// ParentCaps are the bounds of chunks that are only stored; empty where there are none.
	ParentCaps []Cap
	// Models are the identities of the models whose answers decide how a document is cut: another model cuts it again.
	Models []string
	// Exempt says that word boundaries (law 3) are not promised: windows and compatibility modes.
	Exempt bool
}

// Strategy cuts a document's elements into chunks. It is pure, apart from the models that its environment gives it: no network, no
// files, no state between documents; safe for concurrent use.
type Strategy interface {
	Info() StrategyInfo
	// Chunks yields the chunks of one document in reading order. An error from elements ends it with that error.
	// Strategies for line-oriented formats stream: they hold a bounded window of the text.
	Chunks(ctx context.Context, doc *Document, elements iter.Seq2[Element, error]) iter.Seq2[Chunk, error]
}
