package httpsource

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// patience is how many times the timeout the body of what a listing reads may take in all: a server that sends a byte now and then is
// never silent, and never done.
const patience = 10

// errStalled and errSlow end a request whose body does not come.
var (
	errStalled = errors.New("the server fell silent")
	errSlow    = errors.New("the server is too slow")
)

// answer is a response whose body ends when the server falls silent.
type answer struct {
	*http.Response
	body *body
}

// fetch sends one request, redirects followed. The caller closes the answer's body. total bounds the whole body; 0: no bound.
func (s *Source) fetch(ctx context.Context, method string, u *url.URL, header http.Header, total time.Duration) (*answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(inner, method, u.String(), nil)
	if err != nil {
		cancel(nil)
		return nil, connector.Errorf(connector.ClassInvalid, "http: %s: %w", display(u), err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := s.client.Do(req) //nolint:bodyclose // the answer's body closes it
	if err != nil {
		cancel(nil)
		return nil, transferError(ctx, u, err)
	}
	b := &body{outer: ctx, url: u, rc: resp.Body, cancel: cancel, cause: func() error { return context.Cause(inner) }, silence: s.config.Timeout}
	b.timer = time.AfterFunc(time.Hour, func() { cancel(errStalled) })
	b.timer.Stop()
	if total > 0 {
		b.deadline = time.AfterFunc(total, func() { cancel(errSlow) })
	}
	return &answer{resp, b}, nil
}

// body is a response's body. Time counts while somebody waits for bytes.
type body struct {
	outer    context.Context //nolint:containedctx // io.Reader has no room for one; the body lives within the caller's context
	url      *url.URL
	rc       io.ReadCloser
	cancel   context.CancelCauseFunc
	cause    func() error
	silence  time.Duration
	timer    *time.Timer
	deadline *time.Timer // nil: none
}

func (b *body) Read(p []byte) (int, error) {
	b.timer.Reset(b.silence)
	n, err := b.rc.Read(p)
	b.timer.Stop()
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if cause := b.cause(); errors.Is(cause, errStalled) || errors.Is(cause, errSlow) {
		err = cause
	}
	return n, transferError(b.outer, b.url, err)
}

func (b *body) Close() error {
	b.timer.Stop()
	if b.deadline != nil {
		b.deadline.Stop()
	}
	b.cancel(nil)
	_ = b.rc.Close() // after the cancellation it has nothing to say
	return nil
}

// content is the unpacked bytes of an answer, at most limit of them (0: no limit); more are an error.
func (a *answer) content(limit int64) (io.Reader, error) {
	var r io.Reader = a.body
	switch encoding := encodingOf(a.Header); encoding {
	case "":
	case "gzip":
		packed := bufio.NewReader(a.body)
		magic, err := packed.Peek(2)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case string(magic) != "\x1f\x8b": // labelled so, and is not
			r = packed
		default:
			zr, err := gzip.NewReader(packed)
			if err != nil {
				return nil, transferError(a.body.outer, a.body.url, err)
			}
			r = &unpacked{zr, a.body}
		}
	default:
		return nil, connector.Errorf(connector.ClassUnsupported, "http: %s: the content is packed as %q, which was not asked for", display(a.body.url), encoding)
	}
	if limit > 0 {
		r = &capped{r: r, left: limit, limit: limit, url: a.body.url}
	}
	return r, nil
}

// unpacked gives gzip's own faults a class: what was cut or garbled on its way may come whole another time.
type unpacked struct {
	zr   *gzip.Reader
	body *body
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.zr.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = transferError(u.body.outer, u.body.url, err)
	}
	return n, err
}

// capped ends with an error where there is more than limit.
type capped struct {
	r           io.Reader
	left, limit int64
	url         *url.URL
}

func (c *capped) Read(p []byte) (int, error) {
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.r.Read(p)
	if int64(n) > c.left {
		return int(c.left), connector.Errorf(connector.ClassInvalid, "http: %s: more than %d bytes, which is the limit here", display(c.url), c.limit)
	}
	c.left -= int64(n)
	return n, err
}

// facts are what an answer's headers say.
type facts struct {
	validator string // ETag or Last-Modified, which changes with the content; empty: none
	strong    bool   // the validator alone tells versions apart, and bytes
	length    int64  // of the unpacked content; -1: unknown
	modified  time.Time
	unsettled bool
	media     string
	ranges    bool // parts of the very bytes can be asked for
}

func factsOf(a *answer) facts {
	f := facts{length: -1, media: mediaType(a.Header)}
	packed := encodingOf(a.Header) != ""
	if !packed && a.ContentLength >= 0 && a.StatusCode == http.StatusOK {
		f.length = a.ContentLength
	}
	if at, err := http.ParseTime(a.Header.Get("Last-Modified")); err == nil {
		f.modified = at.UTC()
	}
	etag := strings.TrimSpace(a.Header.Get("Etag"))
	opaque := strings.TrimPrefix(etag, "W/")
	switch {
	case len(opaque) > 2 && len(opaque) <= 512 && opaque[0] == '"' && opaque[len(opaque)-1] == '"':
		f.validator, f.strong = etag, opaque == etag
		f.ranges = f.strong && !packed && strings.EqualFold(a.Header.Get("Accept-Ranges"), "bytes")
	case !f.modified.IsZero():
		f.validator = f.modified.Format(time.RFC3339)
		f.unsettled = serverTime(a.Response).Sub(f.modified) < settling
	}
	return f
}

// version is the listed form. A weak validator is helped by the length, where the answer tells one.
func (f *facts) version() string {
	if f.validator == "" || f.strong || f.length < 0 {
		return f.validator
	}
	return f.validator + " " + strconv.FormatInt(f.length, 10)
}

// agrees says whether two answers, one of which may be silent about the length, speak of the same version.
func (f *facts) agrees(listed *facts) bool {
	return f.validator == listed.validator && (f.strong || f.length == listed.length || f.length < 0 || listed.length < 0)
}

// encodingOf is "" for bytes as they are.
func encodingOf(h http.Header) string {
	switch e := strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ","))); e {
	case "identity":
		return ""
	case "x-gzip":
		return "gzip"
	default:
		return e
	}
}

// mediaType is without parameters, and empty where the server only says that it does not know.
func mediaType(h http.Header) string {
	mt, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || slices.Contains([]string{"application/octet-stream", "binary/octet-stream", "application/unknown"}, mt) {
		return ""
	}
	return mt
}
