package strategies

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	xhtml "golang.org/x/net/html"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/parsers/delimited"
	"github.com/kbsync/kbsync/parsers/html"
	"github.com/kbsync/kbsync/parsers/jsondoc"
)

var tableModes = []string{"rows", "markdown", "html", "json"}

// TestTableGolden compares chunks with testdata/tables: the document's name says mode, cap in characters and, before the mode, template.
func TestTableGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/tables/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil || len(ar.Files) == 0 {
				t.Fatal(err)
			}
			in := ar.Files[0]
			parts := strings.Split(strings.TrimSuffix(in.Name, filepath.Ext(in.Name)), "-")
			size, err := strconv.Atoi(parts[2])
			if err != nil {
				t.Fatal(err)
			}
			plugin := map[string]connector.ParserPlugin{".csv": delimited.Plugin(), ".html": html.Plugin(), ".json": jsondoc.Plugin()}[filepath.Ext(in.Name)]
			s := openTable(t, func(c *TableConfig) { c.Template, c.Mode, c.MaxChars = parts[0], parts[1], size })
			got := showChunks(lawful(t, s, parsedBy(t, plugin, in.Name, string(in.Data))))
			if updating() {
				ar.Files = append(ar.Files[:1], txtar.File{Name: "chunks", Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(ar.Files) < 2 || got != string(ar.Files[1].Data) {
				t.Errorf("run with -update after a look at\n%s", got)
			}
		})
	}
}

// manyRows is a table with a number of rows.
func manyRows(n int) string {
	text := "name,value\n"
	for i := range n {
		text += fmt.Sprintf("row %d,value of row %d\n", i, i)
	}
	return text
}

// 3,500 rows: the number of chunks follows the cap, whatever the mode.
func TestTableCapCounts(t *testing.T) {
	text := manyRows(3500)
	for _, mode := range tableModes {
		last := 0
		for _, size := range []int{2000, 1000, 500, 250} {
			n := len(csvChunks(t, text, func(c *TableConfig) { c.Mode, c.MaxChars = mode, size }))
			if last > 0 && 10*n < 18*last {
				t.Errorf("%s: %d chunks at %d characters, %d at twice that", mode, n, size, last)
			}
			last = n
		}
	}
}

// Line ends of every kind make rows: \r alone too.
func TestTableLineEnds(t *testing.T) {
	want := texts(csvChunks(t, people, nil))
	for _, end := range []string{"\r", "\r\n"} {
		if got := texts(csvChunks(t, strings.ReplaceAll(people, "\n", end), nil)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q", end, got)
		}
	}
}

// A table below a long path of headings: the headings count, the rows stay whole.
func TestTableBelowHeadings(t *testing.T) {
	doc := "# " + strings.Repeat("A long title ", 9) + "\n\n## " + strings.Repeat("一个长标题", 12) + "\n\n| name | value |\n|---|---|\n"
	for i := range 40 {
		doc += fmt.Sprintf("| row %d | value of row %d |\n", i, i)
	}
	for _, mode := range tableModes {
		for size := 80; size < 400; size += 40 {
			for _, c := range lawful(t, openTable(t, func(c *TableConfig) { c.Mode, c.MaxChars = mode, size }), markdownElements(t, doc)) {
				if c.ForcedSplit || strings.Count(c.Text, "| row") != strings.Count(c.Text, "| value of") {
					t.Errorf("%s, %d: a row is cut: %q", mode, size, c.Text)
				}
			}
		}
	}
}

// A header over the cap: it is a chunk of its own once, its names are shortened in the pieces, which say so; no row is lost.
func TestTableHeaderOverCap(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("a very long name ", 10))
	text := "id," + long + ",c\n" + strings.Repeat("1,2,3\n", 5)
	for _, mode := range tableModes {
		chunks := csvChunks(t, text, func(c *TableConfig) { c.Mode, c.MaxChars = mode, 200 })
		header, rows := "", 0
		for _, c := range chunks {
			if !c.Rendered {
				header += c.Text + " "
				continue
			}
			rows++
			if c.Metadata["header_shortened"] != true {
				t.Errorf("%s: %v does not say that its header is shortened", mode, c.Metadata)
			}
		}
		if !strings.Contains(header, "id,a very long name") || strings.Count(header, "a very long name") != 10 || rows == 0 {
			t.Errorf("%s: %d pieces, header %q", mode, rows, header)
		}
	}
	// Many columns, none of them long.
	names, values := "id", "7"
	for i := range 60 {
		names, values = names+fmt.Sprintf(",column %d", i), values+fmt.Sprintf(",value %d", i)
	}
	for _, mode := range tableModes {
		columns := 0
		for _, c := range csvChunks(t, names+"\n"+values+"\n"+strings.Replace(values, "7", "8", 1)+"\n", func(c *TableConfig) { c.Mode, c.MaxChars = mode, 200 }) {
			if c.Rendered && c.Metadata["row_start"] == 1 {
				if c.Metadata["column_start"] != columns+1 {
					t.Errorf("%s: columns from %v, want %d", mode, c.Metadata["column_start"], columns+1)
				}
				columns = c.Metadata["column_end"].(int)
			}
			if c.Rendered && !strings.Contains(c.EmbedText(), "7") && !strings.Contains(c.EmbedText(), "8") {
				t.Errorf("%s: no key in %q", mode, c.EmbedText())
			}
		}
		if columns != 61 {
			t.Errorf("%s: %d columns", mode, columns)
		}
	}
}

// Every piece is sound in its syntax, whatever the size.
func TestTablePieces(t *testing.T) {
	text := "id,first <name>,note & more,\"a|b\"\n"
	for i := range 12 {
		text += fmt.Sprintf("%d,name of number %d,\"%s\",<b>%d\n", i, i, strings.Repeat("note ", i%7), i)
	}
	for size := 60; size < 500; size += 37 {
		for _, mode := range tableModes {
			for _, c := range csvChunks(t, text, func(c *TableConfig) { c.Mode, c.MaxChars = mode, size }) {
				if c.Rendered {
					sound(t, mode, &c)
				}
			}
		}
	}
}

// sound checks a piece's syntax.
func sound(t *testing.T, mode string, c *connector.Chunk) {
	t.Helper()
	text := c.EmbedText()
	switch mode {
	case "markdown":
		lines := strings.Split(text, "\n")
		if len(lines) < 3 || !strings.HasPrefix(lines[1], "| ---") || strings.Count(lines[1], "---") == 0 {
			t.Errorf("no header and separator in %q", text)
		}
	case "html":
		depth := map[string]int{}
		z := xhtml.NewTokenizer(strings.NewReader(text))
		for kind := z.Next(); kind != xhtml.ErrorToken; kind = z.Next() {
			name, _ := z.TagName()
			switch kind {
			case xhtml.StartTagToken:
				depth[string(name)]++
			case xhtml.EndTagToken:
				depth[string(name)]--
			}
		}
		for name, n := range depth {
			if n != 0 || name == "b" {
				t.Errorf("<%s> is open in %q", name, text)
			}
		}
	case "json":
		for line := range strings.SplitSeq(text, "\n") {
			if !json.Valid([]byte(line)) {
				t.Errorf("no JSON: %q", line)
			}
		}
	}
}

// The caption stands above the first rows, and above later ones only if it takes little; nothing stands between header and separator.
func TestTableCaption(t *testing.T) {
	page := func(caption string) string {
		return "<p>Before.</p><table><caption>" + caption + "</caption><tr><th>name</th><th>value</th></tr>" + strings.Repeat("<tr><td>a name</td><td>a value</td></tr>", 30) + "</table><p>After.</p>"
	}
	for caption, times := range map[string]string{"Prices": "all", "Prices of all goods in euros": "first", strings.Repeat("A caption that is long. ", 8): "text"} {
		for _, mode := range tableModes {
			chunks := lawful(t, openTable(t, func(c *TableConfig) { c.Mode, c.MaxChars = mode, 240 }), parsedBy(t, html.Plugin(), "x.html", page(caption)))
			rows, shown := 0, 0
			for _, c := range chunks {
				if strings.Contains(c.Context, "\n\n") {
					t.Errorf("%s: a blank line in the context %q", mode, c.Context)
				}
				if strings.Contains(c.Text, "a name") {
					rows++
				}
				if strings.Contains(c.EmbedText(), strings.TrimSpace(caption)) {
					shown++
				}
			}
			if markdown := mode == "markdown"; markdown && times != "text" { // the parser's own table
				continue
			}
			if want := map[string]int{"all": rows, "first": 1, "text": 1}[times]; shown != want {
				t.Errorf("%s, %s: %d of %d chunks show the caption, want %d", mode, times, shown, rows, want)
			}
		}
	}
}

// Templates by name, and of one's own.
func TestTableTemplates(t *testing.T) {
	text := "姓名,年龄\n张三,30\n李四,25\n"
	for _, c := range []struct{ template, record, separator, want string }{
		{"en", "", "", "姓名: 张三; 年龄: 30\n姓名: 李四; 年龄: 25"},
		{"zh", "", "", "数据记录: 姓名=张三; 年龄=30\n数据记录: 姓名=李四; 年龄=25"},
		{"zh", "{cells}。", "，", "姓名=张三，年龄=30。\n姓名=李四，年龄=25。"},
		{"[{header}] {value}", "* {cells}", " ", "* [姓名] 张三 [年龄] 30\n* [姓名] 李四 [年龄] 25"},
	} {
		chunks := csvChunks(t, text, func(t *TableConfig) {
			t.Template, t.Record = c.template, c.record
			if c.separator != "" {
				t.Separator = c.separator
			}
		})
		if len(chunks) != 1 || chunks[0].Text != c.want {
			t.Errorf("%s: %q", c.template, texts(chunks))
		}
	}
	for _, c := range []TableConfig{{Template: "fr"}, {Template: "{value}{value}"}, {Record: "x"}, {Mode: "xml"}, {RowsPerChunk: -1}} {
		if c.Validate() == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// The key is the first column that tells rows apart.
func TestTableKeyColumn(t *testing.T) {
	text := "kind,code,text\n" + "a,x1," + strings.Repeat("word ", 8) + "\na,x2," + strings.Repeat("word ", 30) + "\n"
	var keys []string
	for _, c := range csvChunks(t, text, func(c *TableConfig) { c.MaxChars = 80 }) {
		if c.Metadata["row_start"] == 2 && c.Context != "" {
			keys = append(keys, c.Context)
		}
	}
	if len(keys) == 0 || !strings.Contains(keys[len(keys)-1], "code: x2\n") {
		t.Errorf("%q", keys)
	}
}

// Records of a JSON document are rows in every mode.
func TestTableJSONRecords(t *testing.T) {
	doc := `[{"id": 1, "姓名": "张三"}, {"id": 2, "姓名": "李四"}, {"name": "Bo"}]`
	for mode, want := range map[string]string{
		"rows":     "id: 1; 姓名: 张三\nid: 2; 姓名: 李四\nname: Bo",
		"markdown": "| id | 姓名 |\n| --- | --- |\n| 1 | 张三 |\n| 2 | 李四 |\n| name |\n| --- |\n| Bo |",
		"html":     "<table>\n<thead><tr><th>id</th><th>姓名</th></tr></thead>\n<tbody>\n<tr><td>1</td><td>张三</td></tr>\n<tr><td>2</td><td>李四</td></tr>\n</tbody>\n</table>\n<table>\n<thead><tr><th>name</th></tr></thead>\n<tbody>\n<tr><td>Bo</td></tr>\n</tbody>\n</table>",
		"json":     doc,
	} {
		var got []string
		for _, c := range lawful(t, openTable(t, func(c *TableConfig) { c.Mode = mode }), parsedBy(t, jsondoc.Plugin(), "x.json", doc)) {
			got = append(got, c.EmbedText())
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s: %q", mode, got)
		}
	}
}

// FuzzTable cuts any text as CSV.
func FuzzTable(f *testing.F) {
	f.Add(people, uint8(40), uint8(0))
	f.Add(",2023,,2024,\nRegion,Q1,Q2,Q1,Q2\n北,1,2,3,4\n", uint8(20), uint8(1))
	f.Add("id,"+strings.Repeat("long name ", 20)+"\n1,\"a\nb\"\n,\n", uint8(60), uint8(2))
	f.Add("a;b\r1;<b>&\r", uint8(9), uint8(3))
	f.Add(strings.Repeat("0", 40)+"\u00a0", uint8(')'), uint8(0x82)) // other blank space behind a row
	f.Fuzz(func(t *testing.T, text string, size, how uint8) {
		if len(text) > 4096 || size < 4 || strings.ContainsRune(text, 0) {
			return
		}
		p, err := delimited.Plugin().Open(t.Context(), delimited.Plugin().Config(), connector.Env{})
		if err != nil {
			t.Fatal(err)
		}
		var els []connector.Element
		for el, err := range p.Parse(t.Context(), &connector.Document{Path: "x.csv"}, strings.NewReader(text)) {
			if err != nil {
				return
			}
			els = append(els, el)
		}
		s := openTable(t, func(c *TableConfig) {
			c.Mode, c.MaxChars, c.MinChars = tableModes[how%4], int(size), int(how)%20
			c.RowsPerChunk, c.Template = int(how)%3, []string{"en", "zh"}[how/4%2]
		})
		in := strategytest.Input{Elements: els}
		chunks, err := strategytest.Collect(s, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range strategytest.Laws(s.Info(), in, chunks) {
			t.Error(err)
		}
	})
}
