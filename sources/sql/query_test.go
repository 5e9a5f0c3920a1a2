package sql

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func TestCheckQuery(t *testing.T) {
	for _, c := range []struct{ driver, query, want string }{
		{driverPostgres, "SELECT 1 ; ", "SELECT 1 "},
		{driverPostgres, " -- c\nSELECT ';' -- x;y\n", " -- c\nSELECT ';' -- x;y\n"},
		{driverPostgres, "SELECT $$a;b$$, $t$ $$ ; $t$, E'it\\'s;', data ? 'k' FROM t", ""},
		{driverPostgres, "SELECT /* a /* ; */ ; */ 1, a[1:2], x::text", ""},
		{driverPostgres, "WITH x AS MATERIALIZED (SELECT 1) SELECT * FROM x;;", "WITH x AS MATERIALIZED (SELECT 1) SELECT * FROM x"},
		{driverPostgres, "SELECT a$1, (delete) FROM t", ""},
		{driverMySQL, "SELECT `a;b`, 'it\\'s;' # c ; '\n", ""},
		{driverSQLite, "SELECT [a;b], \"c\"\";d\" FROM t", ""},
		{driverSQLite, "SELECT 1; -- done", "SELECT 1"},
	} {
		want := c.want
		if want == "" {
			want = c.query
		}
		if got, err := checkQuery(c.query, c.driver); err != nil || got != want {
			t.Errorf("%s: %q, %v", c.query, got, err)
		}
	}
	for _, c := range []struct{ driver, query, says string }{
		{driverPostgres, "", "missing"},
		{driverPostgres, " /* SELECT 1 */ ", "empty"},
		{driverPostgres, "; SELECT 1", "more than one"},
		{driverPostgres, "DELETE FROM t", "starts with DELETE"},
		{driverPostgres, "(SELECT 1)", "starts with ("},
		{driverPostgres, "SELECT 1; DELETE FROM t", "more than one statement"},
		{driverPostgres, "SELECT 1; SELECT 2", "more than one statement"},
		{driverPostgres, "SELECT 1) x; (SELECT 2", "closed that was not opened"},
		{driverPostgres, "SELECT (1", "not closed"},
		{driverPostgres, "SELECT (1; 2)", "inside parentheses"},
		{driverPostgres, "SELECT * FROM t WHERE id = $1", "parameter ($1)"},
		{driverPostgres, "WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", "it writes (DELETE)"},
		{driverPostgres, "WITH d AS NOT MATERIALIZED ( /* */ insert INTO t VALUES (1) RETURNING *) SELECT * FROM d", "it writes (INSERT)"},
		{driverPostgres, "SELECT * FROM t FOR UPDATE", "locks"},
		{driverPostgres, "SELECT 'abc", "does not end"},
		{driverPostgres, "SELECT $x$abc$y$", "does not end"},
		{driverPostgres, "SELECT /* abc", "does not end"},
		{driverPostgres, "SELECT \x00", "NUL"},
		{driverMySQL, "SELECT * FROM t WHERE id = ?", "parameter (?)"},
		{driverMySQL, "SELECT * FROM t LOCK IN SHARE MODE", "locks"},
		{driverMySQL, "SELECT 1 /*! ; DROP TABLE t */", "executed"},
		{driverMySQL, "SELECT '\\'; DROP TABLE t; --'", ""},
		{driverSQLite, "SELECT * FROM t WHERE id = ?1", "parameter (?)"},
		{driverSQLite, "PRAGMA user_version", "starts with PRAGMA"},
		{driverSQLite, "ATTACH 'x' AS y", "starts with ATTACH"},
	} {
		_, err := checkQuery(c.query, c.driver)
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", c.query, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.query, err, c.says)
		}
	}
}

// FuzzCheckQuery: whatever is let through ends where a statement ends, and is let through again.
func FuzzCheckQuery(f *testing.F) {
	for _, q := range []string{"SELECT 1;", "WITH x AS (SELECT '(') SELECT * FROM x", "SELECT $a$;$a$ -- ;", "SELECT [;], `;`, E'\\';'", "select /* ; */ 1"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		for _, driver := range []string{driverPostgres, driverMySQL, driverSQLite} {
			got, err := checkQuery(q, driver)
			if err != nil {
				continue
			}
			if again, err := checkQuery(got, driver); err != nil || again != got {
				t.Errorf("%s: %q became %q, then %q, %v", driver, q, got, again, err)
			}
		}
	})
}

func TestValidate(t *testing.T) {
	good := Config{URL: "postgres://u@h/db", Query: "SELECT 1", Key: []string{"id"}}
	for says, change := range map[string]func(c *Config){
		"":                              func(*Config) {},
		"url: missing":                  func(c *Config) { c.URL = "" },
		"driver: the url does not tell": func(c *Config) { c.URL = "somewhere" },
		"driver: mysql, but the url is one of postgres": func(c *Config) { c.Driver = "mysql" },
		`driver: "oracle"`:                      func(c *Config) { c.Driver = "oracle" },
		"query: missing":                        func(c *Config) { c.Query = "" },
		"key: missing":                          func(c *Config) { c.Key = nil },
		`key[1]: "id" is empty or there`:        func(c *Config) { c.Key = []string{"id", "id"} },
		`content[0]: "" is empty`:               func(c *Config) { c.Content = []string{""} },
		`media_type: "markdown" is none`:        func(c *Config) { c.MediaType = "markdown" },
		"timeout and max_size: expected 0 or m": func(c *Config) { c.MaxSize = -1 },
	} {
		c := good
		change(&c)
		err := c.Validate()
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	for url, want := range map[string]string{
		"postgresql://h/db": driverPostgres, "MySQL://h/db": driverMySQL, "mariadb://h/db": driverMySQL, "u:p@tcp(h:1)/db": driverMySQL,
		"sqlite:x": driverSQLite, "./data/kb.sqlite3": driverSQLite, "file:x": driverSQLite, "kb.DB": driverSQLite,
	} {
		c := good
		c.URL = connector.Secret(url)
		if got, err := c.driver(); err != nil || got != want {
			t.Errorf("%s: %s, %v", url, got, err)
		}
	}
}

// TestSecretsInURLs: a url that cannot be read is not quoted.
func TestSecretsInURLs(t *testing.T) {
	for _, url := range []string{
		"postgres://user:hunter2@h:port/db", "postgres://user:hun/ter2@h/db", "postgres://user:1/hunter2@h/db", "postgres://user:hunter2 %zz@h/db",
		"mysql://user:hunter2@h:port/db", "mysql://user:12/hunter2@h/db", "mysql://user:hunter2#@h/db", "mysql://user:hunter2@/db", "mysql://user:hunter2@h/db?nosuch=%zz",
		"user:hunter2@tcp(h:1/db", "sqlite://",
	} {
		_, err := Open(Config{URL: connector.Secret(url), Query: "SELECT 1", Key: []string{"id"}}, "")
		if err == nil {
			t.Errorf("%s is taken", url)
		} else if s := err.Error(); strings.Contains(s, "hun") || strings.Contains(s, "ter2") || !strings.Contains(s, "url: it") {
			t.Errorf("%s: %s", url, s)
		}
	}
}
