package jsondoc_test

import (
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/kbsync/kbsync/parsers/jsondoc"
)

var update = flag.Bool("update", false, "rewrite golden files")

func open(tb testing.TB, kind string) connector.Parser {
	tb.Helper()
	plugin := jsondoc.Plugin()
	if kind == "jsonl" {
		plugin = jsondoc.LinesPlugin()
	}
	p, err := plugin.Open(context.Background(), plugin.Config(), connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func parse(tb testing.TB, p connector.Parser, r io.Reader) []connector.Element {
	tb.Helper()
	var out []connector.Element
	for e, err := range p.Parse(context.Background(), &connector.Document{Path: "a.json"}, r) {
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func tiled(tb testing.TB, elements []connector.Element) string {
	tb.Helper()
	var text strings.Builder
	for _, e := range elements {
		if e.Kind == connector.KindDropped {
			continue
		}
		if e.Span.Start != text.Len() || e.Span.Len() != len(e.Text) || e.Text == "" {
			tb.Fatalf("element %v of %d bytes does not follow %d", e.Span, len(e.Text), text.Len())
		}
		text.WriteString(e.Text)
		if e.Table != nil && len(e.Table.Header) > 0 && len(e.Table.Header[0]) != len(e.Table.Rows[0].Cells) {
			tb.Fatalf("%d keys, %d cells", len(e.Table.Header[0]), len(e.Table.Rows[0].Cells))
		}
	}
	return text.String()
}

func dump(elements []connector.Element) string {
	var b strings.Builder
	for _, e := range elements {
		fmt.Fprintf(&b, "%s %v %q\n", e.Kind, e.Span, e.Text)
		if e.Table != nil {
			fmt.Fprintf(&b, "  table %d row %d caption %q header %q cells %q\n", e.Table.ID, e.Table.FirstRow, e.Table.Caption, e.Table.Header, e.Table.Rows[0].Cells)
		}
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	file := "testdata/records.txtar"
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(a.Files); i += 2 {
		in := a.Files[i]
		elements := parse(t, open(t, strings.TrimPrefix(filepath.Ext(in.Name), ".")), bytes.NewReader(in.Data))
		if got := tiled(t, elements); got != string(in.Data) {
			t.Errorf("%s: parsed text %q", in.Name, got)
		}
		got := dump(elements)
		if *update {
			a.Files[i+1].Data = []byte(got)
		} else if got != string(a.Files[i+1].Data) {
			t.Errorf("%s:\ngot:\n%s\nwant:\n%s", in.Name, got, a.Files[i+1].Data)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The scanner and encoding/json must agree on what is a record.
func TestAgreesWithEncodingJSON(t *testing.T) {
	lines := []string{
		`{}`, `[]`, `{"a":1}`, `{"a":[{},[],"x"]}`, `[1,2,3]`, `-0.5e+3`, `"x"`, `"\u4e2d\ud83d\ude00"`, `true`, ` null `,
		`{`, `}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[,1]`, `[1 2]`, `01`, `1.`, `.5`, `+1`, `1e`, `-`, `tru`, `"\x"`, `"\u12g4"`, `"`, `"\`, `{a:1}`, `[1}`, `{"a":1]`, `{"a" 1}`, `{}{}`, `nullx`, `{"a":1}}`,
	}
	p := open(t, "jsonl")
	for _, line := range lines {
		e := parse(t, p, strings.NewReader(line))
		if got := len(e) == 1 && e[0].Kind == connector.KindRecord; got != json.Valid([]byte(line)) {
			t.Errorf("%s: record is %v", line, got)
		}
	}
}

func TestLongLine(t *testing.T) {
	p := open(t, "jsonl")
	in := "{\"a\":1}\n{\"b\":\"" + strings.Repeat("汉字", 2_000_000) + "\"}\n\n{\"c\":3}"
	elements := parse(t, p, strings.NewReader(in))
	if tiled(t, elements) != in {
		t.Fatal("text changed")
	}
	for _, e := range elements {
		if len(e.Text) > 64<<10 {
			t.Fatalf("piece of %d bytes", len(e.Text))
		}
	}
	if last := elements[len(elements)-1]; last.Kind != connector.KindRecord || last.Table.FirstRow != 2 {
		t.Errorf("the records do not go on: %+v", last)
	}
}

func TestDepth(t *testing.T) {
	for _, in := range []string{strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<18), strings.Repeat("[", 1<<19) + strings.Repeat("]", 1<<19), strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)} {
		if tiled(t, parse(t, open(t, "json"), strings.NewReader(in))) != in || tiled(t, parse(t, open(t, "jsonl"), strings.NewReader(in))) != in {
			t.Error("text changed")
		}
	}
}

// A large member is divided, so that its records stand alone.
func TestDivided(t *testing.T) {
	item := `{"title":"` + strings.Repeat("x", 5000) + `"}`
	in := `{"version": 1, "data": {"items": [` + strings.Repeat(item+", ", 9) + item + `], "n": 10}}`
	elements := parse(t, open(t, "json"), strings.NewReader(in))
	if tiled(t, elements) != in {
		t.Fatal("text changed")
	}
	if len(elements) != 12 || elements[1].Table.Caption != "data.items" || elements[10].Table.FirstRow != 10 || elements[11].Table.Header[0][0] != "n" {
		t.Errorf("%d elements: %s", len(elements), dump(elements)[:200])
	}
}

func TestReadsDoNotMatter(t *testing.T) {
	p := open(t, "jsonl")
	in := "\n\n" + strings.Repeat("{\"a\":[1, 2]}\n \nbad\n\n", 40_000)
	want := dump(parse(t, p, strings.NewReader(in)))
	for _, r := range []io.Reader{iotest.OneByteReader(strings.NewReader(in)), iotest.DataErrReader(strings.NewReader(in))} {
		if dump(parse(t, p, r)) != want {
			t.Error("other elements")
		}
	}
}

func TestCancelAndReadError(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, kind := range []string{"json", "jsonl"} {
		p := open(t, kind)
		for _, err := range p.Parse(ctx, &connector.Document{Path: "a"}, strings.NewReader("{\"a\":1}\n")) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v, want a cancellation", kind, err)
			}
		}
		var failed error
		for _, err := range p.Parse(context.Background(), &connector.Document{Path: "a"}, iotest.ErrReader(io.ErrUnexpectedEOF)) {
			failed = err
		}
		if !errors.Is(failed, io.ErrUnexpectedEOF) {
			t.Errorf("%s: got %v, want the read error", kind, failed)
		}
	}
}

func TestSharedFiles(t *testing.T) {
	dir := shareddata.Dir(t)
	for file, least := range map[string]int{"zh_cmrc2018_cc-by-sa/cmrc2018_dev.json": 100, "fixtures/dialog_zh_kdconv_Apache2/film_dev.json": 100} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		elements := parse(t, open(t, "json"), bytes.NewReader(data))
		tiled(t, elements)
		if len(elements) < least {
			t.Errorf("%s: %d records", file, len(elements))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":[true,{"c":"\u4e2d\n"}]}`, "{\"a\":1}\n\n{\"a\":2}\nbad\n", `[{"a":"\ud83d"},[],{}]`, " [ 1 , 2 ] ", `{"":{"":""}}`} {
		f.Add([]byte(seed))
	}
	doc, lines := open(f, "json"), open(f, "jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		texts := [2]string{}
		for i, p := range []connector.Parser{doc, lines} {
			var elements []connector.Element
			for e, err := range p.Parse(context.Background(), &connector.Document{Path: "a"}, bytes.NewReader(data)) {
				if err != nil {
					if connector.ClassOf(err) != connector.ClassInvalid {
						t.Fatal(err)
					}
					return
				}
				elements = append(elements, e)
			}
			texts[i] = tiled(t, elements)
			if dump(elements) != dump(parse(t, p, iotest.OneByteReader(bytes.NewReader(data)))) {
				t.Fatal("not deterministic")
			}
			checkCells(t, elements)
		}
		if texts[0] != texts[1] {
			t.Fatal("two texts of one document")
		}
		trimmed := strings.Trim(texts[0], " \n\t")
		if json.Valid([]byte(trimmed)) && !strings.Contains(trimmed, "\n") {
			for e := range lines.Parse(context.Background(), &connector.Document{Path: "a"}, strings.NewReader(trimmed)) {
				if e.Kind != connector.KindRecord {
					t.Fatalf("%q is JSON but %s", trimmed, e.Kind)
				}
			}
		}
	})
}

// checkCells compares the decoded cells with encoding/json's.
func checkCells(t *testing.T, elements []connector.Element) {
	for _, e := range elements {
		var object map[string]any
		if e.Table == nil || len(e.Table.Header) == 0 || json.Unmarshal([]byte(e.Text), &object) != nil || strings.Contains(e.Text, `\`) {
			continue
		}
		for i, key := range e.Table.Header[0] {
			if s, ok := object[key].(string); ok && len(object) == len(e.Table.Header[0]) && s != e.Table.Rows[0].Cells[i] {
				t.Fatalf("cell %q is %q, want %q", key, e.Table.Rows[0].Cells[i], s)
			}
		}
	}
}

func BenchmarkLines(b *testing.B) {
	var in strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&in, "{\"id\": %d, \"name\": \"Somebody %d\", \"text\": \"Some text with \\\"quotes\\\" and more of it, 汉字。\", \"tags\": [\"a\", \"b\"], \"ok\": true}\n", i, i)
	}
	p := open(b, "jsonl")
	b.SetBytes(int64(in.Len()))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range p.Parse(context.Background(), &connector.Document{Path: "a.jsonl"}, strings.NewReader(in.String())) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
