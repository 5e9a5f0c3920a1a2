package httpsource

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// inMemory answers without a network, so that time is that of the test alone, and notes when each host was asked.
type inMemory struct {
	mu    sync.Mutex
	asked map[string][]time.Duration
	begin time.Time
	serve http.HandlerFunc
}

func (m *inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	m.asked[r.URL.Host] = append(m.asked[r.URL.Host], time.Since(m.begin))
	m.mu.Unlock()
	w := httptest.NewRecorder()
	m.serve(w, r)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// polite crawls 12 pages on two hosts and returns the times at which each was asked.
func polite(t *testing.T, rate Rate, robots string) map[string][]time.Duration {
	c := defaults()
	c.Rate, c.Crawl, c.Hosts = rate, []string{"https://a.example/"}, []string{"b.example"}
	s, err := Open(c)
	must(t, err)
	m := &inMemory{asked: map[string][]time.Duration{}, begin: time.Now(), serve: func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = io.WriteString(w, robots)
		case "/":
			w.Header().Set("Content-Type", "text/html")
			for i := range 12 {
				_, _ = fmt.Fprintf(w, `<a href="https://%c.example/%d">x</a>`, 'a'+i%2, i)
			}
		}
	}}
	s.client.Transport = &transport{source: s, next: m}
	if docs := listed(t, s); len(docs) != 13 {
		t.Errorf("%d documents", len(docs))
	}
	must(t, s.Close())
	return m.asked
}

// TestPoliteness: robots.txt and pages alike, each host is asked no more often than rate says, whatever the concurrency.
func TestPoliteness(t *testing.T) {
	for name, c := range map[string]struct {
		rate   Rate
		robots string
		gap    time.Duration
	}{
		"default":                 {2, "", 500 * time.Millisecond},
		"slow":                    {0.1, "", 10 * time.Second},
		"crawl-delay":             {2, "User-agent: *\nCrawl-delay: 5", 5 * time.Second},
		"crawl-delay without end": {2, "User-agent: *\nCrawl-delay: 86400", longestDelay},
		"crawl-delay is faster":   {2, "User-agent: *\nCrawl-delay: 0.1", 500 * time.Millisecond},
		"no rate, crawl-delay":    {0, "User-agent: *\nCrawl-delay: 3", 3 * time.Second},
		"none":                    {0, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for host, at := range polite(t, c.rate, c.robots) {
					if len(at) < 7 {
						t.Errorf("%s was asked %d times", host, len(at))
					}
					for i := 2; i < len(at); i++ { // the first page after robots.txt may come before its delay is known
						if gap := at[i] - at[i-1]; gap < c.gap-time.Millisecond {
							t.Errorf("%s: request %d came after %v", host, i, gap)
						}
					}
					if c.gap == 0 && at[len(at)-1] != 0 {
						t.Errorf("%s: it took %v", host, at[len(at)-1])
					}
				}
			})
		})
	}
}

// TestWaitIsCancelled: a wait for one's turn ends with the context and gives the turn back.
func TestWaitIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits(1.0 / 3600)
		must(t, l.wait(t.Context(), "h"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.wait(ctx, "h"); err == nil {
			t.Error("it did not wait")
		}
		begin := time.Now()
		must(t, l.wait(t.Context(), "h"))
		if waited := time.Since(begin); waited > time.Hour {
			t.Errorf("the turn was lost: %v", waited)
		}
		for i := range 3 * maxHosts {
			must(t, l.wait(t.Context(), fmt.Sprint(i)))
		}
		if len(l.byHost) > maxHosts {
			t.Errorf("%d hosts are remembered", len(l.byHost))
		}
	})
}

func TestUserAgent(t *testing.T) {
	s := newSite(t)
	var got string
	s.page("a", func(_ http.ResponseWriter, r *http.Request) { got = r.UserAgent() })
	c := s.config()
	c.URLs = []string{s.at("a")}
	_ = listed(t, mustOpen(t, c))
	if productToken(got) != "kbsync" {
		t.Errorf("%q", got)
	}
	c.UserAgent = "My-Bot/2.0 (me)"
	src := mustOpen(t, c)
	if _ = listed(t, src); got != "My-Bot/2.0 (me)" || src.robot != "my-bot" {
		t.Errorf("%q, %q", got, src.robot)
	}
}
