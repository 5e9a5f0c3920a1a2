package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sourcetest"
	"github.com/kbsync/kbsync/internal/objects"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
	"github.com/kbsync/kbsync/internal/servers"
)

// world is one server for all tests of the package: it is started by the first one and lives until all have ended.
type world struct {
	addr   string
	server *servers.Server

	mu      sync.Mutex
	buckets int
}

// TestS3 holds everything that needs the server.
func TestS3(t *testing.T) {
	// Nothing of the machine's own configuration takes part.
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_ENDPOINT_URL"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	server := servers.Start(t, "versitygw")
	w := &world{addr: server.Addr, server: server}
	for _, test := range []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"conformance", testConformance},
		{"conformance below a prefix", testConformanceBelow},
		{"more than 1,000 keys", testPaging},
		{"planted objects are like stored ones", testPlanted},
		{"folder markers", testMarkers},
		{"names", testNames},
		{"keys of the store's own, by encoding-type=url", testEncodedKeys},
		{"prefix forms", testPrefixes},
		{"filters and max_size", testFilters},
		{"two buckets with the same key", testTwoBuckets},
		{"multipart ETag", testMultipart},
		{"gzip Content-Encoding", testGzip},
		{"facts of a reading", testFacts},
		{"tags", testTags},
		{"overwritten between listing and reading", testOverwritten},
		{"overwritten while read", testOverwrittenWhileRead},
		{"gone between listing and reading", testGone},
		{"deleted object that still answers", testStillAnswers},
		{"cut body", testCutBody},
		{"range ignored", testRangeIgnored},
		{"listing cut half-way", testCutListing},
		{"listing that is none", testNoListing},
		{"503 listing", testThrottled},
		{"expired credentials in mid listing", testExpired},
		{"wrong credentials", testWrongCredentials},
		{"no credentials", testNoCredentials},
		{"requester pays", testRequesterPays},
		{"anonymous", testAnonymous},
		{"refusals", testRefusals},
		{"no retries", testNoRetries},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, w) })
	}
}

// fixture is a fresh bucket behind a proxy.
type fixture struct {
	*objectstest.S3Bucket
	proxy *objectstest.Proxy
}

func (w *world) fixture(tb testing.TB) *fixture {
	tb.Helper()
	w.mu.Lock()
	w.buckets++
	name := fmt.Sprintf("bucket-%d", w.buckets)
	w.mu.Unlock()
	return &fixture{objectstest.NewS3Bucket(tb, w.addr, name), objectstest.StartProxy(tb, w.addr)}
}

func (f *fixture) config() Config {
	c := defaults()
	c.Bucket, c.Endpoint, c.AccessKey, c.SecretKey = f.Name, f.proxy.URL, objectstest.S3AccessKey, objectstest.S3SecretKey
	return c
}

// open opens a source, changed as change wants it, until the test ends.
func (f *fixture) open(tb testing.TB, change ...func(*Config)) *objects.Source {
	tb.Helper()
	c := f.config()
	for _, ch := range change {
		ch(&c)
	}
	s, err := Open(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func pages(n int) func(*Config) { return func(c *Config) { c.PageSize = n } }

func testConformance(t *testing.T, w *world) { conformance(t, w, "") }

func testConformanceBelow(t *testing.T, w *world) { conformance(t, w, "team/docs/") }

// extra are names beside those that the suite has; see testNames for those that this server refuses.
var extra = []string{
	"a+b.md", "a  b.md", " lead.md", "100%25.md", "%2F.md", "q?x=1&y=2.md", "#.md", "x..y.md", "..md", "...", "a&b<c>.md", "\"q\"'.md",
	"tab\t.md", "new\nline.md", "back\\slash.md", "~.md", ":.md", "😀.md", "__0x2f__.md", "a=b;c@d,e$.md", "dir.with/dots../x.md",
}

func conformance(t *testing.T, w *world, prefix string) {
	sourcetest.Run(t, func(tb testing.TB) sourcetest.Fixture {
		f := w.fixture(tb)
		c := f.config()
		c.PageSize, c.Prefix = 3, prefix
		return sourcetest.Fixture{
			Open: func(tb testing.TB) connector.Source {
				s, err := Open(tb.Context(), c)
				if err != nil {
					tb.Fatal(err)
				}
				return s
			},
			Put:    func(tb testing.TB, path string, data []byte) { f.Put(tb, prefix+path, data) },
			Delete: func(tb testing.TB, path string) { f.Delete(tb, prefix+path) },
			Rename: func(tb testing.TB, from, to string) {
				f.Put(tb, prefix+to, f.Get(tb, prefix+from))
				f.Delete(tb, prefix+from)
			},
			Break: func(testing.TB) {
				f.proxy.Set(objectstest.Answer(http.StatusOK, "text/html", "<html><body>Hello</body></html>"))
			},
			Outage: func(testing.TB) func() { return f.proxy.Outage() },
			Extra:  extra,
		}
	})
}

// listing is what a listing gives: documents by path, lines of what is skipped or spoilt, and the error that ended it.
type listing struct {
	docs  map[string]connector.Document
	paths []string
	notes []string
	err   error
}

func (l *listing) add(c connector.Change, err error) {
	var spoilt *connector.DocError
	switch {
	case errors.As(err, &spoilt):
		l.notes = append(l.notes, "! "+err.Error())
	case err != nil:
		l.err = err
	case c.Kind == connector.ChangeSkip:
		l.notes = append(l.notes, c.Document.Path+": "+c.Reason)
	default:
		l.docs[c.Document.Path] = c.Document
		l.paths = append(l.paths, c.Document.Path)
	}
}

func list(tb testing.TB, s connector.Source) *listing {
	tb.Helper()
	l := &listing{docs: map[string]connector.Document{}}
	for c, err := range s.Changes(tb.Context()) {
		l.add(c, err)
	}
	return l
}

func (l *listing) resume(tb testing.TB, s connector.Resumer) {
	tb.Helper()
	l.err = nil
	for c, err := range s.Resume(tb.Context()) {
		l.add(c, err)
	}
}

// one is the only document.
func one(tb testing.TB, s connector.Source) connector.Document {
	tb.Helper()
	l := list(tb, s)
	if l.err != nil || len(l.paths) != 1 {
		tb.Fatalf("listed %q, error %v", l.paths, l.err)
	}
	return l.docs[l.paths[0]]
}

func read(tb testing.TB, d connector.Document) (string, connector.Facts, error) {
	tb.Helper()
	r, err := d.Open(tb.Context())
	if err != nil {
		return "", connector.Facts{}, err
	}
	data, err := io.ReadAll(r)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	opened, ok := r.(connector.Opened)
	if !ok {
		tb.Fatal("the reader tells no facts")
	}
	return string(data), opened.Facts(), err
}

func wantClass(tb testing.TB, err error, class connector.Class, words ...string) {
	tb.Helper()
	if connector.ClassOf(err) != class || err == nil {
		tb.Errorf("class %q, want %q: %v", connector.ClassOf(err), class, err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			tb.Errorf("%q does not say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), objectstest.S3SecretKey) {
		tb.Errorf("the secret is printed: %v", err)
	}
}

func isList(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Has("list-type")
}

func isRead(r *http.Request) bool {
	return r.Method == http.MethodGet && !r.URL.Query().Has("list-type")
}

func listCalls(c objectstest.Call) bool { return strings.Contains(c.Query, "list-type=2") }

func encoded(e string) func(*s3.PutObjectInput) {
	return func(in *s3.PutObjectInput) { in.ContentEncoding = aws.String(e) }
}

// testNoRetries: the engine alone repeats calls.
func testNoRetries(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("a"))
	s := f.open(t)
	d := one(t, s)
	f.proxy.Set(objectstest.Answer(http.StatusInternalServerError, "text/plain", "broken"))
	f.proxy.Reset()
	wantClass(t, list(t, s).err, connector.ClassTransient, "s3: list", "500")
	_, _, err := read(t, d)
	wantClass(t, err, connector.ClassTransient, "s3: open", "500")
	f.proxy.Set(objectstest.HangUp)
	wantClass(t, list(t, f.open(t)).err, connector.ClassTransient) // net/http itself tries a connection that was open already again
	if n := len(f.proxy.Calls()); n != 3 {
		t.Errorf("%d calls for 3", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Open(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	dead := f.open(t, func(c *Config) { c.Endpoint = "http://" + objectstest.Dead(t) })
	wantClass(t, list(t, dead).err, connector.ClassTransient, "refused")
}
