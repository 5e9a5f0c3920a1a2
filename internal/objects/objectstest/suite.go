package objectstest

import (
	"net/http"
	"testing"

	"github.com/kbsync/kbsync/internal/objects"
)

// Store is a kind of object store, with what it does in its own way.
type Store struct {
	// New makes a fresh bucket of a real server, with a proxy before it.
	New func(tb testing.TB) *Rig

	// AnyKey says that the server stores keys such as a/../b, which one that keeps objects as files cannot.
	AnyKey bool
	// ListsMetadata says that a listing tells type and metadata, as a reading does.
	ListsMetadata bool
	// Metadata is some that the store takes; it comes back with its names in lower case.
	Metadata map[string]string
	// Gzip are more values of Content-Encoding than gzip itself that mean it.
	Gzip []string

	// NoListing are bodies that are no page of a listing, beside those that are none anywhere; ListingType is the Content-Type of one that is.
	NoListing   []string
	ListingType string
	// Throttled are answers of a store that has too much to do, by name; each asks for a wait of 7 seconds.
	Throttled map[string]Fault
	// Expired is how the store refuses credentials that ran out, Denied how it refuses to give one object.
	Expired, Denied Refusal
}

// Refusal is an answer, and words of the error that it must become.
type Refusal struct {
	Fault
	Says []string
}

// Rig is one bucket of a store.
type Rig struct {
	Bucket
	Proxy *Proxy
	// Source makes the bucket's source, which asks the proxy, until the test ends.
	Source func(tb testing.TB, c objects.Config) Source
	// Missing makes the source of a bucket that does not exist, whose name is nosuchbucket.
	Missing func(tb testing.TB) Source
	// URI is a key's; the keys of this suite need no escaping.
	URI func(key string) string
}

func (r *Rig) open(tb testing.TB, change ...func(*objects.Config)) Source {
	tb.Helper()
	c := objects.Defaults()
	for _, f := range change {
		f(&c)
	}
	return r.Source(tb, c)
}

func pages(n int) func(*objects.Config) { return func(c *objects.Config) { c.PageSize = n } }

// Run tests what is the same for every object store: that a listing is whole or ends with an error, what it costs, and that a reading is of
// one version. The conformance of a source is not in it.
func Run(t *testing.T, store Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, store *Store, r *Rig)
	}{
		{"more than 1,000 keys", manyKeys},
		{"pages that fail", failingPages},
		{"folder markers", folderMarkers},
		{"two buckets with one key", twoBuckets},
		{"prefix forms", prefixes},
		{"prefix and globs", filters},
		{"a cut page is no end", cutPage},
		{"a portal's page is no empty bucket", portal},
		{"a 503 is no empty bucket", unavailable},
		{"no retries", noRetries},
		{"credentials expire during the listing", expired},
		{"no such bucket", noBucket},
		{"gzip content encoding", gzipEncoding},
		{"metadata and type", metadata},
		{"overwritten between listing and reading", overwritten},
		{"overwritten while read", overwrittenWhileRead},
		{"a cut body is read on", cutBody},
		{"gone and denied objects", lost},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, &store, store.New(t)) })
	}
}

// cut is a change that ends an answer after n bytes.
func cut(n int64) Change {
	return func(a *http.Response) error { CutAfter(a, n); return nil }
}

// cutUnmeasured ends it so, and takes away how long it would have been.
func cutUnmeasured(n int64) Change {
	return func(a *http.Response) error {
		CutAfter(a, n)
		a.ContentLength = -1
		a.Header.Del("Content-Length")
		return nil
	}
}
