package pgvector

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sinktest"
	"github.com/kbsync/kbsync/internal/servers"
)

// place is a server with names of its own for each test.
type place struct {
	server *servers.Server
	n      atomic.Int64
}

func start(t testing.TB) *place {
	t.Helper()
	return &place{server: servers.Start(t, "pgvector")}
}

func (p *place) url() string {
	return "postgres://postgres@" + p.server.Addr + "/postgres?sslmode=disable"
}

func (p *place) collection() string { return fmt.Sprintf("Hand book' \"%d\" 库", p.n.Add(1)) }

func (p *place) config(change ...func(*Config)) Config {
	c := defaults()
	c.URL, c.Collection = connector.Secret(p.url()), p.collection()
	for _, f := range change {
		f(&c)
	}
	return c
}

func open(t testing.TB, c Config) *Sink {
	t.Helper()
	s, err := Open(t.Context(), c, connector.Env{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sink opens a sink of an empty place that is closed with the test.
func (p *place) sink(t testing.TB, change ...func(*Config)) *Sink {
	t.Helper()
	s := open(t, p.config(change...))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// sql runs statements as the superuser.
func (p *place) sql(t testing.TB, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.url())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // a test's connection
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// ask reads one value as the superuser.
func ask[T any](t testing.TB, p *place, sql string, args ...any) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.url())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // a test's connection
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func TestConformance(t *testing.T) {
	p := start(t)
	for name, change := range map[string]func(*Config){
		"cosine":     func(*Config) {},
		"dot":        func(c *Config) { c.Distance = "dot" },
		"l2":         func(c *Config) { c.Distance = "l2" },
		"llamaindex": func(c *Config) { c.Fields.Preset = "llamaindex" },
		"langchain":  func(c *Config) { c.Fields.Preset, c.Schema = "langchain", "eigen schema" },
		"dense":      func(c *Config) { c.Sparse, c.Index = "none", "none" },
	} {
		t.Run(name, func(t *testing.T) {
			var c Config
			sinktest.Run(t, func(t *testing.T) connector.Sink {
				c = p.config(change)
				return open(t, c)
			}, sinktest.Options{Distance: p.config(change).Distance, Reopen: func(t *testing.T) connector.Sink { return open(t, c) }})
		})
	}
}
