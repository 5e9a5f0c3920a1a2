package git

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's own ids
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/kbsync/kbsync/connector"
)

// openBlob opens what was listed: a blob never changes, it can only be gone.
func (s *Source) openBlob(ctx context.Context, st *store, h plumbing.Hash, size int64) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, err := st.blob(h, size)
	switch {
	case errors.Is(err, errMissing):
		return nil, connector.Errorf(connector.ClassChanged, "git: blob %s is no longer in the repository", h)
	case err != nil:
		return nil, s.readError(st, err)
	}
	sum := sha1.New()
	_, _ = fmt.Fprintf(sum, "blob %d\x00", size) // never fails
	return &reader{from: r, source: s, store: st, id: h, size: size, sum: sum}, nil
}

// readError is that of a blob which is there and cannot be read.
func (s *Source) readError(st *store, err error) error {
	if s.mirror != nil {
		err = errors.Join(err, s.mirror.condemn(st))
	}
	return connector.Errorf(connector.ClassUnknown, "git: read: %w", err)
}

// blob opens a blob: a small one in memory, a large one as a stream through a storage of its own, because go-git reads
// deltas in a goroutine that uses the storage.
func (s *store) blob(h plumbing.Hash, size int64) (r io.ReadCloser, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size <= largeObject {
		err = s.find(func(st *filesystem.Storage) error {
			r, err = openObject(st, h)
			return err
		})
		return r, err
	}
	err = s.find(func(shared *filesystem.Storage) error {
		if _, err := shared.EncodedObjectSize(h); err != nil {
			return err
		}
		own := filesystem.NewStorageWithOptions(shared.Filesystem(), newCache(), storageOptions(s.exclusive))
		opened, err := openObject(own, h)
		if err != nil {
			return errors.Join(err, own.ObjectStorage.Close())
		}
		r = &large{ReadCloser: opened, storage: own}
		return nil
	})
	return r, err
}

func openObject(st *filesystem.Storage, h plumbing.Hash) (io.ReadCloser, error) {
	o, err := st.EncodedObject(plumbing.BlobObject, h)
	if err != nil {
		return nil, err
	}
	return o.Reader()
}

// large is a streamed blob with the storage that it comes from.
type large struct {
	io.ReadCloser
	storage *filesystem.Storage
}

func (l *large) Close() error {
	return errors.Join(l.ReadCloser.Close(), l.storage.ObjectStorage.Close())
}

// reader checks that what is read is the blob that was listed: go-git ends some damaged deltas early, without an error.
type reader struct {
	from   io.ReadCloser
	source *Source
	store  *store
	id     plumbing.Hash
	size   int64
	n      int64
	sum    hash.Hash
	once   sync.Once
	closed error
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.n += int64(n)
	_, _ = r.sum.Write(p[:n]) // never fails
	switch {
	case errors.Is(err, io.EOF):
		if r.n != r.size || plumbing.Hash(r.sum.Sum(nil)) != r.id {
			return n, r.source.readError(r.store, fmt.Errorf("blob %s is damaged: %d of its %d bytes can be read", r.id, r.n, r.size))
		}
	case err != nil:
		return n, r.source.readError(r.store, fmt.Errorf("blob %s: %w", r.id, err))
	}
	return n, err
}

// Close may be called twice: go-git pools its inflaters, and one that is given back twice would serve two readers.
func (r *reader) Close() error {
	r.once.Do(func() { r.closed = r.from.Close() })
	return r.closed
}
