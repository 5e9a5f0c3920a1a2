package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

const (
	objectCache = 16 << 20
	// largeObject is the size from which a blob is streamed. Smaller ones are held in memory while they are read.
	largeObject   = 1 << 20
	maxCommit     = 16 << 20
	maxTagChain   = 10
	maxAlternates = 5 // levels, as git has it
)

var (
	errMissing  = errors.New("an object is missing")
	errNoFolder = errors.New("no such folder")
)

// store reads the objects of one repository. go-git's storage is made for one goroutine, so every use is under mu; what
// is handed out does not touch the storage again.
type store struct {
	fs         billy.Filesystem
	exclusive  bool
	alternates []billy.Filesystem // further repositories whose objects belong to this one

	mu       sync.Mutex
	storages []*filesystem.Storage // that of fs, then those of the alternates
	packs    string                // the names of the packs when storages was opened
	closed   bool
}

// newStore opens a repository. exclusive says that no objects come and go beside those that this program knows of, which saves
// looking for each.
func newStore(fs billy.Filesystem, objects string, exclusive bool) (*store, error) {
	s := &store{fs: fs, exclusive: exclusive}
	if err := s.addAlternates(objects, maxAlternates); err != nil {
		return nil, err
	}
	s.storages = s.open()
	s.packs = s.packNames()
	return s, nil
}

// open makes storages that share nothing with others.
func (s *store) open() []*filesystem.Storage {
	options, shared := storageOptions(s.exclusive), newCache()
	out := []*filesystem.Storage{filesystem.NewStorageWithOptions(s.fs, shared, options)}
	for _, fs := range s.alternates {
		out = append(out, filesystem.NewStorageWithOptions(fs, shared, options))
	}
	return out
}

// addAlternates reads the list of the object folders that a clone shares with others.
func (s *store) addAlternates(objects string, levels int) error {
	data, err := os.ReadFile(filepath.Join(objects, "info", "alternates"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if levels == 0 {
		return errors.New("objects/info/alternates: nested too deep")
	}
	for line := range strings.Lines(string(data)) {
		folder := strings.TrimSpace(line)
		if folder == "" || strings.HasPrefix(folder, "#") {
			continue
		}
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(objects, folder)
		}
		if filepath.Base(folder) != "objects" {
			return errors.New("objects/info/alternates: a folder is not called objects")
		}
		s.alternates = append(s.alternates, osfs.New(filepath.Dir(folder)))
		if err := s.addAlternates(folder, levels-1); err != nil {
			return err
		}
	}
	return nil
}

func storageOptions(exclusive bool) filesystem.Options {
	return filesystem.Options{KeepDescriptors: true, LargeObjectThreshold: largeObject, ExclusiveAccess: exclusive}
}

func newCache() cache.Object { return cache.NewObjectLRU(objectCache) }

func closeAll(storages []*filesystem.Storage) error {
	var errs []error
	for _, st := range storages {
		errs = append(errs, st.ObjectStorage.Close())
	}
	return errors.Join(errs...)
}

func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	storages := s.storages
	s.storages = nil
	return closeAll(storages)
}

// refresh forgets which packs there are.
func (s *store) refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reopen()
}

func (s *store) reopen() error {
	if s.closed {
		return errors.New("the source is closed")
	}
	old := s.storages
	s.storages = s.open()
	s.packs = s.packNames()
	return closeAll(old)
}

// packNames are the packs that there are now.
func (s *store) packNames() string {
	var b strings.Builder
	for _, st := range s.storages {
		packs, err := st.ObjectStorage.ObjectPacks()
		_, _ = fmt.Fprintln(&b, packs, err) // never fails
	}
	return b.String()
}

// find calls use with each storage until one has the object, under mu; if none has it, once more with storages that know
// the packs of now: git repacks a repository at any time.
func (s *store) find(use func(*filesystem.Storage) error) error {
	if s.closed {
		return errors.New("the source is closed")
	}
	for attempt := 0; ; attempt++ {
		err := errMissing
		for _, st := range s.storages {
			err = use(st)
			if err == nil {
				return nil
			}
			if !errors.Is(err, plumbing.ErrObjectNotFound) {
				break
			}
		}
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			err = errMissing
		}
		if attempt > 0 || s.packNames() == s.packs {
			return err
		}
		if reopened := s.reopen(); reopened != nil {
			return errors.Join(err, reopened)
		}
	}
}

// size of an object.
func (s *store) size(h plumbing.Hash) (size int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.find(func(st *filesystem.Storage) (err error) {
		size, err = st.EncodedObjectSize(h)
		return err
	})
	return size, err
}

// read gives a whole object of at most limit bytes.
func (s *store) read(kind plumbing.ObjectType, h plumbing.Hash, limit int64) ([]byte, error) {
	_, data, err := s.readAny(h, limit, kind)
	return data, err
}

func (s *store) readAny(h plumbing.Hash, limit int64, kinds ...plumbing.ObjectType) (kind plumbing.ObjectType, data []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.find(func(st *filesystem.Storage) error {
		size, err := st.EncodedObjectSize(h)
		if err != nil {
			return err
		}
		if size > limit {
			return fmt.Errorf("object %s has %d bytes; the limit is %d", h, size, limit)
		}
		o, err := st.EncodedObject(plumbing.AnyObject, h)
		if err != nil {
			return err
		}
		kind = o.Type()
		for i, want := range kinds {
			if kind == want {
				break
			}
			if i == len(kinds)-1 {
				return fmt.Errorf("object %s is a %s, not a %s", h, kind, kinds[0])
			}
		}
		r, err := o.Reader()
		if err != nil {
			return err
		}
		data, err = io.ReadAll(io.LimitReader(r, limit+1))
		err = errors.Join(err, r.Close())
		if err == nil && int64(len(data)) != size {
			err = fmt.Errorf("object %s has %d bytes, not %d", h, len(data), size)
		}
		return err
	})
	return kind, data, err
}

// readSmall gives a blob of a size that is known to be small.
func (s *store) readSmall(h plumbing.Hash, size int64) (data []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.find(func(st *filesystem.Storage) error {
		r, err := openObject(st, h)
		if err != nil {
			return err
		}
		data, err = io.ReadAll(io.LimitReader(r, size))
		return errors.Join(err, r.Close())
	})
	return data, err
}

// peel follows tags to a commit.
func (s *store) peel(h plumbing.Hash) (plumbing.Hash, error) {
	for range maxTagChain {
		kind, data, err := s.readAny(h, maxCommit, plumbing.CommitObject, plumbing.TagObject)
		if err != nil || kind == plumbing.CommitObject {
			return h, err
		}
		if h, err = header(data, "object"); err != nil {
			return h, err
		}
	}
	return h, errors.New("the tag is of a tag of a tag …")
}

// treeAt reads the commit of a ref and its root tree.
func (s *store) treeAt(ref plumbing.Hash) (commit plumbing.Hash, err error) {
	commit, err = s.peel(ref)
	if err != nil {
		return commit, err
	}
	root, err := s.treeOf(commit)
	if err == nil {
		_, err = s.tree(root, maxTree)
	}
	return commit, err
}

// treeOf is the tree of a commit.
func (s *store) treeOf(commit plumbing.Hash) (plumbing.Hash, error) {
	data, err := s.read(plumbing.CommitObject, commit, maxCommit)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return header(data, "tree")
}

// header reads the first line of a commit or tag.
func header(data []byte, key string) (plumbing.Hash, error) {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	id, ok := bytes.CutPrefix(line, []byte(key+" "))
	if !ok || !plumbing.IsHash(string(id)) {
		return plumbing.ZeroHash, fmt.Errorf("a commit or tag does not begin with its %s", key)
	}
	return plumbing.NewHash(string(id)), nil
}
