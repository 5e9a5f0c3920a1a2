package gcs

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
	"github.com/kbsync/kbsync/internal/servers"
)

// TestFaults shares one server.
func TestFaults(t *testing.T) {
	server := servers.Start(t, "fake-gcs")
	objectstest.Run(t, objectstest.Store{
		New:    func(tb testing.TB) *objectstest.Rig { return newRig(tb, server.Addr).shared() },
		AnyKey: true, ListsMetadata: true, Metadata: map[string]string{"Owner": "Zoë 王", "team-Name": "docs"},
		NoListing: []string{"[]"}, ListingType: "application/json",
		Throttled: map[string]objectstest.Fault{
			"bare 503": objectstest.Answer(503, "text/plain", "try later", "Retry-After", "7"),
			"429":      refusal(429, "Slow down", "rateLimitExceeded", "Retry-After", "7"),
			"quota":    refusal(403, "Quota", "userRateLimitExceeded", "Retry-After", "7"),
		},
		Expired: objectstest.Refusal{Fault: refusal(401, "Invalid Credentials", "authError"), Says: []string{"expired"}},
		Denied: objectstest.Refusal{
			Fault: objectstest.Answer(403, "application/xml", "<Error><Code>AccessDenied</Code><Message>Access denied.</Message></Error>"),
			Says:  []string{"Access denied", "storage.objects.get"},
		},
	})
	for name, test := range map[string]func(*testing.T, *rig){
		"content behind a slash": contentBehindSlash,
		"requester pays":         requesterPays,
	} {
		t.Run(name, func(t *testing.T) { test(t, newRig(t, server.Addr)) })
	}
}

// refusal is an error as Google writes it.
func refusal(status int, message, reason string, pairs ...string) objectstest.Fault {
	body := fmt.Sprintf(`{"error":{"code":%d,"message":%q,"errors":[{"reason":%q}]}}`, status, message, reason)
	return objectstest.Answer(status, "application/json", body, pairs...)
}

// contentBehindSlash: what has content is no marker of a folder.
func contentBehindSlash(t *testing.T, r *rig) {
	r.Put(t, "empty/", nil)
	r.Put(t, "odd/", []byte("a key that ends in a slash and has content"))
	if got := objectstest.Paths(objectstest.List(t, r.open(t))); got != "odd/" {
		t.Errorf("listed: %s", got)
	}
}

func requesterPays(t *testing.T, r *rig) {
	r.Put(t, "a.md", []byte("content"))
	unpaid := func(f objectstest.Fault) objectstest.Fault {
		return objectstest.When(func(q *http.Request) bool { return q.Header.Get("X-Goog-User-Project") == "" }, 0, f)
	}
	const message = "Bucket is a requester pays bucket but no user project provided."
	s := r.open(t)
	d := objectstest.One(t, s)
	r.proxy.Set(unpaid(refusal(400, message, "required")))
	objectstest.WantClass(t, objectstest.Broken(t, s, 0, nil), connector.ClassDenied, "user_project")
	r.proxy.Set(unpaid(objectstest.Answer(400, "application/xml", "<?xml version='1.0'?><Error><Code>UserProjectMissing</Code><Message>"+message+"</Message></Error>")))
	objectstest.WantClass(t, objectstest.OpenFails(t, d), connector.ClassDenied, "user_project")
	d = objectstest.One(t, r.open(t, func(c *Config) { c.UserProject = "payer" }))
	if got := objectstest.Read(t, d); string(got) != "content" {
		t.Errorf("read %q", got)
	}
}
