package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sourcetest"
	"github.com/kbsync/kbsync/internal/servers"
)

// system is a database of a test.
type system struct {
	driver, url string
	db          *sql.DB
	server      *servers.Server // nil for SQLite
	// Types and expressions in its words.
	bytes, text, folded string
	blob                func(hex string) string
}

func (s *system) exec(tb testing.TB, statement string, args ...any) {
	tb.Helper()
	if s.driver == driverPostgres {
		for i := range args {
			statement = strings.Replace(statement, "?", fmt.Sprintf("$%d", i+1), 1)
		}
	}
	if _, err := s.db.Exec(statement, args...); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// make creates a table, in place of what bears its name.
func (s *system) make(tb testing.TB, name, columns string) {
	tb.Helper()
	s.exec(tb, "DROP TABLE IF EXISTS "+name)
	s.exec(tb, "CREATE TABLE "+name+" ("+columns+")")
}

func connect(tb testing.TB, driver, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open(driver, dsn)
	must(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func postgresSystem(tb testing.TB) *system {
	server := servers.Start(tb, "pgvector")
	url := "postgres://postgres@" + server.Addr + "/postgres?sslmode=disable"
	return &system{
		driver: driverPostgres, url: url, db: connect(tb, "pgx", url), server: server, bytes: "bytea", text: "text", folded: "text",
		blob: func(hex string) string { return `'\x` + hex + `'::bytea` },
	}
}

func mysqlSystem(tb testing.TB) *system {
	server := servers.Start(tb, "mariadb")
	root := connect(tb, "mysql", "root@tcp("+server.Addr+")/")
	_, err := root.Exec("CREATE DATABASE kb CHARACTER SET utf8mb4")
	must(tb, err)
	return &system{
		driver: driverMySQL, url: "mysql://root@" + server.Addr + "/kb", db: connect(tb, "mysql", "root@tcp("+server.Addr+")/kb"), server: server,
		bytes: "longblob", text: "varchar(500) COLLATE utf8mb4_bin", folded: "varchar(500) COLLATE utf8mb4_general_ci",
		blob: func(hex string) string { return "x'" + hex + "'" },
	}
}

func sqliteSystem(tb testing.TB) *system {
	path := filepath.Join(tb.TempDir(), "k b%?#.db")
	db := connect(tb, "sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)+"?_pragma=busy_timeout(10000)")
	_, err := db.Exec("PRAGMA journal_mode=WAL")
	must(tb, err)
	return &system{
		driver: driverSQLite, url: "sqlite:" + path, db: db, bytes: "blob", text: "text", folded: "text COLLATE NOCASE",
		blob: func(hex string) string { return "x'" + hex + "'" },
	}
}

func TestPostgres(t *testing.T) {
	s := postgresSystem(t)
	t.Run("conformance", func(t *testing.T) { conformance(t, s) })
	t.Run("rules", func(t *testing.T) { rules(t, s) })
	t.Run("values", func(t *testing.T) { postgresValues(t, s) })
	t.Run("only reads", func(t *testing.T) { postgresReads(t, s) })
	t.Run("credentials", func(t *testing.T) { postgresCredentials(t, s) })
	t.Run("server", func(t *testing.T) { outages(t, s) })
}

func TestMySQL(t *testing.T) {
	s := mysqlSystem(t)
	t.Run("conformance", func(t *testing.T) { conformance(t, s) })
	t.Run("rules", func(t *testing.T) { rules(t, s) })
	t.Run("values", func(t *testing.T) { mysqlValues(t, s) })
	t.Run("only reads", func(t *testing.T) { mysqlReads(t, s) })
	t.Run("credentials", func(t *testing.T) { mysqlCredentials(t, s) })
	t.Run("server", func(t *testing.T) { outages(t, s) })
}

func TestSQLite(t *testing.T) {
	s := sqliteSystem(t)
	t.Run("conformance", func(t *testing.T) { conformance(t, s) })
	t.Run("rules", func(t *testing.T) { rules(t, s) })
	t.Run("values", func(t *testing.T) { sqliteValues(t, s) })
	t.Run("files", func(t *testing.T) { sqliteFiles(t, s) })
}

// conformance runs the suite with a version column and without, on a column whose collation takes names for equal that are not.
func conformance(t *testing.T, s *system) {
	for _, mode := range []struct{ name, version string }{{"version", "version"}, {"no version", ""}} {
		t.Run(mode.name, func(t *testing.T) {
			sourcetest.Run(t, func(tb testing.TB) sourcetest.Fixture { return fixture(tb, s, mode.version) })
		})
	}
}

func fixture(tb testing.TB, s *system, version string) sourcetest.Fixture {
	s.exec(tb, "DROP TABLE IF EXISTS away")
	s.make(tb, "docs", "path "+s.folded+", body "+s.bytes+", version bigint")
	exact := "path = ?"
	if s.driver == driverMySQL {
		exact = "CAST(path AS BINARY) = ?"
	}
	if s.driver == driverPostgres {
		exact = `path = ? COLLATE "C"`
	}
	if s.driver == driverSQLite {
		exact = "path = ? COLLATE BINARY"
	}
	stamp := 0
	insert := func(tb testing.TB, p string, data []byte) {
		stamp++
		s.exec(tb, "INSERT INTO docs VALUES (?, ?, ?)", p, data, stamp)
	}
	remove := func(tb testing.TB, p string) { s.exec(tb, "DELETE FROM docs WHERE "+exact, p) }
	return sourcetest.Fixture{
		Open: func(tb testing.TB) connector.Source {
			c := Config{Query: "SELECT path, body, version FROM docs", Key: []string{"path"}, Path: "path", Content: []string{"body"}, Version: version}
			return s.open(tb, c)
		},
		Put: func(tb testing.TB, p string, data []byte) {
			remove(tb, p)
			insert(tb, p, data)
		},
		Delete: remove,
		Rename: func(tb testing.TB, from, to string) {
			s.exec(tb, "UPDATE docs SET path = ? WHERE "+exact, to, from)
		},
		Spoil: func(tb testing.TB, p string) { insert(tb, p, []byte("the same path")) },
		Break: func(tb testing.TB) { s.exec(tb, "ALTER TABLE docs RENAME TO away") },
		Extra: []string{"A.md", "a.md ", "a/../b.md", "back\\slash.md", "'; DROP TABLE docs; --.md", `"quoted".md`},
	}
}

func (s *system) open(tb testing.TB, c Config) *Source {
	tb.Helper()
	if c.URL == "" {
		c.URL = connector.Secret(s.url)
	}
	source, err := Open(c, "")
	must(tb, err)
	return source
}

// doc is what a test sees of a document.
type doc struct {
	connector.Document
	text string
}

// list gives the documents by path, and the errors and skips as "path: text", in order.
func (s *system) list(tb testing.TB, c Config) (docs map[string]doc, troubles []string) {
	tb.Helper()
	source := s.open(tb, c)
	defer func() { must(tb, source.Close()) }()
	docs = map[string]doc{}
	for change, err := range source.Changes(tb.Context()) {
		var one *connector.DocError
		switch {
		case errors.As(err, &one):
			troubles = append(troubles, err.Error())
		case err != nil:
			tb.Fatal(err)
		case change.Kind == connector.ChangeSkip:
			troubles = append(troubles, change.Document.Path+": "+change.Reason)
		default:
			docs[change.Document.Path] = doc{Document: change.Document}
		}
	}
	for p, d := range docs {
		d.text = text(tb, d.Document)
		docs[p] = d
	}
	return docs, troubles
}

func text(tb testing.TB, d connector.Document) string {
	tb.Helper()
	r, err := d.Open(tb.Context())
	if err != nil {
		return "error: " + err.Error()
	}
	data, err := io.ReadAll(r)
	must(tb, errors.Join(err, r.Close()))
	return string(data)
}

// broken is the error that ends a listing.
func (s *system) broken(tb testing.TB, c Config) error {
	tb.Helper()
	source := s.open(tb, c)
	defer func() { must(tb, source.Close()) }()
	return lastError(tb.Context(), source)
}

func lastError(ctx context.Context, source *Source) error {
	var last error
	for _, err := range source.Changes(ctx) {
		last = err
	}
	return last
}

func texts(docs map[string]doc) map[string]string {
	out := map[string]string{}
	for p, d := range docs {
		out[p] = d.text
	}
	return out
}

func same(tb testing.TB, got, want map[string]string) {
	tb.Helper()
	for p, w := range want {
		if g, ok := got[p]; !ok {
			tb.Errorf("%q is missing", p)
		} else if g != w {
			tb.Errorf("%q is %q, want %q", p, g, w)
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			tb.Errorf("%q is too much: %q", p, got[p])
		}
	}
}

func sameList(tb testing.TB, got []string, want ...string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("got  %q\nwant %q", got, want)
	}
}

func wantError(tb testing.TB, err error, class connector.Class, parts ...string) {
	tb.Helper()
	if err == nil || connector.ClassOf(err) != class {
		tb.Fatalf("the error is of class %q, want %q: %v", connector.ClassOf(err), class, err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			tb.Errorf("the error %q does not say %q", err, p)
		}
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
