package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/globs"
	"github.com/kbsync/kbsync/internal/paths"
	"github.com/kbsync/kbsync/internal/remote"
)

// Source lists one bucket.
type Source struct {
	Options
	config Config
	filter *globs.Filter
	strip  int // bytes of the prefix that are no part of paths
	at     place
}

// place is where the last listing is.
type place struct {
	started bool
	page    []*blob.ListObject
	next    int    // of page
	token   []byte // of the page that follows; empty at the end
}

var (
	_ connector.Source  = (*Source)(nil)
	_ connector.Resumer = (*Source)(nil)
)

// New makes the source of a bucket; nothing is sent. The configuration was validated.
func New(c Config, o Options) *Source {
	if c.PageSize <= 0 {
		c.PageSize = pageSize
	}
	return &Source{Options: o, config: c, filter: globs.New(c.Include, c.Exclude), strip: strings.LastIndexByte(c.Prefix, '/') + 1}
}

// Capabilities promises versions and passes max_tree_size on.
func (s *Source) Capabilities() connector.SourceCapabilities {
	return connector.SourceCapabilities{Versions: true, MaxTreeSize: s.config.MaxTreeSize}
}

// Changes lists the bucket from its start.
func (s *Source) Changes(ctx context.Context) iter.Seq2[connector.Change, error] {
	return func(yield func(connector.Change, error) bool) {
		s.at = place{started: true, token: blob.FirstPageToken}
		s.list(ctx, yield)
	}
}

// Resume goes on at the page that could not be had, or within the page whose items were not all wanted.
func (s *Source) Resume(ctx context.Context) iter.Seq2[connector.Change, error] {
	return func(yield func(connector.Change, error) bool) {
		if !s.at.started {
			s.at = place{started: true, token: blob.FirstPageToken}
		}
		s.list(ctx, yield)
	}
}

// Close closes the bucket and its client.
func (s *Source) Close() error {
	err := s.Bucket.Close()
	if s.Release != nil {
		err = errors.Join(err, s.Release())
	}
	return err
}

func (s *Source) list(ctx context.Context, yield func(connector.Change, error) bool) {
	for {
		for s.at.next < len(s.at.page) {
			if err := ctx.Err(); err != nil {
				yield(connector.Change{}, err)
				return
			}
			o := s.at.page[s.at.next]
			s.at.next++
			change, listed, err := s.item(o)
			if listed && !yield(change, err) || err != nil && !errors.As(err, new(*connector.DocError)) {
				return
			}
		}
		s.at.page, s.at.next = nil, 0
		if len(s.at.token) == 0 {
			return
		}
		if err := s.fetch(ctx); err != nil {
			yield(connector.Change{}, err)
			return
		}
	}
}

// fetch gets the next page; after an error everything is as it was.
func (s *Source) fetch(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	hangs := time.AfterFunc(pageTimeout, cancel)
	defer hangs.Stop()
	calls := 0 // gocloud.dev fills a page by as many calls as it takes
	page, token, err := s.Bucket.ListPage(limited, s.at.token, s.config.PageSize, &blob.ListOptions{
		Prefix: s.config.Prefix,
		BeforeList: func(as func(any) bool) error {
			if calls++; calls > maxCalls {
				return connector.Errorf(connector.ClassInvalid, "the server gives empty pages without end")
			}
			hangs.Reset(pageTimeout)
			return s.BeforeList(as, s.config.Prefix)
		},
	})
	if err != nil && limited.Err() != nil {
		err = connector.Errorf(connector.ClassTransient, "%w for %s", errStalled, pageTimeout)
	}
	if err != nil {
		return s.failed(ctx.Err(), "list", err)
	}
	if len(token) > 0 && bytes.Equal(token, s.at.token) {
		return connector.Errorf(connector.ClassInvalid, "%s: list: the server gives the same page again and again", s.Kind)
	}
	s.at.page, s.at.next, s.at.token = page, 0, token
	return nil
}

// item is what one object of a listing becomes; listed is false where that is nothing.
func (s *Source) item(o *blob.ListObject) (c connector.Change, listed bool, err error) {
	e, err := s.Entry(o)
	key := e.Key
	if key == "" {
		key = o.Key
	}
	path := s.path(key)
	spoilt := func(err error) (connector.Change, bool, error) {
		return c, true, &connector.DocError{Path: paths.Printable(path), Err: err}
	}
	switch {
	case !strings.HasPrefix(key, s.config.Prefix):
		return c, true, connector.Errorf(connector.ClassUnsupported, "%s: list: the server lists %q, which does not start with the prefix %q", s.Kind, key, s.config.Prefix)
	case o.IsDir || o.Size == 0 && (strings.HasSuffix(key, "/") || strings.HasSuffix(key, "_$folder$")), !s.filter.Below(path):
		return c, false, nil
	case err != nil:
		return spoilt(s.failed(nil, "list", err))
	case !utf8.ValidString(path):
		return spoilt(connector.Errorf(connector.ClassInvalid, "%s: the key is not valid UTF-8 and cannot be stored; rename the object", s.Kind))
	case e.Version == "":
		return spoilt(connector.Errorf(connector.ClassUnsupported, "%s: the server lists no version (ETag) of the object", s.Kind))
	}
	uri := s.Base + (&url.URL{Path: "/" + key}).EscapedPath()[1:]
	if s.config.MaxSize > 0 && o.Size > s.config.MaxSize {
		return connector.Change{
			Kind: connector.ChangeSkip, Document: connector.Document{Path: path, URI: uri},
			Reason: fmt.Sprintf("%d bytes, over max_size (%d)", o.Size, s.config.MaxSize),
		}, true, nil
	}
	r := &object{source: s, key: key, version: e.Version}
	return connector.Change{Document: connector.Document{
		Path: path, URI: uri, Version: e.Version, MediaType: mediaType(e.MediaType), Size: o.Size, ModifiedAt: o.ModTime,
		Metadata: metadata(e.Metadata, nil), Open: r.open, OpenAt: r.openAt,
	}}, true, nil
}

// path is a key below the prefix. Paths neither are empty nor start with a slash, so such remainders get "./" before them, and
// those that start with it get it once more, so that no two keys share a path.
func (s *Source) path(key string) string {
	rest := key[min(s.strip, len(key)):]
	if rest == "" || rest[0] == '/' || strings.HasPrefix(rest, "./") {
		return "./" + rest
	}
	return rest
}

// failed gives an error its class and says where it came from; ended is the error of the caller's context.
func (s *Source) failed(ended error, doing string, err error) error {
	if ended != nil {
		return ended
	}
	var classed *connector.Error
	if own := s.Classify(err); own != nil {
		err = own
	} else if !errors.As(err, &classed) {
		err = &connector.Error{Class: class(err), Err: err}
	}
	return fmt.Errorf("%s: %s: %w", s.Kind, doing, err)
}

// class is that of an error about which the provider knows nothing.
func class(err error) connector.Class {
	if network := remote.Network(err); network != connector.ClassUnknown {
		return network
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return connector.ClassNotFound
	case gcerrors.PermissionDenied:
		return connector.ClassDenied
	case gcerrors.ResourceExhausted:
		return connector.ClassThrottled
	case gcerrors.DeadlineExceeded:
		return connector.ClassTransient
	case gcerrors.InvalidArgument:
		return connector.ClassInvalid
	case gcerrors.Unimplemented:
		return connector.ClassUnsupported
	case gcerrors.FailedPrecondition:
		return connector.ClassChanged
	}
	if errors.Is(err, io.EOF) {
		return connector.ClassTransient
	}
	return connector.ClassUnknown
}

// metadata is user metadata and tags under their own names; a tag stands before metadata of the same name.
func metadata(user, tags map[string]string) map[string]any {
	if len(user)+len(tags) == 0 {
		return nil
	}
	out := make(map[string]any, len(user)+len(tags))
	for _, m := range []map[string]string{user, tags} {
		for k, v := range maps.All(m) {
			out[strings.ToValidUTF8(k, "\uFFFD")] = strings.ToValidUTF8(v, "\uFFFD")
		}
	}
	return out
}
