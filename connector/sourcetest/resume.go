package sourcetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// resumedReading: a reading that broke goes on where it broke, with the same version or not at all.
func resumedReading(tb testing.TB, f Fixture, s connector.Source) error {
	text := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	f.Put(tb, "large.txt", text)
	docs, err := list(tb.Context(), s)
	if err != nil || len(docs) != 1 {
		return fmt.Errorf("listed %q, error %w", paths(docs), err)
	}
	d := docs[0]
	if d.OpenAt == nil {
		return nil
	}
	first, err := d.Open(tb.Context())
	if err != nil {
		return err
	}
	version := d.Version
	if o, ok := first.(connector.Opened); ok && o.Facts().Version != "" {
		version = o.Facts().Version
	}
	if err := first.Close(); err != nil {
		return fmt.Errorf("closed before its end: %w", err)
	}
	for _, offset := range []int{1, 100_001, len(text) - 1, len(text)} {
		got, err := readAt(tb, d, int64(offset), version)
		if err != nil || !bytes.Equal(got, text[offset:]) {
			return fmt.Errorf("from byte %d, %d bytes are read, error %w; want %d", offset, len(got), err, len(text)-offset)
		}
	}
	f.Put(tb, "large.txt", bytes.ToUpper(text))
	got, err := readAt(tb, d, 100_001, version)
	switch {
	case err == nil && !bytes.Equal(got, text[100_001:]):
		return errors.New("after a change, a resumed reading gives bytes of another version")
	case err != nil && connector.ClassOf(err) != connector.ClassChanged:
		return fmt.Errorf("after a change, a resumed reading gives an error of class %q: %w", connector.ClassOf(err), err)
	}
	return nil
}

func readAt(tb testing.TB, d connector.Document, offset int64, version string) ([]byte, error) {
	r, err := d.OpenAt(tb.Context(), offset, version)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(r)
	return got, errors.Join(err, r.Close())
}

// resumedListing: a listing that broke in an outage goes on where it broke, with nothing twice and nothing left out.
func resumedListing(tb testing.TB, f Fixture, s connector.Source) error {
	r, ok := s.(connector.Resumer)
	if !ok {
		return nil
	}
	if f.Outage == nil {
		return errors.New("the source is a Resumer and its fixture has no Outage")
	}
	docs := corpus(f)
	fill(tb, f, docs)
	var got []string
	var broke error
	var end func()
	for c, err := range r.Changes(tb.Context()) {
		if err != nil {
			broke = err
			break
		}
		got = append(got, c.Document.Path)
		if len(got) == 1 {
			end = f.Outage(tb)
		}
	}
	if end == nil {
		return errors.New("nothing is listed")
	}
	if broke == nil {
		end()
		return errors.New("the listing came to its end in an outage; are its pages short enough?")
	}
	if class := connector.ClassOf(broke); class != connector.ClassTransient && class != connector.ClassThrottled {
		end()
		return fmt.Errorf("an outage gives an error of class %q: %w", class, broke)
	}
	for _, err := range r.Resume(tb.Context()) {
		if err == nil {
			end()
			return errors.New("resumed in the outage, the listing yields a document")
		}
	}
	end()
	for c, err := range r.Resume(tb.Context()) {
		if err != nil {
			return fmt.Errorf("resumed: %w", err)
		}
		got = append(got, c.Document.Path)
	}
	slices.Sort(got)
	if want := slices.Sorted(maps.Keys(docs)); !slices.Equal(got, want) {
		return fmt.Errorf("in two parts, the listing gives %q\nwant %q", got, want)
	}
	return nil
}
