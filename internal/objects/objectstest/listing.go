package objectstest

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// Source is what the source of an object store is.
type Source interface {
	connector.Source
	connector.Resumer
}

// CloseAtEnd closes a source when the test ends, which must work.
func CloseAtEnd(tb testing.TB, s io.Closer) {
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
}

// List is the documents of a listing that must neither fail nor skip anything.
func List(tb testing.TB, s connector.Source) []connector.Document {
	tb.Helper()
	var docs []connector.Document
	for c, err := range s.Changes(tb.Context()) {
		if err != nil {
			tb.Fatal(err)
		}
		if c.Kind == connector.ChangeSkip {
			tb.Fatalf("%s is skipped: %s", c.Document.Path, c.Reason)
		}
		docs = append(docs, c.Document)
	}
	return docs
}

// One is the only document of a listing.
func One(tb testing.TB, s connector.Source) connector.Document {
	tb.Helper()
	docs := List(tb, s)
	if len(docs) != 1 {
		tb.Fatalf("listed: %q, want one document", Paths(docs))
	}
	return docs[0]
}

// Paths are those of the documents, in order, with a blank between them.
func Paths(docs []connector.Document) string {
	var out []string
	for _, d := range docs {
		out = append(out, d.Path)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// Opened reads a document, whose reader must tell facts.
func Opened(tb testing.TB, d connector.Document) (connector.Facts, []byte) {
	tb.Helper()
	r, err := d.Open(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	o, ok := r.(connector.Opened)
	if !ok {
		tb.Fatalf("%T tells no facts", r)
	}
	return o.Facts(), drain(tb, r)
}

// Read is a document's content.
func Read(tb testing.TB, d connector.Document) []byte {
	tb.Helper()
	_, data := Opened(tb, d)
	return data
}

// ReadOn is a version's content from a byte on.
func ReadOn(tb testing.TB, d connector.Document, offset int64, version string) []byte {
	tb.Helper()
	r, err := d.OpenAt(tb.Context(), offset, version)
	if err != nil {
		tb.Fatal(err)
	}
	return drain(tb, r)
}

func drain(tb testing.TB, r io.ReadCloser) []byte {
	tb.Helper()
	data, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		tb.Fatal(err)
	}
	return data
}

// OpenFails is why a document cannot be opened; nil if it can.
func OpenFails(tb testing.TB, d connector.Document) error {
	tb.Helper()
	r, err := d.Open(tb.Context())
	if err == nil {
		_ = r.Close()
	}
	return err
}

// ReadOnFails is why a version cannot be read from a byte on; nil if it can.
func ReadOnFails(tb testing.TB, d connector.Document, offset int64, version string) error {
	tb.Helper()
	r, err := d.OpenAt(tb.Context(), offset, version)
	if err == nil {
		_ = r.Close()
	}
	return err
}

// Broken lists until the error that ends it, which must come after want documents; harm is done after the first one.
func Broken(tb testing.TB, s connector.Source, want int, harm func()) error {
	tb.Helper()
	n := 0
	for _, err := range s.Changes(tb.Context()) {
		if err != nil {
			if n != want {
				tb.Errorf("the error comes after %d documents, want %d", n, want)
			}
			return err
		}
		if n++; n == 1 && harm != nil {
			harm()
		}
	}
	tb.Fatalf("the listing ends after %d documents without an error: the rest would be deleted", n)
	return nil
}

// Resumed goes on with a broken listing, of which want documents are left.
func Resumed(tb testing.TB, s connector.Resumer, want int) {
	tb.Helper()
	n := 0
	for _, err := range s.Resume(tb.Context()) {
		if err != nil {
			tb.Fatal(err)
		}
		n++
	}
	if n != want {
		tb.Errorf("resumed, %d documents are listed, want %d", n, want)
	}
}

// WantClass checks an error: its class, what it says, and that it shows no secret of the servers.
func WantClass(tb testing.TB, err error, class connector.Class, words ...string) {
	tb.Helper()
	if err == nil || connector.ClassOf(err) != class {
		tb.Errorf("class %q, want %q: %v", connector.ClassOf(err), class, err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			tb.Errorf("%q does not say %q", err, word)
		}
	}
	for _, secret := range []string{S3SecretKey, AzureKey} {
		if strings.Contains(err.Error(), secret) {
			tb.Errorf("the secret is printed: %v", err)
		}
	}
}
