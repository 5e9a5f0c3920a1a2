package sql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func rules(t *testing.T, s *system) {
	for _, r := range []struct {
		name  string
		check func(t *testing.T, s *system)
	}{
		{"keys", oddKeys}, {"two keys", twoKeys}, {"duplicate keys", duplicates}, {"null keys", nullKeys}, {"collations", collations}, {"paths", oddPaths},
		{"byte keys", byteKeys}, {"float keys", floatKeys}, {"content", contents}, {"binary", binaryContent}, {"metadata", metadata}, {"media types", mediaTypes},
		{"versions", versions}, {"changed row", changedRow}, {"recent rows", recentRows}, {"max size", maxSize}, {"columns", unknownColumns},
		{"queries", queries}, {"consistent", consistent},
	} {
		t.Run(r.name, func(t *testing.T) { r.check(t, s) })
	}
}

// contents: lines in the order of content, or of the query; NULL is left out; one column stands as it is.
func contents(t *testing.T, s *system) {
	s.make(t, "pages", "id integer, title "+s.text+", body "+s.text+", note "+s.text)
	s.exec(t, "INSERT INTO pages VALUES (1, 'T', 'two\nlines', NULL), (2, NULL, NULL, '')")
	c := Config{Query: "SELECT * FROM pages", Key: []string{"ID"}}
	docs, _ := s.list(t, c)
	same(t, texts(docs), map[string]string{"1.txt": "title: T\nbody: two\nlines\n", "2.txt": "note: \n"})
	c.Content = []string{"body", "title"}
	docs, _ = s.list(t, c)
	same(t, texts(docs), map[string]string{"1.txt": "body: two\nlines\ntitle: T\n", "2.txt": ""})
	c.Content = []string{"body"}
	docs, _ = s.list(t, c)
	same(t, texts(docs), map[string]string{"1.txt": "two\nlines", "2.txt": ""})
	c.Content, c.Title, c.Metadata = nil, "title", []string{"note"}
	docs, _ = s.list(t, c)
	same(t, texts(docs), map[string]string{"1.txt": "two\nlines", "2.txt": ""})
}

func binaryContent(t *testing.T, s *system) {
	s.make(t, "bins", "id integer, body "+s.bytes+", note "+s.text)
	s.exec(t, "INSERT INTO bins VALUES (1, "+s.blob("00ff80")+", 'n'), (2, "+s.blob("c3a9")+", 'n')")
	c := Config{Query: "SELECT * FROM bins", Key: []string{"id"}, Content: []string{"body"}}
	docs, _ := s.list(t, c)
	same(t, texts(docs), map[string]string{"1.txt": "\x00\xff\x80", "2.txt": "é"})
	c.Content = nil
	docs, troubles := s.list(t, c)
	same(t, texts(docs), map[string]string{"2.txt": "body: é\nnote: n\n"})
	sameList(t, troubles, `1.txt: sql: the column "body" holds bytes that are no text: name the columns of the text in content, or this one alone`)
	c.Version = "id"
	docs, _ = s.list(t, c)
	if got := docs["1.txt"].text; !strings.Contains(got, "bytes that are no text") {
		t.Error(got)
	}
	c.Content, c.Metadata = []string{"note"}, []string{"body"}
	_, troubles = s.list(t, c)
	if len(troubles) != 2 || !strings.Contains(troubles[0], `the column "body": it holds bytes`) {
		t.Errorf("%q", troubles)
	}
}

func metadata(t *testing.T, s *system) {
	s.make(t, "meta", "id integer, body "+s.text+", n bigint, price decimal(12,2), tag "+s.text+", changed timestamp NULL")
	s.exec(t, "INSERT INTO meta VALUES (1, 'x', 9007199254740993, 12.50, 'red', '2024-02-03 04:05:06'), (2, 'y', NULL, NULL, NULL, NULL)")
	for _, version := range []string{"", "id"} {
		docs, _ := s.list(t, Config{
			Query: "SELECT * FROM meta", Key: []string{"id"}, Content: []string{"body"}, Title: "n", Modified: "changed", Version: version,
			Metadata: []string{"n", "tag", "changed"},
		})
		got := fmt.Sprintf("%T %v %v", docs["1.txt"].Metadata["n"], docs["1.txt"].Metadata, docs["1.txt"].ModifiedAt)
		if want := "int64 map[changed:2024-02-03T04:05:06Z n:9007199254740993 tag:red title:9007199254740993] 2024-02-03 04:05:06 +0000 UTC"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if m := docs["2.txt"]; len(m.Metadata) > 0 || !m.ModifiedAt.IsZero() {
			t.Error(m.Metadata, m.ModifiedAt)
		}
	}
}

func mediaTypes(t *testing.T, s *system) {
	s.make(t, "media", "id integer, body "+s.text+", mt "+s.text)
	s.exec(t, "INSERT INTO media VALUES (1, 'x', 'text/html; charset=utf-8'), (2, 'y', NULL), (3, 'z', 'nonsense'), (4, '{}', 'application/json')")
	docs, _ := s.list(t, Config{Query: "SELECT * FROM media", Key: []string{"id"}, MediaType: "text/markdown", MediaTypeColumn: "mt"})
	same(t, texts(docs), map[string]string{"1.html": "x", "2.md": "y", "3.bin": "z", "4.json": "{}"})
	if docs["2.md"].MediaType != "text/markdown" || docs["1.html"].MediaType != "text/html; charset=utf-8" {
		t.Error(docs)
	}
}

// versions change with the version column, the metadata and what the configuration makes of a row, and with nothing else.
func versions(t *testing.T, s *system) {
	s.make(t, "vers", "id integer, v "+s.text+", body "+s.text+", tag "+s.text+", other "+s.text)
	c := Config{Query: "SELECT * FROM vers", Key: []string{"id"}, Version: "v", Content: []string{"body"}, Metadata: []string{"tag"}}
	version := func(c Config) connector.Document {
		docs, _ := s.list(t, c)
		return docs["1.txt"].Document
	}
	for _, mode := range []string{"v", ""} {
		c.Version = mode
		s.exec(t, "DELETE FROM vers")
		s.exec(t, "INSERT INTO vers VALUES (1, 'v1', 'x', 'red', 'o')")
		seen := map[string]string{version(c).Version: "before"}
		differs := func(what string, v string) {
			t.Helper()
			if was, there := seen[v]; there {
				t.Errorf("mode %q: the version after %q is that of %q", mode, what, was)
			}
			seen[v] = what
		}
		before := version(c).Version
		s.exec(t, "UPDATE vers SET other = 'changed'")
		if version(c).Version != before {
			t.Errorf("mode %q: a column that nobody reads changed the version", mode)
		}
		s.exec(t, "UPDATE vers SET tag = 'blue'")
		differs("another tag", version(c).Version)
		s.exec(t, "UPDATE vers SET v = 'v2', body = 'y'")
		differs("another text", version(c).Version)
		other := c
		other.Content = []string{"body", "other"}
		differs("another column of content", version(other).Version)
		if mode != "" {
			other = c
			other.Query = "SELECT id, v, upper(body) AS body, tag FROM vers"
			differs("another query", version(other).Version)
			s.exec(t, "UPDATE vers SET v = NULL")
			if d := version(c); !d.Unsettled || d.Version == "" {
				t.Errorf("a row without a version is taken for settled: %q", d.Version)
			}
		}
	}
}

// changedRow: a row that changed since it was listed is stored under the version that was read; one that is gone says so.
func changedRow(t *testing.T, s *system) {
	s.make(t, "moving", "id integer, v integer, body "+s.text)
	s.exec(t, "INSERT INTO moving VALUES (1, 1, 'old'), (2, 1, 'old')")
	source := s.open(t, Config{Query: "SELECT * FROM moving", Key: []string{"id"}, Version: "v"})
	defer func() { must(t, source.Close()) }()
	var docs []connector.Document
	for c, err := range source.Changes(t.Context()) {
		must(t, err)
		docs = append(docs, c.Document)
	}
	s.exec(t, "UPDATE moving SET v = 2, body = 'new' WHERE id = 1")
	s.exec(t, "DELETE FROM moving WHERE id = 2")
	r, err := docs[0].Open(t.Context())
	must(t, err)
	listed := docs[0].Version
	read := r.(connector.Opened).Facts().Version
	if got := text(t, docs[0]); got != "new" || read == listed {
		t.Errorf("%q is read under %q, listed as %q", got, read, listed)
	}
	for c, err := range source.Changes(t.Context()) {
		must(t, err)
		if c.Document.Version != read {
			t.Errorf("listed again, the version is %q, and %q where it was read", c.Document.Version, read)
		}
	}
	_, err = docs[1].Open(t.Context())
	wantError(t, err, connector.ClassChanged, "the row is gone")
}

// recentRows: without a version column, what was just listed is read without asking again.
func recentRows(t *testing.T, s *system) {
	s.make(t, "fresh", "id integer, body "+s.text)
	s.exec(t, "INSERT INTO fresh VALUES (1, 'old')")
	source := s.open(t, Config{Query: "SELECT * FROM fresh", Key: []string{"id"}})
	defer func() { must(t, source.Close()) }()
	for c, err := range source.Changes(t.Context()) {
		must(t, err)
		s.exec(t, "UPDATE fresh SET body = 'new'")
		if got := text(t, c.Document); got != "old" {
			t.Errorf("the row that was just listed reads as %q", got)
		}
		source.recent.clear()
		r, err := c.Document.Open(t.Context())
		must(t, err)
		if r.(connector.Opened).Facts().Version == c.Document.Version {
			t.Error("another content has the version that was listed")
		}
	}
}

func maxSize(t *testing.T, s *system) {
	s.make(t, "sizes", "id integer, body "+s.text+", note "+s.text)
	s.exec(t, "INSERT INTO sizes VALUES (1, '手手手手', NULL), (2, 'short', NULL)")
	for _, version := range []string{"", "id"} {
		c := Config{Query: "SELECT * FROM sizes", Key: []string{"id"}, Content: []string{"body"}, Version: version, MaxSize: 11}
		docs, troubles := s.list(t, c)
		same(t, texts(docs), map[string]string{"2.txt": "short"})
		sameList(t, troubles, "1.txt: 12 bytes, over max_size")
		c.Content = []string{"body", "note"} // with the names of the columns it is longer than the values
		c.MaxSize = 8
		docs, _ = s.list(t, c)
		if version != "" && !strings.Contains(docs["2.txt"].text, "over max_size") {
			t.Error(docs["2.txt"].text)
		}
	}
}

func unknownColumns(t *testing.T, s *system) {
	base := Config{Query: "SELECT 1 AS id, 'x' AS body, 'v' AS version", Key: []string{"id"}}
	for key, change := range map[string]func(c *Config){
		"key":               func(c *Config) { c.Key = []string{"idd"} },
		"version":           func(c *Config) { c.Version = "nosuch" },
		"content":           func(c *Config) { c.Content = []string{"body", "nosuch"} },
		"title":             func(c *Config) { c.Title = "nosuch" },
		"media_type_column": func(c *Config) { c.MediaTypeColumn = "nosuch" },
		"metadata":          func(c *Config) { c.Metadata = []string{"nosuch"} },
		"path":              func(c *Config) { c.Path = "nosuch" },
		"modified":          func(c *Config) { c.Modified = "nosuch" },
	} {
		c := base
		change(&c)
		wantError(t, s.broken(t, c), connector.ClassInvalid, key+": the query gives no column", "it gives id, body, version")
	}
	c := base
	c.Query = "SELECT 1 AS id"
	wantError(t, s.broken(t, c), connector.ClassInvalid, "content: no column of the query is left")
}

func queries(t *testing.T, s *system) {
	s.make(t, "names", "id integer, body "+s.text)
	s.exec(t, "INSERT INTO names VALUES (1, 'x'), (2, 'y')")
	for _, query := range []string{
		"SELECT id, body FROM names;", "select id, body from names -- a comment", "/* first */ WITH n AS (SELECT * FROM names) SELECT id, body FROM n ;; ",
		"SELECT id, body FROM names ORDER BY body DESC LIMIT 5", "SELECT id, ';' || body AS body FROM names WHERE body <> 'a;b)' UNION SELECT 3, 'z'",
	} {
		docs, _ := s.list(t, Config{Query: query, Key: []string{"id"}})
		if len(docs) < 2 {
			t.Errorf("%s gives %v", query, texts(docs))
		}
	}
	wantError(t, s.broken(t, Config{Query: "SELECT id FROM nowhere", Key: []string{"id"}}), connector.ClassInvalid, "nowhere", "check query")
	wantError(t, s.broken(t, Config{Query: "SELECT nosuch FROM names", Key: []string{"id"}}), connector.ClassInvalid, "nosuch", "check query")
	wantError(t, s.broken(t, Config{Query: "SELECT id FROM FROM names", Key: []string{"id"}}), connector.ClassInvalid, "check query")
}

// consistent: what is written while a listing goes on is not part of it.
func consistent(t *testing.T, s *system) {
	s.make(t, "many", "id integer, body "+s.text)
	for i := range 20 {
		var values []string
		for j := range 500 {
			values = append(values, fmt.Sprintf("(%d, '%s')", 2*(i*500+j), strings.Repeat("x", 100)))
		}
		s.exec(t, "INSERT INTO many VALUES "+strings.Join(values, ", "))
	}
	source := s.open(t, Config{Query: "SELECT * FROM many", Key: []string{"id"}, Version: "id"})
	defer func() { must(t, source.Close()) }()
	n := 0
	for _, err := range source.Changes(t.Context()) {
		must(t, err)
		if n++; n == 1 { // and the listing holds no lock against it
			s.exec(t, "INSERT INTO many SELECT id + 1, body FROM many")
			s.exec(t, "DELETE FROM many WHERE id > 100")
		}
	}
	if n != 10_000 {
		t.Errorf("%d rows are listed of 10000", n)
	}
}
