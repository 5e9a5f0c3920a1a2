package pgvector

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kbsync/kbsync/connector"
)

// calls are one call of every kind that needs the table.
func calls(c connector.Collection) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Upsert": func(ctx context.Context) error { return c.Upsert(ctx, testPoints(0, 2, 8)) },
		"UpdatePayload": func(ctx context.Context) error {
			return c.UpdatePayload(ctx, []connector.Record{testPoint(0, 8).Record})
		},
		"Delete": func(ctx context.Context) error { return c.Delete(ctx, []string{pointID(3)}) },
		"Fetch":  func(ctx context.Context) error { _, err := c.Fetch(ctx, []string{pointID(1)}, true); return err },
		"Count":  func(ctx context.Context) error { _, err := c.Count(ctx); return err },
		"Flush":  c.Flush,
		"Marker": func(ctx context.Context) error { _, err := c.Marker(ctx); return err },
		"Search": func(ctx context.Context) error {
			_, err := c.Search(ctx, connector.Query{Mode: connector.ModeHybrid, Vector: testPoint(0, 8).Vector, Text: "n1", K: 3})
			return err
		},
		"Scan": func(ctx context.Context) error {
			for _, err := range c.Scan(ctx, true) {
				return err
			}
			return nil
		},
	}
}

func TestDroppedBehindItsBack(t *testing.T) {
	p := start(t)
	s := p.sink(t)
	c := create(t, s, "g1", 8)
	upsert(t, c, testPoints(0, 10, 8)...)
	p.sql(t, "DROP TABLE "+quote("public", s.live()))
	for name, call := range calls(c) {
		err := call(t.Context())
		wantClass(t, name+" of a dropped table", err, connector.ClassNotFound)
	}
	if n := ask[int](t, p, "SELECT count(*)::int FROM pg_tables WHERE schemaname = 'public'"); n != 0 {
		t.Errorf("%d tables were made again in silence", n)
	}
	// Another table of that name is not taken for it.
	p.sql(t, "CREATE TABLE "+quote("public", s.live())+" (id uuid PRIMARY KEY)")
	for name, call := range calls(c) {
		wantClass(t, name+" of another table", call(t.Context()), connector.ClassNotFound)
	}
	_, err := s.Create(t.Context(), schemaOf(s, "g1", 8))
	wantClass(t, "Create over a table that kbsync did not make", err, connector.ClassConflict)
}

func TestKilledAndRestarted(t *testing.T) {
	p := start(t)
	s := p.sink(t, func(c *Config) { c.Timeout = 5 * time.Second })
	c := create(t, s, "g1", 8)
	upsert(t, c, testPoints(0, 300, 8)...)
	p.server.Kill()
	for name, call := range calls(c) {
		wantClass(t, name+" while the server is down", call(t.Context()), connector.ClassTransient)
	}
	p.server.Restart()
	for name, call := range calls(c) {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s after the restart: %v", name, err)
		}
	}
	if n := count(t, c); n != 299 { // one was deleted by a call
		t.Errorf("%d of 299 acknowledged points are left", n)
	}
	// Restarted between two calls: at most one error, and that may pass.
	p.server.Stop()
	p.server.Restart()
	if err := c.Upsert(t.Context(), testPoints(300, 310, 8)); err != nil {
		wantClass(t, "the first call after a restart", err, connector.ClassTransient)
		upsert(t, c, testPoints(300, 310, 8)...)
	}
	if n := count(t, c); n != 309 {
		t.Errorf("%d points, want 309", n)
	}
}

func TestKilledInMidWrite(t *testing.T) {
	p := start(t)
	s := p.sink(t)
	c := create(t, s, "g1", 384)
	points := testPoints(0, 20_000, 384)
	done := make(chan int, 1)
	go func() {
		n := 0
		for ; n < len(points) && c.Upsert(t.Context(), points[n:n+1000]) == nil; n += 1000 {
		}
		done <- n
	}()
	time.Sleep(1500 * time.Millisecond)
	p.server.Kill()
	acknowledged := <-done
	p.server.Restart()
	if n := count(t, c); n != acknowledged && n != acknowledged+1000 { // the last answer may be lost
		t.Errorf("%d points after kill -9, %d were acknowledged", n, acknowledged)
	}
	upsert(t, c, points...)
	flush(t, c)
	if n := count(t, c); n != len(points) {
		t.Errorf("%d points, want %d", n, len(points))
	}
}

func TestDenied(t *testing.T) {
	p := start(t)
	s := p.sink(t)
	c := create(t, s, "g1", 8)
	upsert(t, c, testPoints(0, 3, 8)...)
	const password = "geheim-s3cret"
	hba := filepath.Join(p.server.Dir(), "pg_hba.conf")
	old, err := os.ReadFile(hba)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hba, append([]byte("host all locked 127.0.0.1/32 scram-sha-256\n"), old...), 0o600); err != nil {
		t.Fatal(err)
	}
	p.sql(t, "CREATE ROLE locked LOGIN PASSWORD 'another'", "CREATE ROLE reader LOGIN", "CREATE ROLE single LOGIN CONNECTION LIMIT 0",
		"GRANT SELECT ON "+quote("public", s.live())+" TO reader", "SELECT pg_reload_conf()")
	as := func(user string) *Sink {
		config := s.config
		config.URL = connector.Secret(strings.Replace(p.url(), "postgres@", user+"@", 1))
		other := open(t, config)
		t.Cleanup(func() { _ = other.Close() })
		return other
	}
	locked := as("locked:" + password)
	for deadline := time.Now().Add(10 * time.Second); ; { // the server reads its file when it comes to it
		if _, err = locked.Generations(t.Context()); err != nil || time.Now().After(deadline) {
			break
		}
	}
	wantClass(t, "a wrong password", err, connector.ClassDenied)
	if strings.Contains(fmt.Sprintf("%v %+v %#v %v", err, err, errors.Unwrap(err), locked.config), password) {
		t.Errorf("the password shows: %v", err)
	}
	_, err = as("single").Generations(t.Context())
	wantClass(t, "too many connections", err, connector.ClassTransient)
	reader := as("reader")
	live, err := reader.Live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range calls(live) {
		switch err := call(t.Context()); name {
		case "Upsert", "UpdatePayload", "Delete":
			wantClass(t, name+" by a role that may only read", err, connector.ClassDenied)
		default:
			if err != nil {
				t.Errorf("%s by a role that may only read: %v", name, err)
			}
		}
	}
	wantClass(t, "Drop by a role that may only read", reader.Drop(t.Context(), "g1"), connector.ClassDenied)
	_, err = reader.Create(t.Context(), schemaOf(reader, "g2", 8))
	wantClass(t, "Create by a role that may only read", err, connector.ClassDenied)
	// Who reads the live table reads the next one too.
	create(t, s, "g2", 8)
	if err := s.Promote(t.Context(), "g2"); err != nil {
		t.Fatal(err)
	}
	if live, err := reader.Live(t.Context()); err != nil || live.Schema().Generation != "g2" || count(t, live) != 0 {
		t.Errorf("the reader cannot read what was promoted: %v", err)
	}
	// Without the extension, and without the right to make it.
	p.sql(t, "DROP EXTENSION vector CASCADE")
	_, err = reader.Create(t.Context(), schemaOf(reader, "g3", 8))
	wantClass(t, "no right to make the extension", err, connector.ClassDenied)
	if err == nil || !strings.Contains(err.Error(), "CREATE EXTENSION vector") {
		t.Errorf("the error does not say what to run: %v", err)
	}
	config := s.config
	config.URL = connector.Secret(strings.Replace(p.url(), "/postgres?", "/nowhere?", 1))
	nowhere := open(t, config)
	defer nowhere.Close() //nolint:errcheck // it holds nothing
	_, err = nowhere.Generations(t.Context())
	wantClass(t, "a database that is missing", err, connector.ClassNotFound)
	if err == nil || !strings.Contains(err.Error(), "CREATE DATABASE") {
		t.Errorf("the error gives no advice: %v", err)
	}
}

func TestTimeoutAndTerminated(t *testing.T) {
	p := start(t)
	s := p.sink(t)
	c := create(t, s, "g1", 8)
	hasty := p.sink(t, func(c *Config) { c.Collection, c.Timeout = s.config.Collection, time.Second })
	conn, err := pgx.Connect(t.Context(), p.url())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // a test's connection
	blocked := &Collection{sink: hasty, layout: c.layout, oid: c.oid, meta: c.meta}
	blocked.name.Store(c.name.Load())
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE "+quote("public", s.live())+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	wantClass(t, "an answer that does not come", blocked.Upsert(t.Context(), testPoints(0, 1, 8)), connector.ClassTransient)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.Upsert(ctx, testPoints(0, 1, 8)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller that gave up: %v", err)
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	upsert(t, c, testPoints(0, 1, 8)...)
	p.sql(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kbsync'")
	if err := c.Upsert(t.Context(), testPoints(0, 5, 8)); err != nil {
		wantClass(t, "a connection that was ended", err, connector.ClassTransient)
		upsert(t, c, testPoints(0, 5, 8)...)
	}
	if n := count(t, c); n != 5 {
		t.Errorf("%d points, want 5", n)
	}
}

func TestClasses(t *testing.T) {
	for code, want := range map[string]connector.Class{
		"08006": connector.ClassTransient, "57P01": connector.ClassTransient, "57P03": connector.ClassTransient, "40001": connector.ClassTransient,
		"40P01": connector.ClassTransient, "53300": connector.ClassTransient, "53200": connector.ClassTransient, "53100": connector.ClassFull,
		"28P01": connector.ClassDenied, "42501": connector.ClassDenied, "25006": connector.ClassDenied, "3D000": connector.ClassNotFound,
		"42P01": connector.ClassNotFound, "22021": connector.ClassInvalid, "22000": connector.ClassInvalid, "54000": connector.ClassTooLarge,
		"57014": connector.ClassTransient, "55P03": connector.ClassTransient, "XX000": connector.ClassUnknown, "": connector.ClassUnknown,
	} {
		if got, _ := classOf(code); got != want {
			t.Errorf("%s is of class %v, want %v", code, got, want)
		}
	}
}
