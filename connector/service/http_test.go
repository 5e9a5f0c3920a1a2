package service

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// send posts to a handler; headers are "Name: value".
func send(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestToken: what sets off a run asks for the token, or, where there is none, comes from this machine alone.
func TestToken(t *testing.T) {
	tests := []struct {
		listen, token, method, target string
		headers                       []string
		want                          int
	}{
		{":9464", "s3cret", "POST", "/sync", nil, 401},
		{":9464", "s3cret", "POST", "/sync", []string{"Authorization: Bearer wrong"}, 401},
		{":9464", "s3cret", "POST", "/sync", []string{"Authorization: s3cret"}, 401},
		{":9464", "s3cret", "POST", "/sync", []string{"Authorization: Bearer s3cret"}, 202},
		{":9464", "s3cret", "POST", "/sync?token=s3cret", nil, 401},
		{":9464", "s3cret", "POST", "/notify?token=s3cret", nil, 202},
		{":9464", "s3cret", "POST", "/notify?token=", nil, 401},
		{":9464", "s3cret", "OPTIONS", "/notify", nil, 401},
		{":9464", "s3cret", "POST", "/notify?token=wrong", []string{"Authorization: Bearer s3cret"}, 202},
		{":9464", "", "POST", "/sync", nil, 403},
		{"0.0.0.0:9464", "", "POST", "/notify", []string{"Host: localhost:9464"}, 403},
		{"127.0.0.1:9464", "", "POST", "/sync", []string{"Host: 127.0.0.1:9464"}, 202},
		{"[::1]:9464", "", "POST", "/sync", []string{"Host: [::1]:9464"}, 202},
		{"localhost:9464", "", "POST", "/notify", []string{"Host: localhost:9464"}, 202},
		{"127.0.0.1:9464", "", "POST", "/sync", []string{"Host: rebound.example"}, 403},
		{"127.0.0.1:9464", "", "POST", "/sync", []string{"Host: localhost", "Origin: https://page.example"}, 403},
		{"127.0.0.1:9464", "", "GET", "/sync", []string{"Host: localhost"}, 405},
		{"127.0.0.1:9464", "", "GET", "/elsewhere", []string{"Host: localhost"}, 404},
		{":9464", "s3cret", "GET", "/metrics", nil, 200},
		{":9464", "s3cret", "GET", "/status", nil, 200},
	}
	for _, test := range tests {
		opts := Options{Load: parse(t, "ids: content"), Watch: true, Listen: test.listen}
		opts.Token.UnmarshalText([]byte(test.token)) //nolint:errcheck // it takes every text
		s, err := create(opts, &fakeEngine{})
		if err != nil {
			t.Fatal(err)
		}
		w := send(s.Handler(), test.method, test.target, "", test.headers...)
		if w.Code != test.want {
			t.Errorf("%+v: %d %s", test, w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), "s3cret") {
			t.Errorf("%+v: the token is told: %s", test, w.Body)
		}
	}
}

// TestNotifications: every sender's form sets off a run, the handshakes do not, and what a body names is never fetched.
func TestNotifications(t *testing.T) {
	const (
		azure = `[{"id":"1","eventType":"Microsoft.EventGrid.SubscriptionValidationEvent","data":{"validationCode":"512d38b6","validationUrl":"https://rp.example/validate"}}]`
		sns   = `{"Type":"SubscriptionConfirmation","TopicArn":"arn:aws:sns:eu-central-1:1:docs","SubscribeURL":"https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&Token=abc"}`
	)
	tests := []struct {
		name, body string
		headers    []string
		code       int
		run        bool
		answer     string
	}{
		{"s3", `{"Records":[{"eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"docs"},"object":{"key":"a.md"}}}]}`, nil, 202, true, ""},
		{"minio", `{"EventName":"s3:ObjectCreated:Put","Key":"docs/a.md","Records":[]}`, nil, 202, true, ""},
		{"pubsub", `{"message":{"data":"e30=","messageId":"1"},"subscription":"projects/p/subscriptions/s"}`, nil, 202, true, ""},
		{"sns", `{"Type":"Notification","TopicArn":"arn","Message":"{}"}`, []string{"X-Amz-Sns-Message-Type: Notification", "Content-Type: text/plain"}, 202, true, ""},
		{"sns confirmation", sns, []string{"X-Amz-Sns-Message-Type: SubscriptionConfirmation"}, 200, false, ""},
		{"sns confirmation by its body", sns, nil, 200, false, ""},
		{"sns confirmation of another", strings.ReplaceAll(sns, "amazonaws.com", "amazonaws.com.evil.example"), nil, 200, false, ""},
		{"event grid", `[{"eventType":"Microsoft.Storage.BlobCreated"}]`, []string{"Aeg-Event-Type: Notification"}, 202, true, ""},
		{"event grid handshake", azure, []string{"Aeg-Event-Type: SubscriptionValidation"}, 200, false, `{"validationResponse":"512d38b6"}`},
		{"empty", "", nil, 202, true, ""},
		{"no JSON", "{", nil, 400, false, ""},
		{"too large", `"` + strings.Repeat("x", maxNotification) + `"`, nil, 413, false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				e := &fakeEngine{}
				var log bytes.Buffer
				r := start(t, e, Options{Load: parse(t, "sync: { debounce: 2s }"), Watch: true, Token: "x", Log: slog.New(slog.NewTextHandler(&log, nil))})
				until(begin, time.Second)
				w := send(r.s.Handler(), "POST", "/notify?token=x", test.body, test.headers...)
				if w.Code != test.code || test.answer != "" && strings.TrimSpace(w.Body.String()) != test.answer {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				until(begin, time.Minute)
				want := "0"
				if test.run {
					want = "0 3"
				}
				if got := e.starts(begin); got != want {
					t.Errorf("runs at %s, want %s", got, want)
				}
				r.stop()
				if strings.Contains(log.String(), "evil.example") {
					t.Errorf("the log leads to another's address: %s", log.String())
				}
			})
		})
	}
	t.Run("cloud events handshake", func(t *testing.T) {
		s, err := create(Options{Load: parse(t, "ids: content"), Watch: true, Token: "x"}, &fakeEngine{})
		if err != nil {
			t.Fatal(err)
		}
		w := send(s.Handler(), "OPTIONS", "/notify?token=x", "", "Webhook-Request-Origin: eventgrid.azure.net")
		if w.Code != 200 || w.Header().Get("Webhook-Allowed-Origin") != "eventgrid.azure.net" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
	})
}

// TestListen: the server answers while the service lives and is gone after it; an address that is taken is an error of usage.
func TestListen(t *testing.T) {
	address := make(chan string, 1)
	e := &fakeEngine{}
	r := start(t, e, Options{Load: parse(t, "ids: content"), Watch: true, Listen: "127.0.0.1:0", Started: func(a string) { address <- a }})
	base := "http://" + <-address
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ok := func(method, path string, want int) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if resp.StatusCode != want {
			t.Errorf("%s %s: %d, want %d", method, path, resp.StatusCode, want)
		}
	}
	ok("GET", "/metrics", 200)
	ok("GET", "/status", 200)
	ok("POST", "/sync", 202)
	ok("HEAD", "/metrics", 200)
	other := start(t, &fakeEngine{}, Options{Load: parse(t, "ids: content"), Watch: true, Listen: strings.TrimPrefix(base, "http://")})
	if err := <-other.done; err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("%v", err)
	}
	r.stop()
	if _, err := client.Get(base + "/healthz"); err == nil { // there is no answer
		t.Error("it still answers")
	}
}
