package pipeline

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"sync"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
)

// vectorizer is the embedder as strategies see it. A preview without a configuration opens the default one when it is first asked for.
func (p *Pipeline) vectorizer(ctx context.Context) (connector.Vectorizer, error) {
	p.vectors.once.Do(func() {
		if p.embedder != nil {
			p.vectors.embedder = p.embedder
			return
		}
		p.vectors.embedder, p.vectors.err = OpenEmbedder(ctx, p.file, p.reg, p.log)
		p.vectors.own = p.vectors.embedder
	})
	if p.vectors.err != nil {
		return nil, p.vectors.err
	}
	return &askVectors{p: p, model: p.vectors.embedder.Model()}, nil
}

// lazyVectors is an embedder that strategies alone need, and what stands between them and it while an operation runs.
type lazyVectors struct {
	once     sync.Once
	embedder connector.Embedder
	own      connector.Embedder // to close: nobody else uses it
	err      error

	mu     sync.Mutex
	server vectorServer // nil: a preview
	memo   vectorMemo
}

// vectorServer gives texts their vectors as an operation has it. Texts are not blank; there may be equal ones.
type vectorServer interface {
	vectors(ctx context.Context, texts []string) ([][]float32, error)
}

// serve puts a server between strategies and embedder until done is called.
func (v *lazyVectors) serve(s vectorServer) (done func()) {
	set := func(s vectorServer) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.server = s
	}
	set(s)
	return func() { set(nil) }
}

// askVectors is a connector.Vectorizer over the pipeline's embedder: in a sync over the stores of vectors, where what is embedded is kept; in a plan
// over the stores alone; in a preview over what it embedded itself.
type askVectors struct {
	p     *Pipeline
	model connector.Model
}

// Identity implements connector.Vectorizer.
func (a *askVectors) Identity() string { return a.model.Identity() }

// Vectors implements connector.Vectorizer.
func (a *askVectors) Vectors(ctx context.Context, texts []string) ([][]float32, error) {
	defer stopClock(ctx)()
	a.p.vectors.mu.Lock()
	s := a.p.vectors.server
	a.p.vectors.mu.Unlock()
	if s != nil {
		return s.vectors(ctx, texts)
	}
	return a.previewed(ctx, texts)
}

// syncVectors serve the strategies of a sync: as those of chunks, vectors are looked up in the stores, and embedded and kept if missing.
type syncVectors struct {
	w      *writer
	tokens connector.Counter
}

func (s *syncVectors) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	var set wantSet
	wants := make([]*want, len(texts))
	for i, text := range texts {
		wants[i] = set.add(wantOf(&s.w.p.model, text, s.tokens))
	}
	if err := s.w.vectors(ctx, set.list); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &runError{err: err} // a spent budget, an embedder out of reach
	}
	out := make([][]float32, len(texts))
	for i, x := range wants {
		if x.err != nil {
			return nil, &stageError{"embed", fmt.Errorf("a text that decides where the document is cut, %.40q: %w", x.text, x.err)}
		}
		out[i] = x.vector
	}
	return out, nil
}

// wantOf is a text that needs a vector of its own: of a contextual model that of a group that holds it alone.
func wantOf(m *connector.Model, text string, tokens connector.Counter) *want {
	sum := sha256.Sum256([]byte(text))
	x := &want{hash: sum, content: sum, text: text, tokens: tokens.Count(text)}
	if m.Contextual {
		x.group = newGroup([]*piece{{Content: text, Hash: sum[:], Tokens: x.tokens}}, nil)
		x.hash = x.group.address(0)
	}
	return x
}

// planVectors serve the strategies of a plan, which embeds nothing: what the stores have, and in place of the rest vectors made of the
// text's characters, which give about as many chunks. What is missing is counted.
type planVectors struct {
	w      *writer
	tokens connector.Counter

	mu      sync.Mutex
	missing map[ledger.Hash]bool
	cost    int // tokens of the missing ones
	cached  int
}

func (s *planVectors) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	var set wantSet
	wants := make([]*want, len(texts))
	for i, text := range texts {
		wants[i] = set.add(wantOf(&s.w.p.model, text, s.tokens))
	}
	found, err := s.w.stored(ctx, set.list)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, x := range set.list {
		if x.vector = found[i]; x.vector != nil {
			s.cached++
			continue
		}
		x.vector = placeholder(x.text)
		if !s.missing[x.hash] {
			s.missing[x.hash] = true
			s.cost += x.tokens
		}
	}
	out := make([][]float32, len(texts))
	for i, x := range wants {
		out[i] = x.vector
		if len(out[i]) != placeholderDims && len(s.missing) > 0 { // vectors that are compared have one length
			out[i] = placeholder(x.text)
		}
	}
	return out, nil
}

// take gives the count since the last call: texts without a vector, their tokens, and texts with one.
func (s *planVectors) take() (missing map[ledger.Hash]bool, tokens, cached int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	missing, tokens, cached = s.missing, s.cost, s.cached
	s.missing, s.cost, s.cached = map[ledger.Hash]bool{}, 0, 0
	return missing, tokens, cached
}

// stored looks for vectors in the own store and the shared one, and writes nothing; nil where there is none.
func (w *writer) stored(ctx context.Context, wants []*want) ([][]float32, error) {
	own, err := w.l.Lookup(ctx, w.identity, hashesOf(wants))
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(wants))
	var asked []*want
	for i, x := range wants {
		if out[i] = own[i].Vector; out[i] == nil {
			asked = append(asked, x)
		}
	}
	if w.p.shared == nil || len(asked) == 0 {
		return out, nil
	}
	opts := w.p.shared.opts
	opts.ReadOnly = true
	found := map[ledger.Hash][]float32{}
	for i, v := range w.p.shared.get(ctx, opts, w.identity, w.p.model.Dimensions, hashesOf(asked)) {
		found[asked[i].hash] = v
	}
	for i, x := range wants {
		if out[i] == nil {
			out[i] = found[x.hash]
		}
	}
	return out, nil
}

// placeholderDims is no dimension of a model.
const placeholderDims = 61

// placeholder counts pairs of characters: texts that share words have vectors near each other.
func placeholder(text string) []float32 {
	v := make([]float32, placeholderDims)
	last, sum := uint32(0), 0.0
	for _, r := range text {
		v[(last*31+uint32(r))%placeholderDims]++ //nolint:gosec // a character is never negative
		last = uint32(r)                         //nolint:gosec // as above
	}
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(max(sum, 1)))
	}
	return v
}

// vectorMemo keeps what a preview embedded, up to memoBytes.
type vectorMemo struct {
	kept  map[ledger.Hash][]float32
	bytes int
}

const memoBytes = 64 << 20

// previewed asks the embedder for what this preview has not embedded yet. Nothing is kept behind the preview.
func (a *askVectors) previewed(ctx context.Context, texts []string) ([][]float32, error) {
	counter, err := a.counter()
	if err != nil {
		return nil, err
	}
	var set wantSet
	wants := make([]*want, len(texts))
	for i, text := range texts {
		wants[i] = set.add(wantOf(&a.model, a.shortened(text, counter), counter))
	}
	v := &a.p.vectors
	v.mu.Lock() // one document at a time is previewed
	defer v.mu.Unlock()
	var missing []*want
	for _, x := range set.list {
		if x.vector = v.memo.kept[x.hash]; x.vector == nil {
			missing = append(missing, x)
		}
	}
	limits := a.model
	if limits.Contextual {
		limits.MaxItems = 1 // each text is a group of its own
	}
	for _, batch := range requests(&limits, missing, 1) {
		if err := a.ask(ctx, batch); err != nil {
			return nil, err
		}
		v.memo.keep(batch)
	}
	out := make([][]float32, len(texts))
	for i, x := range wants {
		out[i] = x.vector
	}
	return out, nil
}

func (m *vectorMemo) keep(batch []*want) {
	if m.kept == nil || m.bytes > memoBytes {
		m.kept, m.bytes = map[ledger.Hash][]float32{}, 0
	}
	for _, x := range batch {
		m.kept[x.hash] = x.vector
		m.bytes += 4 * len(x.vector)
	}
}

// ask embeds one request.
func (a *askVectors) ask(ctx context.Context, batch []*want) error {
	texts := make([]string, len(batch))
	for i, x := range batch {
		texts[i] = x.text
	}
	var got [][]float32
	err := a.p.retry(ctx, "embed with "+a.model.Provider, func() (err error) {
		got, err = a.p.vectors.embedder.Embed(ctx, texts)
		return err
	})
	switch {
	case err != nil:
		return err
	case len(got) != len(batch):
		return fmt.Errorf("embedder %s returned %d vectors for %d texts", a.model.Provider, len(got), len(batch))
	}
	for i, x := range batch {
		if err := checkVector(got[i], a.model.Dimensions); err != nil {
			return err
		}
		x.vector = got[i]
	}
	return nil
}

func (a *askVectors) counter() (connector.Counter, error) {
	if a.model.Counter != nil {
		return a.model.Counter, nil
	}
	return a.p.counter("cl100k")
}

// shortened is the start of a text that the model takes. Only a preview without a configuration has longer ones: no cap of a model
// bounds what strategies ask of it.
func (a *askVectors) shortened(text string, counter connector.Counter) string {
	most := a.model.MaxInputTokens
	if a.p.embedder != nil || most <= 0 {
		return text
	}
	for n := counter.Count(text); n > most && len(text) > utf8.UTFMax; n = counter.Count(text) {
		end := max(utf8.UTFMax, min(len(text)-1, len(text)*most/n))
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return text
}

// flights are the texts that are being looked up and embedded, so that equal texts at once are asked for once.
type flights struct {
	mu   sync.Mutex
	held map[ledger.Hash]chan struct{}
}

// claim takes those of the texts that nobody holds; of the others it gives one whose end may be waited for.
func (f *flights) claim(wants []*want) (mine, others []*want, landed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == nil {
		f.held = map[ledger.Hash]chan struct{}{}
	}
	done := make(chan struct{})
	for _, x := range wants {
		if c, ok := f.held[x.hash]; ok && c != done {
			others, landed = append(others, x), c
			continue
		}
		f.held[x.hash] = done
		mine = append(mine, x)
	}
	return mine, others, landed
}

// land gives the texts back.
func (f *flights) land(mine []*want) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, x := range mine {
		if i == 0 {
			close(f.held[x.hash])
		}
		delete(f.held, x.hash)
	}
}

// vectors makes texts known to the store and gives them their vectors: from the store where it has them, else from the
// embedder. Every vector is stored as soon as it arrives. What the embedder refuses is noted in err
// of the text; the error returned ends the run. Texts that another goroutine is at are waited for.
func (w *writer) vectors(ctx context.Context, wants []*want) error {
	for len(wants) > 0 {
		mine, others, landed := w.flights.claim(wants)
		err := w.supply(ctx, mine)
		w.flights.land(mine)
		if err != nil || len(others) == 0 {
			return err
		}
		select {
		case <-landed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		wants = others
	}
	return nil
}
