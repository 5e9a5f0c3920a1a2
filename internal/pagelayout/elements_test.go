package pagelayout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

// press sets text as a page would have it.
type press struct {
	pages []Page
	size  float64
	bold  bool
	font  string
}

const (
	pageWidth  = 600.0
	pageHeight = 800.0
)

func (p *press) page() *Page {
	p.pages = append(p.pages, Page{Number: len(p.pages) + 1, Width: pageWidth, Height: pageHeight})
	return &p.pages[len(p.pages)-1]
}

// put sets one run; its baseline box is as high as the size.
func (p *press) put(x, y float64, text string) *Run {
	pg := &p.pages[len(p.pages)-1]
	width := ems(strings.TrimSuffix(text, string(hyphen))) * p.size
	pg.Runs = append(pg.Runs, Run{Text: text, Font: p.font, Size: p.size, Bold: p.bold, Box: connector.Box{X0: x, X1: x + width, Y0: y, Y1: y + p.size}})
	return &pg.Runs[len(pg.Runs)-1]
}

// set breaks text into lines of a width from (x, y) down, the first one indented, and gives what did not fit above bottom.
func (p *press) set(x, y, width, indent, bottom float64, text string) (below float64, rest string) {
	words := strings.SplitAfter(text, " ")
	if firstRune(text) > 0x2E80 {
		words = strings.Split(text, "")
	}
	at := indent
	var line strings.Builder
	flush := func() {
		if line.Len() > 0 {
			p.put(x+at, y, strings.TrimRight(line.String(), " "))
			y += 1.25 * p.size
			at = 0
			line.Reset()
		}
	}
	for i, w := range words {
		if at+ems(line.String()+strings.TrimRight(w, " "))*p.size > width {
			flush()
			if y+p.size > bottom {
				return y, strings.Join(words[i:], "")
			}
		}
		line.WriteString(w)
	}
	flush()
	return y, ""
}

func (p *press) elements(tb testing.TB, outline ...Entry) []connector.Element {
	tb.Helper()
	var els []connector.Element
	for el, err := range Elements(context.Background(), given(p.pages), outline, map[string]any{"title": "T"}) {
		if err != nil {
			tb.Fatal(err)
		}
		els = append(els, el)
	}
	if err := parsertest.CheckElements(els); err != nil {
		tb.Error(err)
	}
	return els
}

func given(pages []Page) func(func(Page, error) bool) {
	return func(yield func(Page, error) bool) {
		for _, p := range pages {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func show(els []connector.Element) string {
	var b strings.Builder
	for _, el := range els {
		page := fmt.Sprint(el.Page)
		if el.PageEnd > 0 {
			page += "-" + fmt.Sprint(el.PageEnd)
		}
		if el.Kind == connector.KindDropped {
			page = string(el.Reason)
		}
		level := ""
		if el.Level > 0 {
			level = fmt.Sprint(el.Level)
		}
		fmt.Fprintf(&b, "%s%s (%s) %s\n", el.Kind, level, page, strings.TrimSpace(el.Text))
	}
	return b.String()
}

func sentences(from, to int, format string) string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprintf(format, i))
	}
	return strings.Join(out, " ")
}

// TestTwoColumns: a title over two columns of three pages, with running headers and page numbers; the text goes on over columns and pages.
func TestTwoColumns(t *testing.T) {
	for _, c := range []struct{ name, format, sep string }{
		{"latin", "The sentence with number %d says what it says about its place in the text.", " "},
		{"han", "第%d句话说明它在正文里的位置，以便检查阅读的顺序是否正确无误。", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &press{size: 10}
			text := strings.ReplaceAll(sentences(1, 160, c.format), " "+c.format[:1], c.sep+c.format[:1])
			if c.sep == "" {
				text = strings.ReplaceAll(text, " ", "")
			}
			rest := text
			for page := 1; rest != ""; page++ {
				p.page()
				top := 80.0
				if page == 1 {
					p.size, p.bold = 18, true
					p.put(90, 60, "A title that runs over both of the columns")
					p.size, p.bold = 10, false
					top = 110
				} else {
					p.put(50, 30, fmt.Sprintf("%d", page))
					p.put(400, 30, "Authors of the paper")
				}
				for _, x := range []float64{50, 310} {
					_, rest = p.set(x, top, 240, 0, 740, rest)
				}
				p.put(290, 770, fmt.Sprint(page))
			}
			els := p.elements(t)
			var got []connector.Element
			for _, el := range els {
				if el.Kind == connector.KindDropped {
					if el.Reason != connector.DropFurniture {
						t.Errorf("dropped for %s: %s", el.Reason, el.Text)
					}
					continue
				}
				got = append(got, el)
			}
			if len(got) != 2 || got[0].Kind != connector.KindHeading || got[0].Level != 1 || got[1].Page != 1 || got[1].PageEnd != len(p.pages) {
				t.Fatalf("got %s", show(got))
			}
			if s := strings.TrimSpace(got[1].Text); s != text {
				t.Errorf("the text differs:\n%s", s)
			}
			if got[0].Properties["title"] != "T" || got[1].Properties != nil || got[1].Box == nil || got[1].Box.X1 > 300 {
				t.Errorf("properties %v, box %v", got[0].Properties, got[1].Box)
			}
		})
	}
}

// TestJoins: what stands between two lines.
func TestJoins(t *testing.T) {
	var j joiner
	j.see("a well-founded pre-commit hook and understanding of 中文 English 混排")
	for _, c := range []struct{ a, b, want string }{
		{"some words", "go on", "some words go on"},
		{"the exam" + string(hyphen), "ple is", "the example is"},
		{"of the pre" + string(hyphen), "commit hook", "of the pre-commit hook"},
		{"under" + string(hyphen), "standing", "understanding"},
		{"the Navier" + string(hyphen), "Stokes equation", "the Navier-Stokes equation"},
		{"in 2023" + string(hyphen), "2024", "in 2023-2024"},
		{"state-of-the" + string(hyphen), "art", "state-of-the-art"},
		{"the low" + string(hyphen), "dimensional space", "the low-dimensional space"},
		{"hyphen-", "ated by hand", "hyphenated by hand"},
		{"a dash -", "then more", "a dash - then more"},
		{"前面的文字", "后面的文字", "前面的文字后面的文字"},
		{"标点，", "“引号", "标点，“引号"},
		{"中文", "English", "中文 English"},
		{"カタカナ", "ひらがな", "カタカナひらがな"},
		{"한국어", "문장", "한국어 문장"},
		{"ends with hyphen" + string(hyphen), "", "ends with hyphen-"},
	} {
		f := frag{text: strings.TrimSuffix(c.a, string(hyphen)), size: 10}
		lines := []line{{text: f.text, hyphen: strings.HasSuffix(c.a, string(hyphen))}, {text: c.b}}
		if c.b == "" {
			lines = lines[:1]
		}
		if got := j.lines(lines); got != c.want {
			t.Errorf("%q + %q = %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

// TestPageErrors: an error of the pages, and a cancellation, end the sequence.
func TestPageErrors(t *testing.T) {
	want := errors.New("broken")
	p := &press{size: 10}
	p.page()
	p.put(50, 50, "Some text.")
	var last error
	for _, err := range Elements(context.Background(), func(yield func(Page, error) bool) {
		_ = yield(p.pages[0], nil) && yield(Page{}, want)
	}, nil, nil) {
		last = err
	}
	if !errors.Is(last, want) {
		t.Errorf("got %v", last)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range Elements(ctx, given(p.pages), nil, nil) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("got %v", last)
	}
}

// TestScannedPages: pages of pictures are told.
func TestScannedPages(t *testing.T) {
	p := &press{size: 10}
	p.page().Images = make([]connector.Box, 2)
	p.page()
	p.put(50, 50, "Text of the second page.")
	p.page()
	els := p.elements(t)
	if got := show(els); got != "dropped (no text layer: OCR needed) page 1: 2 images\ntext (2) Text of the second page.\n" {
		t.Error(got)
	}
}

// TestWindows: a document of more pages than a window loses nothing and keeps its order.
func TestWindows(t *testing.T) {
	p := &press{size: 10}
	for i := range 2*windowPages + 7 {
		p.page()
		p.put(50, 180, fmt.Sprintf("Sentence of page %d goes on to the edge of the page and further and", i+1))
		p.put(290, 780, fmt.Sprint(i+1))
	}
	els := p.elements(t)
	text := parsertest.Text(els)
	at := 0
	for i := range p.pages {
		k := strings.Index(text[at:], fmt.Sprintf("page %d goes", i+1))
		if k < 0 {
			t.Fatalf("page %d is missing or out of order", i+1)
		}
		at += k
	}
	dropped := 0
	for _, el := range els {
		if el.Reason == connector.DropFurniture {
			dropped++
		}
	}
	if dropped != len(p.pages) {
		t.Errorf("%d page numbers dropped of %d", dropped, len(p.pages))
	}
	if !slices.IsSortedFunc(els, func(a, b connector.Element) int { return a.Span.Start - b.Span.Start }) {
		t.Error("spans out of order")
	}
}
