// Package fs lists the files of a folder.
//
// Files are listed in tree order ([connector.OrderTree]): each folder's entries by name, compared as bytes. Names are
// kept as the file system spells them: names that differ in Unicode form alone are two documents. A document's version is the
// file's size, modification time, change time and inode; without reading a byte, an unchanged file is known to be unchanged.
//
// # Config
//
// root is the folder. include and exclude are glob patterns (*, **, ?, [a-z], {a,b}) of the path below it; a
// pattern that matches a folder excludes all it holds. hidden adds names that start with a dot. ignore_files are
// obeyed as git obeys .gitignore, in every folder; where they include .gitignore, folders named .git are never
// listed. Files over max_size are skipped and reported. Symbolic links are skipped and reported unless
// follow_links is set; then those that stay inside the root are followed. Files over max_tree_size are cut as plain text by the
// engine, because formats that need a tree are held in memory whole.
//
// # Limits
//
// Device files, sockets and pipes are reported and never opened. Names that are not UTF-8 cannot be stored as text
// and are reported as failed, with their odd bytes as \xNN. Ignore files above the root and .git/info/exclude are not
// read; patterns tell upper from lower case on every system. Folders nested more than 250 deep are reported as failed. Where the
// system has neither change times nor inodes (Windows), a version is size and modification time.
package fs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/globs"
)

// Config of the source.
type Config struct {
	Root        string   `yaml:"root" required:"true" doc:"the folder, relative to the configuration file"`
	Include     []string `yaml:"include" doc:"globs of the files to list"`
	Exclude     []string `yaml:"exclude" doc:"globs of files and folders to leave out"`
	Hidden      bool     `yaml:"hidden" doc:"whether names that start with a dot are listed"`
	FollowLinks bool     `yaml:"follow_links" doc:"whether symbolic links inside the root are followed"`
	IgnoreFiles []string `yaml:"ignore_files" doc:"names of the files whose patterns are obeyed as .gitignore is"`
	MaxSize     int64    `yaml:"max_size" format:"size" doc:"larger files are skipped; 0: no limit"`
	// MaxTreeSize is for the engine.
	MaxTreeSize int64 `yaml:"max_tree_size" format:"size" doc:"larger files are cut as plain text, in bounded memory"`
}

func defaults() Config {
	return Config{
		Include:     []string{"**/*"},
		IgnoreFiles: []string{".gitignore", ".kbsyncignore"},
		MaxTreeSize: 64 << 20,
	}
}

// Validate checks the patterns and names.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Root == "" {
		fail("root: missing; expected a folder")
	}
	if err := globs.Validate(c.Include, c.Exclude); err != nil {
		errs = append(errs, err)
	}
	for i, glob := range slices.Concat(c.Include, c.Exclude) {
		if filepath.IsAbs(glob) && !strings.HasPrefix(glob, "/") {
			fail("pattern %d (%s): patterns are relative to root", i, glob)
		}
	}
	for i, name := range c.IgnoreFiles {
		if name == "" || strings.ContainsAny(name, `/\`) {
			fail("ignore_files[%d]: expected a file name without folders", i)
		}
	}
	if c.MaxSize < 0 || c.MaxTreeSize < 0 {
		fail("max_size and max_tree_size: expected 0 or more")
	}
	return errors.Join(errs...)
}

// Source lists one folder.
type Source struct {
	root   string // absolute
	config Config
	filter *globs.Filter

	mu     sync.Mutex
	live   *os.Root   // where the last listing read
	older  []*os.Root // those of listings before the folder was replaced by another
	closed bool
}

var _ connector.Source = (*Source)(nil)

// Plugin is the registry entry of kind "fs".
func Plugin() connector.SourcePlugin {
	return connector.Define("fs", "Files of a folder.", defaults(),
		func(_ context.Context, c *Config, env connector.Env) (connector.Source, error) {
			return Open(*c, env.Dir)
		})
}

// Open makes the source; dir is what a relative root is relative to. Nothing is read before the first listing, so the
// folder may come later.
func Open(c Config, dir string) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("fs: %w", err)
	}
	root := c.Root
	if !filepath.IsAbs(root) {
		root = filepath.Join(dir, root)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("fs: root: %w", err)
	}
	return &Source{root: root, config: c, filter: globs.New(c.Include, c.Exclude)}, nil
}

// Capabilities promises tree order and versions, and passes max_tree_size on.
func (s *Source) Capabilities() connector.SourceCapabilities {
	return connector.SourceCapabilities{Order: connector.OrderTree, Versions: true, MaxTreeSize: s.config.MaxTreeSize}
}

// Changes walks the folder. A root that is missing, unreadable or no folder ends the listing with an error: it never looks like
// an empty folder.
func (s *Source) Changes(ctx context.Context) iter.Seq2[connector.Change, error] {
	return func(yield func(connector.Change, error) bool) {
		fail := func(err error) { yield(connector.Change{}, err) }
		if err := ctx.Err(); err != nil {
			fail(err)
			return
		}
		root, err := s.openRoot()
		if err != nil {
			fail(err)
			return
		}
		real, err := filepath.EvalSymlinks(s.root)
		if err != nil {
			fail(s.rootError(err))
			return
		}
		w := &walker{
			yield: yield, source: s, root: root, real: real,
			uri:     rootURI(s.root),
			settled: time.Now().Add(-settling).UnixNano(),
		}
		f, err := root.Open(".")
		if err != nil {
			fail(s.rootError(err))
			return
		}
		w.walk(ctx, f, folder{})
	}
}

// Close ends the use of every document's Open.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, r := range append(s.older, s.live) {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	s.live, s.older = nil, nil
	return errors.Join(errs...)
}

// openRoot opens the folder, or gives the one that is open if it is still the same folder.
func (s *Source) openRoot() (*os.Root, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("fs: the source is closed")
	}
	fresh, err := os.OpenRoot(s.root)
	if err != nil {
		return nil, s.rootError(err)
	}
	if s.live != nil && sameRoot(s.live, fresh) {
		return s.live, fresh.Close()
	}
	if s.live != nil {
		s.older = append(s.older, s.live)
	}
	s.live = fresh
	return fresh, nil
}

func sameRoot(a, b *os.Root) bool {
	x, err1 := a.Stat(".")
	y, err2 := b.Stat(".")
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

func (s *Source) rootError(err error) error {
	cause := bare(err)
	class := connector.ClassUnknown
	switch {
	case errors.Is(err, fs.ErrNotExist):
		class = connector.ClassNotFound
		cause = errors.New("there is no such folder; is it mounted, and is root relative to the configuration file?")
	case errors.Is(err, fs.ErrPermission):
		class = connector.ClassDenied
	}
	return connector.Errorf(class, "fs: root %s: %w", s.root, cause)
}

// bare is the cause of an error without the operation and path that the os package adds.
func bare(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// rootURI is the URI of the root, with a slash at its end.
func rootURI(root string) string {
	p := filepath.ToSlash(root)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/…
	}
	u := url.URL{Scheme: "file", Path: strings.TrimSuffix(p, "/") + "/"}
	return u.String()
}
