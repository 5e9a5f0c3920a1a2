package strategies

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/parsers/markdown"
	"github.com/kbsync/kbsync/parsers/notebook"
)

func openLayoutOf(tb testing.TB, change func(*LayoutConfig)) connector.Strategy {
	tb.Helper()
	c := layoutDefaults()
	c.MaxChars = 200
	if change != nil {
		change(&c)
	}
	return mustOpen(tb, Layout(), &c)
}

// laidOut makes elements of lines such as "2 heading1 Title": page, kind and level, text; \n is a line end. A table's lines are rows, the
// first one its header.
func laidOut(lines string) []connector.Element {
	var els []connector.Element
	tables := 0
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		page, rest, _ := strings.Cut(line, " ")
		kind, text, _ := strings.Cut(rest, " ")
		text = strings.ReplaceAll(text, `\n`, "\n") + "\n"
		el := connector.Element{Kind: connector.Kind(strings.TrimRight(kind, "0123456789"))}
		el.Page, _ = strconv.Atoi(page)
		el.Level, _ = strconv.Atoi(strings.TrimLeft(kind, "abcdefghijklmnopqrstuvwxyz_"))
		el.Text = text + "\n"
		switch el.Kind {
		case connector.KindHeading:
			el.Title = strings.TrimSpace(text)
		case connector.KindItem:
			el.Text, el.Level = text, 1
		case connector.KindTable:
			tables++
			header, _, _ := strings.Cut(text, "\n")
			el.Text = text
			el.Table = &connector.Table{ID: tables, FirstRow: 1, Header: [][]string{strings.Split(header, "|")}, HeaderText: header + "\n"}
			for row := range strings.SplitSeq(strings.TrimSpace(text[len(header)+1:]), "\n") {
				el.Table.Rows = append(el.Table.Rows, connector.Row{Cells: strings.Split(row, "|")})
			}
		}
		els = append(els, el)
	}
	return strategytest.Blocks(els...)
}

// showPages is showChunks with the pages of each chunk.
func showPages(chunks []connector.Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString(strings.Replace(showChunks([]connector.Chunk{c}), "== chunk ==\n", fmt.Sprintf("== page %d of %v ==\n", c.Page, c.Metadata["pages"]), 1))
	}
	return b.String()
}

// TestLayoutGolden compares chunks with testdata/layout.
func TestLayoutGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/layout/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil || len(ar.Files) == 0 {
				t.Fatal(err)
			}
			var got string
			switch in := ar.Files[0]; filepath.Ext(in.Name) {
			case ".ipynb":
				c := markdownDefaults()
				c.MaxChars = 120
				got = showChunks(lawful(t, mustOpen(t, Markdown(), &c), parsedBy(t, notebook.Plugin(), in.Name, string(in.Data))))
			default:
				got = showPages(lawful(t, openLayoutOf(t, nil), laidOut(string(in.Data))))
			}
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

// layouts are several settings of the strategy.
func layouts(tb testing.TB) map[string]connector.Strategy {
	tb.Helper()
	out := map[string]connector.Strategy{}
	for name, change := range map[string]func(*LayoutConfig){
		"default":   func(c *LayoutConfig) { c.MaxChars = 0 },
		"200 chars": nil,
		"40 tokens": func(c *LayoutConfig) { c.MaxChars, c.MaxTokens = 0, 40 },
		"overlap":   func(c *LayoutConfig) { c.Overlap = Amount{N: 40} },
		"8 chars":   func(c *LayoutConfig) { c.MaxChars = 8 },
		"by page":   func(c *LayoutConfig) { c.Multipage, c.CombineUnder = false, Amount{} },
		"soft":      func(c *LayoutConfig) { c.NewAfter, c.CombineUnder = Amount{N: 90}, Amount{N: 30, Percent: true} },
	} {
		out[name] = openLayoutOf(tb, change)
	}
	return out
}

func TestLayoutLaws(t *testing.T) {
	for name, s := range layouts(t) {
		t.Run(name, func(t *testing.T) { strategytest.Run(t, s) })
	}
}

const pageText = "A sentence of fifty characters stands in this place. "

// Titles start sections; small ones share a chunk while those before are under combine_under.
func TestLayoutCombine(t *testing.T) {
	doc := "1 heading1 One\n1 text " + pageText + "\n1 heading1 Two\n1 text " + pageText + "\n2 heading1 Three\n2 text " + strings.Repeat(pageText, 3)
	for under, want := range map[int]string{0: "One|Two|Three", 20: "One|Two|Three", 100: "One Two|Three"} {
		got := ""
		for _, c := range lawful(t, openLayoutOf(t, func(c *LayoutConfig) { c.CombineUnder = Amount{N: under} }), laidOut(doc)) {
			got += "|"
			for _, title := range []string{"One", "Two", "Three"} {
				if strings.Contains(c.Text, title+"\n") {
					got = strings.TrimSuffix(got, "|") + map[bool]string{true: "|", false: " "}[strings.HasSuffix(got, "|")] + title
				}
			}
		}
		if got = strings.TrimPrefix(got, "|"); got != want {
			t.Errorf("combine_under %d: %q, want %q", under, got, want)
		}
	}
}

// A title never ends a chunk, whatever follows it, where titles and tables take a small part of the cap.
func TestLayoutTitles(t *testing.T) {
	var doc strings.Builder
	for i := range 40 {
		fmt.Fprintf(&doc, "%d heading%d Title number %d\n", i/3+1, i%3+1, i)
		if i%5 != 2 {
			fmt.Fprintf(&doc, "%d text %s\n", i/3+1, strings.Repeat(pageText, i%7+1))
		}
		if i%4 == 1 {
			fmt.Fprintf(&doc, "%d table id|name%s\n", i/3+1, strings.Repeat(`\n7|a name`, i%9+1))
		}
	}
	els := laidOut(doc.String() + "20 text The end.")
	for size := 100; size < 400; size += 31 {
		for _, c := range lawful(t, openLayoutOf(t, func(c *LayoutConfig) { c.MaxChars = size }), els) {
			lines := strings.Split(c.Text, "\n")
			if last := lines[len(lines)-1]; strings.HasPrefix(last, "Title number") {
				t.Errorf("%d: %q ends in a title", size, c.Text)
			}
		}
	}
}

// A table shares its chunk with its title and caption alone; cut, its header is repeated and rows stay whole.
func TestLayoutTables(t *testing.T) {
	doc := "1 heading1 Report\n1 text Before the table. " + pageText + "\n1 text Table 1: Sales by region\n1 table region|sales" + strings.Repeat(`\nNorth and South|12 345`, 20) +
		"\n2 text After the table. " + pageText + "\n2 image [plot]\n2 text Figure 2. What was sold\n2 text More text. " + strings.Repeat(pageText, 3)
	chunks := lawful(t, openLayoutOf(t, nil), laidOut(doc))
	rows := 0
	for i, c := range chunks {
		table := strings.Contains(c.Text, "North")
		if table && (strings.Contains(c.Text, "Before") || strings.Contains(c.Text, "After")) {
			t.Errorf("a table with other text: %q", c.Text)
		}
		if table && !strings.Contains(c.EmbedText(), "region|sales") {
			t.Errorf("rows without header: %q", c.EmbedText())
		}
		if table && c.Metadata["row_start"] != rows+1 {
			t.Errorf("rows from %v, want %d", c.Metadata["row_start"], rows+1)
		}
		if table {
			rows = c.Metadata["row_end"].(int)
		}
		if strings.Contains(c.EmbedText(), "Table 1:") != (strings.Contains(c.Text, "North") && !strings.Contains(chunks[i-1].Text, "North")) {
			t.Errorf("the caption stands in %q", c.EmbedText())
		}
		if strings.Contains(c.Text, "[plot]") != strings.Contains(c.Text, "Figure 2.") {
			t.Errorf("a figure without its caption: %q", c.Text)
		}
		for line := range strings.SplitSeq(c.Text, "\n") {
			if strings.Contains(line, "North") && line != "North and South|12 345" {
				t.Errorf("a row is cut: %q", line)
			}
		}
	}
	if rows != 20 {
		t.Errorf("%d rows", rows)
	}
	small := "1 heading1 Report\n1 text " + strings.Repeat(pageText, 4) + "\n1 heading2 Part\n1 text Before.\n1 table a|b\\n1|2\n1 text After."
	for _, c := range lawful(t, openLayoutOf(t, func(c *LayoutConfig) { c.MinChars = 0 }), laidOut(small)) {
		if strings.Contains(c.Text, "1|2") && c.Text != "a|b\n1|2" {
			t.Errorf("a small table with other text: %q", c.Text)
		}
	}
}

// Pages: a chunk lists all it touches; with multipage: false it touches one.
func TestLayoutPages(t *testing.T) {
	doc := "1 heading1 A\n1 text " + pageText + "\n2 text " + pageText + "\n2 heading2 B\n3 text " + pageText + "\n4 text " + strings.Repeat(pageText, 9)
	chunks := lawful(t, openLayoutOf(t, nil), laidOut(doc))
	if got := chunks[0].Metadata["pages"]; !reflect.DeepEqual(got, []any{1, 2}) || chunks[0].Page != 1 {
		t.Errorf("pages %v, first %d", got, chunks[0].Page)
	}
	for _, c := range lawful(t, openLayoutOf(t, func(c *LayoutConfig) { c.Multipage = false }), laidOut(doc)) {
		pages, _ := c.Metadata["pages"].([]any)
		if len(pages) != 1 && !strings.HasPrefix(c.Text, "B\n") { // a title goes to the page of its text
			t.Errorf("pages %v of %q", pages, c.Text)
		}
	}
}

// A list of loose items stays whole while it fits.
func TestLayoutLists(t *testing.T) {
	doc := "1 heading1 A\n1 text " + strings.Repeat(pageText, 2) + strings.Repeat("\n1 item - an item of thirty letters", 4) + "\n1 text " + strings.Repeat(pageText, 2)
	whole := false
	for _, c := range lawful(t, openLayoutOf(t, nil), laidOut(doc)) {
		n := strings.Count(c.Text, "- an item")
		whole = whole || n == 4
		if n != 0 && n != 4 {
			t.Errorf("%d items in %q", n, c.Text)
		}
	}
	if !whole {
		t.Error("no list")
	}
}

// new_after: a chunk that has reached it takes no more, though the cap would allow it.
func TestLayoutNewAfter(t *testing.T) {
	doc := "1 heading1 A" + strings.Repeat("\n1 text "+strings.TrimSpace(pageText), 12)
	for _, c := range lawful(t, openLayoutOf(t, func(c *LayoutConfig) { c.MaxChars, c.NewAfter = 1000, Amount{N: 100} }), laidOut(doc)) {
		if len(c.Text) > 160 {
			t.Errorf("%d characters: %q", len(c.Text), c.Text)
		}
	}
}

// Front matter of every form stays in one piece while it fits, also where it holds blank lines and what looks like headings.
func TestFrontMatterStaysWhole(t *testing.T) {
	for _, front := range []string{
		"---\ntitle: x\n\n# no heading\ntags: [a, b]\n---\n", "+++\ntitle = 'x'\n\n# no heading\n[a]\nb = 1\n+++\n", ";;;\n\"title\": \"# x\",\n\n\"n\": 3\n;;;\n", "{\n\"title\": \"x\",\n\n\"n\": 3\n}\n",
	} {
		els := markdownElements(t, front+"\n# Heading\n\n"+strings.Repeat(pageText, 6)+"\n")
		md := markdownDefaults()
		md.MaxChars = 60
		for _, s := range []connector.Strategy{mustOpen(t, Markdown(), &md), openLayoutOf(t, func(c *LayoutConfig) { c.MaxChars = 60 })} {
			if got := lawful(t, s, els)[0].Text; !strings.HasPrefix(got, strings.TrimSpace(front)) {
				t.Errorf("%s: %q", s.Info().Name, got)
			}
		}
	}
}

func TestLayoutConfig(t *testing.T) {
	for _, change := range []func(*LayoutConfig){
		func(c *LayoutConfig) { c.NewAfter = Amount{} },
		func(c *LayoutConfig) { c.CombineUnder.N = -1 },
		func(c *LayoutConfig) { c.NewAfter = Amount{N: 120, Percent: true} },
		func(c *LayoutConfig) { c.Breadcrumb = "none" },
	} {
		c := layoutDefaults()
		change(&c)
		if _, err := Layout().Open(context.Background(), &c, strategytest.Env()); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// FuzzLayout cuts the blocks of any text, spread over pages.
func FuzzLayout(f *testing.F) {
	f.Add("# A\n\n![x](y)\n\nFigure 1: z\n\n## B\n\nTable 2. t\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- i\n- j\n\n表 1 中文。\n", uint8(30), uint8(5))
	f.Add("text, more text. 中文。\n\n# A\n## B\n### C\n\n| a |\n|---|\n| 1 |\n", uint8(12), uint8(0))
	f.Add("# 0\n0000000000000|0\n-|- \n00", uint8(12), uint8('H')) // the header of a table that is cut in a word
	p := markdown.New(1 << 20)
	f.Fuzz(func(t *testing.T, text string, size, soft uint8) {
		if len(text) > 4096 || size < 4 {
			return
		}
		var els []connector.Element
		for el, err := range p.Parse(context.Background(), &connector.Document{}, strings.NewReader(text)) {
			if err != nil {
				return
			}
			els = append(els, el)
		}
		for i := range els {
			els[i].Page = i/(int(soft)%3+1) + 1
		}
		s := openLayoutOf(t, func(c *LayoutConfig) {
			c.MaxChars, c.MinChars, c.Multipage = int(size), int(soft)%24, soft%2 == 0
			c.NewAfter, c.CombineUnder = Amount{N: int(soft) + 1}, Amount{N: int(soft) % 50}
			c.Overlap.N = int(soft) % int(size)
		})
		chunks, err := strategytest.Collect(s, strategytest.Input{Elements: els})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range strategytest.Laws(s.Info(), strategytest.Input{Elements: els}, chunks) {
			t.Error(err)
		}
	})
}
