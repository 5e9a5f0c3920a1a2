package azblob

import (
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
)

func signature(t *testing.T, r *rig) {
	r.Put(t, "a b.md", []byte("content"))
	signed := func(until time.Time) func(*Config) {
		u, err := r.Client.GetSASURL(sas.ContainerPermissions{Read: true, List: true}, until, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, token, _ := strings.Cut(u, "?")
		return func(c *Config) { c.AccountKey, c.SASToken = "", connector.Secret("?"+token) }
	}
	s := r.open(t, signed(time.Now().Add(time.Hour)))
	d := objectstest.One(t, s)
	if got := objectstest.Read(t, d); string(got) != "content" || strings.Contains(d.URI, "sig=") {
		t.Errorf("read %q from %s", got, d.URI)
	}
	r.proxy.Set(objectstest.HangUp)
	err := objectstest.Broken(t, s, 0, nil)
	openErr := objectstest.OpenFails(t, d)
	r.proxy.Set(nil)
	old := objectstest.Broken(t, r.open(t, signed(time.Now().Add(-time.Hour))), 0, nil)
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
	r.Put(t, "a.md", []byte("content"))
	s := r.open(t, func(c *Config) {
		c.ConnectionString = connector.Secret("DefaultEndpointsProtocol=http;AccountName=" + c.Account + ";AccountKey=" + c.AccountKey.Reveal() + ";BlobEndpoint=" + c.Endpoint + ";")
		c.Account, c.AccountKey, c.Endpoint = "", "", ""
	})
	if got := objectstest.Read(t, objectstest.One(t, s)); string(got) != "content" {
		t.Errorf("read %q", got)
	}
}

// unconditional: some servers and clients do not bear the answer 304.
func unconditional(t *testing.T, r *rig) {
	r.Put(t, "a.md", []byte("content"))
	d := objectstest.One(t, r.open(t))
	_ = objectstest.Read(t, d)
	_ = objectstest.ReadOn(t, d, 3, d.Version)
	r.Put(t, "a.md", []byte("CONTENT"))
	objectstest.WantClass(t, objectstest.ReadOnFails(t, d, 3, d.Version), connector.ClassChanged)
	for _, c := range r.proxy.Calls() {
		for name := range c.Header {
			if strings.HasPrefix(name, "If-") {
				t.Errorf("%s %s has the header %s", c.Method, c.Path, name)
			}
		}
	}
}

func tags(t *testing.T, r *rig) {
	r.Put(t, "a", []byte("x"), objectstest.Attributes{Metadata: map[string]string{"owner": "Zoe"}, Tags: map[string]string{"Team": "R and D"}})
	facts, _ := objectstest.Opened(t, objectstest.One(t, r.open(t, func(c *Config) { c.Tags = true })))
	if m := facts.Metadata; len(m) != 2 || m["owner"] != "Zoe" || m["Team"] != "R and D" {
		t.Errorf("metadata %q", m)
	}
	facts, _ = objectstest.Opened(t, objectstest.One(t, r.open(t)))
	if m := facts.Metadata; len(m) != 1 {
		t.Errorf("without tags: true, metadata %q", m)
	}
}
