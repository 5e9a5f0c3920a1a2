package connector

import (
	"context"
	"iter"
)

// Target is where a sink writes: the identity under which the ledger remembers what is there. It holds no secrets.
type Target struct {
	Kind       string
	Address    string // normalised: equal for equal places
	Collection string
	Tenant     string
}

// String joins the parts; two targets are the same place exactly if their strings are equal.
func (t Target) String() string {
	return t.Kind + "|" + t.Address + "|" + t.Collection + "|" + t.Tenant
}

// SearchMode selects how a query is answered.
type SearchMode string

// The modes.
const (
	ModeDense   SearchMode = "dense"
	ModeLexical SearchMode = "lexical"
	ModeHybrid  SearchMode = "hybrid"
)

// SinkCapabilities are the facts about a sink that the engine plans with.
type SinkCapabilities struct {
	// MaxBatchItems and MaxBatchBytes bound one Upsert; 0 means no bound.
	MaxBatchItems int
	MaxBatchBytes int
	// MaxDimensions bounds vectors; 0 means no bound.
	MaxDimensions int
	Modes         []SearchMode
	// Distance is how vectors are compared: "cosine" (also if empty), "dot" or "l2".
	Distance string
	// Layout identifies how records are laid out in a collection, beyond what [Schema] says: the names of fields, whether sparse
	// vectors are kept. Another layout is another generation. Empty for sinks with one layout.
	Layout string
	// Mapping says what becomes of texts and metadata; nil means that everything is stored and filtered as it is.
	Mapping *Mapping
	// Policy is what the configuration says about changes of generation.
	Policy Policy
	// Payload says that UpdatePayload works; else the engine writes whole points again.
	Payload bool
	// Scan says that Scan can list everything.
	Scan bool
	// Concurrency is how many calls may usefully run at a time; 0 means 1.
	Concurrency int
}

// Schema is what a collection holds, fixed when it is created.
type Schema struct {
	// Generation names the physical collection: model identity, vector and payload schema.
	Generation string
	// Model is the identity of the vectors.
	Model      string
	Dimensions int
	Distance   string // "cosine", "dot" or "l2"
	// Layout is that of [SinkCapabilities].
	Layout string
}

// Policy says how a changed generation replaces the live one.
type Policy struct {
	// InPlace: the collection's real name is the configured one and there is no alias; a change drops it and makes it anew.
	InPlace bool
	// Auto is consent in advance to build a changed generation.
	Auto bool
	// Keep is how many generations that were live before are kept for a rollback; Sinks without an opinion say 0.
	Keep int
}

// Sink is a connection to one vector database. It classifies errors and never retries or batches: the engine does.
type Sink interface {
	Capabilities() SinkCapabilities
	Target() Target
	// Generations lists the physical collections of this target, the live one first; none before the first sync.
	Generations(ctx context.Context) ([]Schema, error)
	// Create opens the collection of schema.Generation, and makes it if it is missing. It is not live before
	// Promote, unless it is the only one. An existing collection of another shape is an error of ClassConflict.
	Create(ctx context.Context, schema Schema) (Collection, error)
	// Live opens the collection that queries are answered from; ErrNoCollection if there is none.
	Live(ctx context.Context) (Collection, error)
	// Promote makes generation the live one, in one step. Drop removes another one with all it holds.
	Promote(ctx context.Context, generation string) error
	Drop(ctx context.Context, generation string) error
	Close() error
}

// Importer is implemented by sinks that can read collections which kbsync did not write.
type Importer interface {
	// Foreign yields every item of a collection or table, by its real name or an alias, in any order, each once; an
	// error of ClassNotFound if there is none.
	Foreign(ctx context.Context, collection string) iter.Seq2[Foreign, error]
}

// Foreign is an item of a collection that kbsync did not write.
type Foreign struct {
	ID     string
	Vector []float32 // nil if it has none
	// Fields are its payload: values of the types that JSON has. Vectors are not among them.
	Fields map[string]any
}

// LocalFiles is implemented by sinks that keep their data in files of this machine. A source that lists them does not get
// them indexed.
type LocalFiles interface {
	// Files are the absolute paths of the files, temporary ones included.
	Files() []string
}

// Collection is a set of points by id. Safe for concurrent use.
type Collection interface {
	Schema() Schema
	// Marker is an identifier made when the collection was created: a collection that was dropped and made
	// again has another one.
	Marker(ctx context.Context) (string, error)
	// Upsert stores points, replacing whole those that exist. Points are durable when it returns nil. A *BatchError means that
	// every other item is durable; any other error leaves each item old or new.
	Upsert(ctx context.Context, points []Point) error
	// UpdatePayload replaces everything but the vector and the embedded text's index; ids that do not exist
	// are named in a *BatchError of ClassNotFound.
	UpdatePayload(ctx context.Context, records []Record) error
	// Delete removes ids; unknown ids are no error. No ids: nothing happens.
	Delete(ctx context.Context, ids []string) error
	// Fetch returns the points that exist, in the order of ids.
	Fetch(ctx context.Context, ids []string, vectors bool) ([]Point, error)
	// Scan yields every point in ascending order of id, in pages; ErrUnsupported where the sink cannot list.
	Scan(ctx context.Context, vectors bool) iter.Seq2[Point, error]
	// Count is the number of points, store-only ones included.
	Count(ctx context.Context) (int, error)
	// Flush returns when every acknowledged write is visible to reads.
	Flush(ctx context.Context) error
	// Search returns at most q.K hits, best first, ties by id. A mode outside Capabilities is ErrUnsupported.
	Search(ctx context.Context, q Query) ([]Hit, error)
}

// Stamper is implemented by collections that can keep a short note beside their points: by it a ledger that was restored from
// a backup, or left behind by a run on another machine, is known to be out of date.
type Stamper interface {
	// Stamp is the note that SetStamp wrote last; empty before the first.
	Stamp(ctx context.Context) (string, error)
	// SetStamp replaces the note. It is durable and visible when it returns nil.
	SetStamp(ctx context.Context, stamp string) error
}

// Fusion selects how a hybrid query joins its two rankings.
type Fusion string

// FusionRelative normalises both lists' scores to [0, 1] and takes their weighted mean; FusionRRF is reciprocal rank fusion (Cormack et al. 2009), k = 60.
const (
	FusionRelative Fusion = "relative"
	FusionRRF      Fusion = "rrf"
)

// Query is a question to a collection.
type Query struct {
	Mode   SearchMode
	Vector []float32 // for dense and hybrid
	Text   string    // for lexical and hybrid
	K      int
	Filter Filter
	Fusion Fusion // for hybrid; empty is FusionRelative
	// Share is what the vectors weigh in a relative score, above 0 and at most 1, the words having the rest; 0 leaves it to the sinks, which
	// all take the same.
	Share float64
	// Exact asks for a comparison with every vector; sinks that can only answer from their index do that.
	Exact bool
}

// Filter is a conjunction of conditions; an empty one matches every point.
type Filter []Condition

// Condition holds if the field's value (or one of its values, for a list) equals one of Values, compared as JSON
// scalars. Field is "source", "path", "doc_id", "chunk_id", "parent_id", "content_hash" or a metadata key.
type Condition struct {
	Field  string
	Values []any
}

// Hit is an answer. Score is higher for better, comparable within one result only.
type Hit struct {
	Score float64
	Point
}
