package gcs

import (
	"strconv"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sourcetest"
	"github.com/kbsync/kbsync/internal/objects"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
	"github.com/kbsync/kbsync/internal/servers"
)

// rig is a fresh bucket of an emulator behind a proxy.
type rig struct {
	*objectstest.GCSBucket
	proxy *objectstest.Proxy
}

func newRig(tb testing.TB, server string) *rig {
	tb.Helper()
	name := "bucket" + strconv.FormatInt(time.Now().UnixNano(), 36) // each rig has its own
	r := &rig{objectstest.NewGCSBucket(tb, server, name), objectstest.StartProxy(tb, server)}
	r.proxy.As(server) // the emulator tells its two interfaces apart by the host that is asked for, which is to be its own
	return r
}

// shared is what the suite of all stores needs of it.
func (r *rig) shared() *objectstest.Rig {
	return &objectstest.Rig{
		Bucket: r, Proxy: r.proxy,
		Source: func(tb testing.TB, shared objects.Config) objectstest.Source {
			tb.Helper()
			return r.open(tb, func(c *Config) { c.Config = shared })
		},
		Missing: func(tb testing.TB) objectstest.Source {
			tb.Helper()
			return r.open(tb, func(c *Config) { c.Bucket = "nosuchbucket" })
		},
		URI: func(key string) string { return "gs://" + r.Name + "/" + key },
	}
}

func (r *rig) config(change ...func(*Config)) Config {
	c := defaults()
	c.Bucket, c.Endpoint = r.Name, r.proxy.URL
	for _, f := range change {
		f(&c)
	}
	return c
}

func (r *rig) open(tb testing.TB, change ...func(*Config)) *Source {
	tb.Helper()
	return open(tb, r.config(change...))
}

// open makes a source that is closed when the test ends.
func open(tb testing.TB, c Config) *Source {
	tb.Helper()
	s, err := Open(tb.Context(), c, "")
	if err != nil {
		tb.Fatal(err)
	}
	objectstest.CloseAtEnd(tb, s)
	return s
}

func TestConformance(t *testing.T) {
	server := servers.Start(t, "fake-gcs")
	sourcetest.Run(t, func(tb testing.TB) sourcetest.Fixture {
		r := newRig(tb, server.Addr)
		return sourcetest.Fixture{
			Open: func(tb testing.TB) connector.Source {
				s, err := Open(tb.Context(), r.config(func(c *Config) { c.PageSize = 3 }), "")
				if err != nil {
					tb.Fatal(err)
				}
				return s
			},
			Put:    func(tb testing.TB, path string, content []byte) { r.Put(tb, path, content) },
			Delete: r.Delete,
			Rename: func(tb testing.TB, from, to string) { objectstest.Rename(tb, r, from, to) },
			Break:  func(testing.TB) { r.proxy.Outage() },
			Outage: func(testing.TB) func() { return r.proxy.Outage() },
			Extra:  oddKeys(),
		}
	})
}

// oddKeys are names that Google allows and of which libraries and proxies have fallen over, with those that gocloud.dev would escape. Line
// ends are left to the emulator's good will: Google refuses them.
func oddKeys() []string {
	return []string{
		"a+b c.md", "50%25.md", "a/../b.md", "a//b.md", "a/./b.md", "ctl\x01.md", "tab\t.md", "del\x7f.md", "back\\slash.md", `quote"'&<>.md`,
		"__0x2f__.md", "emoji😀.md", "trailing ", "?x=1&y=#z", "a/b/..", "%2e%2e/x", "folder/o",
	}
}
