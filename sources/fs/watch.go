package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/fsnotify/fsnotify"

	"github.com/kbsync/kbsync/connector"
)

var _ connector.Watcher = (*Source)(nil)

// rootEvery is how often the root itself is looked at: what happens to the folders above it tells of nothing.
const rootEvery = 15 * time.Second

// Watch hears of changes from the operating system. It watches the folders that may hold documents, new ones as they appear, and follows no
// link out of the root. It ends with an error when the root is gone or another folder took its place, and when the system's limit of
// watches is reached. Network file systems tell nothing of what other machines write, and this cannot be found out.
func (s *Source) Watch(ctx context.Context, ready, changed func()) (err error) {
	real, err := filepath.EvalSymlinks(s.root)
	if err != nil {
		return s.rootError(err)
	}
	was, err := os.Stat(real)
	if err != nil {
		return s.rootError(err)
	}
	notify, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		return limitError(err, 0)
	}
	defer func() { err = errors.Join(err, notify.Close()) }()
	w := &folderWatch{walker: walker{source: s, real: real}, was: was, notify: notify, folders: map[string]*ignores{}}
	if err := w.look(func() error { return w.add(ctx, "") }); err != nil {
		return err
	}
	ready()
	return w.listen(ctx, changed)
}

// folderWatch is one Watch. Of the walker it uses what decides about names.
type folderWatch struct {
	walker
	was    fs.FileInfo // the root when it began
	notify *fsnotify.Watcher
	// folders are those that are watched, by path below the root, with what their ignore files say.
	folders map[string]*ignores
}

// listen passes events on until ctx ends or nothing more can be heard.
func (w *folderWatch) listen(ctx context.Context, changed func()) error {
	tick := time.NewTicker(rootEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if err := w.rootStands(); err != nil {
				return err
			}
		case err := <-w.notify.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("fs: watch: %w", err)
			}
			// Too many events at once: folders may have come unseen.
			if err := w.look(func() error { return w.add(ctx, "") }); err != nil {
				return err
			}
			changed()
		case e := <-w.notify.Events:
			concerns, err := w.event(ctx, e)
			if err != nil {
				return err
			}
			if concerns {
				changed()
			}
		}
	}
}

// rootStands is an error if the root is gone, or another folder now.
func (w *folderWatch) rootStands() error {
	now, err := os.Stat(w.source.root)
	if err != nil {
		return w.source.rootError(err)
	}
	if !os.SameFile(w.was, now) {
		return connector.Errorf(connector.ClassNotFound, "fs: root %s: another folder took its place", w.source.root)
	}
	return nil
}

// look opens the root for fn. It is not held open: the system would not tell of its removal then.
func (w *folderWatch) look(fn func() error) (err error) {
	if err := w.rootStands(); err != nil {
		return err
	}
	if w.root, err = os.OpenRoot(w.real); err != nil {
		return w.source.rootError(err)
	}
	defer func() { err = errors.Join(err, w.root.Close()) }()
	return fn()
}

// event looks at one event, keeps the watches in step with the folders and says whether it concerns a document.
func (w *folderWatch) event(ctx context.Context, e fsnotify.Event) (concerns bool, err error) {
	path, ok := w.below(e.Name)
	switch {
	case !ok:
		return false, nil
	case path == "":
		return false, w.rootStands()
	}
	parent, name := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	if slices.Contains(w.source.config.IgnoreFiles, name) {
		return true, w.look(func() error { return w.add(ctx, parent) }) // other folders may count now
	}
	if !w.source.config.FollowLinks && !w.keep(name, nil) {
		return false, nil
	}
	if _, watched := w.folders[path]; watched && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		w.forget(path)
		return true, nil
	}
	at := folder{path: parent, ignore: w.folders[parent]}
	concerns = w.source.config.FollowLinks || w.wanted(path, at, false)
	if !e.Has(fsnotify.Create) {
		return concerns, nil
	}
	err = w.look(func() error {
		info, err := w.root.Lstat(path)
		if err != nil || !info.IsDir() {
			return nil //nolint:nilerr // it is gone again, which is told next
		}
		if concerns = w.follows(path, at); !concerns {
			return nil
		}
		return w.add(ctx, path)
	})
	return concerns, err
}

// below is the path below the root of a name that the system told.
func (w *folderWatch) below(name string) (path string, ok bool) {
	rel, err := filepath.Rel(w.real, name)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	if rel == "." {
		return "", true
	}
	return filepath.ToSlash(rel), true
}

// follows says whether a folder may hold documents. Where links are followed, one may lead to any folder.
func (w *folderWatch) follows(path string, at folder) bool {
	return utf8.ValidString(path) && (w.source.config.FollowLinks || w.wanted(path, at, true))
}

// forget ends the watches of a folder that is gone and of all below it. One that was only renamed tells of its new name next; the
// system would go on to tell the old one.
func (w *folderWatch) forget(path string) {
	for p := range w.folders {
		if p == path || strings.HasPrefix(p, path+"/") {
			_ = w.notify.Remove(filepath.Join(w.real, filepath.FromSlash(p))) // it may be gone with its folder
			delete(w.folders, p)
		}
	}
}

// add watches a folder and all below it that may hold documents; those that are watched are looked at again. A folder is watched before it
// is read, so that nothing comes into it unseen.
func (w *folderWatch) add(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if strings.Count(path, "/") >= maxFolderDepth {
		return nil // the listing tells
	}
	if _, watched := w.folders[path]; !watched {
		switch err := w.notify.Add(filepath.Join(w.real, filepath.FromSlash(path))); {
		case err == nil:
		case path == "":
			return limitError(err, len(w.folders))
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR):
			return nil // gone meanwhile, or the listing tells
		default:
			return limitError(err, len(w.folders))
		}
	}
	at, names, err := w.read(path)
	if err != nil {
		if path == "" {
			return w.source.rootError(err)
		}
		w.folders[path] = at.ignore
		return nil
	}
	w.folders[path] = at.ignore
	for _, name := range names {
		if sub := at.path + name; w.follows(sub, at) {
			if err := w.add(ctx, sub); err != nil {
				return err
			}
		}
	}
	return nil
}

// read gives the names of the folders in a folder, and what its ignore files say.
func (w *folderWatch) read(path string) (at folder, names []string, err error) {
	rel := "."
	if path != "" {
		rel = path
		at.path = path + "/"
		parent := ""
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			parent = path[:i]
		}
		at.ignore = w.folders[parent]
	}
	at.real = at.path
	f, err := w.root.OpenFile(rel, openFlags, 0)
	if err != nil {
		return at, nil, bare(err)
	}
	defer func() { _ = f.Close() }() // only read from
	present := make([]bool, len(w.source.config.IgnoreFiles))
	for {
		batch, err := f.ReadDir(readBatch)
		for _, e := range batch {
			if keep := w.keep(e.Name(), present); (keep || w.source.config.FollowLinks) && e.IsDir() {
				names = append(names, e.Name())
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return at, nil, bare(err)
		}
	}
	// Ignore files that cannot be read fail their folder in the listing; here more is watched than needed.
	if ignore, err := w.readIgnores(at, present); err == nil {
		at.ignore = ignore
	}
	return at, names, nil
}

// limitError says which limit of the system was reached.
func limitError(err error, folders int) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return connector.Errorf(connector.ClassFull, "fs: watch: the system's limit of watches is reached after %d folders: raise it, as in "+
			"`sysctl fs.inotify.max_user_watches=1048576`, or exclude folders", folders)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return connector.Errorf(connector.ClassFull, "fs: watch: the system's limit of watchers or of open files is reached: raise it, as in "+
			"`sysctl fs.inotify.max_user_instances=1024` or `ulimit -n 65536`")
	}
	return connector.Errorf(connector.ClassUnknown, "fs: watch: %w", bare(err))
}
