package odf

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/zipdoc/ziptest"
)

const spaces = ` xmlns:office="office" xmlns:style="style" xmlns:text="text" xmlns:table="table" xmlns:draw="draw" xmlns:fo="fo" xmlns:svg="svg" xmlns:presentation="presentation"` +
	` xmlns:xlink="xlink" xmlns:dc="dc" xmlns:meta="meta" xmlns:math="math" xmlns:chart="chart" xmlns:xml="http://www.w3.org/XML/1998/namespace"`

func level1(n int, format, suffix string, display int) string {
	return fmt.Sprintf(`<text:list-level-style-number text:level="%d" style:num-format="%s" style:num-suffix="%s" text:display-levels="%d"/>`, n, format, suffix, display)
}

var testStyles = `<office:styles><style:style style:name="Heading_20_1" style:default-outline-level="1"/><style:style style:name="Title"/><style:style style:name="Hidden"><style:text-properties text:display="none"/></style:style>` +
	`<style:style style:name="Bold"><style:text-properties fo:font-weight="bold"/></style:style><style:style style:name="New"><style:paragraph-properties fo:break-before="page"/></style:style>` +
	`<style:style style:name="off"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>` +
	`<text:list-style style:name="N">` + level1(1, "1", ".", 1) + level1(2, "a", ")", 1) + level1(3, "1", "", 3) + `</text:list-style>` +
	`<text:list-style style:name="C">` + level1(1, "一, 二, 三, ...", "、", 1) + `</text:list-style><text:list-style style:name="B"><text:list-level-style-bullet text:level="1"/></text:list-style></office:styles>`

const testMasters = `<office:master-styles><style:master-page style:name="Standard"><style:header><text:p>Sentinelheader</text:p></style:header><style:footer><text:p>Page <text:page-number>1</text:page-number></text:p></style:footer></style:master-page></office:master-styles>`

const testMeta = `<office:meta><dc:title>About it</dc:title><meta:initial-creator>Ann</meta:initial-creator><dc:creator>Bob</dc:creator><meta:keyword>a</meta:keyword><meta:keyword>b</meta:keyword><dc:date>2024-01-02T03:04:05</dc:date></office:meta>`

// document is a package whose body is body, "text" or "presentation"; members follow.
func packed(tb testing.TB, kind, body string, members ...string) string {
	tb.Helper()
	return ziptest.Pack(tb, append([]string{
		"mimetype", "application/vnd.oasis.opendocument." + kind,
		"styles.xml", "<office:document-styles" + spaces + ">" + testStyles + testMasters + "</office:document-styles>",
		"meta.xml", "<office:document-meta" + spaces + ">" + testMeta + "</office:document-meta>",
		"content.xml", `<?xml version="1.0"?><office:document-content` + spaces + `><office:body><office:` + kind + `>` + body + `</office:` + kind + `></office:body></office:document-content>`,
	}, members...)...)
}

func p(text string) string { return `<text:p>` + text + `</text:p>` }

func styled(style, text string) string {
	return `<text:p text:style-name="` + style + `">` + text + `</text:p>`
}

func h(level int, text string) string {
	return fmt.Sprintf(`<text:h text:style-name="Heading_20_%d" text:outline-level="%d">%s</text:h>`, level, level, text)
}

func list(attrs string, items ...string) string {
	return `<text:list` + attrs + `><text:list-item>` + strings.Join(items, `</text:list-item><text:list-item>`) + `</text:list-item></text:list>`
}

func row(cells ...string) string {
	return `<table:table-row>` + strings.Join(cells, "") + `</table:table-row>`
}

func cell(attrs, text string) string {
	return `<table:table-cell` + attrs + `>` + p(text) + `</table:table-cell>`
}

// frame is one at a place in centimetres.
func frame(class string, x, y, w, h int, content string) string {
	return fmt.Sprintf(`<draw:frame presentation:class="%s" svg:x="%dcm" svg:y="%dcm" svg:width="%dcm" svg:height="%dcm">%s</draw:frame>`, class, x, y, w, h, content)
}

func box(content string) string { return `<draw:text-box>` + content + `</draw:text-box>` }

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

const furniture = "dropped (page furniture): Sentinelheader\ndropped (page furniture): Page 1\n"

// parsed is the dump of a document, which must be sound, without the header and footer that all have.
func parsed(t *testing.T, input string, change func(*Config)) string {
	t.Helper()
	els, err := parsertest.Collect(context.Background(), fresh(t, change), "x.odt", strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	if err := parsertest.CheckElements(els); err != nil {
		t.Error(err)
	}
	return strings.Replace(dump(els), furniture, "", 1)
}

// expect compares lines.
func expect(t *testing.T, got string, want ...string) {
	t.Helper()
	if joined := strings.Join(want, "\n") + "\n"; got != joined {
		t.Errorf("got\n%s\nwant\n%s", got, joined)
	}
}
