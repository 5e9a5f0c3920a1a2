package ods

import (
	"archive/zip"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

var update = flag.Bool("update", false, "write golden files anew")

func fresh(tb testing.TB, c Config) connector.Parser {
	tb.Helper()
	p, err := Plugin().Open(context.Background(), &c, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

const (
	head = `<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/">` +
		`<office:automatic-styles><style:style style:name="ta1"><style:table-properties table:display="true"/></style:style><style:style style:name="ta2"><style:table-properties table:display="false"/></style:style></office:automatic-styles><office:body><office:spreadsheet>`
	foot = `</office:spreadsheet></office:body></office:document-content>`
)

// packed is a spreadsheet whose sheets are given.
func packed(tb testing.TB, tables string, more ...string) string {
	tb.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	parts := append([]string{"mimetype", "application/vnd.oasis.opendocument.spreadsheet", "content.xml", head + tables + foot,
		"meta.xml", `<m xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:meta="u"><meta><dc:title>Sentineltitle</dc:title><meta:initial-creator>Ann</meta:initial-creator></meta></m>`}, more...)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(parts[i+1])); err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func cell(text string) string {
	return `<table:table-cell office:value-type="string"><text:p>` + text + `</text:p></table:table-cell>`
}

func rows(all ...[]string) string {
	var b strings.Builder
	for _, r := range all {
		b.WriteString(`<table:table-row>`)
		for _, c := range r {
			b.WriteString(cell(c))
		}
		b.WriteString(`</table:table-row>`)
	}
	return b.String()
}

const emptyRow = `<table:table-row><table:table-cell table:number-columns-repeated="16384"/></table:table-row>`

func english() string {
	return `<table:table table:name="Stock" table:style-name="ta1"><table:table-column table:number-columns-repeated="4"/>` +
		rows([]string{"Stock report"}) + emptyRow +
		`<table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>Item</text:p></table:table-cell><table:table-cell table:number-columns-spanned="2"><text:p>Store</text:p></table:table-cell><table:covered-table-cell/></table:table-row>` +
		`<table:table-row><table:covered-table-cell/>` + cell("east") + cell("west") + `</table:table-row>` +
		`<table:table-row>` + cell("sentinelbolt") + `<table:table-cell office:value-type="float" office:value="1200"><text:p>1,200</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="7"/></table:table-row>` +
		`<table:table-row><table:table-cell><office:annotation><dc:creator>Bob</dc:creator><dc:date>2024-01-01</dc:date><text:p>sentinelnote</text:p></office:annotation><text:p>a<text:s text:c="3"/>b</text:p><text:p>second "line"</text:p></table:table-cell>` +
		`<table:table-cell table:number-columns-repeated="2" office:value-type="float" office:value="5"><text:p>5</text:p></table:table-cell></table:table-row>` +
		`<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>` +
		`<table:table table:name="Secret" table:style-name="ta2">` + rows([]string{"sentinelhidden"}) + `</table:table>`
}

func chinese() string {
	return `<table:table table:name="库存">` + rows([]string{"二〇二四年库存统计"}, []string{"品名", "仓库", "数量"}, []string{"螺栓", "上海", "120"}, []string{"螺母", "杭州", "80"}) + emptyRow +
		emptyRow + rows([]string{"数据来自仓储部门。"}) + `</table:table>`
}

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return fresh(t, defaults()) }, []parsertest.Case{
		{Name: "english", Input: packed(t, english(), "Pictures/1.png", "x"), Sentinels: []string{"sentinelbolt", "sentinelnote", "Secret", "1,200", "1.png"}},
		{Name: "chinese", Input: packed(t, chinese()), Sentinels: []string{"二〇二四年库存统计", "仓储部门"}},
		{Name: "empty"},
	})
}

// TestGolden compares what spreadsheets become with testdata.
func TestGolden(t *testing.T) {
	for name, data := range map[string]string{"english": packed(t, english()), "chinese": packed(t, chinese())} {
		els, err := parsertest.Collect(context.Background(), fresh(t, defaults()), "x.ods", strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, e := range els {
			fmt.Fprintf(&b, "== %s %d %q", e.Kind, e.Level, e.Title)
			if e.Table != nil {
				fmt.Fprintf(&b, " table %d of %q, header %q", e.Table.ID, e.Table.Sheet, e.Table.Header)
			}
			fmt.Fprintf(&b, " %v %s\n%s\n", e.Properties, e.Reason, strings.TrimRight(e.Text, "\n"))
		}
		file := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != b.String() {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}

// Hidden sheets are read where that is asked for.
func TestHidden(t *testing.T) {
	c := defaults()
	c.Hidden = true
	els, err := parsertest.Collect(context.Background(), fresh(t, c), "x.ods", strings.NewReader(packed(t, english())))
	if err != nil || !strings.Contains(parsertest.Text(els), "sentinelhidden") {
		t.Errorf("hidden sheets are not read: %v", err)
	}
}

// Repetitions are bounded: a few bytes that stand for 17 thousand million filled cells give a few megabytes of text.
func TestRepeated(t *testing.T) {
	row := `<table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"><text:p>x</text:p></table:table-cell></table:table-row>`
	els, err := parsertest.Collect(context.Background(), fresh(t, defaults()), "x.ods", strings.NewReader(packed(t, `<table:table table:name="T">`+strings.Repeat(row, 50)+`</table:table>`)))
	if size := len(parsertest.Text(els)); err != nil || size > 4*maxRepeated {
		t.Errorf("%d bytes, %v", size, err)
	}
	if err := parsertest.CheckElements(els); err != nil {
		t.Error(err)
	}
}

// Files that cannot be read say why.
func TestErrors(t *testing.T) {
	whole := packed(t, english())
	small := defaults()
	small.MaxUnpacked = 1 << 20
	for _, c := range []struct{ name, data, want string }{
		{"truncated", whole[:len(whole)/2], "cut short"},
		{"encrypted", packed(t, "", "META-INF/manifest.xml", `<m><encryption-data/></m>`), "encrypted"},
		{"bomb", packed(t, strings.Repeat(" ", 2<<20)), "max_unpacked"},
		{"deep", packed(t, `<table:table table:name="T">`+strings.Repeat("<text:p>", 1000)), "nested"},
		{"xml", packed(t, `<table:table table:name="T"><table:table-row>`), "content.xml"},
	} {
		_, err := parsertest.Collect(context.Background(), fresh(t, small), "x.ods", strings.NewReader(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) || connector.ClassOf(err) != connector.ClassInvalid {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzODS(f *testing.F) {
	f.Add(english())
	f.Add(chinese())
	f.Fuzz(func(t *testing.T, tables string) {
		if err := parsertest.CheckSound(fresh(t, defaults()), "x.ods", packed(t, tables)); err != nil {
			t.Error(err)
		}
	})
}
