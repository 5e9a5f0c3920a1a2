package objectstest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// gzipEncoding: the bytes come as they are stored, and the facts say what they are.
func gzipEncoding(t *testing.T, store *Store, r *Rig) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, strings.Repeat("hello ", 1000))
	_ = z.Close()
	for _, encoding := range append([]string{"gzip"}, store.Gzip...) {
		r.Put(t, "page.html", packed.Bytes(), Attributes{Encoding: encoding, Type: "text/html"})
		d := One(t, r.open(t))
		if d.Size != int64(packed.Len()) {
			t.Errorf("%s: size %d, want %d as stored", encoding, d.Size, packed.Len())
		}
		facts, got := Opened(t, d)
		if facts.Encoding != "gzip" || facts.MediaType != "text/html" || !bytes.Equal(got, packed.Bytes()) {
			t.Errorf("%s: %+v, %d bytes; want gzip, and the %d bytes that are stored", encoding, facts, len(got), packed.Len())
		}
		if rest := ReadOn(t, d, 7, facts.Version); !bytes.Equal(rest, packed.Bytes()[7:]) {
			t.Errorf("%s: read on from byte 7, the bytes are not those stored", encoding)
		}
	}
	r.Put(t, "page.html", []byte("x"), Attributes{Encoding: "br"})
	WantClass(t, OpenFails(t, One(t, r.open(t))), connector.ClassInvalid, "br")
}

func metadata(t *testing.T, store *Store, r *Rig) {
	r.Put(t, "a", []byte("x"), Attributes{Type: "text/markdown", Metadata: store.Metadata})
	r.Put(t, "b", []byte("x"), Attributes{Type: "application/octet-stream"})
	want := map[string]any{}
	for k, v := range store.Metadata {
		want[strings.ToLower(k)] = v
	}
	docs := List(t, r.open(t))
	facts, _ := Opened(t, docs[0])
	plain, _ := Opened(t, docs[1])
	if facts.MediaType != "text/markdown" || !maps.Equal(facts.Metadata, want) || plain.MediaType != "" || len(plain.Metadata) > 0 {
		t.Errorf("read: %+v and %+v", facts, plain)
	}
	if store.ListsMetadata && (docs[0].MediaType != "text/markdown" || !maps.Equal(docs[0].Metadata, want) || docs[1].MediaType != "" || len(docs[1].Metadata) > 0) {
		t.Errorf("listed: %s %q and %s %q", docs[0].MediaType, docs[0].Metadata, docs[1].MediaType, docs[1].Metadata)
	}
}

func overwritten(t *testing.T, _ *Store, r *Rig) {
	r.Put(t, "a.md", []byte("first"))
	s := r.open(t)
	d := One(t, s)
	r.Put(t, "a.md", []byte("second, and longer"))
	facts, got := Opened(t, d)
	now := One(t, s)
	if string(got) != "second, and longer" || facts.Version != now.Version || facts.Version == d.Version {
		t.Errorf("read %q as version %q; listed were %q, then %q", got, facts.Version, d.Version, now.Version)
	}
	WantClass(t, ReadOnFails(t, d, 2, d.Version), connector.ClassChanged, "overwritten")
	WantClass(t, ReadOnFails(t, d, 500, facts.Version), connector.ClassChanged)
	r.Put(t, "a.md", nil)
	WantClass(t, ReadOnFails(t, d, 5, d.Version), connector.ClassChanged)
}

// overwrittenWhileRead: a reading that breaks does not go on in another version.
func overwrittenWhileRead(t *testing.T, _ *Store, r *Rig) {
	old := bytes.Repeat([]byte("old "), 500_000)
	r.Put(t, "a.txt", old)
	d := One(t, r.open(t))
	r.Proxy.Alter(cut(300_000))
	body, err := d.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	_ = body.Close()
	r.Proxy.Alter(nil)
	WantClass(t, err, connector.ClassTransient)
	r.Put(t, "a.txt", bytes.Repeat([]byte("new "), 500_000))
	WantClass(t, ReadOnFails(t, d, int64(len(got)), d.Version), connector.ClassChanged, "overwritten")
	if len(got) == 0 || !bytes.HasPrefix(old, got) {
		t.Errorf("%d bytes that are not the beginning", len(got))
	}
}

// cutBody: a body that ends early is never the end of the object, and the rest can be had.
func cutBody(t *testing.T, _ *Store, r *Rig) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 50_000)
	r.Put(t, "large.txt", text)
	d := One(t, r.open(t))
	for name, change := range map[string]Change{"connection": cut(100_000), "no length": cutUnmeasured(100_000)} {
		r.Proxy.Alter(change)
		r.Proxy.Reset()
		breaks := 0
		got, err := pieces(t, d, func(got int) {
			if breaks++; len(r.Proxy.Calls()) != breaks {
				t.Errorf("%s: the library made %d requests for %d readings", name, len(r.Proxy.Calls()), breaks)
			}
			if got > 400_000 {
				r.Proxy.Alter(nil)
			}
		})
		if err != nil || !bytes.Equal(got, text) || breaks < 2 {
			t.Errorf("%s: %d bytes of %d after %d breaks, error %v", name, len(got), len(text), breaks, err)
		}
	}
	r.Proxy.Alter(nil)
	if rest := ReadOn(t, d, int64(len(text)), d.Version); len(rest) > 0 {
		t.Errorf("at the end: %d bytes", len(rest))
	}
	ctx, cancel := context.WithCancel(t.Context())
	body, err := d.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(body); !errors.Is(err, context.Canceled) {
		t.Errorf("a reading that is cancelled ends with %v", err)
	}
	_ = body.Close()
}

// pieces reads a document to its end, and goes on by OpenAt wherever a body breaks; broke is told how much was had by then.
func pieces(t *testing.T, d connector.Document, broke func(got int)) ([]byte, error) {
	t.Helper()
	body, err := d.Open(t.Context())
	var got []byte
	for err == nil {
		part, broken := io.ReadAll(body)
		got = append(got, part...)
		if err := body.Close(); err != nil {
			t.Error(err)
		}
		if broken == nil {
			break
		}
		WantClass(t, broken, connector.ClassTransient, ": read")
		if len(part) == 0 {
			return got, broken
		}
		broke(len(got))
		body, err = d.OpenAt(t.Context(), int64(len(got)), d.Version)
	}
	return got, err
}

func lost(t *testing.T, store *Store, r *Rig) {
	r.Put(t, "a.md", []byte("text"))
	s := r.open(t)
	d := One(t, s)
	r.Delete(t, "a.md")
	WantClass(t, OpenFails(t, d), connector.ClassChanged, "gone")
	WantClass(t, ReadOnFails(t, d, 2, d.Version), connector.ClassChanged, "gone")
	if docs := List(t, s); len(docs) > 0 {
		t.Errorf("still listed: %s", Paths(docs))
	}
	r.Proxy.Set(store.Denied.Fault)
	WantClass(t, OpenFails(t, d), connector.ClassDenied, append([]string{": open"}, store.Denied.Says...)...)
}
