package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kbsync/kbsync/connector"
)

// Bounds on what a hostile repository can make of a listing.
const (
	maxFolderDepth = 250
	maxEntries     = 20_000_000 // ten trees, each ten times in the next, are 10^10 files
	maxName        = 4096
)

// Git LFS keeps a small text file in place of the content. The shortest one has about 126 bytes.
const (
	lfsPrefix = "version https://git-lfs.github.com/spec/v1\n"
	minLFS    = 100
	maxLFS    = 1024
)

// walker is one listing.
type walker struct {
	yield   func(connector.Change, error) bool
	source  *Source
	store   *store
	uri     string // of the root, with what stands before a path
	entries int
	trees   int64 // bytes of the trees from the root to the one being listed
}

// folder is where the walk is.
type folder struct {
	path  string // with a slash at its end; empty at the root
	hash  plumbing.Hash
	depth int
}

func newWalker(s *Source, st *store, yield func(connector.Change, error) bool) *walker {
	uri := s.address.display + "#" + (&url.URL{Path: s.refName()}).EscapedPath() + ":"
	if s.config.Path != "" {
		uri += (&url.URL{Path: s.config.Path}).EscapedPath() + "/"
	}
	return &walker{yield: yield, source: s, store: st, uri: uri}
}

// folder lists one tree. It is false when the listing must end.
func (w *walker) folder(ctx context.Context, at folder) bool {
	if at.depth > maxFolderDepth {
		return w.folderFailed(at.path, connector.Errorf(connector.ClassInvalid, "git: nested more than %d folders deep", maxFolderDepth))
	}
	list, err := w.store.tree(at.hash, min(maxTree, maxTrees-w.trees))
	if err != nil {
		return w.damaged(at.path, true, err)
	}
	w.trees += int64(len(list.raw))
	defer func() { w.trees -= int64(len(list.raw)) }()
	for i := 0; i < len(list.order); {
		if err := ctx.Err(); err != nil {
			w.yield(connector.Change{}, err)
			return false
		}
		e, same := list.entry(i), i+1
		isTree := e.mode&modeKind == modeTree
		for ; same < len(list.order) && bytes.Equal(list.entry(same).name, e.name); same++ {
			isTree = isTree || list.entry(same).mode&modeKind == modeTree
		}
		if w.entries += same - i; w.entries > maxEntries {
			w.yield(connector.Change{}, connector.Errorf(connector.ClassInvalid, "git: the tree has more than %d entries; set path or exclude", maxEntries))
			return false
		}
		name, err := checkName(e.name)
		if err == nil && same > i+1 {
			err = errors.New("the tree has this name twice")
		}
		i = same
		if err != nil {
			if !w.failed(at.path+name, isTree, connector.Errorf(connector.ClassInvalid, "git: %w", err)) {
				return false
			}
			continue
		}
		if !w.entry(ctx, at, name, e) {
			return false
		}
	}
	return true
}

// checkName refuses what no file can be called; the name is printable in any case.
func checkName(raw []byte) (string, error) {
	name := string(raw)
	switch {
	case name == "", name == ".", name == "..":
		return escape(name, true), fmt.Errorf("a tree entry is called %q", name)
	case strings.EqualFold(name, ".git"):
		return name, errors.New("a tree entry is called .git")
	case len(name) > maxName:
		return escape(strings.ToValidUTF8(name[:60], ""), false) + "…", fmt.Errorf("a name has %d bytes", len(name))
	case strings.Contains(name, "/"):
		return escape(name, false), errors.New("a name holds a slash")
	case !utf8.ValidString(name):
		return escape(name, false), errors.New("the name is not valid UTF-8 and cannot be stored; rename it")
	}
	return name, nil
}

// escape writes slashes and bytes that are not UTF-8 as \xNN, or all bytes.
func escape(name string, all bool) string {
	if name == "" {
		return `\x`
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if all || r == '/' || r == utf8.RuneError && size == 1 {
			b.WriteString(`\x` + strconv.FormatUint(uint64(name[i])|0x100, 16)[1:])
			i++
			continue
		}
		b.WriteString(name[i : i+size])
		i += size
	}
	return b.String()
}

// entry lists one name of a folder.
func (w *walker) entry(ctx context.Context, at folder, name string, e entry) bool {
	p := at.path + name
	filter := w.source.filter
	if e.mode&modeKind == modeTree {
		if !filter.Folder(p) {
			return true
		}
		return w.folder(ctx, folder{path: p + "/", hash: e.hash, depth: at.depth + 1})
	}
	if !filter.File(p) {
		return true
	}
	switch e.mode & modeKind {
	case modeFile:
		return w.file(p, e.hash)
	case modeSymlink:
		return w.skip(p, "symbolic link (never followed)")
	case modeGitlink:
		return w.skip(p, "submodule (never followed; make it a source of its own)")
	}
	return w.failed(p, false, connector.Errorf(connector.ClassInvalid, "git: the entry has the unknown mode %o", e.mode))
}

func (w *walker) file(p string, h plumbing.Hash) bool {
	size, err := w.store.size(h)
	if err != nil {
		return w.damaged(p, false, err)
	}
	if limit := w.source.config.MaxSize; limit > 0 && size > limit {
		return w.skip(p, fmt.Sprintf("%d bytes, over max_size (%d)", size, limit))
	}
	if size >= minLFS && size < maxLFS {
		data, err := w.store.readSmall(h, size)
		if err != nil {
			return w.damaged(p, false, err)
		}
		if bytes.HasPrefix(data, []byte(lfsPrefix)) {
			return w.skip(p, "Git LFS pointer (the content is not in the repository)")
		}
	}
	s, st := w.source, w.store
	return w.yield(connector.Change{Document: connector.Document{
		Path: p, URI: w.uriOf(p), Version: h.String(), Size: size,
		Metadata: map[string]any{"repository": s.address.display, "ref": s.refName()},
		Open:     func(ctx context.Context) (io.ReadCloser, error) { return s.openBlob(ctx, st, h, size) },
	}}, nil)
}

func (w *walker) uriOf(p string) string {
	return w.uri + strings.TrimPrefix((&url.URL{Path: "/" + p}).EscapedPath(), "/")
}

func (w *walker) skip(p, reason string) bool {
	return w.yield(connector.Change{
		Kind: connector.ChangeSkip, Document: connector.Document{Path: p, URI: w.uriOf(p)}, Reason: reason,
	}, nil)
}

func (w *walker) failed(p string, isDir bool, err error) bool {
	return w.yield(connector.Change{}, &connector.DocError{Path: strings.TrimSuffix(p, "/"), Dir: isDir, Err: err})
}

// damaged reports an object that cannot be read. In a repository that is opened in place it spoils what it belongs to; a mirror is
// incomplete then, and the listing ends.
func (w *walker) damaged(p string, isDir bool, err error) bool {
	if p == "" || w.source.mirror != nil && !errors.Is(err, errTree) {
		w.yield(connector.Change{}, w.source.objectError(w.store, "/"+p, err))
		return false
	}
	return w.failed(p, isDir, connector.Errorf(connector.ClassUnknown, "git: %w; the repository is damaged or incomplete: try git fsck", err))
}

func (w *walker) folderFailed(p string, err error) bool { return w.failed(p, true, err) }
