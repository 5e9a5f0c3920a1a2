package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/paths"
)

// Bounds on what a hostile tree can make of a listing.
const (
	maxFolderDepth = 250 // each level holds a file descriptor
	maxLinkDepth   = 16
	maxFolderLinks = 10_000
	maxIgnoreFile  = 1 << 20
)

// walker is one listing.
type walker struct {
	yield   func(connector.Change, error) bool
	source  *Source
	root    *os.Root
	real    string // the root without links
	uri     string
	settled int64 // files changed later than this are unsettled
	links   int   // folders reached through links
	buf     []byte
	stack   []status // the folders from the root to the one being listed
}

// folder is where the walk is.
type folder struct {
	path   string // as listed, with a slash at its end; empty at the root
	real   string // the same without links
	ignore *ignores
	links  int // links on the way
}

// walk lists one folder and closes f. It is false when the listing must end.
func (w *walker) walk(ctx context.Context, f *os.File, at folder) bool {
	defer func() { _ = f.Close() }() // only read from
	self, err := statFile(f)
	if err != nil {
		return w.folderFailed(at.path, bare(err))
	}
	w.stack = append(w.stack, self)
	defer func() { w.stack = w.stack[:len(w.stack)-1] }()
	present := make([]bool, len(w.source.config.IgnoreFiles))
	list, err := readNames(f, func(name string) bool { return w.keep(name, present) })
	if errors.Is(err, fs.ErrNotExist) && at.path != "" {
		return true // deleted since it was opened
	}
	if err != nil {
		return w.folderFailed(at.path, err)
	}
	if at.ignore, err = w.readIgnores(at, present); err != nil {
		return w.folderFailed(at.path, err)
	}
	for i := range list.len() {
		if err := ctx.Err(); err != nil {
			w.yield(connector.Change{}, err)
			return false
		}
		if !w.entry(ctx, f, at, list.name(i)) {
			return false
		}
	}
	return true
}

// keep drops hidden names and notes the ignore files.
func (w *walker) keep(name string, present []bool) bool {
	for i, ignoreFile := range w.source.config.IgnoreFiles {
		if name == ignoreFile {
			present[i] = true
		}
		if name == ".git" && ignoreFile == ".gitignore" {
			return false
		}
	}
	return w.source.config.Hidden || name[0] != '.'
}

// readIgnores adds the folder's ignore files to those above. One that cannot be read fails the folder: without it, files could be
// published that were meant to stay out.
func (w *walker) readIgnores(at folder, present []bool) (*ignores, error) {
	var patterns []pattern
	for i, name := range w.source.config.IgnoreFiles {
		if !present[i] {
			continue
		}
		data, err := readSmall(w.root, at.real+name)
		if err != nil {
			return nil, fmt.Errorf("the ignore file %s cannot be read: %w", name, bare(err))
		}
		patterns = append(patterns, parseIgnore(data)...)
	}
	if len(patterns) == 0 {
		return at.ignore, nil
	}
	return &ignores{prefix: len(at.path), patterns: patterns, up: at.ignore}, nil
}

func readSmall(root *os.Root, rel string) ([]byte, error) {
	f, err := root.OpenFile(rel, openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it is not a regular file"))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile+1))
	if err == nil && len(data) > maxIgnoreFile {
		err = fmt.Errorf("it is over %d KiB", maxIgnoreFile>>10)
	}
	return data, err
}

// entry lists one name of a folder.
func (w *walker) entry(ctx context.Context, dir *os.File, at folder, raw []byte) bool {
	// URI and path share one string where nothing needs escaping.
	w.buf = append(append(append(w.buf[:0], w.uri...), at.path...), raw...)
	uri := string(w.buf)
	path := uri[len(w.uri):]
	name := path[len(at.path):]
	rel := path
	if at.links > 0 {
		rel = at.real + name
	}
	st, err := statAt(w.root, dir, rel, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true // deleted since the folder was read
	case err != nil:
		return w.failed(path, bare(err))
	case st.kind == fs.ModeDir:
		return w.subfolder(ctx, dir, at, path, rel, name)
	}
	if !w.wanted(path, at, false) && st.kind != fs.ModeSymlink {
		return true
	}
	if !plainURI(path) {
		uri = w.uri + (&url.URL{Path: path}).EscapedPath()
	}
	if st.kind == fs.ModeSymlink {
		return w.link(ctx, at, path, rel, uri)
	}
	return w.file(path, rel, uri, st)
}

func (w *walker) wanted(path string, at folder, isDir bool) bool {
	if isDir {
		return w.source.filter.Folder(path) && !at.ignore.ignored(path, true)
	}
	return w.source.filter.File(path) && !at.ignore.ignored(path, false)
}

// plainURI says that a path stands in a URI as it is.
func plainURI(path string) bool {
	for i := range len(path) {
		c := path[i]
		if c >= utf8.RuneSelf || !plainByte[c] {
			return false
		}
	}
	return true
}

var plainByte = func() (t [utf8.RuneSelf]bool) {
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~/" {
		t[c] = true
	}
	return t
}()

// file yields a file that the filters let through; rel is where it is opened.
func (w *walker) file(path, rel, uri string, st status) bool {
	if st.kind != 0 {
		return w.skip(path, uri, kindName(st.kind))
	}
	if !utf8.ValidString(path) {
		return w.failed(path, errNotUTF8)
	}
	if limit := w.source.config.MaxSize; limit > 0 && st.size > limit {
		return w.skip(path, uri, fmt.Sprintf("%d bytes, over max_size (%d)", st.size, limit))
	}
	doc := documentAt(w.root, path, rel, st, st.changed() > w.settled)
	doc.URI = uri
	return w.yield(connector.Change{Document: doc}, nil)
}

var errNotUTF8 = errors.New("the name is not valid UTF-8 and cannot be stored; rename it")

func kindName(kind fs.FileMode) string {
	switch kind {
	case fs.ModeNamedPipe:
		return "named pipe"
	case fs.ModeSocket:
		return "socket"
	case fs.ModeDevice:
		return "device file"
	}
	return "not a regular file"
}

// subfolder descends into a real folder.
func (w *walker) subfolder(ctx context.Context, dir *os.File, at folder, path, rel, name string) bool {
	if !w.wanted(path, at, true) {
		return true
	}
	if !utf8.ValidString(name) {
		return w.folderFailed(path, errNotUTF8)
	}
	if len(w.stack) >= maxFolderDepth {
		return w.folderFailed(path, fmt.Errorf("nested more than %d folders deep", maxFolderDepth))
	}
	f, err := openDirAt(w.root, dir, rel, name)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return w.folderFailed(path, bare(err))
	}
	return w.walk(ctx, f, folder{path: path + "/", real: rel + "/", ignore: at.ignore, links: at.links})
}

// link follows or reports a symbolic link.
func (w *walker) link(ctx context.Context, at folder, path, rel, uri string) bool {
	asFile := w.wanted(path, at, false)
	if !w.source.config.FollowLinks {
		if !asFile {
			return true
		}
		return w.skip(path, uri, "symbolic link (follow_links is off)")
	}
	asFolder := w.wanted(path, at, true)
	if !asFile && !asFolder {
		return true
	}
	target, info, reason, err := w.resolve(rel)
	switch {
	case err != nil:
		return w.failed(path, bare(err))
	case reason != "":
		return w.skip(path, uri, reason)
	case !info.IsDir() && !asFile, info.IsDir() && !asFolder:
		return true
	case info.IsDir():
		return w.linkedFolder(ctx, at, path, target, uri)
	}
	parent, err := w.root.Open(filepath.ToSlash(filepath.Dir(target)))
	if err != nil {
		return w.failed(path, bare(err))
	}
	st, err := statAt(w.root, parent, target, filepath.Base(target))
	_ = parent.Close()
	if err != nil {
		return w.failed(path, bare(err))
	}
	return w.file(path, target, uri, st)
}

// resolve finds where a link leads: a path below the root without links, or the reason why it is not followed.
func (w *walker) resolve(rel string) (target string, info fs.FileInfo, reason string, err error) {
	full, err := filepath.EvalSymlinks(filepath.Join(w.real, filepath.FromSlash(rel)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, "symbolic link that leads nowhere", nil
	case err != nil && strings.Contains(err.Error(), "too many links"):
		return "", nil, "symbolic link in a loop", nil
	case err != nil:
		return "", nil, "", err
	}
	target, err = filepath.Rel(w.real, full)
	if err != nil {
		return "", nil, "", err
	}
	target = filepath.ToSlash(target)
	if target == ".." || strings.HasPrefix(target, "../") {
		return "", nil, "symbolic link that leads out of the root", nil
	}
	info, err = w.root.Lstat(target)
	return target, info, "", err
}

// linkedFolder descends into a folder that a link leads to.
func (w *walker) linkedFolder(ctx context.Context, at folder, path, target, uri string) bool {
	if w.links++; w.links > maxFolderLinks || at.links >= maxLinkDepth {
		return w.folderFailed(path, errors.New("too many symbolic links to folders"))
	}
	if !utf8.ValidString(path) {
		return w.folderFailed(path, errNotUTF8)
	}
	f, err := w.root.Open(target)
	if err != nil {
		return w.folderFailed(path, bare(err))
	}
	st, err := statFile(f)
	if err == nil && st.kind != fs.ModeDir {
		err = errChanged
	}
	if err != nil {
		_ = f.Close()
		return w.folderFailed(path, bare(err))
	}
	for _, above := range w.stack {
		if above.dev == st.dev && above.ino == st.ino && st.ino != 0 {
			_ = f.Close()
			return w.skip(path, uri, "symbolic link in a loop")
		}
	}
	real := target + "/"
	if target == "." {
		real = ""
	}
	return w.walk(ctx, f, folder{path: path + "/", real: real, ignore: at.ignore, links: at.links + 1})
}

func (w *walker) skip(path, uri, reason string) bool {
	return w.yield(connector.Change{
		Kind: connector.ChangeSkip, Document: connector.Document{Path: paths.Printable(path), URI: uri}, Reason: reason,
	}, nil)
}

func (w *walker) failed(path string, err error) bool {
	return w.yield(connector.Change{}, &connector.DocError{Path: paths.Printable(path), Err: classed(err)})
}

// folderFailed reports a folder; the root's failure ends the listing.
func (w *walker) folderFailed(path string, err error) bool {
	path = strings.TrimSuffix(path, "/")
	if path == "" {
		w.yield(connector.Change{}, w.source.rootError(err))
		return false
	}
	return w.yield(connector.Change{}, &connector.DocError{Path: paths.Printable(path), Dir: true, Err: classed(err)})
}

func classed(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return connector.Errorf(connector.ClassDenied, "fs: %w", err)
	}
	return connector.Errorf(connector.ClassUnknown, "fs: %w", err)
}
