package s3

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
)

func testNoListing(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("a"))
	for name, body := range map[string]string{
		"HTML":       "<html><head><title>Welcome</title></head><body><p>Log in</p></body></html>",
		"broken":     "<ListBucketResult><Name>x</Name>",
		"empty":      "",
		"JSON":       `{"error":"no"}`,
		"other XML":  `<?xml version="1.0"?><ListAllMyBucketsResult><Owner/></ListAllMyBucketsResult>`,
		"error body": `<?xml version="1.0"?><Error><Code>InternalError</Code></Error>`,
	} {
		f.proxy.Set(objectstest.Answer(http.StatusOK, "text/html", body))
		l := list(t, f.open(t))
		if len(l.paths) > 0 {
			t.Errorf("%s: lists %q", name, l.paths)
		}
		wantClass(t, l.err, connector.ClassTransient, "s3: list")
	}
}

func testThrottled(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Fill(t, 10, numbered)
	for name, fault := range map[string]objectstest.Fault{
		"SlowDown":    refusal(http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.", "Retry-After", "7"),
		"bare 503":    objectstest.Answer(http.StatusServiceUnavailable, "text/html", "<html><body>overloaded</body></html>", "Retry-After", "7"),
		"empty 503":   objectstest.Answer(http.StatusServiceUnavailable, "text/plain", "", "Retry-After", "7"),
		"429":         refusal(http.StatusTooManyRequests, "TooManyRequests", "slow", "Retry-After", "7"),
		"unknown 429": refusal(http.StatusTooManyRequests, "Whatever", "slow", "Retry-After", "7"),
	} {
		f.proxy.Set(fault)
		l := list(t, f.open(t))
		wantClass(t, l.err, connector.ClassThrottled, "s3: list")
		var e *connector.Error
		if !errors.As(l.err, &e) || e.RetryAfter != 7*time.Second || len(l.paths) > 0 {
			t.Errorf("%s: %v, %d documents", name, l.err, len(l.paths))
		}
	}
}

// testExpired: credentials that run out in mid listing end it with what to do; with new ones a new run lists everything.
func testExpired(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Fill(t, 30, numbered)
	s := f.open(t, pages(10))
	f.proxy.Set(objectstest.When(func(r *http.Request) bool { return r.URL.Query().Has("continuation-token") }, 0,
		refusal(http.StatusBadRequest, "ExpiredToken", "The provided token has expired.")))
	l := list(t, s)
	wantClass(t, l.err, connector.ClassCredentials, "s3: list", "expired", "renew")
	if len(l.paths) != 10 {
		t.Errorf("%d documents", len(l.paths))
	}
	f.proxy.Set(objectstest.When(isRead, 0, refusal(http.StatusForbidden, "ExpiredToken", "The provided token has expired.")))
	_, _, err := read(t, l.docs[l.paths[0]])
	wantClass(t, err, connector.ClassCredentials, "renew")
	f.proxy.Set(nil)
	if l.resume(t, s); len(l.docs) != 30 || len(l.paths) != 30 || l.err != nil {
		t.Errorf("with new credentials: %d documents, error %v", len(l.docs), l.err)
	}
}

func testWrongCredentials(t *testing.T, w *world) {
	f := w.fixture(t)
	wantClass(t, list(t, f.open(t, func(c *Config) { c.AccessKey = "nobody" })).err, connector.ClassCredentials, "access_key")
	wantClass(t, list(t, f.open(t, func(c *Config) { c.SecretKey = "guessed" })).err, connector.ClassCredentials, "access_key")
}

func testNoCredentials(t *testing.T, w *world) {
	f := w.fixture(t)
	wantClass(t, list(t, f.open(t, func(c *Config) { c.AccessKey, c.SecretKey = "", "" })).err, connector.ClassCredentials, "no credentials", "anonymous")
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
		wantClass(t, list(t, role).err, class, "no credentials")
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
	wantClass(t, list(t, f.open(t)).err, connector.ClassDenied, "requester_pays")
	s := f.open(t, func(c *Config) { c.RequesterPays, c.Tags = true, true })
	if text, _, err := read(t, one(t, s)); text != "text" || err != nil {
		t.Errorf("%q, error %v", text, err)
	}
}

func testAnonymous(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("text"))
	anonymous := func(c *Config) { c.AccessKey, c.SecretKey, c.Anonymous = "", "", true }
	wantClass(t, list(t, f.open(t, anonymous)).err, connector.ClassDenied, "not public")
	policy := strings.ReplaceAll(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":["s3:GetObject","s3:ListBucket"],
		"Resource":["arn:aws:s3:::NAME","arn:aws:s3:::NAME/*"]}]}`, "NAME", f.Name)
	if _, err := f.Client.PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: aws.String(f.Name), Policy: aws.String(policy)}); err != nil {
		t.Fatal(err)
	}
	f.proxy.Reset()
	if text, _, err := read(t, one(t, f.open(t, anonymous))); text != "text" || err != nil {
		t.Errorf("%q, error %v", text, err)
	}
	if n := f.proxy.Count(func(c objectstest.Call) bool { return c.Header.Get("Authorization") != "" }); n > 0 {
		t.Errorf("%d calls are signed", n)
	}
}

func testRefusals(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("text"))
	d := one(t, f.open(t))
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
		wantClass(t, list(t, f.open(t)).err, c.class, "s3: list", c.words)
		_, _, err := read(t, d)
		wantClass(t, err, c.class, "s3: open", c.words)
	}
	f.proxy.Set(nil)
	wantClass(t, list(t, f.open(t, func(c *Config) { c.Bucket = "no-such-bucket" })).err, connector.ClassNotFound, "NoSuchBucket", `"no-such-bucket"`)
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
