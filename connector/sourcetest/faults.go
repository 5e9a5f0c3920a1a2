package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// spoilt: a *DocError names what cannot be listed, and everything else is listed.
func spoilt(tb testing.TB, f Fixture, s connector.Source) error {
	if f.Spoil == nil {
		return nil
	}
	docs := corpus(f)
	docs["m/spoilt.md"] = []byte("spoilt\n")
	fill(tb, f, docs)
	f.Spoil(tb, "m/spoilt.md")
	delete(docs, "m/spoilt.md")
	listed := map[string]bool{}
	named := false
	for c, err := range s.Changes(tb.Context()) {
		var doc *connector.DocError
		switch {
		case errors.As(err, &doc):
			named = named || doc.Path == "m/spoilt.md" || doc.Dir && doc.Path != "" && strings.HasPrefix("m/spoilt.md", doc.Path+"/")
		case err != nil:
			return fmt.Errorf("one spoilt document ended the listing: %w", err)
		default:
			listed[c.Document.Path] = true
		}
	}
	var errs []error
	if !named {
		errs = append(errs, errors.New("no *DocError names the spoilt document or its folder"))
	}
	for p := range docs {
		if !listed[p] {
			errs = append(errs, fmt.Errorf("%s is missing beside the spoilt document", p))
		}
	}
	return errors.Join(errs...)
}

// broken: a listing that fails says so, last.
func broken(tb testing.TB, f Fixture, s connector.Source) error {
	if f.Break == nil {
		return nil
	}
	fill(tb, f, corpus(f))
	f.Break(tb)
	var last error
	for _, err := range s.Changes(tb.Context()) {
		if last != nil {
			return fmt.Errorf("the listing goes on after its error %q", last)
		}
		if err != nil && !errors.As(err, new(*connector.DocError)) {
			last = err
		}
	}
	if last == nil {
		return errors.New("a broken system lists without an error; everything would be deleted")
	}
	return nil
}

// cancelled: whenever ctx is cancelled, the listing ends with its error, at most one item later.
func cancelled(tb testing.TB, f Fixture, s connector.Source) error {
	docs := corpus(f)
	fill(tb, f, docs)
	for at := range len(docs) {
		ctx, cancel := context.WithCancel(tb.Context())
		if at == 0 {
			cancel()
		}
		seen, after := 0, 0
		var last error
		for _, err := range s.Changes(ctx) {
			if last = err; err != nil {
				continue
			}
			if seen++; seen > at {
				after++
			}
			if seen == at {
				cancel()
			}
		}
		cancel()
		if after > 1 {
			return fmt.Errorf("%d more items after the context was cancelled at item %d", after, at)
		}
		if at < len(docs)-1 && !errors.Is(last, context.Canceled) {
			return fmt.Errorf("cancelled at item %d, the listing ended with %v instead of the context's error", at, last)
		}
	}
	return nil
}

// consumerStops: a consumer that breaks off leaves the source usable.
func consumerStops(tb testing.TB, f Fixture, s connector.Source) error {
	docs := corpus(f)
	fill(tb, f, docs)
	for at := 1; at <= len(docs); at++ {
		seen := 0
		for _, err := range s.Changes(tb.Context()) {
			if err != nil {
				return err
			}
			if seen++; seen == at {
				break
			}
		}
	}
	return same(tb.Context(), s, docs)
}

// changedSinceListed: content that came after the listing is not handed out as what was listed.
func changedSinceListed(tb testing.TB, f Fixture, s connector.Source) error {
	if !s.Capabilities().Versions {
		return nil
	}
	old, fresh := []byte("the first content\n"), []byte("the second content, which is longer\n")
	f.Put(tb, "a.md", old)
	docs, err := list(tb.Context(), s)
	if err != nil || len(docs) != 1 {
		return fmt.Errorf("listed %q, error %w", paths(docs), err)
	}
	f.Put(tb, "a.md", fresh)
	r, err := docs[0].Open(tb.Context())
	if err != nil {
		return oldOrChanged(docs[0], nil, old, fresh)(nil, err)
	}
	got, err := io.ReadAll(r)
	return oldOrChanged(docs[0], r, old, fresh)(got, errors.Join(err, r.Close()))
}

// oldOrChanged judges a reading of d, which held old when it was listed and was then replaced by fresh.
func oldOrChanged(d connector.Document, r io.Reader, old, fresh []byte) func(got []byte, err error) error {
	version := d.Version
	if o, ok := r.(connector.Opened); ok {
		if v := o.Facts().Version; v != "" {
			version = v
		}
	}
	return func(got []byte, err error) error {
		switch {
		case connector.ClassOf(err) == connector.ClassChanged:
		case err != nil:
			return fmt.Errorf("a document that changed gives an error of class %q: %w", connector.ClassOf(err), err)
		case version != d.Version && !bytes.Equal(got, fresh):
			return fmt.Errorf("the reader says that it reads another version than the listed one, and gives %d bytes that are not that content", len(got))
		case version == d.Version && !bytes.Equal(got, old):
			return errors.New("bytes that were never listed are read without an error of class changed, under the version that was listed")
		}
		return nil
	}
}

// changedWhileRead: a reader gives one version, which it names if it is not the one that was listed, or reports the change; never
// a mixture.
func changedWhileRead(tb testing.TB, f Fixture, s connector.Source) error {
	if !s.Capabilities().Versions {
		return nil
	}
	old, fresh := bytes.Repeat([]byte("old "), 200_000), bytes.Repeat([]byte("new "), 200_000)
	f.Put(tb, "large.txt", old)
	docs, err := list(tb.Context(), s)
	if err != nil || len(docs) != 1 {
		return fmt.Errorf("listed %q, error %w", paths(docs), err)
	}
	r, err := docs[0].Open(tb.Context())
	if err != nil {
		return err
	}
	got := make([]byte, 1000)
	if _, err := io.ReadFull(r, got); err != nil {
		return errors.Join(err, r.Close())
	}
	f.Put(tb, "large.txt", fresh)
	rest, err := io.ReadAll(r)
	return oldOrChanged(docs[0], r, old, fresh)(append(got, rest...), errors.Join(err, r.Close()))
}
