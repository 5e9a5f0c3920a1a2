package vectorstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// TestMain lets the test binary be the other processes.
func TestMain(m *testing.M) {
	if path := os.Getenv("KBSYNC_TEST_STORE"); path != "" {
		if err := child(path, os.Getenv("KBSYNC_TEST_WHO")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	model = "test/model@1#0011"
	dims  = 24
	texts = 1500
)

// text gives hash and vector of the i-th text: any process makes the same.
func text(i int) Vector {
	x := Vector{Hash: sha256.Sum256(fmt.Appendf(nil, "text %d", i)), Values: make([]float32, dims)}
	for j := range x.Values {
		x.Values[j] = float32(i*dims+j) + 0.25
	}
	return x
}

// child works as another process: writes and reads texts that others write too, and texts of its own, again and again; prints a line when it began.
func child(path, who string) error {
	ctx := context.Background()
	if who == "reader" {
		return childReadOnly(ctx, path)
	}
	s, err := Open(ctx, path, Options{Create: true, Wait: time.Minute})
	if err != nil {
		return err
	}
	n := 0
	if _, err := fmt.Sscan(who, &n); err != nil {
		return err
	}
	for at := 0; at < texts; at += 60 {
		var batch []Vector
		for i := range 60 {
			batch = append(batch, text(at+i), text(n*1_000_000+at+i))
		}
		if err := s.Put(ctx, model, batch); err != nil {
			return err
		}
		if at == 0 {
			fmt.Println("began")
		}
		if err := sound(ctx, s, batch, true); err != nil {
			return err
		}
	}
	return s.Close()
}

// sound compares vectors with what the store has; absent ones are an error if all must be there.
func sound(ctx context.Context, s *Store, want []Vector, all bool) error {
	hashes := make([]Hash, len(want))
	for i := range want {
		hashes[i] = want[i].Hash
	}
	got, err := s.Get(ctx, model, dims, hashes)
	if err != nil {
		return err
	}
	for i := range want {
		if (all || got[i] != nil) && !slices.Equal(got[i], want[i].Values) {
			return fmt.Errorf("text %d has %v, want %v", i, got[i], want[i].Values)
		}
	}
	return nil
}

func start(t *testing.T, path string, who string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "KBSYNC_TEST_STORE="+path, "KBSYNC_TEST_WHO="+who)
	cmd.Stderr = os.Stderr
	return cmd
}

func open(t *testing.T, path string, opts Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func put(t *testing.T, s *Store, vectors ...Vector) {
	t.Helper()
	if err := s.Put(context.Background(), model, vectors); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s *Store, model string, dims int, x ...Vector) [][]float32 {
	t.Helper()
	hashes := make([]Hash, len(x))
	for i := range x {
		hashes[i] = x[i].Hash
	}
	got, err := s.Get(context.Background(), model, dims, hashes)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// intact checks the file itself.
func intact(t *testing.T, s *Store) {
	t.Helper()
	var answer string
	if err := s.read.QueryRow("PRAGMA integrity_check").Scan(&answer); err != nil || answer != "ok" {
		t.Fatalf("integrity: %s %v", answer, err)
	}
}

func TestVectorsBelongToTextAndModel(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a", "v.db"), Options{Create: true})
	var all []Vector
	for i := range 2*lookupBatch + 3 {
		all = append(all, text(i))
	}
	put(t, s, all...)
	all = append(all, all[5], text(-1)) // one twice, one unknown
	got := get(t, s, model, dims, all...)
	for i, v := range got {
		if want := all[i].Values; i == len(all)-1 && v != nil || i < len(all)-1 && !slices.Equal(v, want) {
			t.Fatalf("text %d: got %v, want %v", i, v, want)
		}
	}
	if v := get(t, s, "test/model@2#0011", dims, all[0])[0]; v != nil {
		t.Error("another version of the model has the vector")
	}
	if v := get(t, s, model, dims+1, all[0])[0]; v != nil {
		t.Error("a vector of another length was given")
	}
	other := Vector{all[0].Hash, make([]float32, dims)}
	other.Values[0] = 9
	put(t, s, other)
	if v := get(t, s, model, dims, all[0])[0]; !slices.Equal(v, all[0].Values) {
		t.Error("what was there did not stay")
	}
	if err := s.Put(context.Background(), model, []Vector{{Hash: text(7777).Hash, Values: make([]float32, dims)}}); err == nil {
		t.Error("a zero vector was kept")
	}
}

// TestDamagedRowsAreAbsent: whatever is altered in a row, its vector is never given to anybody, and the next Put mends it.
func TestDamagedRowsAreAbsent(t *testing.T) {
	a, b := text(1), text(2)
	for name, harm := range map[string]string{
		"numbers":        "UPDATE vectors SET v=zeroblob(4)||substr(v, 5) WHERE n=1",
		"checksum":       "UPDATE vectors SET sum=x'00' WHERE n=1",
		"cut":            "UPDATE vectors SET v=substr(v, 1, 5) WHERE n=1",
		"gone":           "DELETE FROM vectors WHERE n=1",
		"another's row":  "UPDATE keys SET n=2 WHERE n=1",
		"swapped":        "UPDATE vectors SET n=3 WHERE n=1; UPDATE vectors SET n=1 WHERE n=2; UPDATE vectors SET n=2 WHERE n=3",
		"another's name": "UPDATE models SET identity='x' WHERE id=1; INSERT INTO models VALUES(7, '" + model + "'); UPDATE keys SET model=7",
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, filepath.Join(t.TempDir(), "v.db"), Options{Create: true})
			made := model
			if name == "another's name" {
				made = "other/model"
			}
			if err := s.Put(context.Background(), made, []Vector{a, b}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.write.Exec(harm); err != nil {
				t.Fatal(err)
			}
			if v := get(t, s, model, dims, a)[0]; v != nil {
				t.Fatalf("a damaged row gave %v", v)
			}
			for it, err := range s.Items(context.Background()) {
				if err != nil || it.Hash == a.Hash {
					t.Fatalf("a damaged row was listed: %v", err)
				}
			}
			put(t, s, a, b)
			for i, v := range get(t, s, model, dims, a, b) {
				if want := []Vector{a, b}[i].Values; !slices.Equal(v, want) {
					t.Errorf("after it was written again: %v, want %v", v, want)
				}
			}
			intact(t, s)
		})
	}
}

func TestManyProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.db")
	var children []*exec.Cmd
	for who := range 4 {
		cmd := start(t, path, fmt.Sprint(who+1))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, cmd)
	}
	for _, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	s := open(t, path, Options{})
	intact(t, s)
	st, err := s.Stats(context.Background())
	if err != nil || len(st) != 1 || st[0].Vectors != 5*texts {
		t.Errorf("the store has %+v, want %d vectors (%v)", st, 5*texts, err)
	}
	n := 0
	for _, err := range s.Items(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 5*texts {
		t.Errorf("%d vectors are sound, want %d", n, 5*texts)
	}
	if left, _ := filepath.Glob(path + ".new-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestKilledProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.db")
	survivor := start(t, path, "9")
	if err := survivor.Start(); err != nil {
		t.Fatal(err)
	}
	for who := range 6 {
		cmd := start(t, path, fmt.Sprint(who+1))
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if who%3 > 0 { // else it is killed while the store is being made, or before
			if _, err := io.ReadFull(out, make([]byte, len("began"))); err != nil {
				t.Fatal(err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	}
	if err := survivor.Wait(); err != nil {
		t.Errorf("the one that was not killed: %v", err)
	}
	s := open(t, path, Options{})
	intact(t, s)
	for it, err := range s.Items(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		i := int((it.Values[0] - 0.25) / dims)
		if i < 1<<20 && it.Hash != text(i).Hash { // beyond, float32 does not tell the numbers apart
			t.Fatalf("the vector of text %d stands under another hash", i)
		}
	}
	var shared []Vector
	for i := range texts {
		shared = append(shared, text(i))
	}
	if err := sound(context.Background(), s, shared, true); err != nil {
		t.Error(err)
	}
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	ctx := context.Background()
	foreign := func(statements string) func(string) error {
		return func(path string) error {
			db, err := sql.Open("sqlite", path)
			if err == nil {
				_, err = db.Exec(statements)
				err = errors.Join(err, db.Close())
			}
			return err
		}
	}
	ours := func(then func(*os.File) error) func(string) error {
		return func(path string) error {
			s, err := Open(ctx, path, Options{Create: true})
			if err != nil {
				return err
			}
			for i := range 500 {
				err = errors.Join(err, s.Put(ctx, model, []Vector{text(i)}))
			}
			if err = errors.Join(err, s.Close()); err != nil {
				return err
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			return errors.Join(then(f), f.Close())
		}
	}
	for name, c := range map[string]struct {
		make  func(path string) error
		class connector.Class
		says  string
	}{
		"text":     {func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("plain text\n", 100)), 0o644) }, connector.ClassConflict, "no vector store"},
		"empty":    {func(p string) error { return os.WriteFile(p, nil, 0o644) }, connector.ClassConflict, "another program's"},
		"folder":   {func(p string) error { return os.Mkdir(p, 0o755) }, connector.ClassConflict, "is a folder"},
		"database": {foreign("CREATE TABLE docs(a); INSERT INTO docs VALUES(1)"), connector.ClassConflict, "another program's"},
		"newer":    {foreign(fmt.Sprintf("CREATE TABLE t(a); PRAGMA application_id=%d; PRAGMA user_version=99", applicationID)), connector.ClassConflict, "format 99"},
		"cut":      {ours(func(f *os.File) error { return f.Truncate(8192 * 3) }), connector.ClassInvalid, "delete it with its -wal"},
		"overwritten": {ours(func(f *os.File) error {
			_, err := f.WriteAt([]byte(strings.Repeat("garbage ", 8192)), 8192)
			return err
		}), connector.ClassInvalid, "delete it with its -wal"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "v.db")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			s, err := Open(ctx, path, Options{Create: true})
			if err == nil { // damage shows where it is met
				_, err = s.Get(ctx, model, dims, []Hash{text(3).Hash, text(400).Hash})
				_ = s.Close()
			}
			if err == nil || connector.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v (%s), want %q (%s)", err, connector.ClassOf(err), c.says, c.class)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.db")
	s := open(t, path, Options{Create: true, MaxPages: 12})
	var err error
	kept := 0
	for ; err == nil && kept < 10_000; kept++ {
		err = s.Put(context.Background(), model, []Vector{text(kept)})
	}
	if connector.ClassOf(err) != connector.ClassFull {
		t.Fatalf("after %d vectors: %v", kept, err)
	}
	for i := range kept - 1 {
		if get(t, s, model, dims, text(i))[0] == nil {
			t.Fatalf("vector %d is gone", i)
		}
	}
	intact(t, s)
}

// TestWaitsForOthers holds the write lock: what cannot be written in time is an error of class transient, and reading goes on.
func TestWaitsForOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.db")
	a, b := open(t, path, Options{Create: true}), open(t, path, Options{Wait: 20 * time.Millisecond})
	put(t, a, text(1))
	tx, err := a.write.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := b.Put(context.Background(), model, []Vector{text(2)}); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("got %v", err)
	}
	if get(t, b, model, dims, text(1))[0] == nil {
		t.Error("it cannot be read meanwhile")
	}
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "v.db")
	if _, err := Open(context.Background(), path, Options{ReadOnly: true, Create: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing store opened for reading: %v", err)
	}
	s, err := Open(context.Background(), path, Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, text(1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, path, Options{ReadOnly: true})
	if get(t, r, model, dims, text(1))[0] == nil {
		t.Error("the vector is not found")
	}
	if err := r.Put(context.Background(), model, []Vector{text(2)}); connector.ClassOf(err) != connector.ClassDenied {
		t.Errorf("writing: %v", err)
	}
	if runtime.GOOS == "windows" {
		return // rights are another matter there
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	asNobody(t, path)
}

func TestNewStoreTakesNoOldLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.db")
	old := open(t, path, Options{Create: true})
	put(t, old, text(1))
	if err := os.Remove(path); err != nil { // its log stays
		t.Fatal(err)
	}
	s := open(t, path, Options{Create: true})
	put(t, s, text(2))
	if got := get(t, s, model, dims, text(1), text(2)); got[0] != nil || got[1] == nil {
		t.Errorf("the new store has %v", got)
	}
	intact(t, s)
}
