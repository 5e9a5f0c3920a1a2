package s3

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
)

func testWrongCredentials(t *testing.T, w *world) {
	f := w.fixture(t)
	objectstest.WantClass(t, list(t, f.open(t, func(c *Config) { c.AccessKey = "nobody" })).err, connector.ClassCredentials, "access_key")
	objectstest.WantClass(t, list(t, f.open(t, func(c *Config) { c.SecretKey = "guessed" })).err, connector.ClassCredentials, "access_key")
}

func testNoCredentials(t *testing.T, w *world) {
	f := w.fixture(t)
	objectstest.WantClass(t, list(t, f.open(t, func(c *Config) { c.AccessKey, c.SecretKey = "", "" })).err, connector.ClassCredentials, "no credentials", "anonymous")
	// Those of the environment are found.
	t.Setenv("AWS_ACCESS_KEY_ID", objectstest.S3AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", objectstest.S3SecretKey)
	if l := list(t, f.open(t, func(c *Config) { c.AccessKey, c.SecretKey = "", "" })); l.err != nil {
		t.Error(l.err)
	}
	// A role is assumed with them; this token service refuses, and then is overloaded.
	for class, fault := range map[connector.Class]objectstest.Fault{
		connector.ClassCredentials: objectstest.Answer(http.StatusForbidden, "text/xml", "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not yours</Message></Error></ErrorResponse>"),
		connector.ClassTransient:   objectstest.Answer(http.StatusServiceUnavailable, "text/plain", ""),
	} {
		f.proxy.Set(fault)
		t.Setenv("AWS_ENDPOINT_URL_STS", f.proxy.URL)
		role := f.open(t, func(c *Config) { c.RoleARN, c.ExternalID = "arn:aws:iam::123456789012:role/reader", "e1" })
		objectstest.WantClass(t, list(t, role).err, class, "no credentials")
	}
}

// testRequesterPays: the refusal says what to set, and with it every call agrees.
func testRequesterPays(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("text"))
	refuse := denied("Access Denied: the bucket is a Requester Pays bucket")
	f.proxy.Set(func(rw http.ResponseWriter, r *http.Request) bool {
		return r.Header.Get("X-Amz-Request-Payer") != "requester" && refuse(rw, r)
	})
	objectstest.WantClass(t, list(t, f.open(t)).err, connector.ClassDenied, "requester_pays")
	s := f.open(t, func(c *Config) { c.RequesterPays, c.Tags = true, true })
	if text := objectstest.Read(t, objectstest.One(t, s)); string(text) != "text" {
		t.Errorf("%q", text)
	}
}

func testAnonymous(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("text"))
	anonymous := func(c *Config) { c.AccessKey, c.SecretKey, c.Anonymous = "", "", true }
	objectstest.WantClass(t, list(t, f.open(t, anonymous)).err, connector.ClassDenied, "not public")
	policy := strings.ReplaceAll(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":["s3:GetObject","s3:ListBucket"],
		"Resource":["arn:aws:s3:::NAME","arn:aws:s3:::NAME/*"]}]}`, "NAME", f.Name)
	if _, err := f.Client.PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: aws.String(f.Name), Policy: aws.String(policy)}); err != nil {
		t.Fatal(err)
	}
	f.proxy.Reset()
	if text := objectstest.Read(t, objectstest.One(t, f.open(t, anonymous))); string(text) != "text" {
		t.Errorf("%q", text)
	}
	if n := f.proxy.Count(func(c objectstest.Call) bool { return c.Header.Get("Authorization") != "" }); n > 0 {
		t.Errorf("%d calls are signed", n)
	}
}

func testRefusals(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("text"))
	d := objectstest.One(t, f.open(t))
	for _, c := range []struct {
		fault objectstest.Fault
		class connector.Class
		words string
	}{
		{denied("Access Denied"), connector.ClassDenied, "s3:ListBucket"},
		{refusal(403, "InvalidAccessKeyId", "unknown key"), connector.ClassCredentials, "access_key"},
		{refusal(403, "SignatureDoesNotMatch", "no match"), connector.ClassCredentials, "secret_key"},
		{refusal(400, "InvalidToken", "bad token"), connector.ClassCredentials, ""},
		{refusal(400, "TokenRefreshRequired", "refresh"), connector.ClassCredentials, "renew"},
		{refusal(400, "ExpiredTokenException", "expired"), connector.ClassCredentials, "renew"},
		{refusal(403, "RequestTimeTooSkewed", "skewed"), connector.ClassCredentials, "clock"},
		{refusal(301, "PermanentRedirect", "other endpoint", "X-Amz-Bucket-Region", "eu-west-3"), connector.ClassInvalid, "set region to eu-west-3"},
		{refusal(400, "AuthorizationHeaderMalformed", "the region is wrong; expecting eu-west-3"), connector.ClassInvalid, "set region"},
		{refusal(403, "InvalidObjectState", "archived"), connector.ClassInvalid, "restore"},
		{refusal(500, "InternalError", "try again"), connector.ClassTransient, "try again"},
		{refusal(502, "Whatever", "gateway"), connector.ClassTransient, ""},
		{refusal(400, "RequestTimeout", "slow client"), connector.ClassTransient, ""},
		{refusal(501, "NotImplemented", "no"), connector.ClassUnsupported, ""},
		{refusal(400, "InvalidArgument", "no such token"), connector.ClassInvalid, "no such token"},
	} {
		f.proxy.Set(c.fault)
		objectstest.WantClass(t, list(t, f.open(t)).err, c.class, "s3: list", c.words)
		objectstest.WantClass(t, objectstest.OpenFails(t, d), c.class, "s3: open", c.words)
	}
	f.proxy.Set(nil)
	objectstest.WantClass(t, list(t, f.open(t, func(c *Config) { c.Bucket = "no-such-bucket" })).err, connector.ClassNotFound, "NoSuchBucket", `"no-such-bucket"`)
}

// testDead: a store that is down may come back.
func testDead(t *testing.T, w *world) {
	dead := w.fixture(t).open(t, func(c *Config) { c.Endpoint = "http://" + objectstest.Dead(t) })
	objectstest.WantClass(t, list(t, dead).err, connector.ClassTransient, "refused")
}

func TestValidate(t *testing.T) {
	ok := func(change func(*Config)) Config {
		c := Config{Bucket: "b", Config: objects.Defaults()}
		change(&c)
		return c
	}
	for words, c := range map[string]Config{
		"bucket: missing":         ok(func(c *Config) { c.Bucket = "" }),
		"bucket: expected":        ok(func(c *Config) { c.Bucket = "b/x" }),
		"endpoint: expected":      ok(func(c *Config) { c.Endpoint = "s3.example.com" }),
		"endpoint: must hold":     ok(func(c *Config) { c.Endpoint = "https://a:b@s3.example.com" }),
		"both or none":            ok(func(c *Config) { c.AccessKey = "a" }),
		"session_token: expected": ok(func(c *Config) { c.SessionToken = "a" }),
		"profile: the":            ok(func(c *Config) { c.Profile, c.AccessKey, c.SecretKey = "p", "a", "b" }),
		"anonymous: goes":         ok(func(c *Config) { c.Anonymous, c.RequesterPays = true, true }),
		"external_id: expected":   ok(func(c *Config) { c.ExternalID = "e" }),
		"include[0]: not a valid": ok(func(c *Config) { c.Include = []string{"[a"} }),
		"max_size":                ok(func(c *Config) { c.MaxSize = -1 }),
		"prefix: not valid UTF-8": ok(func(c *Config) { c.Prefix = "\xff" }),
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q: %v", words, err)
		}
	}
	fine := ok(func(c *Config) {
		c.Endpoint, c.Profile, c.RoleARN, c.ExternalID = "https://s3.example.com", "p", "arn:x", "e"
	})
	if err := fine.Validate(); err != nil {
		t.Error(err)
	}
}
