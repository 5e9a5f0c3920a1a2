package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/kbsync/kbsync/connector"
)

const (
	// spoolMemory is up to which size the content of a container stays in memory; a larger one goes to a temporary file.
	spoolMemory = 1 << 20
	// idleContents is how many contents that nobody reads are kept, because their members come one after another.
	idleContents = 4
)

// contents keeps the bytes of containers while their members are read: those of the last few, and of whatever is in use.
type contents struct {
	p    *Pipeline
	mu   sync.Mutex
	idle []*content // least recently used first
}

// content is the whole of one container. It may be dropped when nobody reads it, and is then fetched again: readers of a container
// keep their meaning, whatever happens in between.
type content struct {
	of    *contents
	fetch func(ctx context.Context, w io.Writer) error
	tries int // how often it is fetched again after a passing fault

	loading sync.Mutex // held while it is fetched
	size    int64      // set by the first fetching, as is sum
	sum     [sha256.Size]byte
	known   bool

	// The rest is guarded by of.mu.
	users  int
	memory []byte
	file   *os.File
}

// pin makes the bytes present until the release; what was fetched before must be the same again.
func (c *content) pin(ctx context.Context) (release func(), err error) {
	c.of.use(c)
	release = sync.OnceFunc(func() { c.of.unuse(c) })
	c.loading.Lock()
	defer c.loading.Unlock()
	if c.present() {
		return release, nil
	}
	if err := c.load(ctx); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

func (c *content) present() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return c.file != nil || c.memory != nil
}

// load fetches the bytes. A passing fault is waited out.
func (c *content) load(ctx context.Context) error {
	for tries := 0; ; tries++ {
		err := c.attempt(ctx)
		if err == nil || !passing(err) || tries >= c.tries || ctx.Err() != nil {
			return err
		}
		c.of.p.log.Warn("trying again", "what", "read a container", "error", err)
		if err := c.of.p.pauseAfter(ctx, tries, err); err != nil {
			return err
		}
	}
}

// attempt fetches the bytes once.
func (c *content) attempt(ctx context.Context) error {
	s := &spooler{}
	sum := sha256.New()
	if err := c.fetch(ctx, io.MultiWriter(s, sum)); err != nil {
		return errors.Join(err, s.drop())
	}
	digest := [sha256.Size]byte(sum.Sum(nil))
	if c.known && digest != c.sum {
		return errors.Join(connector.Errorf(connector.ClassChanged, "the file changed while what it holds was read"), s.drop())
	}
	c.size, c.sum, c.known = s.n, digest, true
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.file = s.file; c.file == nil {
		c.memory = append([]byte{}, s.memory.Bytes()...) // never nil
	}
	return nil
}

// ReadAt implements io.ReaderAt while the content is pinned.
func (c *content) ReadAt(b []byte, off int64) (int, error) {
	c.of.mu.Lock()
	memory, file := c.memory, c.file
	c.of.mu.Unlock()
	switch {
	case file != nil:
		return file.ReadAt(b, off)
	case memory != nil:
		return bytes.NewReader(memory).ReadAt(b, off)
	}
	return 0, errors.New("internal error: a container is read that nobody holds")
}

// open reads the whole.
func (c *content) open(ctx context.Context) (io.ReadCloser, error) {
	release, err := c.pin(ctx)
	if err != nil {
		return nil, err
	}
	return &heldReader{io.NewSectionReader(c, 0, c.size), nil, release}, nil
}

// member reads a member of the container.
func (c *content) member(ctx context.Context, open func(context.Context) (io.ReadCloser, error)) (io.ReadCloser, error) {
	release, err := c.pin(ctx)
	if err != nil {
		return nil, err
	}
	rc, err := open(ctx)
	if err != nil {
		release()
		return nil, err
	}
	return &heldReader{rc, rc, release}, nil
}

// heldReader lets go of its container when it is closed.
type heldReader struct {
	io.Reader
	closer  io.Closer
	release func()
}

// Close implements io.Closer.
func (r *heldReader) Close() error {
	defer r.release()
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

func (cs *contents) use(c *content) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.users++; c.users > 1 {
		return
	}
	for i := range cs.idle {
		if cs.idle[i] == c {
			cs.idle = append(cs.idle[:i], cs.idle[i+1:]...)
			break
		}
	}
}

func (cs *contents) unuse(c *content) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.users--; c.users > 0 {
		return
	}
	cs.idle = append(cs.idle, c)
	for len(cs.idle) > idleContents {
		cs.idle[0].drop()
		cs.idle = cs.idle[1:]
	}
}

// close drops everything; nobody may read any more.
func (cs *contents) close() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.idle {
		c.drop()
	}
	cs.idle = nil
}

// drop forgets the bytes; of.mu is held.
func (c *content) drop() {
	if c.file != nil {
		_ = c.file.Close()           // it was read only
		_ = os.Remove(c.file.Name()) // already gone on most systems
	}
	c.memory, c.file = nil, nil
}

// spooler takes what is written into memory, and beyond that into a temporary file.
type spooler struct {
	n      int64
	memory bytes.Buffer
	file   *os.File
}

// Write implements io.Writer.
func (s *spooler) Write(b []byte) (int, error) {
	if s.file == nil && s.memory.Len()+len(b) > spoolMemory {
		file, err := os.CreateTemp("", "kbsync-container-*")
		if err != nil {
			return 0, connector.Errorf(connector.ClassFull, "a temporary file for the content: %w", err)
		}
		_ = os.Remove(file.Name()) // where the system allows it, nothing is left behind if this process is killed; else see drop
		s.file = file
		if _, err := file.Write(s.memory.Bytes()); err != nil {
			return 0, connector.Errorf(connector.ClassFull, "a temporary file for the content: %w", err)
		}
		s.memory = bytes.Buffer{}
	}
	s.n += int64(len(b))
	if s.file == nil {
		return s.memory.Write(b)
	}
	n, err := s.file.Write(b)
	if err != nil {
		return n, connector.Errorf(connector.ClassFull, "a temporary file for the content: %w", err)
	}
	return n, nil
}

func (s *spooler) drop() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	_ = os.Remove(s.file.Name()) // already gone on most systems
	return err
}
