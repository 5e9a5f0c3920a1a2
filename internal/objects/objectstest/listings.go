package objectstest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects"
)

// manyKeys: a listing costs one call for each 1,000 objects, and no reading.
func manyKeys(t *testing.T, _ *Store, r *Rig) {
	r.Fill(t, 2500, Numbered)
	s := r.open(t)
	r.Proxy.Reset()
	if docs := List(t, s); len(docs) != 2500 {
		t.Errorf("%d documents are listed", len(docs))
	}
	if calls := r.Proxy.Calls(); len(calls) != 3 {
		t.Errorf("2,500 objects cost %d calls, want 3 and no reading", len(calls))
	}
}

// failingPages: whichever page fails, the listing goes on there, and names each object once.
func failingPages(t *testing.T, _ *Store, r *Rig) {
	r.Fill(t, 250, Numbered)
	s := r.open(t, pages(10))
	fail := false
	r.Proxy.Set(When(func(*http.Request) bool { fail = !fail; return fail }, 0, Answer(http.StatusBadGateway, "text/plain", "")))
	r.Proxy.Reset()
	seen := map[string]bool{}
	breaks, n := 0, 0
	for changes := s.Changes(t.Context()); changes != nil && breaks < 100; {
		var broke error
		for c, err := range changes {
			if err != nil {
				broke = err
				continue
			}
			n++
			seen[c.Document.Path] = true
		}
		if changes = nil; broke != nil {
			WantClass(t, broke, connector.ClassTransient)
			breaks++
			changes = s.Resume(t.Context())
		}
	}
	if calls := len(r.Proxy.Calls()); breaks != 25 || n != 250 || len(seen) != 250 || calls != 50 {
		t.Errorf("%d breaks, %d items, %d documents, %d calls", breaks, n, len(seen), calls)
	}
}

func folderMarkers(t *testing.T, _ *Store, r *Rig) {
	for _, key := range []string{"folder/", "a/b/", "old_$folder$", "a/b/file.md", "empty.md"} {
		r.Put(t, key, nil)
	}
	if got := Paths(List(t, r.open(t))); got != "a/b/file.md empty.md" {
		t.Errorf("listed: %s", got)
	}
	if got := Paths(List(t, r.open(t, func(c *objects.Config) { c.Prefix = "a/b/" }))); got != "file.md" {
		t.Errorf("below its own marker: %s", got)
	}
}

func twoBuckets(t *testing.T, store *Store, r *Rig) {
	other := store.New(t)
	r.Put(t, "same.md", []byte("one"))
	other.Put(t, "same.md", []byte("two"))
	a, b := One(t, r.open(t)), One(t, other.open(t))
	if a.URI == b.URI || a.URI != r.URI("same.md") || b.URI != other.URI("same.md") {
		t.Errorf("URIs %s and %s", a.URI, b.URI)
	}
	if one, two := string(Read(t, a)), string(Read(t, b)); one != "one" || two != "two" {
		t.Errorf("read %q and %q", one, two)
	}
}

// prefixes: a prefix need not end where a folder does; paths begin after its last slash.
func prefixes(t *testing.T, _ *Store, r *Rig) {
	for _, key := range []string{"a/b/x.md", "a/b-1/y.md", "a/b-2.md", "a/b-2/z.md", "a/c.md", "top.md"} {
		r.Put(t, key, []byte(key))
	}
	for prefix, want := range map[string]string{
		"":       "a/b-1/y.md a/b-2.md a/b-2/z.md a/b/x.md a/c.md top.md",
		"a/b/":   "x.md",
		"a/b":    "b-1/y.md b-2.md b-2/z.md b/x.md",
		"a/b-2":  "b-2.md b-2/z.md",
		"t":      "top.md",
		"a/b-2/": "z.md",
		"none/":  "",
	} {
		docs := List(t, r.open(t, func(c *objects.Config) { c.Prefix = prefix }))
		if got := Paths(docs); got != want {
			t.Errorf("prefix %q lists %s, want %s", prefix, got, want)
		}
		for _, d := range docs {
			if text := string(Read(t, d)); r.URI(text) != d.URI {
				t.Errorf("prefix %q: %s reads as %q", prefix, d.URI, text)
			}
		}
	}
}

func filters(t *testing.T, store *Store, r *Rig) {
	folders, above := []string{"a/x/"}, []string{"a/y.md"}
	if store.AnyKey {
		folders, above = append(folders, "a/../x/", "a/__0x2f__/"), append(above, "a/../y.md") // gocloud.dev writes them in its own way
	}
	for _, folder := range folders {
		for _, name := range []string{"1.md", "2.txt", "skip/3.md"} {
			r.Put(t, folder+name, []byte("x"))
		}
		r.Put(t, folder+"large.md", []byte(strings.Repeat("x", 110)))
	}
	for _, key := range above {
		r.Put(t, key, []byte("x"))
	}
	for _, folder := range folders {
		s := r.open(t, func(c *objects.Config) {
			c.Prefix, c.Include, c.Exclude, c.MaxSize = folder, []string{"**/*.md"}, []string{"skip"}, 50
		})
		var listed, skipped []string
		for c, err := range s.Changes(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Kind == connector.ChangeSkip {
				skipped = append(skipped, c.Document.Path+": "+c.Reason)
			} else {
				listed = append(listed, c.Document.Path)
			}
		}
		if strings.Join(listed, " ") != "1.md" || strings.Join(skipped, " ") != "large.md: 110 bytes, over max_size (50)" {
			t.Errorf("below %s, listed: %q, skipped: %q", folder, listed, skipped)
		}
	}
}

func cutPage(t *testing.T, _ *Store, r *Rig) {
	r.Fill(t, 25, Numbered)
	s := r.open(t, pages(10))
	WantClass(t, Broken(t, s, 10, func() { r.Proxy.Alter(cut(200)) }), connector.ClassTransient, ": list")
	r.Proxy.Alter(nil)
	Resumed(t, s, 15)
}

// portal: what answers in the store's place says nothing about the objects.
func portal(t *testing.T, store *Store, r *Rig) {
	r.Put(t, "a.md", []byte("a"))
	s := r.open(t)
	for _, page := range append([]string{"<html>sign in</html>", "{}", `{"error":"sign in"}`, ""}, store.NoListing...) {
		for _, contentType := range []string{"text/html", store.ListingType} {
			r.Proxy.Set(Answer(http.StatusOK, contentType, page))
			if err := Broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassTransient || !strings.Contains(err.Error(), ": list") {
				t.Errorf("%s %q: %v", contentType, page, err)
			}
		}
	}
}

func unavailable(t *testing.T, store *Store, r *Rig) {
	r.Put(t, "a.md", nil)
	s := r.open(t)
	for name, fault := range store.Throttled {
		r.Proxy.Set(fault)
		r.Proxy.Reset()
		err := Broken(t, s, 0, nil)
		WantClass(t, err, connector.ClassThrottled, ": list")
		var classed *connector.Error
		if !errors.As(err, &classed) || classed.RetryAfter != 7*time.Second {
			t.Errorf("%s: the wait is not 7 seconds: %v", name, err)
		}
		if n := len(r.Proxy.Calls()); n != 1 {
			t.Errorf("%s: the library asked %d times", name, n)
		}
	}
}

// noRetries: the engine alone repeats calls.
func noRetries(t *testing.T, _ *Store, r *Rig) {
	r.Put(t, "a.md", []byte("a"))
	s := r.open(t)
	d := One(t, s)
	r.Proxy.Set(Answer(http.StatusInternalServerError, "text/plain", "oops"))
	r.Proxy.Reset()
	WantClass(t, Broken(t, s, 0, nil), connector.ClassTransient, ": list", "500")
	WantClass(t, OpenFails(t, d), connector.ClassTransient, ": open", "500")
	r.Proxy.Set(HangUp)
	WantClass(t, Broken(t, r.open(t), 0, nil), connector.ClassTransient) // net/http itself tries a connection that was open already again
	if n := len(r.Proxy.Calls()); n != 3 {
		t.Errorf("%d calls for 3", n)
	}
	WantClass(t, Broken(t, s, 0, nil), connector.ClassTransient)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Open(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// expired: credentials that run out end the listing with what to do; with new ones it goes on.
func expired(t *testing.T, store *Store, r *Rig) {
	r.Fill(t, 25, Numbered)
	d := List(t, r.open(t))[0]
	s := r.open(t, pages(10))
	err := Broken(t, s, 10, func() { r.Proxy.Set(store.Expired.Fault) })
	WantClass(t, err, connector.ClassCredentials, append([]string{": list"}, store.Expired.Says...)...)
	WantClass(t, OpenFails(t, d), connector.ClassCredentials, append([]string{": open"}, store.Expired.Says...)...)
	r.Proxy.Set(nil)
	Resumed(t, s, 15)
}

func noBucket(t *testing.T, _ *Store, r *Rig) {
	WantClass(t, Broken(t, r.Missing(t), 0, nil), connector.ClassNotFound, ": list", "nosuchbucket")
}
