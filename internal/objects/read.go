package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// object opens one object that was listed.
type object struct {
	source       *Source
	key, version string
}

// open reads what is there now; its facts say which version that is.
func (o *object) open(ctx context.Context) (io.ReadCloser, error) {
	r, err := o.read(ctx, 0, "")
	if err != nil {
		return nil, err
	}
	return r, nil
}

// openAt reads from offset on, if the version is still there.
func (o *object) openAt(ctx context.Context, offset int64, version string) (io.ReadCloser, error) {
	if version == "" {
		version = o.version
	}
	r, err := o.read(ctx, offset, version)
	if err != nil {
		return nil, err
	}
	return r, nil
}

var errStalled = errors.New("the server sends nothing any more")

// read asks for one byte more than is wanted: a range that begins at the very end would be refused, and nothing would say whether
// the object is still the same.
func (o *object) read(ctx context.Context, offset int64, version string) (*reader, error) {
	s := o.source
	if offset < 0 {
		return nil, connector.Errorf(connector.ClassInvalid, "%s: open: offset %d", s.Kind, offset)
	}
	inner, cancel := context.WithCancelCause(ctx)
	r := &reader{
		source: s, ended: ctx.Err, cause: func() error { return context.Cause(inner) },
		cancel: cancel, stall: time.AfterFunc(stallTimeout, func() { cancel(errStalled) }),
	}
	got, err := s.Read(inner, o.key, max(0, offset-1))
	if err != nil {
		cancel(nil)
		r.stall.Stop()
		return nil, o.openFailed(r.failed("open", err))
	}
	r.body, r.left = got.Body, got.Size-got.Start
	if got.Size < 0 {
		r.left = -1
	}
	switch {
	case got.Version == "":
		err = connector.Errorf(connector.ClassUnsupported, "%s: open: the answer names no version (ETag) of the object", s.Kind)
	case version != "" && got.Version != version:
		err = connector.Errorf(connector.ClassChanged, "%s: open: the object was overwritten while it was read", s.Kind)
	default:
		err = r.skip(offset - got.Start)
	}
	if err == nil && version == "" {
		r.facts, err = o.facts(inner, r, got)
	}
	r.stall.Stop()
	if err != nil {
		_ = r.Close() // nothing was written
		return nil, err
	}
	return r, nil
}

// openFailed: an object that was listed and is not there has changed.
func (o *object) openFailed(err error) error {
	if connector.ClassOf(err) == connector.ClassNotFound {
		return connector.Errorf(connector.ClassChanged, "the object is gone since it was listed: %w", err)
	}
	return err
}

func (o *object) facts(ctx context.Context, r *reader, got Reading) (connector.Facts, error) {
	s := o.source
	f := connector.Facts{Version: got.Version, MediaType: mediaType(got.ContentType), ModifiedAt: got.ModTime}
	var err error
	if f.Encoding, err = encoding(got.ContentEncoding); err != nil {
		return f, fmt.Errorf("%s: open: %w", s.Kind, err)
	}
	var tags map[string]string
	if s.config.Tags {
		if tags, err = s.Tags(ctx, o.key); err != nil {
			return f, o.openFailed(r.failed("read the tags (tags: true)", err))
		}
	}
	f.Metadata = metadata(got.Metadata, tags)
	return f, nil
}

// reader is an [connector.Opened].
type reader struct {
	source *Source
	ended  func() error // why the caller's context ended, if it did
	cause  func() error // why the request's did
	cancel context.CancelCauseFunc
	stall  *time.Timer
	body   io.ReadCloser
	left   int64 // bytes that must still come; -1 where that is unknown
	facts  connector.Facts
}

var _ connector.Opened = (*reader)(nil)

// Facts are those of the answer.
func (r *reader) Facts() connector.Facts { return r.facts }

// Read reports a body that ends early, and a server that falls silent, as something that may pass.
func (r *reader) Read(p []byte) (int, error) {
	if err := r.ended(); err != nil { // what has come already is not wanted either
		return 0, err
	}
	r.stall.Reset(stallTimeout)
	n, err := r.body.Read(p)
	r.stall.Stop()
	if r.left >= 0 {
		r.left = max(0, r.left-int64(n))
	}
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		if r.left > 0 {
			return n, r.failed("read", io.ErrUnexpectedEOF)
		}
		return n, io.EOF
	}
	return n, r.failed("read", err)
}

// Close ends the request.
func (r *reader) Close() error {
	r.stall.Stop()
	r.cancel(nil)
	_ = r.body.Close() // it was read as far as it was wanted; what a cut connection says here is of no use
	return nil
}

// skip reads n bytes that are not wanted.
func (r *reader) skip(n int64) error {
	if n < 0 {
		return connector.Errorf(connector.ClassTransient, "%s: open: the answer begins after the byte that was asked for", r.source.Kind)
	}
	if n == 0 {
		return nil
	}
	_, err := io.CopyN(io.Discard, r, n)
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return connector.Errorf(connector.ClassChanged, "%s: open: the object is shorter than it was", r.source.Kind)
	}
	return err
}

func (r *reader) failed(doing string, err error) error {
	if errors.Is(r.cause(), errStalled) {
		err = connector.Errorf(connector.ClassTransient, "%w for %s", errStalled, stallTimeout)
	}
	return r.source.failed(r.ended(), doing, err)
}
