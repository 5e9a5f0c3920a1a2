package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/faultproxy"
)

// outages: whatever breaks a listing, its last item is an error.
func outages(t *testing.T, s *system) {
	s.make(t, "big", "id integer, body "+s.text)
	for i := range 40 {
		var values []string
		for j := range 500 {
			values = append(values, fmt.Sprintf("(%d, '%s')", i*500+j, strings.Repeat("x", 400)))
		}
		s.exec(t, "INSERT INTO big VALUES "+strings.Join(values, ", "))
	}
	c := Config{Query: "SELECT * FROM big", Key: []string{"id"}}
	t.Run("cut", func(t *testing.T) { cutListing(t, s, c) })
	t.Run("cancelled", func(t *testing.T) { cancelledListing(t, s, c) })
	t.Run("stopped", func(t *testing.T) { stoppedListing(t, s, c) })
	t.Run("silent", func(t *testing.T) { silentServer(t, s, c) })
	t.Run("killed", func(t *testing.T) { killedServer(t, s, c) })
}

func through(s *system, addr string) connector.Secret {
	u, _ := url.Parse(s.url)
	u.Host = addr
	return connector.Secret(u.String())
}

// cutListing: a connection that is cut at any place never looks like the end of the rows.
func cutListing(t *testing.T, s *system, c Config) {
	p := faultproxy.Start(t, s.server.Addr)
	c.URL = through(s, p.Addr)
	for _, cut := range []int{10, 100, 300, 1000, 3000, 10_000, 100_000, 1_000_000, 8_000_000} {
		p.Set(faultproxy.Harm{CutDown: cut})
		wantError(t, s.broken(t, c), connector.ClassTransient)
	}
	p.Set(faultproxy.Harm{Refuse: true})
	wantError(t, s.broken(t, c), connector.ClassTransient)
	p.Set(faultproxy.Harm{})
	must(t, s.broken(t, c))
}

func cancelledListing(t *testing.T, s *system, c Config) {
	source := s.open(t, c)
	defer func() { must(t, source.Close()) }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range source.Changes(ctx) {
		last = err
		if n++; n == 10 {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) || n > 12 {
		t.Errorf("%d items, then %v", n, last)
	}
	must(t, lastError(t.Context(), source))
}

// stoppedListing: a consumer that breaks off does not wait for the rest, and the source goes on.
func stoppedListing(t *testing.T, s *system, c Config) {
	p := faultproxy.Start(t, s.server.Addr)
	c.URL = through(s, p.Addr)
	source := s.open(t, c)
	defer func() { must(t, source.Close()) }()
	for range 3 * connections {
		for _, err := range source.Changes(t.Context()) {
			must(t, err)
			break
		}
	}
	must(t, lastError(t.Context(), source))
	if open := poolOf(source).Stats().InUse; open != 0 {
		t.Errorf("%d connections are in use still", open)
	}
}

// silentServer: a server that answers no more is a passing fault after the timeout.
func silentServer(t *testing.T, s *system, c Config) {
	p := faultproxy.Start(t, s.server.Addr)
	c.URL, c.Timeout = through(s, p.Addr), time.Second
	source := s.open(t, c)
	defer func() { must(t, source.Close()) }()
	n := 0
	var last error
	for _, err := range source.Changes(t.Context()) {
		last = err
		if n++; n == 1 {
			p.Set(faultproxy.Harm{Delay: 3 * time.Second})
		}
	}
	wantError(t, last, connector.ClassTransient, "no row within")
}

func killedServer(t *testing.T, s *system, c Config) {
	source := s.open(t, c)
	defer func() { must(t, source.Close()) }()
	n := 0
	var last error
	var docs []connector.Document
	for change, err := range source.Changes(t.Context()) {
		last = err
		docs = append(docs, change.Document)
		if n++; n == 1 {
			s.server.Kill()
		}
	}
	wantError(t, last, connector.ClassTransient)
	wantError(t, lastError(t.Context(), source), connector.ClassTransient)
	source.recent.clear()
	_, err := docs[0].Open(t.Context())
	wantError(t, err, connector.ClassTransient)
	s.server.Restart()
	must(t, lastError(t.Context(), source))
	if got := text(t, docs[0]); len(got) != 400 {
		t.Error(got)
	}
}

func poolOf(s *Source) *sql.DB {
	if p, ok := s.db.(*postgres); ok {
		return p.db
	}
	return s.db.(*mariadb).db
}
