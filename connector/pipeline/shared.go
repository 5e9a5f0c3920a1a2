package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/connector/vectorstore"
)

// SharedPath is the file of the shared store of vectors; empty where none is configured.
func SharedPath(file *config.File) string {
	if file.Store == "" || filepath.IsAbs(file.Store) {
		return file.Store
	}
	return filepath.Join(file.Dir, file.Store)
}

// shared is the shared store as one operation uses it, after the pipeline's own store and before the embedder. It is a cache: what goes wrong
// with it is said once, and the operation goes on without it. A nil one finds and keeps nothing.
type shared struct {
	path string
	opts vectorstore.Options
	log  *slog.Logger

	mu           sync.Mutex
	store        *vectorstore.Store // nil until it is needed
	deaf, mute   bool               // reading, writing failed
	warned       bool
	found, added int
}

// openShared prepares the use of the shared store. Nothing is opened yet. A file that has another use already is an error.
func (p *Pipeline) openShared() (*shared, error) {
	path := SharedPath(p.file)
	if path == "" {
		return nil, nil
	}
	taken := []string{LedgerPath(p.file)}
	if s, ok := p.sink.(connector.LocalFiles); ok {
		taken = append(taken, s.Files()...)
	}
	for _, other := range taken {
		if sameFile(path, other) {
			return nil, UsageErrorf("store: %s is the file of the ledger or of the sink: name another file", path)
		}
	}
	return &shared{path: path, log: p.log, opts: vectorstore.Options{MaxPages: p.opts.MaxSharedPages}}, nil
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(x, y)
	}
	return realPath(a) == realPath(b)
}

// realPath resolves the links of a path whose last element need not exist.
func realPath(path string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return filepath.Clean(path)
}

// open gives the store; nil if there is none yet and it is not to be made, or if it failed before.
func (s *shared) open(ctx context.Context, opts vectorstore.Options) *vectorstore.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil || s.deaf {
		return s.store
	}
	store, err := vectorstore.Open(ctx, s.path, opts)
	switch {
	case err == nil:
		s.store = store
	case ctx.Err() != nil, !opts.Create && errors.Is(err, os.ErrNotExist):
	default:
		s.deaf, s.mute = true, true
		s.warn(err)
	}
	return s.store
}

// warn tells the first trouble; the caller holds the lock.
func (s *shared) warn(err error) {
	say := s.log.Warn
	if s.warned {
		say = s.log.Debug
	}
	s.warned = true
	if s.deaf {
		say("going on without the shared store of vectors", "error", err)
		return
	}
	say("the shared store of vectors is read, and nothing is added to it", "error", err)
}

func (s *shared) readable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.deaf
}

func (s *shared) writable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.mute
}

// get finds vectors; nil where there is none, and nothing at all where the store fails.
func (s *shared) get(ctx context.Context, opts vectorstore.Options, model string, dims int, hashes []ledger.Hash) [][]float32 {
	none := make([][]float32, len(hashes))
	if s == nil || len(hashes) == 0 || !s.readable() {
		return none
	}
	store := s.open(ctx, opts)
	if store == nil {
		return none
	}
	found, err := store.Get(ctx, model, dims, hashes)
	if err != nil {
		if ctx.Err() == nil {
			s.mu.Lock()
			s.deaf, s.mute = true, true
			s.warn(err)
			s.mu.Unlock()
		}
		return none
	}
	return found
}

// peekShared says which of the texts that the own store has no vector for are in the shared one. Nothing is made or written.
func (w *writer) peekShared(ctx context.Context, wants []*want, own []ledger.Stored) map[ledger.Hash]bool {
	s := w.p.shared
	if s == nil || len(own) != len(wants) {
		return nil
	}
	var asked []*want
	for i, x := range wants {
		if own[i].Vector == nil && !x.plain && x.vector == nil {
			asked = append(asked, x)
		}
	}
	opts := s.opts
	opts.ReadOnly = true
	found := map[ledger.Hash]bool{}
	for i, v := range s.get(ctx, opts, w.identity, w.p.model.Dimensions, hashesOf(asked)) {
		if v != nil {
			found[asked[i].hash] = true
		}
	}
	return found
}

// putTime bounds the writing of one answer of the embedder.
const putTime = time.Minute

// put keeps vectors that were computed, also where the run is being cancelled: they are paid for.
func (s *shared) put(ctx context.Context, model string, vectors []vectorstore.Vector) {
	if s == nil || len(vectors) == 0 || !s.writable() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), putTime)
	defer cancel()
	opts := s.opts
	opts.Create = true
	store := s.open(ctx, opts)
	if store == nil {
		return
	}
	err := store.Put(ctx, model, vectors)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.mute = true
		s.warn(err)
		return
	}
	s.added += len(vectors)
}

// close ends the use of the store and says what it gave.
func (s *shared) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		if err := s.store.Close(); err != nil {
			s.log.Debug("close the shared store of vectors", "error", err)
		}
		s.store = nil
	}
	if s.found+s.added > 0 {
		s.log.Info("shared store of vectors", "file", s.path, "found", s.found, "added", s.added)
	}
}

// fromShared takes vectors from the shared store. It returns those texts that it found, which the own store has yet to keep, and the rest.
func (w *writer) fromShared(ctx context.Context, wants []*want) (found, missing []*want) {
	s := w.p.shared
	if s == nil || len(wants) == 0 {
		return nil, wants
	}
	for i, v := range s.get(ctx, s.opts, w.identity, w.p.model.Dimensions, hashesOf(wants)) {
		if x := wants[i]; v != nil {
			x.vector, x.cached = v, true
			found = append(found, x)
		} else {
			missing = append(missing, x)
		}
	}
	s.mu.Lock()
	s.found += len(found)
	s.mu.Unlock()
	return found, missing
}

// share gives the shared store what the embedder made.
func (w *writer) share(ctx context.Context, wants []*want) {
	if w.p.shared == nil {
		return
	}
	vectors := make([]vectorstore.Vector, len(wants))
	for i, x := range wants {
		vectors[i] = vectorstore.Vector{Hash: x.hash, Values: x.vector}
	}
	w.p.shared.put(ctx, w.identity, vectors)
}

func hashesOf(wants []*want) []ledger.Hash {
	hashes := make([]ledger.Hash, len(wants))
	for i, x := range wants {
		hashes[i] = x.hash
	}
	return hashes
}
