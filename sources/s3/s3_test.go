package s3

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

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
	objectstest.Run(t, w.store())
	for _, test := range []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"conformance", testConformance},
		{"conformance below a prefix", testConformanceBelow},
		{"planted objects are like stored ones", testPlanted},
		{"names", testNames},
		{"keys of the store's own, by encoding-type=url", testEncodedKeys},
		{"multipart ETag", testMultipart},
		{"facts of a reading", testFacts},
		{"tags", testTags},
		{"deleted object that still answers", testStillAnswers},
		{"range ignored", testRangeIgnored},
		{"listing cut half-way", testCutListing},
		{"wrong credentials", testWrongCredentials},
		{"no credentials", testNoCredentials},
		{"requester pays", testRequesterPays},
		{"anonymous", testAnonymous},
		{"refusals", testRefusals},
		{"nobody listens", testDead},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, w) })
	}
}

// store is what the suite of all stores needs.
func (w *world) store() objectstest.Store {
	return objectstest.Store{
		New:      func(tb testing.TB) *objectstest.Rig { return w.fixture(tb).shared() },
		Metadata: map[string]string{"Owner": "Zoe", "team-Name": "docs"},
		Gzip:     []string{"aws-chunked,gzip", "GZIP"},
		NoListing: []string{
			"<html><head><title>Welcome</title></head><body><p>Log in</p></body></html>", "<ListBucketResult><Name>x</Name>",
			`<?xml version="1.0"?><ListAllMyBucketsResult><Owner/></ListAllMyBucketsResult>`, `<?xml version="1.0"?><Error><Code>InternalError</Code></Error>`,
		},
		ListingType: "application/xml",
		Throttled: map[string]objectstest.Fault{
			"SlowDown":    refusal(http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.", "Retry-After", "7"),
			"bare 503":    objectstest.Answer(http.StatusServiceUnavailable, "text/html", "<html><body>overloaded</body></html>", "Retry-After", "7"),
			"empty 503":   objectstest.Answer(http.StatusServiceUnavailable, "text/plain", "", "Retry-After", "7"),
			"429":         refusal(http.StatusTooManyRequests, "TooManyRequests", "slow", "Retry-After", "7"),
			"unknown 429": refusal(http.StatusTooManyRequests, "Whatever", "slow", "Retry-After", "7"),
		},
		Expired: objectstest.Refusal{Fault: refusal(http.StatusBadRequest, "ExpiredToken", "The provided token has expired."), Says: []string{"expired", "renew"}},
		Denied:  objectstest.Refusal{Fault: denied("Access Denied"), Says: []string{"s3:GetObject"}},
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

// shared is what the suite of all stores needs of it.
func (f *fixture) shared() *objectstest.Rig {
	return &objectstest.Rig{
		Bucket: f, Proxy: f.proxy,
		Source: func(tb testing.TB, shared objects.Config) objectstest.Source {
			tb.Helper()
			return f.open(tb, func(c *Config) { c.Config = shared })
		},
		Missing: func(tb testing.TB) objectstest.Source {
			tb.Helper()
			return f.open(tb, func(c *Config) { c.Bucket = "nosuchbucket" })
		},
		URI: func(key string) string { return "s3://" + f.Name + "/" + key },
	}
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
	objectstest.CloseAtEnd(tb, s)
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
				objectstest.Rename(tb, f, prefix+from, prefix+to)
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

func isList(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Has("list-type")
}

func isRead(r *http.Request) bool {
	return r.Method == http.MethodGet && !r.URL.Query().Has("list-type")
}

func listCalls(c objectstest.Call) bool { return strings.Contains(c.Query, "list-type=2") }
