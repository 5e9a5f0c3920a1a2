package pipeline

import (
	"fmt"
	"sync"
)

// Result is the report of a sync; its JSON form is what `kbsync sync --format json` prints.
type Result struct {
	Documents struct {
		Added     int `json:"added"`
		Updated   int `json:"updated"`
		Unchanged int `json:"unchanged"`
		Moved     int `json:"moved"`
		Deleted   int `json:"deleted"`
		Skipped   int `json:"skipped"`
		Failed    int `json:"failed"`
	} `json:"documents"`
	Chunks struct {
		Upserted     int `json:"upserted"`
		Repositioned int `json:"repositioned"`
		Deleted      int `json:"deleted"`
		Unchanged    int `json:"unchanged"`
		// LeftOut are chunks of the documents that were cut for which others stand, by the configured dedup.
		LeftOut int `json:"left_out,omitempty"`
	} `json:"chunks"`
	Embeddings struct {
		Computed int `json:"computed"`
		Cached   int `json:"cached"`
	} `json:"embeddings"`
	// LLM is what was asked of the language model; nil where none is configured.
	LLM       *AskedLLM  `json:"llm,omitempty"`
	BytesRead int64      `json:"bytes_read"`
	ElapsedMS int64      `json:"elapsed_ms"`
	Errors    []ErrorRow `json:"errors"`
	// Skips lists skipped files with their reasons, the first of them at least.
	Skips []ErrorRow `json:"-"`
}

// ErrorRow names a document that failed, or a source, and where.
type ErrorRow struct {
	Source string `json:"source"`
	Path   string `json:"path"`
	Stage  string `json:"stage"`
	Error  string `json:"error"`
}

// maxRows bounds the rows of a report that are kept in memory.
const maxRows = 10_000

// tally collects a Result from several goroutines.
type tally struct {
	mu       sync.Mutex
	r        Result
	progress Progress
	dropped  int
}

func (t *tally) do(fn func(r *Result)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fn(&t.r)
}

// settle counts a document's end.
func (t *tally) settle(o Outcome, path string, chunks int) {
	t.do(func(r *Result) {
		d := &r.Documents
		switch o {
		case Added:
			d.Added++
		case Updated:
			d.Updated++
		case Unchanged:
			d.Unchanged++
		case Deleted:
			d.Deleted++
		case Skipped:
			d.Skipped++
		case Failed:
			d.Failed++
		}
	})
	t.progress.Settled(o, path, chunks)
}

// fail counts a failed document and keeps its row.
func (t *tally) fail(row ErrorRow) {
	t.row(row)
	t.settle(Failed, row.Path, 0)
}

// row keeps an error row without counting a document.
func (t *tally) row(row ErrorRow) {
	t.do(func(r *Result) {
		if len(r.Errors) < maxRows {
			r.Errors = append(r.Errors, row)
			return
		}
		t.dropped++
	})
}

// skip counts a skipped file.
func (t *tally) skip(source, path, reason string) {
	t.do(func(r *Result) {
		if len(r.Skips) < maxRows {
			r.Skips = append(r.Skips, ErrorRow{source, path, "list", reason})
		}
	})
	t.settle(Skipped, path, 0)
}

func (t *tally) result() Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.r
	if t.dropped > 0 {
		r.Errors = append(r.Errors, ErrorRow{Stage: "report", Error: fmt.Sprintf("%d more errors are not listed", t.dropped)})
	}
	if r.Errors == nil {
		r.Errors = []ErrorRow{}
	}
	return r
}
