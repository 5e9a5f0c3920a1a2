package azblob

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
	"github.com/kbsync/kbsync/internal/servers"
)

// TestFaults shares one server.
func TestFaults(t *testing.T) {
	server := servers.Start(t, "azurite")
	for name, test := range map[string]func(*testing.T, *rig){
		"more than 1,000 keys":                    manyKeys,
		"folder markers":                          folderMarkers,
		"two containers with one key":             func(t *testing.T, r *rig) { twoContainers(t, r, newRig(t, server.Addr)) },
		"gzip content encoding":                   gzipEncoding,
		"overwritten between listing and reading": overwritten,
		"a cut body is read on":                   cutBody,
		"credentials expire during the listing":   expired,
		"a 503 is no empty container":             unavailable,
		"a portal's page is no empty container":   portal,
		"a cut page is no end":                    cutPage,
		"a shared access signature":               signature,
		"connection strings":                      connectionString,
		"no reading is conditional":               unconditional,
		"tags":                                    tags,
		"metadata and type":                       metadata,
		"no such container":                       noContainer,
		"gone and denied objects":                 lost,
		"prefix and globs":                        prefixes,
	} {
		t.Run(name, func(t *testing.T) { test(t, newRig(t, server.Addr)) })
	}
}

func manyKeys(t *testing.T, r *rig) {
	r.container.Fill(t, 2500, numbered)
	r.proxy.Reset()
	if docs := list(t, r.open(t)); len(docs) != 2500 {
		t.Errorf("%d documents are listed", len(docs))
	}
	if calls := r.proxy.Calls(); len(calls) != 3 {
		t.Errorf("2,500 objects cost %d calls, want 3 and no reading", len(calls))
	}
}

func folderMarkers(t *testing.T, r *rig) {
	for _, key := range []string{"folder/", "a/b/", "old_$folder$", "a/b/file.md", "empty.md", "staged.md"} {
		r.container.Put(t, key, nil)
	}
	r.container.Delete(t, "staged.md")
	if _, err := r.container.Client.NewBlockBlobClient("staged.md").StageBlock(t.Context(), "AAAA", streaming.NopCloser(strings.NewReader("x")), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.container.Client.NewBlobClient("a/b/file.md").CreateSnapshot(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	// What Data Lake Storage, Hadoop and blobfuse leave behind for a folder.
	for _, key := range []string{"a", "a/b"} {
		r.container.Put(t, key, nil, func(o *blockblob.UploadOptions) { o.Metadata = map[string]*string{"hdi_isfolder": to.Ptr("true")} })
	}
	if got := paths(list(t, r.open(t))); got != "a/b/file.md empty.md" {
		t.Errorf("listed: %s", got)
	}
}

func twoContainers(t *testing.T, r, other *rig) {
	r.container.Put(t, "same.md", []byte("one"))
	other.container.Put(t, "same.md", []byte("two"))
	a, b := list(t, r.open(t))[0], list(t, other.open(t))[0]
	if a.URI == b.URI || a.URI != r.proxy.URL+"/devstoreaccount1/"+r.container.Name+"/same.md" {
		t.Errorf("URIs %s and %s", a.URI, b.URI)
	}
	if got := read(t, a); string(got) != "one" {
		t.Errorf("read %q", got)
	}
}

func gzipEncoding(t *testing.T, r *rig) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, strings.Repeat("hello ", 1000))
	_ = z.Close()
	r.container.Put(t, "page.html", packed.Bytes(), func(o *blockblob.UploadOptions) {
		o.HTTPHeaders = &blob.HTTPHeaders{BlobContentEncoding: to.Ptr("gzip"), BlobContentType: to.Ptr("text/html")}
	})
	d := list(t, r.open(t))[0]
	if d.Size != int64(packed.Len()) {
		t.Errorf("size %d, want %d as stored", d.Size, packed.Len())
	}
	facts, got := opened(t, d)
	if facts.Encoding != "gzip" || facts.MediaType != "text/html" || !bytes.Equal(got, packed.Bytes()) {
		t.Errorf("%+v, %d bytes; want gzip, and the %d bytes that are stored", facts, len(got), packed.Len())
	}
	rest := readOn(t, d, 7, facts.Version)
	if !bytes.Equal(rest, packed.Bytes()[7:]) {
		t.Error("read on from byte 7, the bytes are not those stored")
	}
}

func overwritten(t *testing.T, r *rig) {
	r.container.Put(t, "a.md", []byte("first"))
	s := r.open(t)
	d := list(t, s)[0]
	r.container.Put(t, "a.md", []byte("second, and longer"))
	facts, got := opened(t, d)
	now := list(t, s)[0]
	if string(got) != "second, and longer" || facts.Version != now.Version || facts.Version == d.Version {
		t.Errorf("read %q as version %q; listed were %q, then %q", got, facts.Version, d.Version, now.Version)
	}
}

func cutBody(t *testing.T, r *rig) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 40_000)
	r.container.Put(t, "large.txt", text)
	d := list(t, r.open(t))[0]
	r.proxy.Alter(func(a *http.Response) error { objectstest.CutAfter(a, 300_000); return nil })
	r.proxy.Reset()
	body, err := d.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	if connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("cut after %d bytes: %v", len(got), err)
	}
	if n := len(r.proxy.Calls()); n != 1 {
		t.Errorf("the library made %d requests for one reading", n)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	r.proxy.Alter(nil)
	if got = append(got, readOn(t, d, int64(len(got)), d.Version)...); !bytes.Equal(got, text) {
		t.Error("in two parts the content is another")
	}
}

func expired(t *testing.T, r *rig) {
	r.container.Fill(t, 25, numbered)
	s := r.open(t, pages(10))
	err := broken(t, s, 10, func() {
		r.proxy.Set(refusal(403, "AuthenticationFailed", "Server failed to authenticate the request.\nRequestId:1", "Signature not valid in the specified time frame"))
	})
	if connector.ClassOf(err) != connector.ClassCredentials || !strings.Contains(err.Error(), "not valid in the specified time frame") {
		t.Errorf("class %s: %v", connector.ClassOf(err), err)
	}
	r.proxy.Set(nil)
	resumed(t, s, 15)
}

func unavailable(t *testing.T, r *rig) {
	r.container.Put(t, "a.md", nil)
	s := r.open(t)
	r.proxy.Set(objectstest.Answer(503, "application/xml", "<?xml version='1.0'?><Error><Code>ServerBusy</Code><Message>try later</Message></Error>", "Retry-After", "7", "x-ms-error-code", "ServerBusy"))
	r.proxy.Reset()
	err := broken(t, s, 0, nil)
	var classed *connector.Error
	if !errors.As(err, &classed) || classed.Class != connector.ClassThrottled || classed.RetryAfter != 7*time.Second {
		t.Errorf("%v", err)
	}
	if n := len(r.proxy.Calls()); n != 1 {
		t.Errorf("the library asked %d times", n)
	}
	r.proxy.Set(objectstest.Answer(500, "text/plain", "oops"))
	if err := broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("500: %v", err)
	}
	r.proxy.Set(objectstest.HangUp)
	if err := broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("no answer: %v", err)
	}
	r.proxy.Set(objectstest.Answer(429, "text/plain", "slowly"))
	if err := broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassThrottled {
		t.Errorf("429: %v", err)
	}
}

func portal(t *testing.T, r *rig) {
	s := r.open(t)
	for _, page := range []string{
		"<html>sign in</html>", "{}", "", "<EnumerationResults/>", "<?xml version='1.0'?><EnumerationResults><Blobs><Blob><Name>a</Name></Blob></Blobs></EnumerationResults>",
		"<?xml version='1.0'?><EnumerationResults><Blobs><Blob><Name>a</Name>",
	} {
		r.proxy.Set(objectstest.Answer(200, "application/xml", page))
		if err := broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassTransient {
			t.Errorf("%q: %v", page, err)
		}
	}
}

func cutPage(t *testing.T, r *rig) {
	r.container.Fill(t, 25, numbered)
	s := r.open(t, pages(10))
	err := broken(t, s, 10, func() {
		r.proxy.Alter(func(a *http.Response) error { objectstest.CutAfter(a, 200); return nil })
	})
	if connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("%v", err)
	}
	r.proxy.Alter(nil)
	resumed(t, s, 15)
}

// refusal is an error as Azure writes it.
func refusal(status int, code, message, detail string) objectstest.Fault {
	body := fmt.Sprintf("<?xml version='1.0' encoding='utf-8'?><Error><Code>%s</Code><Message>%s</Message><AuthenticationErrorDetail>%s</AuthenticationErrorDetail></Error>", code, message, detail)
	return objectstest.Answer(status, "application/xml", body, "x-ms-error-code", code)
}

func noContainer(t *testing.T, r *rig) {
	s := r.open(t, func(c *Config) { c.Container = "nosuchcontainer" })
	if err := broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassNotFound || !strings.Contains(err.Error(), "nosuchcontainer") {
		t.Errorf("%v", err)
	}
}

func lost(t *testing.T, r *rig) {
	r.container.Put(t, "a.md", []byte("x"))
	d := list(t, r.open(t))[0]
	r.container.Delete(t, "a.md")
	if _, err := d.Open(t.Context()); connector.ClassOf(err) != connector.ClassChanged {
		t.Errorf("deleted since it was listed: %v", err)
	}
	r.proxy.Set(refusal(403, "AuthorizationPermissionMismatch", "This request is not authorized to perform this operation using this permission.", ""))
	if _, err := d.Open(t.Context()); connector.ClassOf(err) != connector.ClassDenied || !strings.Contains(err.Error(), "Storage Blob Data Reader") {
		t.Errorf("denied: %v", err)
	}
	r.proxy.Set(refusal(409, "BlobArchived", "This operation is not permitted on an archived blob.", ""))
	if _, err := d.Open(t.Context()); connector.ClassOf(err) != connector.ClassDenied || !strings.Contains(err.Error(), "rehydrate") {
		t.Errorf("archived: %v", err)
	}
}

func prefixes(t *testing.T, r *rig) {
	for _, key := range []string{"a/../x/1.md", "a/../x/2.txt", "a/../x/skip/3.md", "a/../y.md", "a/__0x2f__/z.md"} {
		r.container.Put(t, key, []byte("x"))
	}
	s := r.open(t, func(c *Config) { c.Prefix, c.Include, c.Exclude = "a/../x/", []string{"**/*.md"}, []string{"skip"} })
	if got := paths(list(t, s)); got != "1.md" {
		t.Errorf("listed: %s", got)
	}
}
