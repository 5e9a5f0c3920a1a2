package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // the scripts tamper with databases
)

var update = flag.Bool("update", false, "rewrite expected files")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kbsync": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"json":      jsonValue,
			"lines":     lineCount,
			"sql":       execSQL,
			"gendocs":   genDocs,
			"interrupt": interrupt,
			"badname":   badName,
			"settle":    settle,
			"relatedto": relatedTo,
		},
		UpdateScripts:       *update,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
	})
}

// settle waits until no file counts as modified a moment ago: such files are read again by the next sync.
func settle(*testscript.TestScript, bool, []string) { time.Sleep(2100 * time.Millisecond) }

// relatedto FILE: runs kbsync related for the first hit of an answer in JSON.
func relatedTo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: relatedto FILE")
	}
	var v struct {
		Hits []struct {
			ChunkID string `json:"chunk_id"`
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	if len(v.Hits) == 0 {
		ts.Fatalf("%s has no hit", args[0])
	}
	ts.Check(ts.Exec("kbsync", "related", v.Hits[0].ChunkID, "--format", "json"))
}

// exits CODE COMMAND…: runs the command, which must end with exactly that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		got = ee.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// json FILE PATH WANT: the value at PATH (keys and indexes, joined by dots; @ is a length) in the first JSON value of FILE. It is
// compared as JSON, strings without their quotes.
func jsonValue(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH WANT")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	d.UseNumber()
	var v any
	ts.Check(d.Decode(&v))
	for _, step := range strings.Split(args[1], ".") {
		v = descend(ts, v, step)
	}
	got, isText := v.(string)
	if !isText {
		b, err := json.Marshal(v)
		ts.Check(err)
		got = string(b)
	}
	if (got == args[2]) == neg {
		ts.Fatalf("%s is %s, want %s", args[1], got, args[2])
	}
}

func descend(ts *testscript.TestScript, v any, step string) any {
	switch v := v.(type) {
	case map[string]any:
		if step == "@" {
			return len(v)
		}
		x, ok := v[step]
		if !ok {
			ts.Fatalf("no key %q in %v", step, v)
		}
		return x
	case []any:
		if step == "@" {
			return len(v)
		}
		i, err := strconv.Atoi(step)
		ts.Check(err)
		if i >= len(v) {
			ts.Fatalf("no item %d of %d", i, len(v))
		}
		return v[i]
	}
	ts.Fatalf("nothing below %v at %q", v, step)
	return nil
}

// lines FILE N: FILE has N lines.
func lineCount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	if got := strconv.Itoa(strings.Count(ts.ReadFile(args[0]), "\n")); got != args[1] {
		ts.Fatalf("%s has %s lines, want %s", args[0], got, args[1])
	}
}

// sql DATABASE STATEMENT: runs a statement.
func execSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql DATABASE STATEMENT")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(errors.Join(err, db.Close()))
}

// gendocs DIR N: writes N small documents.
func genDocs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gendocs DIR N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	for i := range n {
		ts.Check(os.WriteFile(filepath.Join(dir, fmt.Sprintf("d%05d.md", i)), fmt.Appendf(nil, "# Document %d\n\nThe text of number %d, which is small.\n", i, i), 0o644))
	}
}

// interrupt FILE COMMAND…: runs the command and interrupts it as soon as FILE exists. It must say that it stops and end with code
// 1, or have been done before.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupt FILE COMMAND…")
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "HOME="+ts.Getenv("HOME"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	ts.Check(cmd.Start())
	for range 2000 {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended
	err := cmd.Wait()
	ts.Logf("%s", out.String())
	if err == nil {
		return
	}
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(out.String(), "stopping: finishing what was begun") {
		ts.Fatalf("%v", err)
	}
}

// badname DIR: writes a file whose name is not UTF-8.
func badName(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: badname DIR")
	}
	ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), "bad\xff.md"), []byte("text"), 0o644))
}
