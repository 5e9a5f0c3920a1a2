package docx

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/zipdoc/ziptest"
)

const (
	main     = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
	strict   = "http://purl.oclc.org/ooxml/wordprocessingml/main"
	relTypes = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
)

// spaces are the namespaces that bodies in tests use.
const spaces = ` xmlns:r="` + relTypes + `" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"` +
	` xmlns:wp="wp" xmlns:a="a" xmlns:pic="pic" xmlns:wps="wps" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="o" xmlns:c="c" xmlns:dgm="dgm"`

// parts are those of a document beside its main part.
type parts struct {
	styles, numbering, footnotes, endnotes, comments, header, chart, diagram, core string
}

// packed is a document whose body is body.
func packed(tb testing.TB, body string, p parts) string {
	tb.Helper()
	ns := ` xmlns:w="` + main + `"` + spaces
	members := []string{
		"[Content_Types].xml", `<Types xmlns="ct"/>`,
		"_rels/.rels", `<Relationships><Relationship Id="r1" Type="` + relTypes + `/officeDocument" Target="word/document.xml"/><Relationship Id="r2" Type="x/core-properties" Target="docProps/core.xml"/></Relationships>`,
		"word/document.xml", `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><w:document` + ns + `><w:body>` + body + `</w:body></w:document>`,
	}
	var rels strings.Builder
	add := func(id, kind, target, root, content string) {
		if content == "" {
			return
		}
		fmt.Fprintf(&rels, `<Relationship Id="%s" Type="%s/%s" Target="%s"/>`, id, relTypes, kind, target)
		members = append(members, "word/"+target, "<"+root+ns+">"+content+"</"+root+">")
	}
	add("s1", "styles", "styles.xml", "w:styles", p.styles)
	add("s2", "numbering", "numbering.xml", "w:numbering", p.numbering)
	add("s3", "footnotes", "footnotes.xml", "w:footnotes", p.footnotes)
	add("s4", "endnotes", "endnotes.xml", "w:endnotes", p.endnotes)
	add("s5", "comments", "comments.xml", "w:comments", p.comments)
	add("s6", "header", "header1.xml", "w:hdr", p.header)
	add("c1", "chart", "charts/chart1.xml", "c:chartSpace", p.chart)
	add("d1", "diagramData", "diagrams/data1.xml", "dgm:dataModel", p.diagram)
	rels.WriteString(`<Relationship Id="i1" Type="x/image" Target="media/image1.png"/><Relationship Id="x1" Type="x/aFChunk" Target="part.html"/>`)
	members = append(members, "word/_rels/document.xml.rels", "<Relationships>"+rels.String()+"</Relationships>")
	if p.core != "" {
		members = append(members, "docProps/core.xml", `<cp:coreProperties xmlns:cp="cp" xmlns:dc="dc" xmlns:dcterms="dt">`+p.core+`</cp:coreProperties>`)
	}
	return ziptest.Pack(tb, members...)
}

// p is a paragraph with a style and text.
func p(style, text string) string {
	return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/></w:pPr><w:r><w:t xml:space="preserve">` + text + `</w:t></w:r></w:p>`
}

func plainP(text string) string { return `<w:p><w:r><w:t>` + text + `</w:t></w:r></w:p>` }

// item is a paragraph of a list.
func item(num string, level int, text string) string {
	return fmt.Sprintf(`<w:p><w:pPr><w:numPr><w:ilvl w:val="%d"/><w:numId w:val="%s"/></w:numPr></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>`, level, num, text)
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
		if el.PageEnd > 0 {
			fmt.Fprintf(&b, "-%d", el.PageEnd)
		}
		if el.Reason != "" {
			fmt.Fprintf(&b, " (%s)", el.Reason)
		}
		fmt.Fprintf(&b, ": %s\n", strings.ReplaceAll(strings.TrimRight(el.Text, "\n"), "\n", "⏎"))
	}
	return b.String()
}

// parsed is the dump of a document, which must be sound.
func parsed(t *testing.T, input string, change func(*Config)) string {
	t.Helper()
	els, err := parsertest.Collect(context.Background(), fresh(t, change), "x.docx", strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	if err := parsertest.CheckElements(els); err != nil {
		t.Error(err)
	}
	return dump(els)
}

// expect compares lines.
func expect(t *testing.T, got string, want ...string) {
	t.Helper()
	if joined := strings.Join(want, "\n") + "\n"; got != joined {
		t.Errorf("got\n%s\nwant\n%s", got, joined)
	}
}
