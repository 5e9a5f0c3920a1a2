package azblob

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
)

func signature(t *testing.T, r *rig) {
	r.container.Put(t, "a b.md", []byte("content"))
	signed := func(until time.Time) func(*Config) {
		u, err := r.container.Client.GetSASURL(sas.ContainerPermissions{Read: true, List: true}, until, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, token, _ := strings.Cut(u, "?")
		return func(c *Config) { c.AccountKey, c.SASToken = "", connector.Secret("?"+token) }
	}
	s := r.open(t, signed(time.Now().Add(time.Hour)))
	d := list(t, s)[0]
	if got := read(t, d); string(got) != "content" || strings.Contains(d.URI, "sig=") {
		t.Errorf("read %q from %s", got, d.URI)
	}
	r.proxy.Set(objectstest.HangUp)
	err := broken(t, s, 0, nil)
	r.proxy.Set(nil)
	_, openErr := func() (io.ReadCloser, error) {
		r.proxy.Set(objectstest.HangUp)
		defer r.proxy.Set(nil)
		return d.Open(t.Context())
	}()
	old := broken(t, r.open(t, signed(time.Now().Add(-time.Hour))), 0, nil)
	if connector.ClassOf(old) != connector.ClassCredentials || !strings.Contains(old.Error(), "sas_token") {
		t.Errorf("ran out an hour ago: class %s: %v", connector.ClassOf(old), old)
	}
	for _, err := range []error{err, openErr, old} {
		if err == nil || strings.Contains(err.Error(), "sig=") || len(err.Error()) > 500 {
			t.Errorf("an error that shows the signature, or a page of text: %v", err)
		}
	}
}

func connectionString(t *testing.T, r *rig) {
	r.container.Put(t, "a.md", []byte("content"))
	s := r.open(t, func(c *Config) {
		c.ConnectionString = connector.Secret("DefaultEndpointsProtocol=http;AccountName=" + c.Account + ";AccountKey=" + c.AccountKey.Reveal() + ";BlobEndpoint=" + c.Endpoint + ";")
		c.Account, c.AccountKey, c.Endpoint = "", "", ""
	})
	if got := read(t, list(t, s)[0]); string(got) != "content" {
		t.Errorf("read %q", got)
	}
}

// unconditional: some servers and clients do not bear the answer 304.
func unconditional(t *testing.T, r *rig) {
	r.container.Put(t, "a.md", []byte("content"))
	d := list(t, r.open(t))[0]
	_ = read(t, d)
	_ = readOn(t, d, 3, d.Version)
	r.container.Put(t, "a.md", []byte("CONTENT"))
	if _, err := d.OpenAt(t.Context(), 3, d.Version); connector.ClassOf(err) != connector.ClassChanged {
		t.Errorf("read on after a change: %v", err)
	}
	for _, c := range r.proxy.Calls() {
		for name := range c.Header {
			if strings.HasPrefix(name, "If-") {
				t.Errorf("%s %s has the header %s", c.Method, c.Path, name)
			}
		}
	}
}

func metadata(t *testing.T, r *rig) {
	r.container.Put(t, "a", []byte("x"), func(o *blockblob.UploadOptions) {
		o.Metadata = map[string]*string{"Owner": to.Ptr("Zoe"), "teamName": to.Ptr("docs")}
		o.HTTPHeaders = &blob.HTTPHeaders{BlobContentType: to.Ptr("text/markdown")}
	})
	r.container.Put(t, "b", []byte("x"))
	docs := list(t, r.open(t))
	facts, _ := opened(t, docs[0])
	for _, m := range []map[string]any{docs[0].Metadata, facts.Metadata} {
		if len(m) != 2 || m["owner"] != "Zoe" || m["teamname"] != "docs" {
			t.Errorf("metadata %q", m)
		}
	}
	if docs[0].MediaType != "text/markdown" || facts.MediaType != "text/markdown" || docs[1].MediaType != "" {
		t.Errorf("types %q, %q, %q", docs[0].MediaType, facts.MediaType, docs[1].MediaType)
	}
}

func tags(t *testing.T, r *rig) {
	r.container.Put(t, "a", []byte("x"), func(o *blockblob.UploadOptions) {
		o.Metadata, o.Tags = map[string]*string{"owner": to.Ptr("Zoe")}, map[string]string{"Team": "R and D"}
	})
	facts, _ := opened(t, list(t, r.open(t, func(c *Config) { c.Tags = true }))[0])
	if m := facts.Metadata; len(m) != 2 || m["owner"] != "Zoe" || m["Team"] != "R and D" {
		t.Errorf("metadata %q", m)
	}
	facts, _ = opened(t, list(t, r.open(t))[0])
	if m := facts.Metadata; len(m) != 1 {
		t.Errorf("without tags: true, metadata %q", m)
	}
}
