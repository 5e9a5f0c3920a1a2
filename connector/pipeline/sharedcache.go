package pipeline

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/vectorstore"
)

// SharedStore is the shared store of vectors, as `kbsync cache --shared` works on it. It may be in use by other processes.
type SharedStore struct{ path string }

// OpenSharedStore names the shared store of a configuration.
func OpenSharedStore(file *config.File) (*SharedStore, error) {
	path := SharedPath(file)
	if path == "" {
		return nil, UsageErrorf("the configuration names no shared store; store: vectors.db would")
	}
	return &SharedStore{path}, nil
}

// with calls fn with the store; not where there is none yet and it is not to be made.
func (s *SharedStore) with(ctx context.Context, opts vectorstore.Options, fn func(*vectorstore.Store) error) error {
	v, err := vectorstore.Open(ctx, s.path, opts)
	switch {
	case errors.Is(err, os.ErrNotExist) && !opts.Create:
		return nil
	case err != nil:
		return err
	}
	return errors.Join(fn(v), v.Close())
}

// Stats counts the vectors of each model.
func (s *SharedStore) Stats(ctx context.Context) ([]vectorstore.ModelStats, error) {
	st := []vectorstore.ModelStats{}
	err := s.with(ctx, vectorstore.Options{ReadOnly: true}, func(v *vectorstore.Store) (err error) {
		st, err = v.Stats(ctx)
		return err
	})
	return st, err
}

// Prune removes vectors, or counts those that it would remove.
func (s *SharedStore) Prune(ctx context.Context, opts vectorstore.PruneOptions) (p vectorstore.Pruned, err error) {
	err = s.with(ctx, vectorstore.Options{ReadOnly: opts.DryRun}, func(v *vectorstore.Store) (err error) {
		if p, err = v.Prune(ctx, opts); errors.Is(err, vectorstore.ErrNoModel) {
			err = &UsageError{err}
		}
		return err
	})
	return p, err
}

// Export writes the store as JSON Lines, without texts.
func (s *SharedStore) Export(ctx context.Context, w io.Writer) (n int, err error) {
	type line struct {
		Hash   string    `json:"hash"`
		Model  string    `json:"model"`
		Vector []float32 `json:"vector"`
	}
	enc := json.NewEncoder(w)
	err = s.with(ctx, vectorstore.Options{ReadOnly: true}, func(v *vectorstore.Store) error {
		for it, err := range v.Items(ctx) {
			if err == nil {
				err = enc.Encode(line{hex.EncodeToString(it.Hash[:]), it.Model, it.Values})
			}
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// Import reads what Export of this store or of a pipeline's own wrote; name stands for the reader in messages. Texts are compared with their hashes
// and not kept. Lines that are not what Export writes are left out and named in the report. What the store has already stays.
func (s *SharedStore) Import(ctx context.Context, name string, r io.Reader) (report Imported, err error) {
	err = s.with(ctx, vectorstore.Options{Create: true}, func(v *vectorstore.Store) error {
		im := &importer{report: &report, name: name, dims: map[string]int{}, known: v.Dimensions, pending: map[string][]importLine{}}
		im.take = func(x *importLine) (bool, error) { return x.Vector != nil, nil }
		im.put = func(ctx context.Context, model string, lines []importLine) error {
			vectors := make([]vectorstore.Vector, len(lines))
			for i := range lines {
				vectors[i] = vectorstore.Vector{Hash: lines[i].sum, Values: lines[i].Vector}
			}
			return v.Put(ctx, model, vectors)
		}
		return im.run(ctx, r)
	})
	return report, err
}
