package strategies

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/parsers/delimited"
	"github.com/kbsync/kbsync/parsers/jsondoc"
)

func openTable(tb testing.TB, change func(*TableConfig)) connector.Strategy {
	tb.Helper()
	c := tableDefaults()
	if change != nil {
		change(&c)
	}
	return mustOpen(tb, Table(), &c)
}

func csvChunks(tb testing.TB, text string, change func(*TableConfig)) []connector.Chunk {
	tb.Helper()
	return lawful(tb, openTable(tb, change), parsedBy(tb, delimited.Plugin(), "x.csv", text))
}

// lawful cuts elements after the suite has checked the laws.
func lawful(tb testing.TB, s connector.Strategy, els []connector.Element) []connector.Chunk {
	tb.Helper()
	for _, err := range strategytest.Check(s, strategytest.Input{Elements: els}) {
		tb.Error(err)
	}
	return lawfulChunks(tb, s, els)
}

const people = "id,name,city\n1,Ann,Paris\n2,\"Li, Wei\",\"Bei\njing\"\n3,张伟,\n4,Bo,Oslo\n"

func TestTableModes(t *testing.T) {
	for mode, want := range map[string]string{
		"rows":     "id: 1; name: Ann; city: Paris\nid: 2; name: Li, Wei; city: Bei\njing\nid: 3; name: 张伟\nid: 4; name: Bo; city: Oslo",
		"markdown": "| id | name | city |\n| --- | --- | --- |\n| 1 | Ann | Paris |\n| 2 | Li, Wei | Bei\njing |\n| 3 | 张伟 |  |\n| 4 | Bo | Oslo |",
		"json":     `{"id": "1", "name": "Ann", "city": "Paris"}` + "\n" + `{"id": "2", "name": "Li, Wei", "city": "Bei\njing"}` + "\n" + `{"id": "3", "name": "张伟", "city": ""}` + "\n" + `{"id": "4", "name": "Bo", "city": "Oslo"}`,
		"html":     "<table>\n<thead><tr><th>id</th><th>name</th><th>city</th></tr></thead>\n<tbody>\n<tr><td>1</td><td>Ann</td><td>Paris</td></tr>\n<tr><td>2</td><td>Li, Wei</td><td>Bei\njing</td></tr>\n<tr><td>3</td><td>张伟</td><td></td></tr>\n<tr><td>4</td><td>Bo</td><td>Oslo</td></tr>\n</tbody>\n</table>",
	} {
		chunks := csvChunks(t, people, func(c *TableConfig) { c.Mode = mode })
		if len(chunks) != 1 || chunks[0].EmbedText() != want || !chunks[0].Rendered {
			t.Errorf("%s: %+v", mode, chunks)
		}
	}
}

// A quoted cell with a line end stays in its record, wherever the cut falls.
func TestTableQuotedLineEnd(t *testing.T) {
	for _, mode := range []string{"rows", "markdown", "json", "html"} {
		for size := 60; size < 200; size += 7 {
			csvChunks(t, people+people[13:], func(c *TableConfig) { c.Mode, c.MaxChars = mode, size })
		}
	}
}

func TestTableSixtyRows(t *testing.T) {
	text := "name,value\n"
	for i := range 60 {
		text += fmt.Sprintf("row %d,value of row %d\n", i, i)
	}
	header := "| name | value |\n| --- | --- |\n"
	next := 1
	for _, c := range csvChunks(t, text, func(c *TableConfig) { c.Mode, c.MaxChars = "markdown", 300 }) {
		if c.Context != header || c.Metadata["row_start"] != next {
			t.Errorf("context %q, rows from %v, want %d", c.Context, c.Metadata["row_start"], next)
		}
		next = c.Metadata["row_end"].(int) + 1
	}
	if next != 61 {
		t.Errorf("rows up to %d", next-1)
	}
}

func TestTableRowsPerChunk(t *testing.T) {
	chunks := csvChunks(t, people, func(c *TableConfig) {
		c.RowsPerChunk, c.Template, c.Separator = 2, "{header}：{value}", "；"
	})
	if got := texts(chunks); !reflect.DeepEqual(got, []string{"id：1；name：Ann；city：Paris\nid：2；name：Li, Wei；city：Bei\njing", "id：3；name：张伟\nid：4；name：Bo；city：Oslo"}) {
		t.Errorf("%q", got)
	}
}

// A row over the cap is cut between cells, below its key; a cell over the cap makes the row cut as it stands.
func TestTableWideRows(t *testing.T) {
	text := "id,a,b,c\n7,first cell of it,second cell of it,third cell of it\n8,x,y,z\n"
	chunks := csvChunks(t, text, func(c *TableConfig) { c.MaxChars = 40 })
	if got := texts(chunks); !reflect.DeepEqual(got, []string{"id: 7; a: first cell of it", "b: second cell of it", "c: third cell of it", "id: 8; a: x; b: y; c: z"}) {
		t.Errorf("%q", got)
	}
	if chunks[1].Context != "id: 7\n" || chunks[1].ForcedSplit {
		t.Errorf("%+v", chunks[1])
	}
	text = "id,text\n7," + strings.Repeat("many words ", 30) + "\n8,few words\n"
	chunks = csvChunks(t, text, func(c *TableConfig) { c.MaxChars = 80 })
	if c := chunks[1]; c.Context != "id,text\nid: 7\n" || !c.ForcedSplit || c.Rendered {
		t.Errorf("%+v", c)
	}
}

func TestTableRecords(t *testing.T) {
	lines := `{"id": 1, "text": "你好", "tags": ["a", "b"]}` + "\n" + `{"id": 2, "text": "line\nend"}` + "\n\n" + `not json` + "\n" + `{"id": 3}` + "\n"
	els := parsedBy(t, jsondoc.LinesPlugin(), "x.jsonl", lines)
	chunks := lawful(t, openTable(t, nil), els)
	if got := texts(chunks); !reflect.DeepEqual(got, []string{"id: 1; text: 你好; tags: [\"a\",\"b\"]\nid: 2; text: line\nend", "not json", "id: 3"}) {
		t.Errorf("%q", got)
	}
	raw := lawful(t, openTable(t, func(c *TableConfig) { c.Mode = "json" }), els)
	if got := texts(raw); !reflect.DeepEqual(got, []string{strings.TrimSpace(lines)}) {
		t.Errorf("%q", got)
	}
}

// A row inserted at the top of a long table changes the chunks near it, not all.
func TestTableEdits(t *testing.T) {
	var b strings.Builder
	b.WriteString("name,value\n")
	for i := range 20_000 {
		fmt.Fprintf(&b, "row %d,value %d of the row\n", i, i*i%9973)
	}
	text := b.String()
	s := openTable(t, func(c *TableConfig) { c.MaxTokens = 200 })
	before := parsedBy(t, delimited.Plugin(), "x.csv", text)
	after := parsedBy(t, delimited.Plugin(), "x.csv", strings.Replace(text, "\n", "\nnew row,new value\n", 1))
	if n := freshChunks(t, s, before, after); n > 5 {
		t.Errorf("%d new chunks after one row at the top", n)
	}
}

// Table, code and text in one file: all there, in order.
func TestTableMixed(t *testing.T) {
	text := "# A\n\nBefore.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nx := 1\n```\n\nBetween.\n\n| c |\n|---|\n| 3 |\n\nAfter.\n"
	for mode, want := range map[string][]string{
		"rows":     {"# A\n\nBefore.", "a: 1; b: 2", "```go\nx := 1\n```\n\nBetween.", "c: 3", "After."},
		"markdown": {strings.TrimSpace(text)},
	} {
		if got := texts(lawful(t, openTable(t, func(c *TableConfig) { c.Mode = mode }), markdownElements(t, text))); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q", mode, got)
		}
	}
}

func TestTableData(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddata.Dir(t), "fixtures/docling/csv/sources/*.csv"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		els := parsedBy(t, delimited.Plugin(), f, string(b))
		for _, mode := range []string{"rows", "markdown", "html", "json"} {
			for _, size := range []int{0, 200, 60} {
				lawful(t, openTable(t, func(c *TableConfig) { c.Mode, c.MaxChars = mode, size }), els)
			}
		}
	}
}
