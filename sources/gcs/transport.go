package gcs

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/kbsync/kbsync/internal/objects"
)

// transport names the project that pays, checks that a listing is one, and lets one reading make one request: the library, told never to
// retry, still opens a body that broke again, at once and without end. The engine is who goes on with a reading.
type transport struct {
	base        http.RoundTripper
	userProject string
}

// opening marks the context of one reading.
type opening struct{ used bool }

type openingKey struct{}

func withOpening(ctx context.Context) context.Context {
	return context.WithValue(ctx, openingKey{}, &opening{})
}

var errBroke = errors.New("the connection broke while the object was read")

// RoundTrip is part of http.RoundTripper. The requests of one reading follow each other.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	o, reading := r.Context().Value(openingKey{}).(*opening)
	if reading {
		if o.used {
			return nil, errBroke
		}
		o.used = true
	}
	r = r.Clone(r.Context())
	if t.userProject != "" {
		r.Header.Set("X-Goog-User-Project", t.userProject)
	}
	listing := !reading && strings.HasSuffix(r.URL.Path, "/o")
	if q := r.URL.Query(); listing && q.Has("fields") {
		q.Set("fields", "kind,"+q.Get("fields"))
		r.URL.RawQuery = q.Encode()
	}
	answer, err := t.base.RoundTrip(r)
	if err != nil || !listing || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	if err := objects.CheckPage(answer, checkPage); err != nil {
		return nil, err
	}
	return answer, nil
}

// checkPage looks for the name that an answer gives itself, which an empty listing has too.
func checkPage(page []byte) error {
	if !bytes.Contains(page, []byte(`"storage#objects"`)) {
		return objects.ErrNoListing
	}
	return nil
}
