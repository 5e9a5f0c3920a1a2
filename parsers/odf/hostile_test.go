package odf

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/internal/zipdoc/ziptest"
)

func deep(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }

// TestHostile: whatever is wrong with a document is one error that says so, or is left out; nothing panics.
func TestHostile(t *testing.T) {
	for _, c := range []struct{ name, input, says string }{
		{"no content", ziptest.Pack(t, "a.txt", "x"), "no content.xml"},
		{"another format", "%PDF-1.7 and so on", "no zip package"},
		{"encrypted", packed(t, "text", p("x"), "META-INF/manifest.xml", "<manifest:encryption-data/>"), "without a password"},
		{"malformed", packed(t, "text", "<text:p>x"), "malformed XML"},
		{"malformed flat", "<office:document>", "malformed XML"},
		{"spreadsheet", packed(t, "spreadsheet", ""), "spreadsheet"},
		{"nesting", packed(t, "text", deep("<text:section>", "</text:section>", 100_000)), "nested"},
		{"bomb", packed(t, "text", strings.Repeat(" ", 40<<20)), "zip bomb"},
		{"malformed object", packed(t, "text", p(`<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>`), "Object 1/content.xml", "<math"), "malformed XML"},
	} {
		_, err := parsertest.Collect(context.Background(), fresh(t, nil), "x.odt", strings.NewReader(c.input))
		if connector.ClassOf(err) != connector.ClassInvalid || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	good := english(t)
	for i := range 16 {
		if err := parsertest.CheckSound(fresh(t, nil), "x.odt", good[:len(good)*i/16]); err != nil {
			t.Error(err)
		}
	}
	for name, body := range map[string]string{
		"tables":   deep("<table:table><table:table-row><table:table-cell>"+p("x"), "</table:table-cell></table:table-row></table:table>", 3000),
		"lists":    deep("<text:list><text:list-item>"+p("x"), "</text:list-item></text:list>", 3000),
		"spans":    "<text:p>" + deep("<text:span>x", "</text:span>", 5000) + "</text:p>",
		"frames":   deep("<text:p><draw:frame><draw:text-box>"+p("x"), "</draw:text-box></draw:frame></text:p>", 2000),
		"shapes":   deep("<draw:custom-shape>"+p("x"), "</draw:custom-shape>", 5000),
		"groups":   deep("<draw:g>", "</draw:g>", 5000),
		"notes":    deep("<text:p>x<text:note><text:note-body>", "</text:note-body></text:note></text:p>", 2000),
		"comments": deep("<text:p>x<office:annotation>", "</office:annotation></text:p>", 3000),
		"contents": deep("<text:table-of-content>"+p("x"), "</text:table-of-content>", 5000),
		"math":     "<text:p><draw:frame><draw:object><math:math>" + deep("<math:mfrac><math:mi>x</math:mi>", "</math:mfrac>", 3000) + "</math:math></draw:object></draw:frame></text:p>",
		"repeated": `<table:table><table:table-row table:number-rows-repeated="2000000000">` + cell(` table:number-columns-repeated="2000000000"`, "x") + cell(` table:number-columns-spanned="2000000000"`, "x") + `</table:table-row></table:table>`,
		"spaces":   `<text:p>a<text:s text:c="2000000000"/>b</text:p>`,
		"numbers":  list(` text:style-name="N"`, p("x")) + `<text:list text:style-name="N"><text:list-item text:start-value="2147483647">` + p("x") + `</text:list-item><text:list-item>` + p("y") + `</text:list-item></text:list><text:h text:outline-level="-3">x</text:h><text:h text:outline-level="99">x</text:h>`,
		"places":   `<draw:frame svg:x="1e300cm" svg:y="NaNcm" svg:width="-5cm">` + box(p("x")) + `</draw:frame>`,
		"laughs":   p("&b; &c;"),
	} {
		for _, kind := range []string{"text", "presentation"} {
			if kind == "presentation" {
				body = "<draw:page>" + body + "</draw:page>"
			}
			doc := packed(t, kind, body)
			if err := parsertest.CheckSound(fresh(t, nil), "x.odt", doc); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := parsertest.Collect(context.Background(), fresh(t, nil), "x.odt", strings.NewReader(doc)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestCycles: styles that are based on each other, and an object that holds itself, end nothing.
func TestCycles(t *testing.T) {
	body := `<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>`
	self := `<office:document-content` + spaces + `><office:body><office:chart><table:table>` + row(`<table:table-cell>`+body+`<text:p>x</text:p></table:table-cell>`, cell("", "y")) + `</table:table></office:chart></office:body></office:document-content>`
	styles := `<office:document-styles` + spaces + `><office:styles><style:style style:name="A" style:parent-style-name="B"/><style:style style:name="B" style:parent-style-name="A"/></office:styles></office:document-styles>`
	if got := parsed(t, packed(t, "text", styled("A", "text")+body, "Object 1/content.xml", self, "styles.xml", styles), nil); !strings.Contains(got, "text: text\n") || !strings.Contains(got, "table: | x | y |\n") {
		t.Error(got)
	}
}

// fixtures are the documents among the shared data.
func fixtures(tb testing.TB) map[string]string {
	tb.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(filepath.Join(shareddata.Dir(tb), "fixtures"), func(path string, _ fs.DirEntry, err error) error {
		switch filepath.Ext(path) {
		case ".odt", ".odp", ".fodt":
			var data []byte
			data, err = os.ReadFile(path)
			out[filepath.Base(path)] = string(data)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// TestFixtures holds real documents to the contract.
func TestFixtures(t *testing.T) {
	for name, data := range fixtures(t) {
		if err := parsertest.CheckAll(fresh(t, nil), name, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzBody(f *testing.F) {
	f.Add(h(1, "x") + list(` text:style-name="N"`, p("a"), p("b")) + `<table:table>` + row(cell("", "a"), `<table:covered-table-cell/>`) + `</table:table>`)
	f.Add(p(`x` + note + `<text:s/><draw:frame svg:x="1cm">` + box(p("y")) + `</draw:frame>`))
	f.Add(`<draw:page>` + frame("title", 1, 2, 3, 4, box(p("t"))) + `<presentation:notes/></draw:page>`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, kind := range []string{"text", "presentation"} {
			if err := parsertest.CheckSound(fresh(t, nil), "x.odt", packed(t, kind, body)); err != nil {
				t.Error(err)
			}
		}
	})
}

// BenchmarkODF measures a text from its bytes to its elements, per byte of its XML.
func BenchmarkODF(b *testing.B) {
	var body strings.Builder
	for i := range 10_000 {
		if i%20 == 0 {
			body.WriteString(h(1, fmt.Sprintf("Chapter %d", i)))
		}
		body.WriteString(styled("P1", strings.Repeat(`<text:span text:style-name="T1">Some words of a sentence that is written in this span, 以及中文。</text:span><text:s/>`, 4)))
		if i%50 == 0 {
			body.WriteString(`<table:table>` + row(cell("", "Name"), cell("", "Age")) + row(cell("", "Ann"), cell("", "31")) + `</table:table>`)
		}
	}
	doc := packed(b, "text", body.String())
	parser := fresh(b, nil)
	b.SetBytes(int64(body.Len()))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range parser.Parse(context.Background(), parsertest.Document("x.odt", len(doc)), bytes.NewReader([]byte(doc))) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
