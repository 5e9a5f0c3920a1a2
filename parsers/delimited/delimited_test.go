package delimited_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/parsers/delimited"
)

var update = flag.Bool("update", false, "rewrite golden files")

func open(tb testing.TB, set func(*delimited.Config)) connector.Parser {
	tb.Helper()
	plugin := delimited.Plugin()
	config := plugin.Config().(*delimited.Config)
	if set != nil {
		set(config)
	}
	p, err := plugin.Open(context.Background(), config, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func parse(tb testing.TB, p connector.Parser, name string, r io.Reader) []connector.Element {
	tb.Helper()
	var out []connector.Element
	for e, err := range p.Parse(context.Background(), &connector.Document{Path: name}, r) {
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		out = append(out, e)
	}
	return out
}

// tiled checks the contract of elements and tables, and returns the parsed text.
func tiled(tb testing.TB, elements []connector.Element) string {
	tb.Helper()
	var text strings.Builder
	row := 0
	for _, e := range elements {
		if e.Kind == connector.KindDropped {
			continue
		}
		if e.Span.Start != text.Len() || e.Span.Len() != len(e.Text) || e.Text == "" {
			tb.Fatalf("element %v of %d bytes does not follow %d", e.Span, len(e.Text), text.Len())
		}
		text.WriteString(e.Text)
		if e.Table == nil {
			continue
		}
		if e.Table.FirstRow != row+1 {
			tb.Fatalf("first row is %d after %d rows", e.Table.FirstRow, row)
		}
		row += len(e.Table.Rows)
		end := e.Span.Start
		for _, r := range e.Table.Rows {
			if r.Span.Start < end || r.Span.End > e.Span.End || r.Span.Len() == 0 {
				tb.Fatalf("row %v out of place in %v after %d", r.Span, e.Span, end)
			}
			end = r.Span.End
			at := e.Text[r.Span.Start-e.Span.Start : r.Span.End-e.Span.Start]
			for _, c := range r.Cells {
				c = strings.ReplaceAll(c, `"`, "")
				at = strings.ReplaceAll(at, `"`, "")
				i := strings.Index(at, c)
				if i < 0 {
					tb.Fatalf("cell %q is not in its row %q", c, at)
				}
				at = at[i+len(c):]
			}
		}
	}
	return text.String()
}

func dump(elements []connector.Element) string {
	var b strings.Builder
	for _, e := range elements {
		fmt.Fprintf(&b, "%s %v", e.Kind, e.Span)
		if e.Table == nil {
			fmt.Fprintf(&b, " %q\n", e.Text)
			continue
		}
		fmt.Fprintf(&b, " first %d\n", e.Table.FirstRow)
		if len(e.Table.Header) > 0 {
			fmt.Fprintf(&b, "  header %v %q\n", e.Table.HeaderSpan, e.Table.Header)
		}
		for _, r := range e.Table.Rows {
			fmt.Fprintf(&b, "  row %v %q\n", r.Span, r.Cells)
		}
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	p := open(t, nil)
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(a.Files); i += 2 {
			in := a.Files[i]
			elements := parse(t, p, in.Name, strings.NewReader(string(in.Data)))
			if got := tiled(t, elements); got != string(in.Data) {
				t.Errorf("%s: parsed text %q", in.Name, got)
			}
			got := dump(elements)
			if *update {
				a.Files[i+1].Data = []byte(got)
			} else if got != string(a.Files[i+1].Data) {
				t.Errorf("%s %s:\ngot:\n%s\nwant:\n%s", file, in.Name, got, a.Files[i+1].Data)
			}
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A spreadsheet program on an old Mac writes CR alone; the records must come out whole.
func TestLineEnds(t *testing.T) {
	p := open(t, nil)
	want := dump(parse(t, p, "a.csv", strings.NewReader("id,text\n1,\"two\nlines\"\n2,b\n")))
	for _, in := range []string{"id,text\r1,\"two\rlines\"\r2,b\r", "id,text\r\n1,\"two\r\nlines\"\r\n2,b\r\n"} {
		if got := dump(parse(t, p, "a.csv", strings.NewReader(in))); got != want {
			t.Errorf("%q:\n%s\nwant:\n%s", in, got, want)
		}
	}
}

// A quoted cell with a line end may stand where one element ends and the next begins.
func TestQuotedNewlineAtBoundary(t *testing.T) {
	p := open(t, nil)
	for lead := maxElement - 40; lead < maxElement+10; lead += 7 {
		in := "id,text\n1," + strings.Repeat("x", lead) + "\n2,\"first\nsecond, \"\"third\"\"\"\n3,end\n"
		elements := parse(t, p, "a.csv", strings.NewReader(in))
		if tiled(t, elements) != in {
			t.Fatal("text changed")
		}
		var cells []string
		for _, e := range elements {
			for _, r := range e.Table.Rows {
				cells = append(cells, r.Cells[1])
			}
		}
		if len(cells) != 3 || cells[1] != "first\nsecond, \"third\"" || cells[2] != "end" {
			t.Fatalf("lead %d: %d rows, %q", lead, len(cells), cells[len(cells)-1])
		}
	}
}

const maxElement = 64 << 10

func TestUnclosedQuote(t *testing.T) {
	p := open(t, nil)
	in := "id,text\n1,ok\n2,\"never closed\n" + strings.Repeat("3,plain row\n", 200_000)
	elements := parse(t, p, "a.csv", strings.NewReader(in))
	if tiled(t, elements) != in {
		t.Fatal("text changed")
	}
	rows := 0
	for _, e := range elements {
		if len(e.Text) > maxElement {
			t.Fatalf("element of %d bytes", len(e.Text))
		}
		rows += len(e.Table.Rows)
	}
	if rows != 200_002 {
		t.Errorf("%d rows, want 200002", rows)
	}
}

func TestLongLine(t *testing.T) {
	p := open(t, func(c *delimited.Config) { c.MaxRecordBytes = 1000 })
	in := "id,text\n1,a\n2," + strings.Repeat("汉字", 50_000) + "\n3,b\n"
	elements := parse(t, p, "a.csv", strings.NewReader(in))
	if tiled(t, elements) != in {
		t.Fatal("text changed")
	}
	last := elements[len(elements)-1]
	if last.Kind != connector.KindTable || last.Table.FirstRow != 2 || last.Table.Header == nil {
		t.Errorf("the table does not go on after the long line: %+v", last.Table)
	}
}

func TestReadsDoNotMatter(t *testing.T) {
	p := open(t, func(c *delimited.Config) { c.MaxRecordBytes = 4096 })
	in := "a;b\n" + strings.Repeat("1;\"x\ny\"\n\n2;\"z\n", 12_000)
	want := dump(parse(t, p, "a.csv", strings.NewReader(in)))
	for name, r := range map[string]io.Reader{"halves": iotest.HalfReader(strings.NewReader(in)), "bytes": iotest.OneByteReader(strings.NewReader(in)), "dataerr": iotest.DataErrReader(strings.NewReader(in))} {
		if dump(parse(t, p, "a.csv", r)) != want {
			t.Errorf("%s: other elements", name)
		}
	}
}

func TestCancelAndReadError(t *testing.T) {
	p := open(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range p.Parse(ctx, &connector.Document{Path: "a.csv"}, strings.NewReader("a,b\n")) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want a cancellation", err)
		}
	}
	failed := false
	for _, err := range p.Parse(context.Background(), &connector.Document{Path: "a.csv"}, iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("a,b\n1,2\n")))) {
		failed = failed || err != nil
	}
	if !failed {
		t.Error("a read error was swallowed")
	}
}

func TestSharedFiles(t *testing.T) {
	dir := shareddata.Dir(t)
	p := open(t, nil)
	files, err := filepath.Glob(filepath.Join(dir, "fixtures/docling/csv/sources/*.csv"))
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, filepath.Join(dir, "chroma_chunking_evaluation/questions_df.csv"), filepath.Join(dir, "fixtures/unstructured/csv-with-long-lines.csv")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		elements := parse(t, p, file, strings.NewReader(string(data)))
		tiled(t, elements)
		first := elements[0]
		if first.Kind != connector.KindTable || len(first.Table.Header) != 1 {
			t.Errorf("%s: no header found", filepath.Base(file))
			continue
		}
		columns := len(first.Table.Header[0])
		if want := strings.Contains(file, "single-column"); (columns == 1) != want {
			t.Errorf("%s: %d columns", filepath.Base(file), columns)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "a;b\n\"x\ny\";2", "t\n\na|b|c\n\"\"\"|1|2\n", "\"\"\"\n,\"\n'", "\xff\xfea\x00,\x00b\x00\n\x00", "a\t'b'\r\r\n'c'\t\"d\""} {
		f.Add([]byte(seed))
	}
	p := open(f, func(c *delimited.Config) { c.MaxRecordBytes = 256 })
	f.Fuzz(func(t *testing.T, data []byte) {
		var first []connector.Element
		for e, err := range p.Parse(context.Background(), &connector.Document{Path: "a.csv"}, strings.NewReader(string(data))) {
			if err != nil {
				if connector.ClassOf(err) != connector.ClassInvalid {
					t.Fatal(err)
				}
				return
			}
			first = append(first, e)
		}
		text := tiled(t, first)
		again := parse(t, p, "a.csv", iotest.OneByteReader(strings.NewReader(string(data))))
		if dump(first) != dump(again) {
			t.Fatal("not deterministic")
		}
		if other := tiled(t, parse(t, p, "a.tsv", strings.NewReader(string(data)))); other != text {
			t.Fatal("the dialect changed the text")
		}
	})
}

func BenchmarkPlain(b *testing.B) {
	var in strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&in, "%d,Some Name %d,somebody%d@example.com,2024-01-02,\"a quoted, cell\",%d.5\n", i, i, i, i)
	}
	benchmark(b, "id,name,email,date,note,price\n"+in.String())
}

func benchmark(b *testing.B, in string) {
	p := open(b, nil)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range p.Parse(context.Background(), &connector.Document{Path: "a.csv"}, strings.NewReader(in)) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
