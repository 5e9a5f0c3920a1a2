package sql

import (
	"strings"
	"testing"
)

// oddKeys: every key has a path of its own, which is never empty.
func oddKeys(t *testing.T, s *system) {
	s.make(t, "odd", "id "+s.text+", body "+s.text)
	want := map[string]string{}
	for key, path := range map[string]string{
		"": "%empty.txt", " ": " .txt", "a/b": "a%2Fb.txt", "a%2Fb": "a%252Fb.txt", "/": "%2F.txt", ".": "%2E.txt", "..": "%2E%2E.txt",
		"%": "%25.txt", "%empty": "%25empty.txt", "q?x=1#y": "q%3Fx=1%23y.txt", "手册": "手册.txt", "a b": "a b.txt", "a+b": "a+b.txt",
		"line\nend": "line%0Aend.txt", "a.txt": "a.txt.txt", "back\\slash": "back%5Cslash.txt", "'": "'.txt",
	} {
		s.exec(t, "INSERT INTO odd VALUES (?, ?)", key, "of "+key)
		want[path] = "of " + key
	}
	docs, troubles := s.list(t, Config{Query: "SELECT id, body FROM odd", Key: []string{"id"}})
	same(t, texts(docs), want)
	sameList(t, troubles)
}

func twoKeys(t *testing.T, s *system) {
	s.make(t, "two", "lang "+s.text+", id integer, body "+s.text)
	s.exec(t, "INSERT INTO two VALUES ('en', 1, 'one'), ('de', 1, 'eins'), ('en/1', 2, 'odd'), ('en', 2, 'two')")
	docs, troubles := s.list(t, Config{Query: "SELECT * FROM two;  -- all", Key: []string{"lang", "id"}, MediaType: "text/markdown"})
	same(t, texts(docs), map[string]string{"en/1.md": "one", "de/1.md": "eins", "en%2F1/2.md": "odd", "en/2.md": "two"})
	sameList(t, troubles)
	if uri := docs["en%2F1/2.md"].URI; !strings.HasSuffix(uri, "#lang=en%2F1&id=2") || strings.Contains(uri, "@") {
		t.Error(uri)
	}
}

// duplicates: rows of one key are one failed document, and the rest is listed.
func duplicates(t *testing.T, s *system) {
	s.make(t, "dup", "id "+s.folded+", body "+s.text)
	s.exec(t, "INSERT INTO dup VALUES ('a', '1'), ('b', '2'), ('A', '3'), ('b', '4'), ('a ', '5'), ('b', '6'), ('c', '7'), ('B', '8')")
	for _, version := range []string{"", "body"} {
		docs, troubles := s.list(t, Config{Query: "SELECT id, body, body AS text FROM dup", Key: []string{"id"}, Version: version, Content: []string{"text"}})
		same(t, texts(docs), map[string]string{"a.txt": "1", "A.txt": "3", "a .txt": "5", "c.txt": "7", "B.txt": "8"})
		sameList(t, troubles, "b.txt: sql: several rows have this key; name the columns under key that identify a row")
	}
}

func nullKeys(t *testing.T, s *system) {
	s.make(t, "nulls", "a integer, b "+s.text+", body "+s.text)
	s.exec(t, "INSERT INTO nulls VALUES (1, 'x', 'fine'), (NULL, 'x', 'no'), (NULL, 'x', 'no'), (2, NULL, 'no'), (3, '%null', 'fine too')")
	docs, troubles := s.list(t, Config{Query: "SELECT * FROM nulls ORDER BY body", Key: []string{"a", "b"}})
	same(t, texts(docs), map[string]string{"1/x.txt": "fine", "3/%25null.txt": "fine too"})
	bad := map[string]bool{}
	for _, trouble := range troubles {
		bad[trouble] = true
	}
	if len(troubles) != 2 || !bad[`%null/x.txt: sql: the key column "a" is NULL`] || !bad[`2/%null.txt: sql: the key column "b" is NULL`] {
		t.Errorf("%q", troubles)
	}
}

// collations: what WHERE takes for equal are two documents, each read as itself.
func collations(t *testing.T, s *system) {
	s.make(t, "folds", "id "+s.folded+", body "+s.text)
	want := map[string]string{}
	for _, key := range []string{"A", "a", "Ä", "ä", "a ", "é", "e\u0301"} {
		s.exec(t, "INSERT INTO folds VALUES (?, ?)", key, "of "+key)
		want[key+".txt"] = "of " + key
	}
	docs, troubles := s.list(t, Config{Query: "SELECT id, body, body AS v FROM folds", Key: []string{"id"}, Version: "v"})
	same(t, texts(docs), want)
	sameList(t, troubles)
}

func oddPaths(t *testing.T, s *system) {
	s.make(t, "paths", "id integer, p "+s.text+", body "+s.text)
	s.exec(t, "INSERT INTO paths VALUES (1, 'a/b.md', 'fine'), (2, NULL, 'no'), (3, '/etc/passwd', 'no'), (4, '', 'no'), (5, 'twice', 'no'), (6, 'twice', 'no')")
	docs, troubles := s.list(t, Config{Query: "SELECT * FROM paths", Key: []string{"id"}, Path: "p"})
	same(t, texts(docs), map[string]string{"a/b.md": "fine"})
	if got := strings.Join(troubles, "\n"); len(troubles) != 4 || !strings.Contains(got, `twice: sql: several rows have this path`) ||
		!strings.Contains(got, `%path/3: sql: the column "p": the path starts with a slash`) {
		t.Errorf("%q", troubles)
	}
}

func byteKeys(t *testing.T, s *system) {
	typ := s.bytes
	if s.driver == driverMySQL {
		typ = "varbinary(16)"
	}
	s.make(t, "bytekeys", "id "+typ+", body "+s.text)
	s.exec(t, "INSERT INTO bytekeys VALUES ("+s.blob("00ff")+", 'x'), ("+s.blob("")+", 'y')")
	docs, troubles := s.list(t, Config{Query: "SELECT id, body, body AS v FROM bytekeys", Key: []string{"id"}, Version: "v"})
	same(t, texts(docs), map[string]string{"00ff.txt": "x", "%empty.txt": "y"})
	sameList(t, troubles)
}

func floatKeys(t *testing.T, s *system) {
	docs, troubles := s.list(t, Config{Query: "SELECT 1.5e0 AS id, 'x' AS body", Key: []string{"id"}})
	if s.driver == driverPostgres { // a numeric there
		same(t, texts(docs), map[string]string{"1.5.txt": "x"})
		return
	}
	sameList(t, troubles, `1.5.txt: sql: the key column "id" is a floating-point number, which cannot identify a row`)
}
