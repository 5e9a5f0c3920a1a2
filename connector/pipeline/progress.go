package pipeline

// Progress is told what a run does, from several goroutines at once.
type Progress interface {
	// Listed: a document was seen in the listing.
	Listed(source string)
	// Settled: nothing more will happen to a document that was listed; chunks is how many it has now.
	Settled(outcome Outcome, path string, chunks int)
	// Embedded: so many texts got a vector; computed, or found in the store.
	Embedded(computed, cached int)
	// Stage: the run turns to another task.
	Stage(name string)
}

// Outcome is what became of a document.
type Outcome string

// The outcomes.
const (
	Added     Outcome = "added"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
	Deleted   Outcome = "deleted"
	Skipped   Outcome = "skipped"
	Failed    Outcome = "failed"
)

type silent struct{}

func (silent) Listed(string)                {}
func (silent) Settled(Outcome, string, int) {}
func (silent) Embedded(int, int)            {}
func (silent) Stage(string)                 {}
