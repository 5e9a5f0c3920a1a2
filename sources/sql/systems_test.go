package sql

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	codes "modernc.org/sqlite/lib"

	"github.com/kbsync/kbsync/connector"
)

// oneRow renders the row of a query that has the column id.
func (s *system) oneRow(t *testing.T, query string) map[string]string {
	t.Helper()
	docs, troubles := s.list(t, Config{Query: query, Key: []string{"id"}})
	sameList(t, troubles)
	out := map[string]string{}
	for _, d := range docs {
		for line := range strings.Lines(d.text) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			out[name] = value
		}
	}
	// What a lookup reads has the same version as what the listing did.
	source := s.open(t, Config{Query: query, Key: []string{"id"}})
	defer func() { must(t, source.Close()) }()
	for c, err := range source.Changes(t.Context()) {
		must(t, err)
		source.recent.clear()
		r, err := c.Document.Open(t.Context())
		must(t, err)
		if v := r.(connector.Opened).Facts().Version; v != c.Document.Version {
			t.Errorf("the row is listed as %q and read as %q", c.Document.Version, v)
		}
	}
	return out
}

func postgresValues(t *testing.T, s *system) {
	s.exec(t, "ALTER DATABASE postgres SET TimeZone TO 'Asia/Shanghai'")
	s.exec(t, "ALTER DATABASE postgres SET DateStyle TO 'SQL, DMY'")
	s.exec(t, "ALTER DATABASE postgres SET bytea_output TO 'escape'")
	s.exec(t, "ALTER DATABASE postgres SET extra_float_digits TO 0")
	defer s.exec(t, "ALTER DATABASE postgres RESET ALL")
	same(t, s.oneRow(t, `SELECT '4e7ac0a5-52f4-4a6f-9d4b-b3a1c6f3e6d0'::uuid AS id, 9223372036854775807 AS big, 12345678901234567890.123456789000 AS dec, 0.1::float4 AS f4,
		0.1::float8 + 0.2 AS f8, 'NaN'::float8 AS nan, true AS yes, false AS no, timestamptz '2024-02-03 04:05:06.789+08' AS tz, timestamp '2024-02-03 04:05:06' AS ts,
		date '2024-02-03' AS d, 'infinity'::timestamptz AS inf, timestamp '0044-03-15 12:00:00 BC' AS bc, '{"b": 1.50,  "a": [1]}'::json AS j, '{"b": 1.50}'::jsonb AS jb,
		ARRAY['a','b c'] AS arr, interval '1 day 2 hours' AS iv, NULL::text AS nothing, 'é'::bytea AS by`),
		map[string]string{
			"big": "9223372036854775807", "dec": "12345678901234567890.123456789000", "f4": "0.1", "f8": "0.30000000000000004", "nan": "NaN",
			"yes": "true", "no": "false", "tz": "2024-02-02T20:05:06.789Z", "ts": "2024-02-03T04:05:06Z", "d": "2024-02-03", "inf": "infinity",
			"bc": "0044-03-15 12:00:00 BC", "j": `{"b": 1.50,  "a": [1]}`, "jb": `{"b": 1.50}`, "arr": `{a,"b c"}`, "iv": "1 day 02:00:00", "by": "é",
		})
	// The id of the transaction that wrote a row is a version.
	s.make(t, "rows_", "id integer, body text")
	s.exec(t, "INSERT INTO rows_ VALUES (1, 'x'), (2, 'y')")
	c := Config{Query: "SELECT *, xmin FROM rows_", Key: []string{"id"}, Version: "xmin"}
	before, _ := s.list(t, c)
	s.exec(t, "UPDATE rows_ SET body = 'z' WHERE id = 1")
	after, _ := s.list(t, c)
	if before["1.txt"].Version == after["1.txt"].Version || before["2.txt"].Version != after["2.txt"].Version {
		t.Error(before, after)
	}
}

func mysqlValues(t *testing.T, s *system) {
	s.make(t, "typed", `id bigint unsigned, small tinyint, yes boolean, bits bit(9), d decimal(30,10), f float, g double, dt datetime(6), ts timestamp NULL, day date, tm time,
		j json, e enum('x','y'), txt longtext, bin varbinary(10)`)
	s.exec(t, "SET SESSION sql_mode = ''")
	s.exec(t, `INSERT INTO typed VALUES (18446744073709551615, -5, true, b'100000001', 12345678901234567890.1234567890, 0.1, 0.1 + 0.2e0, '2024-02-03 04:05:06.789', NULL,
		'2024-02-03', '-12:00:00', '{"b": 1.50,  "a": [1]}', 'y', '手册', 'é')`)
	same(t, s.oneRow(t, "SELECT * FROM typed"), map[string]string{
		"small": "-5", "yes": "1", "bits": "257", "d": "12345678901234567890.1234567890", "f": "0.1", "g": "0.30000000000000004", "dt": "2024-02-03T04:05:06.789Z",
		"day": "2024-02-03", "tm": "-12:00:00", "j": `{"b": 1.50,  "a": [1]}`, "e": "y", "txt": "手册", "bin": "é",
	})
	s.make(t, "zoned", "id integer, ts timestamp NULL, zero datetime")
	must(t, inSession(t, s, "SET time_zone = '+08:00', sql_mode = ''", "INSERT INTO zoned VALUES (1, '2024-02-03 04:05:06', '0000-00-00 00:00:00')"))
	same(t, s.oneRow(t, "SELECT * FROM zoned"), map[string]string{"ts": "2024-02-02T20:05:06Z", "zero": "0000-00-00 00:00:00"})
	// A key that a conversion to floating point would confuse with its neighbour.
	s.make(t, "large", "id bigint, body "+s.text)
	s.exec(t, "INSERT INTO large VALUES (9007199254740992, 'a'), (9007199254740993, 'b'), (-1, 'c')")
	docs, _ := s.list(t, Config{Query: "SELECT id, body, body AS v FROM large", Key: []string{"id"}, Version: "v"})
	same(t, texts(docs), map[string]string{"9007199254740992.txt": "a", "9007199254740993.txt": "b", "-1.txt": "c"})
}

// inSession runs statements in one session.
func inSession(t *testing.T, s *system, statements ...string) error {
	c, err := s.db.Conn(t.Context())
	if err != nil {
		return err
	}
	for _, statement := range statements {
		_, failed := c.ExecContext(t.Context(), statement)
		err = errors.Join(err, failed)
	}
	return errors.Join(err, c.Close())
}

func sqliteValues(t *testing.T, s *system) {
	s.make(t, "typed", "id datetime, big integer, r real, yes boolean, at timestamp, day date, j json, txt text, unix datetime, null_ text, b blob")
	s.exec(t, `INSERT INTO typed VALUES ('2024-02-03 04:05:06', 9223372036854775807, 0.1 + 0.2, 1, '2024-02-03 04:05:06.5+08:00', '2024-02-03', '{"b": 1.50,  "a": [1]}', 'x', 1706933106, NULL, x'c3a9')`)
	same(t, s.oneRow(t, "SELECT * FROM typed"), map[string]string{
		"big": "9223372036854775807", "r": "0.30000000000000004", "yes": "true", "at": "2024-02-02T20:05:06.5Z", "day": "2024-02-03", "j": `{"b": 1.50,  "a": [1]}`,
		"txt": "x", "unix": "1706933106", "b": "é",
	})
	docs, _ := s.list(t, Config{Query: "SELECT id, txt, big FROM typed", Key: []string{"id"}, Version: "big"})
	same(t, texts(docs), map[string]string{"2024-02-03T04:05:06Z.txt": "x"})

	s.make(t, "mixed", "id, body")
	s.exec(t, "INSERT INTO mixed VALUES (1, 'number'), ('1', 'text')")
	docs, troubles := s.list(t, Config{Query: "SELECT * FROM mixed", Key: []string{"id"}})
	same(t, texts(docs), map[string]string{"1.txt": "number"})
	sameList(t, troubles, `1.txt: sql: the key column "id" holds values of several types; cast it in the query`)
}

func sqliteFiles(t *testing.T, s *system) {
	c := Config{Driver: driverSQLite, Query: "SELECT 1 AS id, 'x' AS body", Key: []string{"id"}}
	missing := c
	missing.URL = connector.Secret(filepath.Join(t.TempDir(), "missing.db"))
	wantError(t, s.broken(t, missing), connector.ClassNotFound, "missing.db", "there is no such file")
	if _, err := os.Stat(missing.URL.Reveal()); err == nil {
		t.Error("a file was made")
	}
	other := filepath.Join(t.TempDir(), "other.txt")
	must(t, os.WriteFile(other, []byte(strings.Repeat("no database\n", 1000)), 0o600))
	c.URL = connector.Secret(other)
	c.Query = "SELECT name AS id, sql AS body FROM sqlite_master"
	wantError(t, s.broken(t, c), connector.ClassInvalid, "no SQLite database")

	// A relative path is relative to the configuration.
	dir := filepath.Dir(strings.TrimPrefix(s.url, "sqlite:"))
	source, err := Open(Config{URL: connector.Secret("sqlite:" + filepath.Base(s.url)), Query: c.Query, Key: []string{"id"}}, dir)
	must(t, err)
	must(t, lastError(t.Context(), source))
	must(t, source.Close())

	// Sessions cannot write.
	source = s.open(t, Config{Query: "SELECT 1 AS id, 2 AS b", Key: []string{"id"}})
	defer func() { must(t, source.Close()) }()
	err = source.db.rows(t.Context(), "CREATE TABLE written (id integer)", nil, nil, func([]cell) bool { return true })
	wantError(t, source.db.classify(err), connector.ClassInvalid, "query writes")
	wantError(t, s.broken(t, Config{Query: "SELECT load_extension('x') AS id, 1 AS b", Key: []string{"id"}}), connector.ClassInvalid)

	// A writer that holds the whole file is waited for, and then it is a passing fault.
	locked := filepath.Join(t.TempDir(), "locked.db")
	holder := connect(t, "sqlite", "file:"+locked)
	_, err = holder.Exec("CREATE TABLE t (id integer, body text)")
	must(t, err)
	writer, err := holder.Conn(t.Context())
	must(t, err)
	_, err = writer.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
	must(t, err)
	c = Config{URL: connector.Secret(locked), Query: "SELECT * FROM t", Key: []string{"id"}, Timeout: time.Second}
	wantError(t, s.broken(t, c), connector.ClassTransient)
	_, err = writer.ExecContext(t.Context(), "COMMIT")
	must(t, errors.Join(err, writer.Close()))
	must(t, s.broken(t, c))
}

// TestClasses: what the engine tries again, what ends the run, what a person must correct.
func TestClasses(t *testing.T) {
	for class, states := range map[connector.Class][]string{
		connector.ClassCredentials: {"28P01", "28000"},
		connector.ClassDenied:      {"42501"},
		connector.ClassNotFound:    {"3D000"},
		connector.ClassInvalid:     {"42601", "42703", "42P01", "42883", "22012", "0A000", "25006"},
		connector.ClassTransient:   {"57P01", "57P02", "57P03", "40001", "40P01", "53300", "08006", "57014"},
		connector.ClassFull:        {"53100"},
	} {
		for _, code := range states {
			if got, _ := postgresClass(code); got != class {
				t.Errorf("SQLSTATE %s is %q, want %q", code, got, class)
			}
		}
	}
	for class, numbers := range map[connector.Class][]uint16{
		connector.ClassCredentials: {1045},
		connector.ClassDenied:      {1142, 1044},
		connector.ClassNotFound:    {1049},
		connector.ClassInvalid:     {1064, 1054, 1146, 1060, 1792},
		connector.ClassTransient:   {1040, 1205, 1213, 2006, 2013, 1053},
	} {
		for _, number := range numbers {
			if got, _ := mysqlClass(number); got != class {
				t.Errorf("error %d is %q, want %q", number, got, class)
			}
		}
	}
	if got, _ := (&sqliteFile{}).class(codes.SQLITE_BUSY); got != connector.ClassTransient {
		t.Errorf("a file that is locked is %q", got)
	}
}

// postgresReads: neither a data-modifying CTE nor a function writes.
func postgresReads(t *testing.T, s *system) {
	s.make(t, "target", "id integer")
	s.exec(t, "CREATE OR REPLACE FUNCTION sneak() RETURNS integer LANGUAGE sql VOLATILE AS 'INSERT INTO target VALUES (1) RETURNING id'")
	s.exec(t, "CREATE SEQUENCE IF NOT EXISTS counter")
	wantError(t, s.broken(t, Config{Query: "SELECT sneak() AS id, 1 AS b", Key: []string{"id"}}), connector.ClassInvalid, "read-only", "query writes")
	wantError(t, s.broken(t, Config{Query: "SELECT nextval('counter') AS id, 1 AS b", Key: []string{"id"}}), connector.ClassInvalid, "read-only")
	wantError(t, s.broken(t, Config{Query: "SELECT * FROM (SELECT set_config('transaction_read_only', 'off', true) AS id, sneak() AS b) AS x", Key: []string{"id"}}), connector.ClassInvalid)
	const cte = "WITH w AS (INSERT INTO target VALUES (2) RETURNING id) SELECT id, 1 AS b FROM w"
	c := Config{URL: connector.Secret(s.url), Query: cte, Key: []string{"id"}}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "it writes (INSERT)") {
		t.Error(err)
	}
	source := s.open(t, Config{Query: "SELECT 1 AS id, 2 AS b", Key: []string{"id"}})
	defer func() { must(t, source.Close()) }()
	columns := []column{{"id", "INT4"}, {"b", "INT4"}}
	err := source.db.rows(t.Context(), cte, nil, columns, func([]cell) bool { return true })
	wantError(t, source.db.classify(err), connector.ClassInvalid, "query writes")
	must(t, lastError(t.Context(), source)) // the connection is of use still
	var n int
	must(t, s.db.QueryRow("SELECT count(*) FROM target").Scan(&n))
	if n != 0 {
		t.Errorf("%d rows were written", n)
	}
}

func mysqlReads(t *testing.T, s *system) {
	s.make(t, "target", "id integer")
	s.exec(t, "DROP FUNCTION IF EXISTS sneak")
	s.exec(t, "CREATE FUNCTION sneak() RETURNS integer BEGIN INSERT INTO target VALUES (1); RETURN 1; END")
	wantError(t, s.broken(t, Config{Query: "SELECT sneak() AS id, 1 AS b", Key: []string{"id"}}), connector.ClassInvalid, "READ ONLY", "query writes")
	out := filepath.Join(s.server.Dir(), "out")
	wantError(t, s.broken(t, Config{Query: "SELECT 1 AS id, 2 AS b INTO OUTFILE '" + out + "'", Key: []string{"id"}}), connector.ClassInvalid)
	if _, err := os.Stat(out); err == nil {
		t.Error("a file was written")
	}
	var n int
	must(t, s.db.QueryRow("SELECT count(*) FROM target").Scan(&n))
	if n != 0 {
		t.Errorf("%d rows were written", n)
	}
}

// credentials: a wrong password is said, and not printed; a missing right is another thing.
func credentials(t *testing.T, s *system, wrong, poor string) {
	c := Config{Query: "SELECT id, body FROM guarded", Key: []string{"id"}}
	c.URL = connector.Secret(wrong)
	err := s.broken(t, c)
	wantError(t, err, connector.ClassCredentials, "check the user and password in url")
	for _, shown := range []string{err.Error(), fmt.Sprintf("%v %+v %#v", err, err, c)} {
		if strings.Contains(shown, "hunter") {
			t.Error("the password is shown")
		}
	}
	c.URL = connector.Secret(poor)
	wantError(t, s.broken(t, c), connector.ClassDenied, "GRANT SELECT")
	c.URL = connector.Secret(strings.Replace(poor, "/"+s.database(), "/nosuch", 1))
	if class := connector.ClassOf(s.broken(t, c)); class != connector.ClassNotFound && class != connector.ClassDenied {
		t.Errorf("a database that is not there is of class %q", class)
	}
}

func (s *system) database() string {
	if s.driver == driverMySQL {
		return "kb"
	}
	return "postgres"
}

func postgresCredentials(t *testing.T, s *system) {
	s.make(t, "guarded", "id integer, body text")
	s.exec(t, "CREATE ROLE poor LOGIN PASSWORD 'hunter2'")
	hba := filepath.Join(s.server.Dir(), "pg_hba.conf")
	old, err := os.ReadFile(hba)
	must(t, err)
	must(t, os.WriteFile(hba, append([]byte("host all poor 127.0.0.1/32 scram-sha-256\n"), old...), 0o600))
	s.exec(t, "SELECT pg_reload_conf()")
	at := func(password string) string {
		return "postgres://poor:" + password + "@" + s.server.Addr + "/postgres?sslmode=disable"
	}
	// The server takes the new file in a moment: until then any password is good.
	for range 1000 {
		if c := connect(t, "pgx", at("other")); c.Ping() != nil {
			break
		}
	}
	credentials(t, s, at("hunter3%40%2F"), at("hunter2"))
}

func mysqlCredentials(t *testing.T, s *system) {
	s.make(t, "guarded", "id integer, body text")
	s.exec(t, "CREATE TABLE IF NOT EXISTS open_table (id integer)")
	s.exec(t, "CREATE USER poor IDENTIFIED BY 'hunter2'")
	s.exec(t, "GRANT SELECT ON kb.open_table TO poor")
	at := func(password string) string { return "mysql://poor:" + password + "@" + s.server.Addr + "/kb" }
	credentials(t, s, at("hunter3%40%2F"), at("hunter2"))
}
