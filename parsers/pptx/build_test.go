package pptx

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/zipdoc/ziptest"
)

const relTypes = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

const spaces = ` xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="` + relTypes + `"` +
	` xmlns:m="math" xmlns:mc="mc" xmlns:a14="a14" xmlns:c="c" xmlns:dgm="dgm" xmlns:p14="p14" xmlns:p188="p188"`

// page is a slide of a test.
type page struct {
	tree, notes, comments, modern, chart, diagram string
	layout                                        string // "title", "secHead", "obj"
	hidden                                        bool
}

const master = `<p:cSld><p:spTree><p:sp><p:nvSpPr><p:cNvPr id="1" name="T"/><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><p:spPr><a:xfrm><a:off x="500000" y="300000"/><a:ext cx="8000000" cy="900000"/></a:xfrm></p:spPr>` +
	`<p:txBody><a:p><a:r><a:t>Click to edit the title</a:t></a:r></a:p></p:txBody></p:sp><p:sp><p:nvSpPr><p:cNvPr id="2" name="B"/><p:nvPr><p:ph type="body" idx="1"/></p:nvPr></p:nvSpPr><p:spPr><a:xfrm><a:off x="500000" y="1500000"/><a:ext cx="8000000" cy="4000000"/></a:xfrm></p:spPr></p:sp></p:spTree></p:cSld>` +
	`<p:txStyles><p:titleStyle><a:lvl1pPr><a:buNone/></a:lvl1pPr></p:titleStyle><p:bodyStyle><a:lvl1pPr><a:buChar char="•"/></a:lvl1pPr><a:lvl2pPr><a:buChar char="–"/></a:lvl2pPr></p:bodyStyle></p:txStyles>`

func layoutOf(kind string) string {
	extra := ""
	if kind == "title" {
		extra = `<p:sp><p:nvSpPr><p:cNvPr id="3" name="S"/><p:nvPr><p:ph type="subTitle" idx="1"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:lstStyle><a:lvl1pPr><a:buNone/></a:lvl1pPr></a:lstStyle></p:txBody></p:sp>`
	}
	return `<p:sldLayout type="` + kind + `"` + spaces + `><p:cSld><p:spTree>` + extra + `</p:spTree></p:cSld></p:sldLayout>`
}

func rel(id, kind, target string) string {
	return fmt.Sprintf(`<Relationship Id="%s" Type="%s/%s" Target="%s"/>`, id, relTypes, kind, target)
}

func rels(content string) string { return "<Relationships>" + content + "</Relationships>" }

// packed is a presentation of slides. Their files are numbered backwards, so that names do not tell their order.
func packed(tb testing.TB, pages ...page) string {
	tb.Helper()
	members := []string{
		"[Content_Types].xml", `<Types/>`,
		"_rels/.rels", rels(rel("r1", "officeDocument", "ppt/presentation.xml") + `<Relationship Id="r2" Type="x/core-properties" Target="docProps/core.xml"/>`),
		"docProps/core.xml", `<cp:coreProperties xmlns:cp="cp" xmlns:dc="dc"><dc:title>About it</dc:title><dc:creator>Ann</dc:creator></cp:coreProperties>`,
		"ppt/slideMasters/slideMaster1.xml", "<p:sldMaster" + spaces + ">" + master + "</p:sldMaster>",
		"ppt/commentAuthors.xml", `<p:cmAuthorLst` + spaces + `><p:cmAuthor id="0" name="Bob"/></p:cmAuthorLst>`,
	}
	for _, kind := range []string{"title", "secHead", "obj"} {
		members = append(members, "ppt/slideLayouts/"+kind+".xml", layoutOf(kind), "ppt/slideLayouts/_rels/"+kind+".xml.rels", rels(rel("m", "slideMaster", "../slideMasters/slideMaster1.xml")))
	}
	var order, links strings.Builder
	for i, one := range pages {
		n := len(pages) - i
		fmt.Fprintf(&order, `<p:sldId id="%d" r:id="s%d"/>`, 256+i, n)
		links.WriteString(rel(fmt.Sprintf("s%d", n), "slide", fmt.Sprintf("slides/slide%d.xml", n)))
		show := ""
		if one.hidden {
			show = ` show="0"`
		}
		if one.layout == "" {
			one.layout = "obj"
		}
		own := rel("l", "slideLayout", "../slideLayouts/"+one.layout+".xml") + rel("i1", "image", "../media/image1.png") + rel("h1", "hyperlink", "../none.xml")
		add := func(id, kind, target, root, content string) {
			if content != "" {
				own += rel(id, kind, "../"+target)
				members = append(members, "ppt/"+target, "<"+root+spaces+">"+content+"</"+root+">")
			}
		}
		add("n1", "notesSlide", fmt.Sprintf("notesSlides/n%d.xml", n), "p:notes", one.notes)
		add("k1", "comments", fmt.Sprintf("comments/c%d.xml", n), "p:cmLst", one.comments)
		add("k2", "comments", fmt.Sprintf("comments/modern%d.xml", n), "p188:cmLst", one.modern)
		add("c1", "chart", fmt.Sprintf("charts/c%d.xml", n), "c:chartSpace", one.chart)
		add("d1", "diagramData", fmt.Sprintf("diagrams/d%d.xml", n), "dgm:dataModel", one.diagram)
		name := fmt.Sprintf("slide%d.xml", n)
		members = append(members, "ppt/slides/"+name, `<?xml version="1.0"?><p:sld`+show+spaces+`><p:cSld><p:spTree>`+one.tree+`</p:spTree></p:cSld></p:sld>`, "ppt/slides/_rels/"+name+".rels", rels(own))
	}
	members = append(members,
		"ppt/presentation.xml", `<p:presentation`+spaces+`><p:sldIdLst>`+order.String()+`</p:sldIdLst><p:extLst><p:ext><p14:sectionLst><p14:section name="Sectionname"/></p14:sectionLst></p:ext></p:extLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", rels(links.String()+rel("a1", "commentAuthors", "commentAuthors.xml")))
	return ziptest.Pack(tb, members...)
}

// ph is a shape that fills a placeholder.
func ph(kind, idx string, paragraphs ...string) string {
	attrs := ""
	if kind != "" {
		attrs += ` type="` + kind + `"`
	}
	if idx != "" {
		attrs += ` idx="` + idx + `"`
	}
	return `<p:sp><p:nvSpPr><p:cNvPr id="1" name="x"/><p:cNvSpPr/><p:nvPr><p:ph` + attrs + `/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>` + strings.Join(paragraphs, "") + `</p:txBody></p:sp>`
}

func xfrm(tag string, x, y, w, h int) string {
	return fmt.Sprintf(`<%s:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></%s:xfrm>`, tag, x*emu, y*emu, w*emu, h*emu, tag)
}

// box is a text box at a place in points.
func box(x, y, w, h int, paragraphs ...string) string {
	return `<p:sp><p:nvSpPr><p:cNvPr id="1" name="x"/><p:nvPr/></p:nvSpPr><p:spPr>` + xfrm("a", x, y, w, h) + `</p:spPr><p:txBody>` + strings.Join(paragraphs, "") + `</p:txBody></p:sp>`
}

func frame(x, y, w, h int, graphic string) string {
	return `<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="4" name="g"/><p:nvPr/></p:nvGraphicFramePr>` + xfrm("p", x, y, w, h) + `<a:graphic><a:graphicData>` + graphic + `</a:graphicData></a:graphic></p:graphicFrame>`
}

func para(text string) string {
	return `<a:p><a:r><a:rPr lang="en"/><a:t>` + text + `</a:t></a:r></a:p>`
}

// item is a paragraph with properties.
func item(level int, bullet, text string) string {
	return fmt.Sprintf(`<a:p><a:pPr lvl="%d">%s</a:pPr><a:r><a:t>%s</a:t></a:r></a:p>`, level, bullet, text)
}

func auto1(scheme string) string { return `<a:buAutoNum type="` + scheme + `"/>` }

func tc(attrs, text string) string {
	return `<a:tc` + attrs + `><a:txBody>` + para(text) + `</a:txBody></a:tc>`
}

func fresh(tb testing.TB, change func(*Config)) connector.Parser {
	tb.Helper()
	c := defaults()
	if change != nil {
		change(&c)
	}
	p, err := Plugin().Open(context.Background(), &c, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// dump writes elements, one a line.
func dump(els []connector.Element) string {
	var b strings.Builder
	for _, el := range els {
		fmt.Fprintf(&b, "%s", el.Kind)
		if el.Level > 0 {
			fmt.Fprintf(&b, " %d", el.Level)
		}
		if el.Page > 0 {
			fmt.Fprintf(&b, " page %d", el.Page)
		}
		if el.Reason != "" {
			fmt.Fprintf(&b, " (%s)", el.Reason)
		}
		fmt.Fprintf(&b, ": %s\n", strings.ReplaceAll(strings.TrimRight(el.Text, "\n"), "\n", "⏎"))
	}
	return b.String()
}

// parsed is the dump of a presentation, which must be sound.
func parsed(t *testing.T, input string, change func(*Config)) string {
	t.Helper()
	els, err := parsertest.Collect(context.Background(), fresh(t, change), "x.pptx", strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	if err := parsertest.CheckElements(els); err != nil {
		t.Error(err)
	}
	return dump(els)
}

// expect compares lines; that of the section, which all have, does not count.
func expect(t *testing.T, got string, want ...string) {
	t.Helper()
	got = strings.Replace(got, "dropped (navigation or boilerplate): section: Sectionname\n", "", 1)
	if joined := strings.Join(want, "\n") + "\n"; got != joined {
		t.Errorf("got\n%s\nwant\n%s", got, joined)
	}
}
