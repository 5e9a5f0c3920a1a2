package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/gofrs/flock"

	"github.com/kbsync/kbsync/connector"
)

const (
	lockPoll = 100 * time.Millisecond
	// maxPacks is how many fetches one generation takes: each adds a pack, and go-git looks through all of them.
	maxPacks = 32
)

var errDamaged = errors.New("the mirror is damaged")

// mirror is the copy of a remote repository in the cache. Pipelines and processes share it:
//
//	lock       held while fetching
//	7/         generation 7, a bare repository; the highest number is the one in use, and packs are only added to it
//	7.lock     held, shared, by everybody who reads generation 7
//	7.bad      generation 7 was found damaged: the next fetch makes generation 8
type mirror struct {
	dir  string // empty until a temporary folder is made
	temp bool

	mu   sync.Mutex
	open map[int]*generation
}

type generation struct {
	number int
	lock   *flock.Flock
	store  *store
}

// newMirror makes nothing yet. The folder's name is made of the URL without credentials, so that a new token finds the old mirror.
func newMirror(cache, url string) *mirror {
	m := &mirror{temp: cache == "", open: map[int]*generation{}}
	if cache != "" {
		sum := sha256.Sum256([]byte(url))
		m.dir = filepath.Join(cache, "git", hex.EncodeToString(sum[:16]))
	}
	return m
}

// sync fetches and gives the commit that fetch found, and the store that holds it. A mirror that is damaged is made anew, once.
func (m *mirror) sync(ctx context.Context, fetch func(context.Context, *store) (plumbing.Hash, error)) (st *store, commit plumbing.Hash, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.makeDir(); err != nil {
		return nil, commit, mirrorError(err)
	}
	lock := flock.New(filepath.Join(m.dir, "lock"))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return nil, commit, mirrorError(err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	for attempt := 0; ; attempt++ {
		g, err := m.current()
		if err != nil {
			return nil, commit, mirrorError(err)
		}
		commit, err := fetch(ctx, g.store)
		if !errors.Is(err, errDamaged) || attempt > 0 {
			return g.store, commit, err
		}
		if err := m.markBad(g.number); err != nil {
			return nil, commit, mirrorError(err)
		}
	}
}

func mirrorError(err error) error {
	return connector.Errorf(diskClass(err), "git: mirror: %w", err)
}

func (m *mirror) makeDir() (err error) {
	if m.dir == "" {
		m.dir, err = os.MkdirTemp("", "kbsync-git-")
		return err
	}
	return os.MkdirAll(m.dir, 0o700)
}

// current opens the generation in use, or a new one where that is damaged, full of packs or not there. Generations that
// nobody reads any more go.
func (m *mirror) current() (*generation, error) {
	names, err := os.ReadDir(m.dir)
	if err != nil {
		return nil, err
	}
	newest := 0
	for _, e := range names {
		if n, err := strconv.Atoi(e.Name()); err == nil && e.IsDir() {
			newest = max(newest, n)
		}
	}
	if newest == 0 || !m.usable(newest) {
		newest++
	}
	for _, e := range names {
		if n, err := strconv.Atoi(e.Name()); err == nil && n < newest && m.open[n] == nil {
			if err := m.remove(n); err != nil {
				return nil, err
			}
		}
	}
	if err := m.sweep(newest); err != nil {
		return nil, err
	}
	if g := m.open[newest]; g != nil {
		return g, g.store.refresh()
	}
	return m.openGeneration(newest)
}

func (m *mirror) path(n int, suffix string) string {
	return filepath.Join(m.dir, strconv.Itoa(n)+suffix)
}

func (m *mirror) openGeneration(n int) (*generation, error) {
	lock := flock.New(m.path(n, ".lock"))
	if err := lock.RLock(); err != nil {
		return nil, err
	}
	st, err := func() (*store, error) {
		for _, dir := range []string{"objects/pack", "objects/info", "refs/kbsync"} {
			if err := os.MkdirAll(filepath.Join(m.path(n, ""), filepath.FromSlash(dir)), 0o700); err != nil {
				return nil, err
			}
		}
		if err := os.WriteFile(filepath.Join(m.path(n, ""), "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
			return nil, err // nobody reads it, but without it git fsck does not look at the rest
		}
		return newStore(osfs.New(m.path(n, "")), filepath.Join(m.path(n, ""), "objects"), true)
	}()
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	g := &generation{number: n, lock: lock, store: st}
	m.open[n] = g
	return g, nil
}

// sweep removes what an interrupted fetch left.
func (m *mirror) sweep(n int) error {
	left, err := filepath.Glob(filepath.Join(m.packs(n), "tmp_*"))
	for _, name := range left {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

func (m *mirror) packs(n int) string { return filepath.Join(m.path(n, ""), "objects", "pack") }

// usable looks for what tells a whole mirror from a damaged one without reading it.
func (m *mirror) usable(n int) bool {
	if _, err := os.Stat(m.path(n, ".bad")); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	entries, err := os.ReadDir(m.packs(n))
	if err != nil {
		return false
	}
	stems := map[string]bool{}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == ".pack" || ext == ".idx" {
			stems[strings.TrimSuffix(e.Name(), ext)] = true
		}
	}
	for stem := range stems {
		if !intact(filepath.Join(m.packs(n), stem), strings.TrimPrefix(stem, "pack-")) {
			return false
		}
	}
	return len(stems) <= maxPacks
}

// intact compares the checksum at the end of a pack, and the copy of it in its index, with the name: a file that was cut fails.
func intact(stem, sum string) bool {
	want, err := hex.DecodeString(sum)
	if err != nil || len(want) != 20 {
		return false
	}
	return bytes.Equal(want, tail(stem+".pack", 20)) && bytes.Equal(want, tail(stem+".idx", 40))
}

// tail is the 20 bytes that begin so far from the end of a file.
func tail(name string, fromEnd int64) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // only read from
	buf := make([]byte, 20)
	if _, err := f.Seek(-fromEnd, io.SeekEnd); err != nil {
		return nil
	}
	if _, err := io.ReadFull(f, buf); err != nil {
		return nil
	}
	return buf
}

func (m *mirror) markBad(n int) error { return os.WriteFile(m.path(n, ".bad"), nil, 0o600) }

// condemn has the next fetch make a new generation, because an object of this one cannot be read.
func (m *mirror) condemn(st *store) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.open {
		if g.store == st {
			return m.markBad(g.number)
		}
	}
	return nil
}

// remove deletes an old generation unless somebody reads it.
func (m *mirror) remove(n int) error {
	lock := flock.New(m.path(n, ".lock"))
	free, err := lock.TryLock()
	if err != nil || !free {
		return errors.Join(err, lock.Close())
	}
	return errors.Join(os.RemoveAll(m.path(n, "")), os.RemoveAll(m.path(n, ".bad")), os.RemoveAll(m.path(n, ".lock")), lock.Close())
}

func (m *mirror) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for n, g := range m.open {
		errs = append(errs, g.store.close(), g.lock.Close())
		delete(m.open, n)
	}
	if m.temp && m.dir != "" {
		errs = append(errs, os.RemoveAll(m.dir))
		m.dir = ""
	}
	return errors.Join(errs...)
}

// tipName is where a generation notes the last commit that was fetched whole for a ref.
func tipName(ref string) plumbing.ReferenceName {
	sum := sha256.Sum256([]byte(ref))
	return plumbing.ReferenceName("refs/kbsync/" + hex.EncodeToString(sum[:16]))
}

// tips are what the generation holds whole.
func (s *store) tips() (map[plumbing.Hash]bool, error) {
	out := map[plumbing.Hash]bool{}
	list, err := filesystem.NewStorage(s.fs, newCache()).IterReferences()
	if err == nil {
		err = list.ForEach(func(r *plumbing.Reference) error {
			if r.Type() == plumbing.HashReference && !r.Hash().IsZero() {
				out[r.Hash()] = true
			}
			return nil
		})
	}
	for h := range out {
		if err == nil {
			_, err = s.treeAt(h)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return out, nil
}
