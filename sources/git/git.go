// Package git lists the files of a git repository at a branch, a tag or a commit, without git and without a checkout.
//
// The version of a document is its blob id, so that a fresh clone, a checkout that touched every file and a commit
// that changed other files cost no reading. Files are listed in tree order ([connector.OrderTree]).
//
// # Config
//
// url is a repository: https://…, ssh://…, git@host:path, a folder relative to the configuration file, or file:///….
// ref is a branch, a tag, a full ref name (refs/…) or a commit id of 40 digits; without it, what HEAD of the
// repository points to. path is the subfolder that is taken as the root. include and exclude are globs below it.
// Repositories over the network are kept as a bare mirror in the cache folder and fetched at each listing, depth commits
// deep. token, or username and password, go to https; ssh takes ssh_key or the agent, and host keys are
// checked against known_hosts.
//
// # Limits
//
// What was committed is listed, never what lies in a working tree. Symbolic links, submodules and Git LFS pointers are
// skipped and reported. Nothing is ever checked out: only the mirror is written. Repositories with SHA-256 ids or
// reftables, and servers that speak nothing but protocol v2 or multi_ack, are not supported. While a
// fetch is unpacked, the largest object of it is held in memory.
package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/globs"
)

// Config of the source.
type Config struct {
	URL     string   `yaml:"url" required:"true" doc:"the repository: https://, ssh://, git@host:path, or a folder relative to the configuration file"`
	Ref     string   `yaml:"ref" doc:"branch, tag, full ref name or commit id; default: HEAD of the repository"`
	Path    string   `yaml:"path" doc:"the subfolder that is taken as the root"`
	Include []string `yaml:"include" doc:"globs of the files to list"`
	Exclude []string `yaml:"exclude" doc:"globs of files and folders to leave out"`
	MaxSize int64    `yaml:"max_size" format:"size" doc:"larger files are skipped; 0: no limit"`
	// MaxTreeSize is for the engine.
	MaxTreeSize int64            `yaml:"max_tree_size" format:"size" doc:"larger files are cut as plain text, in bounded memory"`
	Depth       int              `yaml:"depth" doc:"how many commits are fetched; 0: all"`
	Timeout     time.Duration    `yaml:"timeout" doc:"the longest silence of the server"`
	Username    string           `yaml:"username" doc:"user name for https"`
	Password    connector.Secret `yaml:"password" doc:"password for https or ssh"`
	Token       connector.Secret `yaml:"token" doc:"access token for https, in place of a password"`
	SSHKey      string           `yaml:"ssh_key" doc:"file of the private key; default: the ssh agent"`
	Passphrase  connector.Secret `yaml:"ssh_key_passphrase" doc:"passphrase of the private key"`
	KnownHosts  string           `yaml:"known_hosts" doc:"file of the host keys; default: ~/.ssh/known_hosts and the system's"`
}

func defaults() Config {
	return Config{Include: []string{"**/*"}, MaxTreeSize: 64 << 20, Depth: 1, Timeout: 2 * time.Minute}
}

// Validate checks what can be checked without the repository.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.URL == "" {
		fail("url: missing; expected a repository, such as https://github.com/org/repo")
	} else if _, err := parseAddress(c.URL, ""); err != nil {
		errs = append(errs, err)
	}
	if strings.ContainsAny(c.Ref, " ~^:?*[\\\x00\n") || strings.HasPrefix(c.Ref, "-") || strings.Contains(c.Ref, "..") {
		fail("ref: expected a branch, a tag, a full ref name or a commit id of 40 digits")
	}
	if p := c.Path; strings.HasPrefix(p, "/") || p == ".." || strings.HasPrefix(path.Clean(p), "../") || path.Clean(p) == ".." {
		fail("path: expected a folder inside the repository, without a leading slash")
	}
	if err := globs.Validate(c.Include, c.Exclude); err != nil {
		errs = append(errs, err)
	}
	if c.MaxSize < 0 || c.MaxTreeSize < 0 || c.Depth < 0 || c.Timeout < 0 {
		fail("max_size, max_tree_size, depth and timeout: expected 0 or more")
	}
	if c.Token != "" && c.Password != "" {
		fail("token and password: set one of them")
	}
	if c.Passphrase != "" && c.SSHKey == "" {
		fail("ssh_key_passphrase: there is no ssh_key that it could open")
	}
	return errors.Join(errs...)
}

// Source lists one repository at one ref.
type Source struct {
	config  Config
	address address
	dir     string // what relative paths are relative to
	filter  *globs.Filter
	mirror  *mirror // nil for a repository that is opened in place

	mu      sync.Mutex
	local   *store // the repository that is opened in place, after the first listing
	localID fs.FileInfo
	older   []*store // those of listings before another repository took its place
	closed  bool
}

var _ connector.Source = (*Source)(nil)

// Plugin is the registry entry of kind "git".
func Plugin() connector.SourcePlugin {
	return connector.Define("git", "Files of a git repository at a branch, tag or commit.", defaults(),
		func(_ context.Context, c *Config, env connector.Env) (connector.Source, error) {
			return Open(*c, env.Dir, env.Cache)
		})
}

// Open makes the source; dir is what relative paths are relative to, and cache where mirrors are kept (empty: in a
// temporary folder until Close). Nothing is opened or fetched before the first listing.
func Open(c Config, dir, cache string) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	at, err := parseAddress(c.URL, dir)
	if err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	if err := at.takeCredentials(&c); err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	if c.Path = strings.Trim(path.Clean(c.Path), "/"); c.Path == "." {
		c.Path = ""
	}
	s := &Source{config: c, address: at, dir: dir, filter: globs.New(c.Include, c.Exclude)}
	if at.scheme != schemeFile {
		s.mirror = newMirror(cache, at.display)
	}
	return s, nil
}

// Capabilities promises tree order and versions, and passes max_tree_size on.
func (s *Source) Capabilities() connector.SourceCapabilities {
	return connector.SourceCapabilities{Order: connector.OrderTree, Versions: true, MaxTreeSize: s.config.MaxTreeSize}
}

// Changes fetches what is new and lists the tree of the ref. A repository or ref that is not there, a failed fetch and a
// path that is no folder end the listing with an error: they never look like an empty folder.
func (s *Source) Changes(ctx context.Context) iter.Seq2[connector.Change, error] {
	return func(yield func(connector.Change, error) bool) {
		fail := func(err error) {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			yield(connector.Change{}, err)
		}
		if ctx.Err() != nil {
			fail(ctx.Err())
			return
		}
		st, commit, err := s.resolve(ctx)
		if err != nil {
			fail(err)
			return
		}
		root, err := s.root(st, commit)
		if err != nil {
			fail(err)
			return
		}
		newWalker(s, st, yield).folder(ctx, folder{hash: root})
	}
}

// Close ends the use of every document's Open.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, st := range append(s.older, s.local) {
		if st != nil {
			errs = append(errs, st.close())
		}
	}
	s.local, s.older = nil, nil
	if s.mirror != nil {
		errs = append(errs, s.mirror.close())
	}
	return errors.Join(errs...)
}

// resolve gives the objects and the commit that is listed.
func (s *Source) resolve(ctx context.Context) (*store, plumbing.Hash, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, plumbing.ZeroHash, errors.New("git: the source is closed")
	}
	if s.mirror != nil {
		return s.mirror.sync(ctx, s.fetch)
	}
	st, err := s.openLocal()
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	commit, err := s.localCommit(st)
	return st, commit, err
}

// root is the tree that is listed: that of the commit, or of path below it.
func (s *Source) root(st *store, commit plumbing.Hash) (plumbing.Hash, error) {
	tree, err := st.treeOf(commit)
	if err != nil {
		return tree, s.objectError(st, fmt.Sprintf("the tree of %s", s.refName()), err)
	}
	if s.config.Path == "" {
		return tree, nil
	}
	at := tree
	for _, name := range strings.Split(s.config.Path, "/") {
		next, err := st.subtree(at, name)
		if errors.Is(err, errNoFolder) {
			return at, connector.Errorf(connector.ClassNotFound, "git: path %s: there is no such folder in %s at %s", s.config.Path, s.address.display, s.refName())
		}
		if err != nil {
			return at, s.objectError(st, "path "+s.config.Path, err)
		}
		at = next
	}
	return at, nil
}

// objectError ends a listing because of an object that cannot be read. A mirror is fetched anew next time.
func (s *Source) objectError(st *store, what string, err error) error {
	if s.mirror != nil {
		if bad := s.mirror.condemn(st); bad != nil {
			err = errors.Join(err, bad)
		}
		return connector.Errorf(connector.ClassTransient, "git: %s: the mirror is damaged (%w); the next listing fetches it anew", what, err)
	}
	return connector.Errorf(connector.ClassUnknown, "git: %s: %w; the repository is damaged or incomplete: try git fsck", what, err)
}

func (s *Source) refName() string {
	if s.config.Ref == "" {
		return "HEAD"
	}
	return s.config.Ref
}
