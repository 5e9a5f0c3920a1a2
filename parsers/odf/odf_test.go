package odf

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

var update = flag.Bool("update", false, "write golden files anew")

const note = `<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body><text:p>Sentinelnote</text:p></text:note-body></text:note>`

func english(tb testing.TB) string {
	tb.Helper()
	body := `<text:tracked-changes><text:changed-region><text:deletion><office:change-info><dc:creator>Bob</dc:creator></office:change-info><text:p>Sentinelold</text:p></text:deletion></text:changed-region></text:tracked-changes>` +
		styled("Title", "The Sentineltitle") + `<text:table-of-content><text:index-body>` + p("Contents 1") + `</text:index-body></text:table-of-content>` + h(1, "First part") +
		p(`Some <text:span text:style-name="Hidden">Sentinelhidden</text:span>text<text:change-start/> added<text:change-end/>`+note+`<office:annotation><dc:creator>Ann</dc:creator><dc:date>2024</dc:date><text:p>Sentinelcomment</text:p></office:annotation> end.`) +
		list(` text:style-name="N"`, p("one")+list("", p("sub")), p("two")+p("more of two")) +
		`<table:table><table:table-header-rows>` + row(cell("", "Name"), cell("", "Age")) + `</table:table-header-rows>` + row(cell("", "Ann"), cell("", "31")) + row(cell("", "Bob"), cell("", "42")) + `</table:table>` +
		p(`<draw:frame><draw:image xlink:href="Pictures/a.png"/><svg:desc>Sentinelalt</svg:desc></draw:frame><draw:frame><draw:image xlink:href="Pictures/b.png"/></draw:frame>`)
	return packed(tb, "text", body)
}

func chinese(tb testing.TB) string {
	tb.Helper()
	return packed(tb, "text", h(1, "第一章　总则")+list(` text:style-name="C"`, p("合同的订立")+list("", p("要约与承诺")), p("合同的效力"))+
		`<table:table>`+row(cell("", "甲方"), cell("", "乙方"))+row(cell("", "北京公司"), cell("", "上海公司"))+`</table:table>`+p("本合同自签订之日起生效。<text:line-break/>一式两份。"))
}

func slides(tb testing.TB) string {
	tb.Helper()
	return packed(tb, "presentation", `<draw:page draw:name="page1">`+frame("footer", 0, 20, 5, 1, box(p("Sentinelfooter")))+frame("outline", 1, 5, 20, 10, box(list(` text:style-name="B"`, p("one")+list("", p("sub")), p("two"))))+
		frame("title", 1, 1, 20, 3, box(p("知识库")+p("建设方案")))+`<draw:custom-shape svg:x="1cm" svg:y="17cm" svg:width="5cm" svg:height="1cm"><text:p>a shape</text:p></draw:custom-shape>`+
		`<draw:g><draw:rect svg:x="12cm" svg:y="17cm" svg:width="5cm" svg:height="1cm"><text:p>right</text:p></draw:rect><draw:rect svg:x="7cm" svg:y="17cm" svg:width="4cm" svg:height="1cm"><text:p>left</text:p></draw:rect></draw:g>`+
		`<presentation:notes>`+frame("notes", 1, 10, 10, 10, box(p("Sentinelnote")+p("more")))+`</presentation:notes></draw:page>`+
		`<draw:page draw:style-name="off">`+frame("title", 1, 1, 20, 3, box(p("Sentinelhidden")))+`</draw:page>`+
		`<draw:page>`+frame("", 1, 1, 9, 3, `<table:table>`+row(cell("", "Name"), cell("", "Age"))+row(cell("", "Ann"), cell("", "31"))+`</table:table><draw:image xlink:href="x.svm"/>`)+`</draw:page>`)
}

// flatDocument is one XML file.
func flatDocument() string {
	return `<?xml version="1.0"?><office:document` + spaces + `>` + testMeta + testStyles + testMasters + `<office:body><office:text>` + h(1, "Flat") + p("text") +
		p(`<draw:frame><draw:object><math:math><math:mi>x</math:mi></math:math></draw:object></draw:frame>`) + `</office:text></office:body></office:document>`
}

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return fresh(t, nil) }, []parsertest.Case{
		{Name: "english", Input: english(t), Sentinels: []string{
			"Sentineltitle", "Sentinelold", "Sentinelhidden", "Sentinelnote", "Sentinelcomment", "Sentinelheader", "Sentinelalt", "Pictures/b.png", "Ann", "42", "Contents 1",
		}},
		{Name: "chinese", Input: chinese(t), Sentinels: []string{"总则", "要约与承诺", "上海公司"}},
		{Name: "slides", Input: slides(t), Sentinels: []string{"知识库建设方案", "Sentinelfooter", "Sentinelnote", "Sentinelhidden", "31"}},
		{Name: "flat", Input: flatDocument(), Sentinels: []string{"Flat", "Sentinelheader"}},
		{Name: "empty"},
	})
}

// TestGolden compares what documents become with testdata.
func TestGolden(t *testing.T) {
	for name, input := range map[string]string{"english": english(t), "chinese": chinese(t), "slides": slides(t), "flat": flatDocument()} {
		els, err := parsertest.Collect(context.Background(), fresh(t, nil), name+".odt", strings.NewReader(input))
		if err != nil {
			t.Fatal(err)
		}
		got := dump(els)
		file := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		for _, el := range els {
			if el.Kind == connector.KindDropped {
				continue
			}
			if props := el.Properties; props["title"] != "About it" || props["author"] != "Ann" || props["keywords"] != "a, b" || props["modified"] == nil {
				t.Errorf("%s: properties %v", name, props)
			}
			break
		}
	}
}

func TestLists(t *testing.T) {
	body := list(` text:style-name="N" xml:id="l1"`, p("a")+list("", p("b")+list("", p("c")), p("d")), p("e")) + p("between") + list(` text:style-name="N" text:continue-numbering="true"`, p("f")) +
		list(` text:style-name="N"`, p("again")) + list(` text:continue-list="l1" text:style-name="N"`, p("g")) + list(``, p("bullet")) +
		`<text:list text:style-name="N"><text:list-header><text:p>no number</text:p></text:list-header><text:list-item text:start-value="7"><text:p>seven</text:p></text:list-item></text:list>` +
		list(` text:style-name="N"`, h(2, "Heading in a list"))
	expect(t, parsed(t, packed(t, "text", body), nil),
		"list 1: 1. a⏎   a) b⏎      1.a.1 c⏎   b) d⏎2. e", "text: between", "list 1: 3. f", "list 1: 1. again", "list 1: 4. g", "list 1: - bullet", "text: no number", "list 1: 7. seven", "heading 2: 1. Heading in a list")
}

func TestInline(t *testing.T) {
	body := p("  a\n  b<text:s text:c=\"3\"/>c<text:tab/>d<text:line-break/>e <text:a xlink:href=\"x\">link</text:a><text:bookmark/> <text:date>today</text:date> ") +
		p(`<text:ruby><text:ruby-base>汉</text:ruby-base><text:ruby-text>hàn</text:ruby-text></text:ruby>字`) + styled("Preformatted_20_Text", "if x {") + styled("Preformatted_20_Text", `<text:s text:c="2"/>y()`) + styled("Preformatted_20_Text", "}") +
		styled("Quotations", "quoted") + `<text:section text:display="none">` + p("not shown") + `</text:section>`
	expect(t, parsed(t, packed(t, "text", body), nil),
		"text: a b   c\td⏎e link today", "text: 汉(hàn)字", "code: if x {⏎  y()⏎}", "quote: quoted", "dropped (hidden element): not shown")
}

func TestTables(t *testing.T) {
	body := `<table:table><table:table-header-rows>` + row(cell(` table:number-rows-spanned="2"`, "City"), cell(` table:number-columns-spanned="2"`, "People"), `<table:covered-table-cell/>`) +
		row(`<table:covered-table-cell/>`, cell("", "2023"), cell("", "2024")) + `</table:table-header-rows>` + row(cell("", "Rome"), cell(` table:number-columns-repeated="2"`, "1")) + `</table:table>`
	expect(t, parsed(t, packed(t, "text", body), nil), "table: | City | People | People |⏎| City | 2023 | 2024 |⏎| --- | --- | --- |⏎| Rome | 1 | 1 |")
}

func TestObjects(t *testing.T) {
	object := func(n string) string {
		return `<draw:frame><draw:object xlink:href="./Object ` + n + `"/><draw:image xlink:href="./ObjectReplacements/Object ` + n + `"/></draw:frame>`
	}
	math := `<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><mi>E</mi><mo>=</mo><mfrac><mrow><mi>m</mi><msup><mi>v</mi><mn>2</mn></msup></mrow><mn>2</mn></mfrac></mrow><annotation encoding="StarMath 5.0">E = {m v^2} over 2</annotation></semantics></math>`
	chart := `<office:document-content` + spaces + `><office:body><office:chart><chart:chart><chart:title><text:p>Sales</text:p></chart:title><table:table><table:table-header-rows>` + row(cell("", ""), cell("", "North")) + `</table:table-header-rows><table:table-rows>` +
		row(cell("", "Q1"), cell("", "4")) + row(cell("", "Q2"), cell("", "5")) + `</table:table-rows></table:table></chart:chart></office:chart></office:body></office:document-content>`
	body := p("where "+object("1")+" holds") + p(object("2")) + p(object("3")) + p(object("4")) + p(`anchor<draw:frame>`+box(p("in the box"))+`</draw:frame>`)
	expect(t, parsed(t, packed(t, "text", body, "Object 1/content.xml", math, "Object 2/content.xml", math, "Object 3/content.xml", chart), nil),
		`text: where $E = \frac{m v^{2}}{2}$ holds`, `math: $$E = \frac{m v^{2}}{2}$$`, "table: Sales⏎|  | North |⏎| --- | --- |⏎| Q1 | 4 |⏎| Q2 | 5 |", "dropped (embedded object without text): object Object 4", "text: anchor", "text: in the box")
}

func TestPages(t *testing.T) {
	body := p("one") + p("starts<text:soft-page-break/>ends") + `<text:soft-page-break/>` + p("three") + styled("New", "four")
	expect(t, parsed(t, packed(t, "text", body), nil), "text page 1: one", "text page 1-2: startsends", "text page 3: three", "text page 4: four")
}

func TestConfig(t *testing.T) {
	change := func(c *Config) { c.Notes, c.Comments, c.HiddenSlides = false, false, true }
	if got := parsed(t, slides(t), change); !strings.Contains(got, "heading 1 page 2: Sentinelhidden") || !strings.Contains(got, "dropped (hidden element): notes: Sentinelnote") {
		t.Error(got)
	}
	if got := parsed(t, english(t), change); !strings.Contains(got, "dropped (markup comment): Sentinelcomment") {
		t.Error(got)
	}
}
