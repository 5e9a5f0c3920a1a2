package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kbsync/kbsync/connector"
)

// TestAnswers: what each answer of a server means.
func TestAnswers(t *testing.T) {
	_, srv, url, cache := remote(t)
	s := open(t, url, cache)
	for status, want := range map[int32]struct {
		class connector.Class
		says  string
	}{
		401: {connector.ClassCredentials, "set token"}, 403: {connector.ClassCredentials, "set token"},
		404: {connector.ClassNotFound, "is url right"}, 429: {connector.ClassThrottled, "429"},
		500: {connector.ClassTransient, "500"}, 503: {connector.ClassTransient, "503"}, 400: {connector.ClassUnknown, "400"},
		200: {connector.ClassNotFound, "no git server"},
	} {
		srv.status.Store(status)
		l := list(t.Context(), s)
		if len(l.docs) > 0 || connector.ClassOf(l.err) != want.class || !strings.Contains(l.err.Error(), want.says) {
			t.Errorf("%d: class %v, %v", status, connector.ClassOf(l.err), l.err)
		}
		if e := (*connector.Error)(nil); status == 429 && (!errors.As(l.err, &e) || e.RetryAfter != 7*time.Second) {
			t.Error("Retry-After is lost")
		}
	}
	srv.status.Store(0)
	srv.redirect = "http://elsewhere.invalid"
	if err := list(t.Context(), s).err; connector.ClassOf(err) != connector.ClassNotFound || !strings.Contains(err.Error(), "http://elsewhere.invalid") {
		t.Errorf("redirect: %v", err)
	}
	srv.Close()
	if err := list(t.Context(), s).err; connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("down: class %v, %v", connector.ClassOf(err), err)
	}
}

// TestSilence: a server that says nothing is given up after timeout, and a cancelled listing ends at once; nothing stays behind.
func TestSilence(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	_, srv, url, cache := remote(t)
	defer srv.Close()
	defer close(srv.hang)
	srv.status.Store(-1)
	s := open(t, url, cache, func(c *Config) { c.Timeout = 50 * time.Millisecond })
	if err := list(t.Context(), s).err; connector.ClassOf(err) != connector.ClassTransient || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("%v", err)
	}
	s = open(t, url, cache)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := list(ctx, s).err; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestCredentialsStayInside: they are sent, and stand in no error, no URI, no metadata and no file of the mirror.
func TestCredentialsStayInside(t *testing.T) {
	_, srv, url, cache := remote(t)
	srv.login = "robot:s3cr3t-t0ken"
	check := func(what, text string) {
		if strings.Contains(text, "s3cr3t") || strings.Contains(text, "robot:") || strings.Contains(text, "cm9ib3Q6") {
			t.Errorf("%s holds the credentials: %s", what, text)
		}
	}
	withLogin := strings.Replace(url, "http://", "http://robot:s3cr3t-t0ken@", 1)
	for _, s := range []*Source{
		open(t, withLogin, cache),
		open(t, url, cache, func(c *Config) { c.Username, c.Password = "robot", "s3cr3t-t0ken" }),
		open(t, url, cache, func(c *Config) { c.Username, c.Token = "robot", "s3cr3t-t0ken" }),
	} {
		for _, d := range list(t.Context(), s).sound(t, "a.md", "big.bin").docs {
			check("document", fmt.Sprint(d.URI, d.Metadata))
		}
		for _, status := range []int32{401, 403, 404, 500, 429, 302} {
			srv.status.Store(status)
			check("error", list(t.Context(), s).err.Error())
			srv.status.Store(0)
		}
		check("configuration", fmt.Sprintf("%v %+v", s.config.Password, s.config.Token))
	}
	err := list(t.Context(), open(t, url, cache)).err
	if connector.ClassOf(err) != connector.ClassCredentials {
		t.Errorf("without a login: %v", err)
	}
	err = list(t.Context(), open(t, url, cache, func(c *Config) { c.Token = "wrong-s3cr3t" })).err
	if connector.ClassOf(err) != connector.ClassCredentials || !strings.Contains(err.Error(), "were refused") {
		t.Errorf("with a wrong one: %v", err)
	}
	check("error", err.Error())
	if walked := filepath.WalkDir(cache, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		check(p, p+string(data))
		return err
	}); walked != nil {
		t.Error(walked)
	}
	c := defaults()
	for _, bad := range []string{"http://robot:s3cr3t@example.com/r.git", "ftp://robot:s3cr3t@h/r", "https://robot:s3cr3t@h/r?x=1", "https://robot:s3cr3t@h", "https://robot:s3cr3t@h:port:x/r"} {
		c.URL = bad
		_, err := Open(c, "", "")
		if err == nil {
			t.Errorf("%s is accepted", bad)
			continue
		}
		check("error", err.Error())
	}
}
