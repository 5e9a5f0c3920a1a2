package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
	"golang.org/x/sync/errgroup"
)

// defaultEmbedItems bounds a request to an embedder that names no limit of its own.
const defaultEmbedItems = 256

// want is a text that needs a number in the store and, unless it is only stored, a vector.
type want struct {
	hash   ledger.Hash // the address of its vector
	text   string
	tokens int
	vector []float32
	plain  bool // no vector is needed
	number int64
	cached bool
	err    error

	// Of a text that gets its vector among its neighbours: its own hash, which its number stands under, its group and its place there.
	content ledger.Hash
	group   *group
	place   int
}

// supply is vectors for texts that no other goroutine is at.
func (w *writer) supply(ctx context.Context, wants []*want) error {
	found, err := w.lookup(ctx, wants)
	if err != nil {
		return err
	}
	var missing, store []*want
	cached := 0
	for i, x := range wants {
		x.number = found[i].N
		switch {
		case x.plain || x.vector != nil:
			if x.number == 0 || x.vector != nil && found[i].Vector == nil {
				store = append(store, x)
			}
		case found[i].Vector != nil:
			x.vector, x.cached = found[i].Vector, true
			cached++
			if x.number == 0 { // the text was pruned, its vector in this context was not
				store = append(store, x)
			}
		default:
			missing = append(missing, x)
		}
	}
	shared, missing := w.fromShared(ctx, missing)
	store, cached = append(store, shared...), cached+len(shared)
	w.tally.do(func(r *Result) { r.Embeddings.Cached += cached })
	w.tally.progress.Embedded(0, cached)
	if err := w.store(ctx, store); err != nil {
		return err
	}
	return w.embedAll(ctx, missing)
}

// lookup finds the numbers of texts, and their vectors.
func (w *writer) lookup(ctx context.Context, wants []*want) ([]ledger.Stored, error) {
	var at []int
	var contents []ledger.Hash
	hashes := make([]ledger.Hash, len(wants))
	for i, x := range wants {
		if hashes[i] = x.hash; x.group != nil {
			at, contents = append(at, i), append(contents, x.content)
		}
	}
	found, err := w.l.Lookup(ctx, w.identity, hashes)
	if err != nil || len(at) == 0 {
		return found, err
	}
	texts, err := w.l.Lookup(ctx, w.identity, contents)
	for j, i := range at {
		if err == nil {
			found[i].N = texts[j].N
		}
	}
	return found, err
}

// store puts texts, with the vectors that they have, into the store.
func (w *writer) store(ctx context.Context, wants []*want) error {
	if len(wants) == 0 {
		return nil
	}
	entries := make([]ledger.Entry, len(wants))
	for i, x := range wants {
		entries[i] = ledger.Entry{Hash: x.hash, Text: x.text, Vector: x.vector}
		if x.group != nil {
			entries[i] = ledger.Entry{Hash: x.content, Text: x.text}
			if x.vector != nil {
				entries = append(entries, ledger.Entry{Hash: x.hash, Vector: x.vector}) //nolint:makezero // behind the texts
			}
		}
	}
	numbers, err := w.l.Put(ctx, w.identity, entries)
	if err != nil {
		return err
	}
	for i, x := range wants {
		x.number = numbers[i]
	}
	return nil
}

// keep stores what the embedder made, in the own store and in the shared one, and counts it. What has arrived is paid for: it is stored
// also where the run is over.
func (w *writer) keep(ctx context.Context, made []*want) error {
	ctx = context.WithoutCancel(ctx)
	w.tally.do(func(r *Result) { r.Embeddings.Computed += len(made) })
	w.tally.progress.Embedded(len(made), 0)
	err := w.store(ctx, made)
	w.share(ctx, made)
	return err
}

// embedAll embeds in requests within the model's limits, several at a time.
func (w *writer) embedAll(ctx context.Context, wants []*want) error {
	var alone, together []*want
	for _, x := range wants {
		if x.group != nil {
			together = append(together, x)
		} else {
			alone = append(alone, x)
		}
	}
	g, more := errgroup.WithContext(ctx)
	g.SetLimit(w.p.concurrency())
	for _, batch := range requests(&w.p.model, alone, w.p.concurrency()) {
		g.Go(func() error { return w.embed(ctx, more, batch) })
	}
	for _, call := range callsFor(together) {
		g.Go(func() error { return w.embedGroup(ctx, more, call) })
	}
	return g.Wait()
}

// requests groups texts by the model's limits of items, tokens and bytes, in as many as there may be at a time.
func requests(m *connector.Model, wants []*want, atATime int) [][]*want {
	maxItems := m.MaxItems
	if maxItems <= 0 {
		maxItems = defaultEmbedItems
	}
	// A local model is kept busy on every core.
	if share := (len(wants) + atATime - 1) / atATime; share < maxItems && share > 16 {
		maxItems = share
	}
	var out [][]*want
	var cur []*want
	tokens, size := 0, 0
	for _, x := range wants {
		full := len(cur) >= maxItems || m.MaxTokens > 0 && tokens+x.tokens > m.MaxTokens || m.MaxBytes > 0 && size+len(x.text) > m.MaxBytes
		if full && len(cur) > 0 {
			out, cur, tokens, size = append(out, cur), nil, 0, 0
		}
		cur = append(cur, x)
		tokens, size = tokens+x.tokens, size+len(x.text)
	}
	if len(cur) > 0 {
		out = append(out, cur)
	}
	return out
}

// ask sends one request, as often as it takes. Nothing is sent any more once more has ended, because another request failed for good; but
// what was sent is paid for, and its answer is waited for as long as ctx lives.
func (w *writer) ask(ctx, more context.Context, texts []string, tokens int) (got [][]float32, err error) {
	err = w.send(more, tokens, func() (err error) {
		got, err = w.p.embedder.Embed(ctx, texts)
		return err
	})
	if err == nil || errors.As(err, new(*connector.BatchError)) {
		w.proof.took.Store(true)
		if len(got) != len(texts) {
			return nil, fmt.Errorf("embedder %s returned %d vectors for %d texts", w.p.model.Provider, len(got), len(texts))
		}
	}
	return got, err
}

// send sends a request of so many tokens within the limits over time, as often as it takes, but for more.
func (w *writer) send(more context.Context, tokens int, request func() error) error {
	return w.p.retry(more, "embed with "+w.p.model.Provider, func() error {
		if more.Err() != nil {
			return context.Cause(more)
		}
		if err := w.pace.begin(more, tokens); err != nil {
			return err
		}
		err := request()
		w.pace.end(err)
		return err
	})
}

// proof is what a run knows of its embedder.
type proof struct {
	took    atomic.Bool // it took a request
	mu      sync.Mutex
	verdict error // it takes none
}

// probeText is what is asked for to find out whether an embedder takes anything.
const probeText = "kbsync"

// blame decides who is at fault where a text that was sent alone was refused: the text, or (the error) every request of this run, by a
// wrong name of a model, say. As long as the embedder took no request, it is asked for one word: if it refuses that, the run ends.
func (w *writer) blame(ctx, more context.Context) error {
	w.proof.mu.Lock()
	defer w.proof.mu.Unlock()
	if w.proof.took.Load() || w.proof.verdict != nil {
		return w.proof.verdict
	}
	_, err := w.ask(ctx, more, []string{probeText}, 1)
	switch {
	case w.proof.took.Load():
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx) // no verdict
	case refusedText(err):
		m := &w.p.model
		err = UsageErrorf("the embedder %s refuses every request, one of a single word too, so no document was blamed: check the keys of "+
			"embedder.%s, the model (%s) first: %w", m.Provider, m.Provider, m.Name, err)
	}
	w.proof.verdict = err
	return err
}

// refusedText says whether a request was refused for what is in it.
func refusedText(err error) bool {
	class := connector.ClassOf(err)
	return class == connector.ClassInvalid || class == connector.ClassTooLarge
}

// embed asks for one request's vectors and stores them. A request refused as invalid or too large is halved until the text at fault stands
// alone. More as in ask.
func (w *writer) embed(ctx, more context.Context, batch []*want) error {
	texts := make([]string, len(batch))
	tokens := 0
	for i, x := range batch {
		texts[i] = x.text
		tokens += x.tokens
	}
	got, err := w.ask(ctx, more, texts, tokens)
	var be *connector.BatchError
	if err != nil && !errors.As(err, &be) {
		if !refusedText(err) {
			return err
		}
		if len(batch) == 1 {
			batch[0].err = err
			return w.blame(ctx, more)
		}
		half := len(batch) / 2
		if err := w.embed(ctx, more, batch[:half]); err != nil {
			return err
		}
		return w.embed(ctx, more, batch[half:])
	}
	good := batch[:0:0]
	for i, x := range batch {
		if be != nil && be.Items[i] != nil {
			x.err = be.Items[i]
			continue
		}
		if x.err = checkVector(got[i], w.p.model.Dimensions); x.err == nil {
			x.vector = got[i]
			good = append(good, x)
		}
	}
	return w.keep(ctx, good)
}

// checkVector refuses what would poison a search: a wrong length, NaN, infinity, all zeros.
func checkVector(v []float32, dims int) error {
	if len(v) != dims {
		return fmt.Errorf("the embedder returned a vector of %d dimensions, want %d", len(v), dims)
	}
	zero := true
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return errors.New("the embedder returned a vector that is not finite")
		}
		zero = zero && x == 0
	}
	if zero {
		return errors.New("the embedder returned a zero vector")
	}
	return nil
}

// wantSet joins equal texts of a batch, so that each is looked up and embedded once.
type wantSet struct {
	byHash map[ledger.Hash]*want
	list   []*want
}

// add returns the one want that stands for the text of x.
func (s *wantSet) add(x *want) *want {
	if s.byHash == nil {
		s.byHash = map[ledger.Hash]*want{}
	}
	have := s.byHash[x.hash]
	if have == nil {
		s.byHash[x.hash] = x
		s.list = append(s.list, x)
		return x
	}
	have.plain = have.plain && x.plain
	return have
}
