package fs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// settling is how long after a change the clock of a file system may show the same time for another one.
const settling = 2 * time.Second

// status is what the system says about a file. ctime, dev and ino are 0 where it does not know them.
type status struct {
	kind         fs.FileMode // type bits
	size         int64
	mtime, ctime int64 // ns since 1970
	dev, ino     uint64
}

// version changes with the content: no program can set the change time.
func (s *status) version() string {
	var buf [64]byte
	b := strconv.AppendInt(buf[:0], s.size, 36)
	b = strconv.AppendInt(append(b, '.'), s.mtime, 36)
	b = strconv.AppendInt(append(b, '.'), s.ctime, 36)
	b = strconv.AppendUint(append(b, '.'), s.ino, 36)
	return string(b)
}

// changed is the last time at which the file changed.
func (s *status) changed() int64 {
	if s.ctime != 0 {
		return s.ctime
	}
	return s.mtime
}

// documentAt is a file that was found; rel is where it is opened.
func documentAt(root *os.Root, path, rel string, st status, unsettled bool) connector.Document {
	return connector.Document{
		Path: path, Version: st.version(), Unsettled: unsettled, Size: st.size, ModifiedAt: time.Unix(0, st.mtime),
		Open:    func(ctx context.Context) (io.ReadCloser, error) { return openDocument(ctx, root, rel, st) },
		Sibling: func(ctx context.Context, path string) (*connector.Document, error) { return sibling(ctx, root, path) },
	}
}

// sibling finds a file by its path below the root. Links are not followed at its end, and nowhere out of the root.
func sibling(ctx context.Context, root *os.Root, path string) (*connector.Document, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !fs.ValidPath(path) || path == "." {
		return nil, connector.Errorf(connector.ClassInvalid, "fs: %q leads out of the folder", path)
	}
	f, err := root.OpenFile(path, openFlags, 0)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil, connector.Errorf(connector.ClassDenied, "fs: %s: %w", path, bare(err))
		}
		return nil, connector.Errorf(connector.ClassNotFound, "fs: %s: %w", path, bare(err))
	}
	st, err := statFile(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	switch {
	case err != nil:
		return nil, connector.Errorf(connector.ClassUnknown, "fs: %s: %w", path, bare(err))
	case st.kind != 0:
		return nil, connector.Errorf(connector.ClassNotFound, "fs: %s is no file", path)
	}
	doc := documentAt(root, path, path, st, st.changed() > time.Now().Add(-settling).UnixNano())
	return &doc, nil
}

var errChanged = errors.New("the file changed after it was listed")

// openDocument opens rel for reading if it is still the file that was listed.
func openDocument(ctx context.Context, root *os.Root, rel string, listed status) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(rel, openFlags, 0)
	if err != nil {
		return nil, openError(err)
	}
	now, err := statFile(f)
	if err == nil && now != listed {
		err = connector.Errorf(connector.ClassChanged, "fs: %w", errChanged)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return &reader{file: f, listed: listed}, nil
}

func openError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return connector.Errorf(connector.ClassChanged, "fs: the file is gone since it was listed: %w", bare(err))
	case errors.Is(err, fs.ErrPermission):
		return connector.Errorf(connector.ClassDenied, "fs: %w", bare(err))
	}
	return connector.Errorf(connector.ClassUnknown, "fs: open: %w", bare(err))
}

// reader reports a file that changes while it is read, so that half of one state and half of another is never
// stored as the version that was listed.
type reader struct {
	file    *os.File
	listed  status
	checked bool
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.file.Read(p)
	if errors.Is(err, io.EOF) {
		if changed := r.check(); changed != nil {
			return n, changed
		}
	} else if err != nil {
		err = connector.Errorf(connector.ClassOf(err), "fs: read: %w", bare(err))
	}
	return n, err
}

// Close also reports a change, for those who know the size and do not read up to the end of file.
func (r *reader) Close() error {
	var changed error
	if !r.checked {
		changed = r.check()
	}
	return errors.Join(changed, r.file.Close())
}

func (r *reader) check() error {
	r.checked = true
	now, err := statFile(r.file)
	if err != nil {
		return connector.Errorf(connector.ClassUnknown, "fs: stat: %w", err)
	}
	if now != r.listed {
		return connector.Errorf(connector.ClassChanged, "fs: %w", errChanged)
	}
	return nil
}
