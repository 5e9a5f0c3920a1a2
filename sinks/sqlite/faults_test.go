package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
)

func schemaOf(generation string) connector.Schema {
	return connector.Schema{Generation: generation, Model: "m", Dimensions: 8, Distance: "cosine"}
}

func testPoint(n int) connector.Point {
	text := fmt.Sprintf("point n%d 第%d点 ", n, n) + strings.Repeat("文字 words ", 30)
	v := make([]float32, 8)
	for i := range v {
		v[i] = float32((n*7+i*13)%31) - 15
	}
	v[0] += 0.5
	return connector.Point{Vector: v, Record: connector.Record{ChunkID: connector.NewUUID5(connector.UUID{}, fmt.Sprint(n)).String(),
		Content: text, EmbedText: text, Metadata: map[string]any{"n": n}}}
}

func testPoints(from, to int) (out []connector.Point) {
	for n := from; n < to; n++ {
		out = append(out, testPoint(n))
	}
	return out
}

func create(t *testing.T, s *Sink) *Collection {
	t.Helper()
	c, err := s.Create(t.Context(), schemaOf("g"))
	if err != nil {
		t.Fatal(err)
	}
	return c.(*Collection) //nolint:forcetypeassert // Create returns nothing else
}

func closing(t *testing.T, s *Sink) {
	t.Helper()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func count(t *testing.T, c connector.Collection) int {
	t.Helper()
	n, err := c.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sound checks the file from the outside: SQLite's own check, FTS5's, and that every point has its rows and vector.
func sound(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // a test's connection
	var answer string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&answer); err != nil || answer != "ok" {
		t.Errorf("integrity check: %s, %v", answer, err)
	}
	if _, err := db.Exec(`INSERT INTO kbsync_fts_1(kbsync_fts_1) VALUES('integrity-check')`); err != nil {
		t.Errorf("full-text integrity check: %v", err)
	}
	var points, payloads, texts, docs int
	if err := db.QueryRow(`SELECT (SELECT count(*) FROM kbsync_points_1), (SELECT count(*) FROM kbsync_payload_1), (SELECT count(*) FROM kbsync_texts_1),
		(SELECT count(*) FROM kbsync_fts_1_docsize)`).Scan(&points, &payloads, &texts, &docs); err != nil {
		t.Fatal(err)
	}
	if points != payloads || points != texts || points != docs {
		t.Errorf("%d points, %d payloads, %d texts, %d indexed", points, payloads, texts, docs)
	}
}

// TestKill kills a process that stores batches of 50, at moments that are not chosen, and looks at what it leaves.
func TestKill(t *testing.T) {
	if path := os.Getenv("KBSYNC_TEST_KILL"); path != "" {
		storeForEver(t, path)
	}
	path := filepath.Join(t.TempDir(), "kill.db")
	for round := range 5 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$") //nolint:gosec // this test
		cmd.Env = append(os.Environ(), "KBSYNC_TEST_KILL="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged := 0
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, err := fmt.Sscanf(lines.Text(), "stored %d", &acknowledged); err != nil {
				continue
			}
			if acknowledged >= (round+1)*150 {
				time.Sleep(time.Duration(round) * 3 * time.Millisecond)
				break
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		s := openAt(t, path, "cosine")
		c := create(t, s)
		n := count(t, c)
		if n < acknowledged || n%50 != 0 {
			t.Errorf("%d points are left, %d were acknowledged, in batches of 50", n, acknowledged)
		}
		got, err := c.Fetch(t.Context(), []string{testPoint(0).ChunkID, testPoint(n - 1).ChunkID}, true)
		if err != nil || len(got) != 2 || got[1].Vector[3] != testPoint(n - 1).Vector[3] {
			t.Errorf("the first and the last point: %v, %v", got, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		sound(t, path)
	}
}

func storeForEver(t *testing.T, path string) {
	t.Helper()
	c := create(t, openAt(t, path, "cosine"))
	for n := count(t, c); ; n += 50 {
		if err := c.Upsert(t.Context(), testPoints(n, n+50)); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("stored %d\n", n+50)
	}
}

func TestDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "full.db")
	s := openAt(t, path, "cosine")
	closing(t, s)
	c := create(t, s)
	if err := c.Upsert(t.Context(), testPoints(0, 50)); err != nil {
		t.Fatal(err)
	}
	var pages, unlimited int
	if err := s.files.write.QueryRow(`PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if err := s.files.write.QueryRow(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+20)).Scan(&unlimited); err != nil {
		t.Fatal(err)
	}
	err := c.Upsert(t.Context(), testPoints(0, 1000))
	if connector.ClassOf(err) != connector.ClassFull || !strings.Contains(err.Error(), path) {
		t.Errorf("a full disk: %v (%v)", err, connector.ClassOf(err))
	}
	if n := count(t, c); n != 50 {
		t.Errorf("%d points after a batch that failed, want the 50 of before", n)
	}
	if err := s.files.write.QueryRow(`PRAGMA max_page_count = 1000000`).Scan(&unlimited); err != nil {
		t.Fatal(err)
	}
	if err := c.Upsert(t.Context(), testPoints(0, 1000)); err != nil {
		t.Errorf("with room again: %v", err)
	}
	sound(t, path)
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locked.db")
	first, second := openAt(t, path, "cosine"), openAt(t, path, "cosine")
	closing(t, first)
	closing(t, second)
	c := create(t, first)
	other := create(t, second)
	if _, err := second.files.write.Exec(`PRAGMA busy_timeout = 20`); err != nil {
		t.Fatal(err)
	}
	err := inTx(t.Context(), first.files.write, func(*sql.Tx) error {
		err := other.Upsert(t.Context(), testPoints(0, 1))
		if connector.ClassOf(err) != connector.ClassTransient {
			t.Errorf("a second writer: %v (%v), want a transient error", err, connector.ClassOf(err))
		}
		if n, err := other.Count(t.Context()); err != nil || n != 0 { // readers do not wait
			t.Errorf("a reader beside a writer: %d, %v", n, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Upsert(t.Context(), testPoints(0, 1)); err != nil {
		t.Errorf("after the lock is gone: %v", err)
	}
	if n := count(t, c); n != 1 {
		t.Errorf("the first sink sees %d points, want the other's 1", n)
	}
}

// Two sinks on one file, as two processes have it, with collections of their own.
func TestSharedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared.db")
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			s, err := Open(Config{Path: path, Collection: fmt.Sprint("c", i)}, connector.Env{})
			if err != nil {
				t.Error(err)
				return
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			c, err := s.Create(t.Context(), schemaOf("g"))
			if err != nil {
				t.Error(err)
				return
			}
			for n := range 10 {
				if err := c.Upsert(t.Context(), testPoints(n*(i+1), (n+1)*(i+1))); err != nil {
					t.Error(err)
				}
			}
			if n, err := c.Count(t.Context()); err != nil || n != 10*(i+1) {
				t.Errorf("collection %d holds %d points, %v", i, n, err)
			}
		})
	}
	wg.Wait()
}

// Many open a file that is not there yet, at one instant: each asks for WAL mode, and none may be refused.
func TestNewFileOpenedByMany(t *testing.T) {
	for round := range 30 {
		path := filepath.Join(t.TempDir(), "shared.db")
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				s, err := Open(Config{Path: path, Collection: fmt.Sprint("c", i)}, connector.Env{})
				if err != nil {
					t.Error(err)
					return
				}
				<-start
				if _, err := s.Create(t.Context(), schemaOf("g")); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
	}
}

func TestNoFileNoCollection(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, "sub", "none.db"), "cosine")
	closing(t, s)
	if _, err := s.Live(t.Context()); !errors.Is(err, connector.ErrNoCollection) {
		t.Errorf("Live: %v", err)
	}
	if g, err := s.Generations(t.Context()); err != nil || len(g) != 0 {
		t.Errorf("Generations: %v, %v", g, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("looking made %v, %v", entries, err)
	}
}

func TestNotADatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("These are my notes. ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(s *Sink) error{
		"Live":   func(s *Sink) error { _, err := s.Live(t.Context()); return err },
		"Create": func(s *Sink) error { _, err := s.Create(t.Context(), schemaOf("g")); return err },
	} {
		s := openAt(t, path, "cosine")
		err := call(s)
		if err == nil || !strings.Contains(err.Error(), "not a SQLite database") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if raw, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(raw), "These are my notes.") {
		t.Errorf("the file was changed: %v", err)
	}
	s := openAt(t, filepath.Dir(path), "cosine")
	if _, err := s.Create(t.Context(), schemaOf("g")); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
}

func TestNewerFormat(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "newer.db"), "cosine")
	closing(t, s)
	create(t, s)
	if _, err := s.files.write.Exec(`UPDATE kbsync_collections SET format = format + 1`); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{second(s.Live(t.Context())), second(s.Create(t.Context(), schemaOf("g")))} {
		if err == nil || !strings.Contains(err.Error(), "newer version") {
			t.Errorf("a newer format: %v", err)
		}
	}
}

func second(_ connector.Collection, err error) error { return err }

// Slots of deleted points are used again: a collection that changes for ever does not grow for ever.
func TestSlotsAreReused(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "slots.db"), "cosine")
	closing(t, s)
	c := create(t, s)
	for round := range 12 {
		if err := c.Upsert(t.Context(), testPoints(round*100, round*100+200)); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, p := range testPoints(round*100, round*100+100) {
			ids = append(ids, p.ChunkID)
		}
		if err := c.Delete(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		for n := round*100 + 100; n < round*100+200; n += 33 {
			hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeLexical, Text: fmt.Sprintf("n%d", n), K: 5})
			if err != nil || len(hits) != 1 || hits[0].ChunkID != testPoint(n).ChunkID {
				t.Errorf("round %d: n%d finds %v, %v", round, n, hits, err)
			}
		}
	}
	var last int64
	if err := s.files.read.QueryRow(c.tables.sql(`SELECT max(slot) FROM @points`)).Scan(&last); err != nil || last >= 300 {
		t.Errorf("the last slot is %d, %v; there were never more than 200 points", last, err)
	}
}

// Whole numbers stay whole and floats stay floats, as types too.
func TestTypes(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "types.db"), "cosine")
	closing(t, s)
	c := create(t, s)
	p := testPoint(1)
	p.Metadata = map[string]any{"int": 3, "float": 3.0, "big": int64(1<<62 + 1), "list": []any{1, 1.0}}
	if err := c.Upsert(t.Context(), []connector.Point{p}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Fetch(t.Context(), []string{p.ChunkID}, false)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if s := fmt.Sprintf("%#v", got[0].Metadata); s != `map[string]interface {}{"big":4611686018427387905, "float":3, "int":3, "list":[]interface {}{1, 1}}` {
		t.Error(s)
	}
	if _, ok := got[0].Metadata["float"].(float64); !ok {
		t.Errorf("the float came back as %T", got[0].Metadata["float"])
	}
	if _, ok := got[0].Metadata["int"].(int64); !ok {
		t.Errorf("the whole number came back as %T", got[0].Metadata["int"])
	}
}

func TestConfig(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "handbook.db", "./x/../handbook.db", filepath.Join(dir, "handbook.db"), "link/handbook.db"} {
		s, err := Open(Config{Path: path}, connector.Env{Name: "handbook", Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if want := (connector.Target{Kind: "sqlite", Address: filepath.Join(dir, "handbook.db"), Collection: "handbook"}); s.Target() != want {
			t.Errorf("path %q: target %v, want %v", path, s.Target(), want)
		}
	}
	for _, c := range []Config{{Distance: "euclid"}, {Path: "a\x00b"}, {}} {
		if _, err := Open(c, connector.Env{}); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
	p := Plugin()
	if s, err := p.Open(t.Context(), p.Config(), connector.Env{Name: "n", Dir: dir}); err != nil || s.Capabilities().MaxBatchItems == 0 {
		t.Errorf("%v, %v", s, err)
	}
}

// A write that is cancelled half-way leaves nothing of itself.
func TestCancelledWrite(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "cancel.db"), "cosine")
	closing(t, s)
	c := create(t, s)
	for i := range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*4*time.Millisecond)
		err := c.Upsert(ctx, testPoints(0, 500))
		cancel()
		if n := count(t, c); err != nil && n != 0 || err == nil && n != 500 {
			t.Fatalf("%d points after %v", n, err)
		}
		if err == nil {
			break
		}
	}
	sound(t, s.path)
}
