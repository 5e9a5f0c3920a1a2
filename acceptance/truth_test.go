package acceptance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/plugins"
)

// truthElement is what scripts/truth-documents says of one element, and what a parser made of it.
type truthElement struct {
	Kind  string     `json:"kind"`
	Level int        `json:"level"`
	Text  string     `json:"text"`
	Rows  [][]string `json:"rows"`
	Page  int        `json:"page"`
	End   int        `json:"end"`
}

func (e truthElement) String() string {
	return fmt.Sprintf("%s %d, pages %d-%d: %s %q", e.Kind, e.Level, e.Page, e.End, strings.Join(strings.Fields(e.Text), " "), e.Rows)
}

// TestTruthDocuments: of PDF files made from known text the parser gives all of the text in order, with the kinds and levels of its elements,
// the cells of its tables and its pages, and leaves out what runs over the pages and nothing else.
func TestTruthDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser sets the documents")
	}
	dir := truthDocuments(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d documents: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			var truth struct {
				Pages    int
				Elements []truthElement
			}
			raw, err := os.ReadFile(file)
			if err == nil {
				err = json.Unmarshal(raw, &truth)
			}
			if err != nil {
				t.Fatal(err)
			}
			got, dropped := truthOf(t, filepath.Join(dir, name+".pdf"))
			for i, want := range truth.Elements {
				if i >= len(got) || got[i].String() != want.String() {
					t.Fatalf("element %d of %d is\n%s\nwant\n%s", i, len(truth.Elements), slices.Concat(got, make([]truthElement, i+1))[i], want)
				}
			}
			if len(got) > len(truth.Elements) {
				t.Errorf("%d elements more, the first is %s", len(got)-len(truth.Elements), got[len(truth.Elements)])
			}
			if dropped == 0 {
				t.Error("nothing was left out")
			}
		})
	}
}

// truthOf parses a PDF file; the items of its lists and the parts of its tables are one element each.
func truthOf(t *testing.T, path string) (got []truthElement, dropped int) {
	t.Helper()
	els := parsePDF(t, path)
	tables := map[int]int{}
	for _, el := range els {
		one := []connector.Element{el}
		switch {
		case el.Kind == connector.KindDropped:
			if dropped++; el.Reason != connector.DropFurniture && el.Reason != connector.DropRepeated {
				t.Errorf("dropped for %s: %s", el.Reason, el.Text)
			}
			continue
		case el.Kind == connector.KindList:
			one = el.Children
		}
		for _, el := range one {
			e := truthElement{Kind: string(el.Kind), Level: el.Level, Text: el.Text, Page: el.Page, End: max(el.Page, el.PageEnd)}
			if el.Table == nil {
				got = append(got, e)
				continue
			}
			at, ok := tables[el.Table.ID]
			if !ok {
				at = len(got)
				tables[el.Table.ID] = at
				e.Text, e.Rows = el.Table.Caption, slices.Clone(el.Table.Header)
				got = append(got, e)
			}
			for _, r := range el.Table.Rows {
				got[at].Rows = append(got[at].Rows, r.Cells)
			}
			got[at].End = e.End
		}
	}
	return got, dropped
}

// parsePDF gives the elements of a PDF file, which hold to the laws.
func parsePDF(t *testing.T, path string) []connector.Element {
	t.Helper()
	reg, err := plugins.Registry(nil)
	if err != nil {
		t.Fatal(err)
	}
	plugin, ok := reg.Parsers.Get("pdf")
	if !ok {
		t.Fatal("no parser pdf")
	}
	parser, err := plugin.Open(context.Background(), plugin.Config(), connector.Env{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	els, err := parsertest.Collect(context.Background(), parser, path, f)
	if err == nil {
		err = parsertest.CheckElements(els)
	}
	if err != nil {
		t.Fatal(err)
	}
	return els
}

// truthDocuments makes the documents once for each state of the script and the browser, in the user's cache folder. Without a browser the
// test is skipped, or fails where KBSYNC_REQUIRE_DATA is set.
func truthDocuments(t *testing.T) string {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("KBSYNC_REQUIRE_DATA") != "" {
			t.Fatal("chromium is missing, and KBSYNC_REQUIRE_DATA is set: run scripts/truth-documents/install.sh")
		}
		t.Skip("no chromium: run scripts/truth-documents/install.sh")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cache = filepath.Join(cache, "kbsync-truth")
	script := filepath.Join("..", "scripts", "truth-documents")
	dir := filepath.Join(cache, truthState(t, browser, script))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	made, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-B", filepath.Join(script, "make.py"), made)
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(made)
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Rename(made, dir); err != nil {
		if _, gone := os.Stat(dir); gone != nil {
			t.Fatal(err)
		}
		_ = os.RemoveAll(made) // another test was quicker
	}
	return dir
}

// truthState names what the documents depend on.
func truthState(t *testing.T, browser, script string) string {
	t.Helper()
	version, err := exec.Command(browser, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	_, _ = hash.Write(version)
	parts, err := filepath.Glob(filepath.Join(script, "*.*"))
	if err != nil || len(parts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, p := range parts {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = hash.Write(raw)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}
