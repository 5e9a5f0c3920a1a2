package docx

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

const testStyles = `<w:style w:type="paragraph" w:default="1" w:styleId="a"><w:name w:val="Normal"/></w:style>` +
	`<w:style w:type="paragraph" w:styleId="1"><w:name w:val="heading 1"/><w:basedOn w:val="a"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>` +
	`<w:style w:type="paragraph" w:styleId="2"><w:name w:val="heading 2"/><w:basedOn w:val="a"/></w:style>` +
	`<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="My Chapter"/><w:basedOn w:val="2"/></w:style>` +
	`<w:style w:type="paragraph" w:styleId="cn3"><w:name w:val="标题 3"/></w:style>` +
	`<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>` +
	`<w:style w:type="paragraph" w:styleId="TOC1"><w:name w:val="toc 1"/></w:style>` +
	`<w:style w:type="paragraph" w:styleId="Q"><w:name w:val="Quote"/></w:style>` +
	`<w:style w:type="paragraph" w:styleId="Code"><w:name w:val="Source Code"/></w:style>` +
	`<w:style w:type="paragraph" w:styleId="LB"><w:name w:val="List Bullet"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>` +
	`<w:style w:type="character" w:styleId="H"><w:name w:val="Secret"/><w:rPr><w:vanish/></w:rPr></w:style>`

func lvl(i, format, text, more string) string {
	return `<w:lvl w:ilvl="` + i + `"><w:start w:val="1"/><w:numFmt w:val="` + format + `"/><w:lvlText w:val="` + text + `"/>` + more + `</w:lvl>`
}

var testNumbering = `<w:abstractNum w:abstractNumId="0">` + lvl("0", "decimal", "%1.", "") + lvl("1", "lowerLetter", "%2)", "") + lvl("2", "decimal", "%1.%2.%3", "<w:isLgl/>") + `</w:abstractNum>` +
	`<w:abstractNum w:abstractNumId="1">` + lvl("0", "bullet", "\uF0B7", "") + lvl("1", "bullet", "o", "") + `</w:abstractNum>` +
	`<w:abstractNum w:abstractNumId="2">` + lvl("0", "chineseCounting", "%1、", "") + lvl("1", "chineseCounting", "（%2）", "") + `</w:abstractNum>` +
	`<w:abstractNum w:abstractNumId="3">` + lvl("0", "upperRoman", "Article %1", `<w:pStyle w:val="1"/>`) + lvl("1", "decimal", "%1.%2", `<w:pStyle w:val="2"/>`) + `</w:abstractNum>` +
	`<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="3"><w:abstractNumId w:val="2"/></w:num>` +
	`<w:num w:numId="4"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num><w:num w:numId="5"><w:abstractNumId w:val="3"/></w:num>`

func english(tb testing.TB) string {
	tb.Helper()
	body := p("T", "The Sentineltitle") + p("1", "First part") +
		`<w:p><w:r><w:t xml:space="preserve">Some </w:t></w:r><w:ins><w:r><w:t>Sentinelnew</w:t></w:r></w:ins><w:del><w:r><w:delText>Sentinelold</w:delText></w:r></w:del><w:r><w:rPr><w:vanish/></w:rPr><w:t>Sentinelhidden</w:t></w:r>` +
		`<w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:t xml:space="preserve"> end.</w:t></w:r></w:p>` +
		item("1", 0, "one") + item("1", 1, "sub") + item("1", 0, "two") +
		`<w:tbl>` + row(true, "Name", "Age") + row(false, "Ann", "31") + row(false, "Bob", "42") + `</w:tbl>` +
		`<w:p><w:r><w:drawing><wp:inline><wp:docPr id="1" name="Picture 1" descr="Sentinelalt"/><a:blip r:embed="i1"/></wp:inline></w:drawing></w:r></w:p>` +
		`<w:p><w:r><w:drawing><wp:inline><wp:docPr id="2" name="Picture 2"/><a:blip r:embed="i1"/></wp:inline></w:drawing></w:r></w:p>`
	return packed(tb, body, parts{
		styles: testStyles, numbering: testNumbering,
		footnotes: `<w:footnote w:type="separator" w:id="0"><w:p/></w:footnote><w:footnote w:id="2">` + plainP("Sentinelnote") + `</w:footnote>`,
		header:    plainP("Sentinelheader"), core: `<dc:title>About it</dc:title><dc:creator>Ann</dc:creator><dcterms:created>2024-01-02T03:04:05Z</dcterms:created>`,
	})
}

func chinese(tb testing.TB) string {
	tb.Helper()
	body := p("1", "第一章　总则") + item("3", 0, "合同的订立") + item("3", 1, "要约与承诺") + item("3", 1, "格式条款") + item("3", 0, "合同的效力") +
		`<w:tbl>` + row(true, "甲方", "乙方") + row(false, "北京公司", "上海公司") + `</w:tbl>` + p("cn3", "附则") + plainP("本合同自签订之日起生效。")
	return packed(tb, body, parts{styles: testStyles, numbering: testNumbering, header: plainP("合同编号"), core: `<dc:title>购销合同</dc:title>`})
}

func row(head bool, cells ...string) string {
	var b strings.Builder
	b.WriteString(`<w:tr>`)
	if head {
		b.WriteString(`<w:trPr><w:tblHeader/></w:trPr>`)
	}
	for _, c := range cells {
		b.WriteString(`<w:tc>` + plainP(c) + `</w:tc>`)
	}
	return b.String() + `</w:tr>`
}

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return fresh(t, nil) }, []parsertest.Case{
		{Name: "english", Input: english(t), Sentinels: []string{
			"Sentineltitle", "Sentinelnew", "Sentinelold", "Sentinelhidden", "Sentinelnote", "Sentinelheader", "Sentinelalt", "word/media/image1.png", "Ann", "42",
		}},
		{Name: "chinese", Input: chinese(t), Sentinels: []string{"总则", "要约与承诺", "上海公司", "合同编号"}},
		{Name: "empty"},
	})
}

// TestGolden compares what documents become with testdata.
func TestGolden(t *testing.T) {
	for name, input := range map[string]string{"english": english(t), "chinese": chinese(t)} {
		els, err := parsertest.Collect(context.Background(), fresh(t, nil), name+".docx", strings.NewReader(input))
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
		props := els[0].Properties
		if name == "english" && (props["title"] != "About it" || props["author"] != "Ann" || props["created"] != "2024-01-02T03:04:05Z") {
			t.Errorf("properties %v", props)
		}
	}
}

func TestHeadings(t *testing.T) {
	body := p("Own", "by the style it is based on") + p("cn3", "by a Chinese name") +
		`<w:p><w:pPr><w:outlineLvl w:val="4"/></w:pPr><w:r><w:t>by its own level</w:t></w:r></w:p>` +
		`<w:p><w:pPr><w:pStyle w:val="1"/><w:outlineLvl w:val="9"/></w:pPr><w:r><w:t>text after all</w:t></w:r></w:p>` +
		p("TOC1", "Contents 3") + p("Q", "quoted") + p("Code", "if x {") + p("Code", "  y()") + p("Code", "}")
	expect(t, parsed(t, packed(t, body, parts{styles: testStyles}), nil),
		"heading 2: by the style it is based on", "heading 3: by a Chinese name", "heading 5: by its own level", "text: text after all",
		"dropped (navigation or boilerplate): Contents 3", "quote: quoted", "code: if x {⏎  y()⏎}")
}

// TestCyclicStyles: a chain of styles that comes back to itself ends.
func TestCyclicStyles(t *testing.T) {
	styles := `<w:style w:styleId="A"><w:name w:val="a"/><w:basedOn w:val="B"/></w:style><w:style w:styleId="B"><w:name w:val="b"/><w:basedOn w:val="C"/></w:style>` +
		`<w:style w:styleId="C"><w:name w:val="c"/><w:basedOn w:val="B"/></w:style><w:style w:styleId="D"><w:basedOn w:val="D"/></w:style>`
	expect(t, parsed(t, packed(t, p("A", "x")+p("D", "y"), parts{styles: styles}), nil), "text: x", "text: y")
}

func TestNumbering(t *testing.T) {
	body := item("1", 0, "a") + item("1", 1, "b") + item("1", 2, "c") + item("1", 1, "d") + item("1", 0, "e") + `<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr></w:p>` +
		item("1", 0, "after an empty one") + item("4", 0, "from five") + item("4", 0, "six") + plainP("between") + item("1", 0, "goes on") + p("LB", "by style") +
		item("0", 0, "no list") + item("99", 0, "unknown list")
	expect(t, parsed(t, packed(t, body, parts{styles: testStyles, numbering: testNumbering}), nil),
		"list 1: 1. a⏎   a) b⏎      1.1.1 c⏎   b) d⏎2. e⏎4. after an empty one", "list 1: 5. from five⏎6. six", "text: between", "list 1: 7. goes on", "list 1: - by style",
		"text: no list", "text: unknown list")
	headings := strings.ReplaceAll(testStyles, `<w:basedOn w:val="a"/>`, `<w:basedOn w:val="a"/><w:pPr><w:numPr><w:numId w:val="5"/></w:numPr></w:pPr>`)
	expect(t, parsed(t, packed(t, p("1", "x")+p("2", "y")+p("2", "z")+p("1", "w")+p("2", "v"), parts{styles: headings, numbering: testNumbering}), nil),
		"heading 1: Article I x", "heading 2: I.1 y", "heading 2: I.2 z", "heading 1: Article II w", "heading 2: II.1 v")
}

func TestInline(t *testing.T) {
	body := `<w:p><w:r><w:t xml:space="preserve">a </w:t></w:r><w:hyperlink r:id="i1"><w:r><w:t>link</w:t></w:r></w:hyperlink><w:r><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t><w:softHyphen/><w:t>e</w:t>` +
		`<w:sym w:font="Wingdings" w:char="F0FE"/><w:sym w:font="Symbol" w:char="F061"/><w:sym w:font="Webdings" w:char="F021"/></w:r></w:p>` +
		`<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> PAGEREF x </w:instrText><w:t>not shown</w:t></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>shown</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>` +
		`<w:fldSimple w:instr="DATE"><w:r><w:t xml:space="preserve"> today</w:t></w:r></w:fldSimple></w:p>` +
		`<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>unclosed</w:instrText></w:r></w:p>` + plainP("still there") +
		`<w:p><w:r><w:ruby><w:rt><w:r><w:t>hàn</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>汉</w:t></w:r></w:rubyBase></w:ruby></w:r><w:r><w:t>字</w:t></w:r></w:p>` +
		`<w:p><w:r><w:rPr><w:rStyle w:val="H"/></w:rPr><w:t>gone</w:t></w:r><w:r><w:rPr><w:rStyle w:val="H"/><w:vanish w:val="0"/></w:rPr><w:t>kept</w:t></w:r></w:p>` +
		`<w:sdt><w:sdtPr><w:alias w:val="no"/></w:sdtPr><w:sdtContent>` + plainP("in a control") + `</w:sdtContent></w:sdt><w:altChunk r:id="x1"/>`
	expect(t, parsed(t, packed(t, body, parts{styles: testStyles}), nil),
		"dropped (undecodable bytes): symbol f021 of the font Webdings", "text: a link\tb⏎c‑de☑α", "text: shown today", "text: still there", "text: 汉(hàn)字",
		"dropped (hidden element): gone", "text: kept", "text: in a control", "dropped (embedded object without text): word/part.html")
}

func TestChanges(t *testing.T) {
	body := `<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>one </w:t></w:r><w:r><w:t xml:space="preserve">line </w:t></w:r></w:p>` + plainP("joined") +
		`<w:p><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:moveTo><w:r><w:t>moved here</w:t></w:r></w:moveTo></w:p>` +
		`<w:tbl><w:tr><w:trPr><w:del/></w:trPr><w:tc>` + plainP("row that went") + `</w:tc></w:tr>` + row(false, "x", "y") + row(false, "1", "2") + `</w:tbl>`
	expect(t, parsed(t, packed(t, body, parts{}), nil),
		"text: oneline joined", "dropped (deleted in a tracked change): moved", "text: moved here", "dropped (deleted in a tracked change): row that went",
		"table: | x | y |⏎| --- | --- |⏎| 1 | 2 |")
}

func TestNotes(t *testing.T) {
	body := `<w:p><w:r><w:t>a</w:t><w:endnoteReference w:id="7"/><w:t>b</w:t><w:footnoteReference w:id="3"/><w:commentReference w:id="0"/></w:r></w:p>` +
		`<w:tbl><w:tr><w:tc><w:p><w:r><w:t>x</w:t><w:footnoteReference w:id="4"/></w:r></w:p></w:tc><w:tc>` + plainP("y") + `</w:tc></w:tr></w:tbl>` +
		item("1", 0, "i") + `<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>j</w:t><w:footnoteReference w:id="5"/></w:r></w:p>` + item("1", 0, "k")
	doc := packed(t, body, parts{
		numbering: testNumbering, footnotes: `<w:footnote w:id="3">` + plainP("foot") + plainP("two") + `</w:footnote><w:footnote w:id="4">` + plainP("cell") + `</w:footnote><w:footnote w:id="5">` + plainP("item") + `</w:footnote>` +
			`<w:footnote w:id="9">` + plainP("lone") + `</w:footnote>`, endnotes: `<w:endnote w:id="7">` + plainP("end") + `</w:endnote>`,
		comments: `<w:comment w:id="0" w:author="Ann">` + plainP("really?") + `</w:comment>`,
	})
	want := []string{
		"text: a[i]b[1]", "footnote: [i] end", "footnote: [1] foot⏎two", "quote: Ann: really?", "table: | x[2] | y |", "footnote: [2] cell", "list 1: 1. i⏎2. j[3]⏎3. k",
		"footnote: [3] item", "footnote: lone",
	}
	expect(t, parsed(t, doc, nil), want...)
	want[3] = "dropped (markup comment): really?"
	expect(t, parsed(t, doc, func(c *Config) { c.Comments = false }), want...)
}

func TestTables(t *testing.T) {
	cell := func(pr, content string) string { return `<w:tc><w:tcPr>` + pr + `</w:tcPr>` + content + `</w:tc>` }
	merged := `<w:tbl><w:tr><w:trPr><w:tblHeader/></w:trPr>` + cell(`<w:vMerge w:val="restart"/>`, plainP("City")) + cell(`<w:gridSpan w:val="2"/>`, plainP("People")) + `</w:tr>` +
		`<w:tr><w:trPr><w:tblHeader/></w:trPr>` + cell(`<w:vMerge/>`, `<w:p/>`) + cell("", plainP("2023")) + cell("", plainP("2024")) + `</w:tr>` +
		`<w:tr>` + cell(`<w:vMerge w:val="restart"/>`, plainP("Rome")) + cell("", plainP("1")) + cell("", plainP("2")) + `</w:tr>` +
		`<w:tr>` + cell(`<w:vMerge/>`, `<w:p/>`) + cell(`<w:gridSpan w:val="2"/>`, plainP("3")+plainP("4|5")) + `</w:tr></w:tbl>`
	nested := `<w:tbl><w:tr>` + cell("", plainP("a long text in the first cell")) + cell("", `<w:tbl>`+row(false, "p", "q")+row(false, "r", "s")+`</w:tbl><w:p/>`) + `</w:tr>` + row(false, "c", "d") + `</w:tbl>`
	layout := `<w:tbl><w:tr>` + cell("", p("1", "Boxed")+plainP("text")+item("1", 0, "item")) + `</w:tr></w:tbl>`
	expect(t, parsed(t, packed(t, merged+nested+layout, parts{styles: testStyles, numbering: testNumbering}), nil),
		`table: | City | People | People |⏎| City | 2023 | 2024 |⏎| --- | --- | --- |⏎| Rome | 1 | 2 |⏎|  | 3 4\|5 |  |`,
		"table: | a long text in the first cell | p, q; r, s |⏎| --- | --- |⏎| c | d |", "heading 1: Boxed", "text: text", "list 1: 1. item")
}

func TestDrawings(t *testing.T) {
	box := `<w:txbxContent>` + plainP("in the box") + item("1", 0, "item") + `</w:txbxContent>`
	body := `<w:p><w:r><w:t>anchor</w:t></w:r><w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:anchor><wp:docPr id="1" descr="a shape"/><wps:wsp><wps:txbx>` + box +
		`</wps:txbx></wps:wsp></wp:anchor></w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape><v:textbox>` + box + `</v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>` +
		`<w:p><w:r><w:pict><v:shape alt="an old picture"><v:imagedata r:id="i1"/></v:shape></w:pict><w:object><o:OLEObject ProgID="Visio.Drawing"/></w:object></w:r></w:p>` +
		`<w:p><w:r><w:drawing><wp:inline><wp:docPr id="3"/><c:chart r:id="c1"/></wp:inline></w:drawing><w:drawing><wp:inline><dgm:relIds r:dm="d1"/></wp:inline></w:drawing></w:r></w:p>`
	chart := `<c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:strCache><c:pt idx="0"><c:v>North</c:v></c:pt></c:strCache></c:strRef></c:tx>` +
		`<c:cat><c:strRef><c:strCache><c:pt idx="0"><c:v>Q1</c:v></c:pt><c:pt idx="1"><c:v>Q2</c:v></c:pt></c:strCache></c:strRef></c:cat><c:val><c:numRef><c:numCache><c:pt idx="0"><c:v>4.4000000000000004</c:v></c:pt><c:pt idx="1"><c:v>5</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:barChart></c:plotArea></c:chart>`
	diagram := `<dgm:ptLst><dgm:pt type="doc"/><dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt type="pres"/><dgm:pt><dgm:t><a:p><a:r><a:t>Do</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst>`
	expect(t, parsed(t, packed(t, body, parts{numbering: testNumbering, chart: chart, diagram: diagram}), nil),
		"text: anchor", "text: in the box", "dropped (embedded object without text): object Visio.Drawing", "list 1: 1. item", "image: an old picture",
		"table: Sales⏎|  | North |⏎| --- | --- |⏎| Q1 | 4.4 |⏎| Q2 | 5 |", "list 1: - Plan⏎- Do")
}

func TestPages(t *testing.T) {
	br := `<w:r><w:lastRenderedPageBreak/></w:r>`
	cell := func(s string) string {
		return `<w:tc><w:p><w:r><w:t>a</w:t></w:r>` + br + `<w:r><w:t>` + s + `</w:t></w:r></w:p></w:tc>`
	}
	body := plainP("one") + `<w:p><w:r><w:t>starts</w:t></w:r>` + br + `<w:r><w:t>ends</w:t></w:r></w:p>` + `<w:p>` + br + `<w:r><w:t>three</w:t></w:r></w:p>` +
		`<w:tbl><w:tr>` + cell("x") + cell("y") + `</w:tr></w:tbl>` + plainP("four")
	expect(t, parsed(t, packed(t, body, parts{}), nil),
		"text page 1: one", "text page 1-2: startsends", "text page 3: three", "table page 3-4: | ax | ay |", "text page 4: four")
	expect(t, parsed(t, packed(t, plainP("x")+`<w:p><w:r><w:br w:type="page"/><w:t>y</w:t></w:r></w:p>`, parts{}), nil), "text: x", "text: y")
}

func TestEquations(t *testing.T) {
	eq := `<m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>2π</m:t></m:r></m:den></m:f></m:oMath>`
	body := `<w:p><w:r><w:t>where</w:t></w:r>` + eq + `<w:r><w:t xml:space="preserve"> holds</w:t></w:r></w:p><w:p><m:oMathPara>` + eq + `</m:oMathPara></w:p>`
	expect(t, parsed(t, packed(t, body, parts{}), nil), `text: where $\frac{a}{2\pi}$ holds`, `math: $$\frac{a}{2\pi}$$`)
}

// TestStrict reads a document of the strict kind, whose namespaces differ, and one whose prefix is another.
func TestStrict(t *testing.T) {
	doc := packed(t, p("1", "x")+item("1", 0, "y"), parts{styles: testStyles, numbering: testNumbering})
	want := parsed(t, doc, nil)
	els, err := parsertest.Collect(context.Background(), fresh(t, nil), "", strings.NewReader(rewritten(t, doc, main, strict)))
	if err != nil || dump(els) != want {
		t.Errorf("strict: %s %v", dump(els), err)
	}
	els, err = parsertest.Collect(context.Background(), fresh(t, nil), "", strings.NewReader(rewritten(t, doc, "w:", "ns0:", "xmlns:w=", "xmlns:ns0=")))
	if err != nil || dump(els) != want {
		t.Errorf("another prefix: %s %v", dump(els), err)
	}
}
