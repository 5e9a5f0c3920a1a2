package pptx

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

const testChart = `<c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:strCache><c:pt idx="0"><c:v>North</c:v></c:pt></c:strCache></c:strRef></c:tx>` +
	`<c:cat><c:strRef><c:strCache><c:pt idx="0"><c:v>Q1</c:v></c:pt><c:pt idx="1"><c:v>Q2</c:v></c:pt></c:strCache></c:strRef></c:cat><c:val><c:numRef><c:numCache><c:pt idx="0"><c:v>4.5</c:v></c:pt><c:pt idx="1"><c:v>5</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:barChart></c:plotArea></c:chart>`

const testDiagram = `<dgm:ptLst><dgm:pt type="doc"/><dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt><dgm:t><a:p><a:r><a:t>Do</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst>`

func notesOf(text string) string {
	return `<p:cSld><p:spTree>` + ph("sldImg", "") + ph("body", "1", para(text)) + ph("sldNum", "5", para("7")) + `</p:spTree></p:cSld>`
}

func english(tb testing.TB) string {
	tb.Helper()
	pic := `<p:pic><p:nvPicPr><p:cNvPr id="5" name="Picture 1" descr="Sentinelalt"/><p:nvPr/></p:nvPicPr><p:blipFill><a:blip r:embed="i1"/></p:blipFill><p:spPr>` + xfrm("a", 300, 300, 50, 50) + `</p:spPr></p:pic>`
	return packed(tb,
		page{layout: "title", tree: ph("subTitle", "1", para("by Ann")) + ph("ctrTitle", "", para("Sentineltitle"))},
		page{tree: ph("sldNum", "12", para("2")) + ph("ftr", "11", para("Sentinelfooter")) + ph("", "1", item(0, "", "one"), item(1, "", "sub"), item(0, "", "two")) + ph("title", "", para("Agenda")),
			notes: notesOf("Sentinelnote"), comments: `<p:cm authorId="0"><p:text>Sentinelcomment</p:text></p:cm>`},
		page{layout: "secHead", tree: ph("title", "", para("Part one"))},
		page{tree: ph("title", "", para("Numbers")) + frame(50, 100, 300, 100, `<a:tbl><a:tblPr firstRow="1"/><a:tr>`+tc("", "Name")+tc("", "Age")+`</a:tr><a:tr>`+tc("", "Ann")+tc("", "31")+`</a:tr></a:tbl>`) +
			frame(50, 220, 200, 100, `<c:chart r:id="c1"/>`) + pic + strings.Replace(pic, `descr="Sentinelalt"`, "", 1), chart: testChart},
		page{hidden: true, tree: ph("title", "", para("Sentinelhidden"))},
	)
}

func chinese(tb testing.TB) string {
	tb.Helper()
	return packed(tb,
		page{layout: "title", tree: ph("ctrTitle", "", `<a:p><a:r><a:t>知识库</a:t></a:r><a:br/><a:r><a:t>建设方案</a:t></a:r></a:p>`) + ph("subTitle", "1", para("信息中心 2024年"))},
		page{tree: ph("title", "", para("目标")) + ph("", "1", item(0, auto1("ea1ChsPeriod"), "提高检索质量"), item(1, "", "支持中英文"), item(0, auto1("ea1ChsPeriod"), "降低成本")), notes: notesOf("这里要举例说明。")},
		page{tree: ph("title", "", para("进度")) + frame(50, 100, 300, 100, `<a:tbl><a:tblPr firstRow="1"/><a:tr>`+tc("", "阶段")+tc("", "完成")+`</a:tr><a:tr>`+tc("", "设计")+tc("", "三月")+`</a:tr></a:tbl>`)},
	)
}

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return fresh(t, nil) }, []parsertest.Case{
		{Name: "english", Input: english(t), Sentinels: []string{
			"Sentineltitle", "Sentinelfooter", "Sentinelnote", "Sentinelcomment", "Sentinelalt", "Sentinelhidden", "Sectionname", "ppt/media/image1.png", "Ann", "31", "North", "4.5",
		}},
		{Name: "chinese", Input: chinese(t), Sentinels: []string{"知识库建设方案", "支持中英文", "三月", "这里要举例说明。"}},
		{Name: "empty"},
	})
}

// TestGolden compares what presentations become with testdata.
func TestGolden(t *testing.T) {
	for name, input := range map[string]string{"english": english(t), "chinese": chinese(t)} {
		els, err := parsertest.Collect(context.Background(), fresh(t, nil), name+".pptx", strings.NewReader(input))
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
		if props := els[0].Properties; props["title"] != "About it" || props["author"] != "Ann" {
			t.Errorf("properties %v", props)
		}
	}
}

func TestConfig(t *testing.T) {
	one := page{tree: ph("title", "", para("A")), notes: notesOf("N"), comments: `<p:cm authorId="0"><p:text>C</p:text></p:cm>`}
	two := page{hidden: true, tree: ph("title", "", para("B"))}
	expect(t, parsed(t, packed(t, one, two), func(c *Config) { c.Notes, c.Comments, c.HiddenSlides = false, false, true }),
		"heading 1 page 1: A", "dropped (hidden element): notes: N", "dropped (page furniture): 7", "dropped (markup comment): C", "heading 1 page 2: B")
	modern := `<p188:cm authorId="0"><p188:replyLst><p188:reply authorId="9"><p188:txBody>` + para("Yes") + `</p188:txBody></p188:reply></p188:replyLst><p188:txBody>` + para("Sure?") + `</p188:txBody></p188:cm>`
	got := parsed(t, packed(t, page{tree: ph("title", "", para("A")), modern: modern}), nil)
	for _, want := range []string{"quote page 1: Yes", "Sure?"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestLists(t *testing.T) {
	body := ph("", "1", item(0, auto1("arabicPeriod"), "a"), item(1, auto1("alphaLcParenR"), "b"), item(1, auto1("alphaLcParenR"), "c"), item(0, auto1("arabicPeriod"), ""), item(0, auto1("arabicPeriod"), "d"),
		item(0, `<a:buNone/>`, "plain"), item(0, `<a:buAutoNum type="romanUcParenBoth" startAt="4"/>`, "e"), item(0, auto1("circleNumDbPlain"), "f"), item(2, "", "deep without a bullet"))
	own := box(10, 500, 100, 20, para("a box has no bullets"), item(0, `<a:buChar char="*"/>`, "but its own"))
	expect(t, parsed(t, packed(t, page{tree: body + own}), nil),
		"list 1 page 1: 1. a⏎   a) b⏎   b) c⏎2. d", "text page 1: plain", "list 1 page 1: (IV) e⏎① f", "text page 1: deep without a bullet", "text page 1: a box has no bullets", "list 1 page 1: - but its own")
}

func TestInline(t *testing.T) {
	eq := `<m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>2π</m:t></m:r></m:den></m:f></m:oMath>`
	alt := func(s string) string {
		return `<mc:AlternateContent><mc:Choice Requires="a14"><a14:m>` + s + `</a14:m></mc:Choice><mc:Fallback/></mc:AlternateContent>`
	}
	link := `<a:p><a:r><a:rPr><a:hlinkClick r:id="h1"/></a:rPr><a:t>a link</a:t></a:r><a:br/><a:fld type="datetime"><a:t>today</a:t></a:fld></a:p>`
	code := `<a:p><a:r><a:rPr><a:latin typeface="Consolas"/></a:rPr><a:t>if (x) { y(); }</a:t></a:r></a:p>`
	where := `<a:p><a:r><a:t>where</a:t></a:r>` + alt(eq) + `<a:r><a:t> holds</a:t></a:r></a:p>`
	alone := `<a:p>` + alt(`<m:oMathPara>`+eq+`</m:oMathPara>`) + `</a:p>`
	whole := `<mc:AlternateContent><mc:Choice Requires="x"/><mc:Fallback>` + box(0, 90, 10, 10, para("stands in")) + `</mc:Fallback></mc:AlternateContent>`
	expect(t, parsed(t, packed(t, page{tree: box(0, 0, 100, 80, link, code, where, alone) + whole}), nil),
		"text page 1: a link⏎today", "code page 1: if (x) { y(); }", `text page 1: where $\frac{a}{2\pi}$ holds`, `math page 1: $$\frac{a}{2\pi}$$`, "text page 1: stands in")
}

// TestOrder: shapes are read by their places, not in the order of the file.
func TestOrder(t *testing.T) {
	columns := box(400, 100, 300, 300, para("right")) + box(400, 60, 300, 35, para("right head")) + box(20, 98, 300, 300, para("left")) + box(20, 62, 300, 35, para("left head")) + box(20, 0, 680, 40, para("top"))
	rows := box(200, 200, 400, 40, para("second text")) + box(20, 200, 170, 40, para("second")) + box(200, 100, 400, 40, para("first text")) + box(20, 101, 170, 40, para("first"))
	group := `<p:grpSp><p:nvGrpSpPr><p:cNvPr id="1" name="g"/></p:nvGrpSpPr><p:grpSpPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="1270000" cy="1270000"/><a:chOff x="0" y="0"/><a:chExt cx="12700000" cy="12700000"/></a:xfrm></p:grpSpPr>` +
		box(0, 500, 900, 400, para("lower")) + box(0, 0, 900, 400, para("upper")) + `</p:grpSp>`
	expect(t, parsed(t, packed(t, page{tree: columns}, page{tree: rows}, page{tree: box(0, 120, 100, 20, para("below")) + group}), nil),
		"text page 1: top", "text page 1: left head", "text page 1: left", "text page 1: right head", "text page 1: right",
		"text page 2: first", "text page 2: first text", "text page 2: second", "text page 2: second text",
		"text page 3: upper", "text page 3: lower", "text page 3: below")
	els, err := parsertest.Collect(context.Background(), fresh(t, nil), "x.pptx", strings.NewReader(packed(t, page{tree: group})))
	if err != nil || len(els) < 2 || *els[1].Box != (connector.Box{X0: 0, Y0: 50, X1: 90, Y1: 90}) {
		t.Errorf("the box of %+v %v", els[1], err)
	}
}

func TestFrames(t *testing.T) {
	table := `<a:tbl><a:tblPr firstRow="1"/><a:tr>` + tc(` rowSpan="2"`, "City") + tc(` gridSpan="2"`, "People") + tc(` hMerge="1"`, "") + `</a:tr><a:tr>` + tc(` vMerge="1"`, "") + tc("", "2023") + tc("", "2024") + `</a:tr><a:tr>` +
		tc("", "Rome") + tc("", "1") + tc("", "2") + `</a:tr></a:tbl>`
	ole := `<mc:AlternateContent><mc:Choice><p:oleObj progId="Excel.Sheet.12"/></mc:Choice></mc:AlternateContent>`
	got := parsed(t, packed(t, page{tree: frame(0, 0, 100, 50, table) + frame(0, 100, 100, 50, `<dgm:relIds r:dm="d1"/>`) + frame(0, 200, 100, 50, ole), diagram: testDiagram}), nil)
	expect(t, got, "table page 1: | City | People | People |⏎| --- | --- | --- |⏎|  | 2023 | 2024 |⏎| Rome | 1 | 2 |", "dropped (embedded object without text): object Excel.Sheet.12", "list 1 page 1: - Plan⏎- Do")
}

// TestLevels: titles of title slides stand above those of sections, and both above the rest.
func TestLevels(t *testing.T) {
	title := func(layout, kind, text string) page { return page{layout: layout, tree: ph(kind, "", para(text))} }
	expect(t, parsed(t, packed(t, title("obj", "title", "a"), title("secHead", "title", "b"), title("obj", "title", "c"), title("title", "ctrTitle", "d"), title("obj", "title", "e"), title("secHead", "title", "f"), title("obj", "title", "g")), nil),
		"heading 1 page 1: a", "heading 1 page 2: b", "heading 2 page 3: c", "heading 1 page 4: d", "heading 2 page 5: e", "heading 2 page 6: f", "heading 3 page 7: g")
}
