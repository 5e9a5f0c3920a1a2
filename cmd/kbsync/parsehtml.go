package main

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"iter"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
)

//go:embed pages.html
var pagesTemplate string

// pictureWidth is the breadth of the pictures of pages, in pixels.
const pictureWidth = 1000

// maxShown is how much of an element's text the page shows, in runes.
const maxShown = 600

// markedElement is an element on the page: a number in reading order, none for what is dropped.
type markedElement struct {
	Number  int
	Kind    connector.Kind
	Level   int
	Page    int
	PageEnd int
	Reason  connector.DropReason
	Text    string
	Style   template.CSS // its place on the page; empty where that is unknown
	box     *connector.Box
}

// markedPage is a page with its elements; Picture is empty where there is none.
type markedPage struct {
	Number   int
	Picture  template.URL
	Width    int
	Height   int
	Elements []markedElement
}

// parsedHTML prints the pages of a document with its elements marked on them, and the elements that are on no page as a list. Pictures are
// printed as they come.
func (a *app) parsedHTML(path string, x *pipeline.Explanation, elements iter.Seq2[connector.Element, error], pictures iter.Seq2[connector.Picture, error]) error {
	t, err := template.New("pages").Parse(pagesTemplate)
	if err != nil {
		return err
	}
	byPage := map[int][]markedElement{}
	number, last := 0, 0
	for e, err := range elements {
		if err != nil {
			return err
		}
		m := markedElement{Kind: e.Kind, Level: e.Level, Page: e.Page, PageEnd: e.PageEnd, Reason: e.Reason, Text: clipRunes(strings.TrimSpace(e.Text), maxShown), box: e.Box}
		if e.Kind != connector.KindDropped {
			number++
			m.Number = number
		}
		last = max(last, e.Page)
		byPage[e.Page] = append(byPage[e.Page], m)
	}
	if err := t.ExecuteTemplate(a.out, "head", map[string]any{"Path": path, "Parser": x.Parser, "Elements": number}); err != nil {
		return err
	}
	for p, err := range pictures {
		if err != nil {
			return err
		}
		page := markedPage{Number: p.Page, Width: int(p.Width), Height: int(p.Height), Elements: byPage[p.Page]}
		if len(p.PNG) > 0 {
			page.Picture = template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(p.PNG)) //nolint:gosec // base64 holds no markup
			page.place(p.Width, p.Height)
		}
		delete(byPage, p.Page)
		if err := t.ExecuteTemplate(a.out, "page", page); err != nil {
			return err
		}
	}
	for n := range last + 1 {
		if els := byPage[n]; len(els) > 0 {
			if err := t.ExecuteTemplate(a.out, "page", markedPage{Number: n, Elements: els}); err != nil {
				return err
			}
		}
	}
	return t.ExecuteTemplate(a.out, "foot", nil)
}

// place says where the elements' boxes lie on the picture.
func (p *markedPage) place(width, height float64) {
	if width <= 0 || height <= 0 {
		return
	}
	for i := range p.Elements {
		if b := p.Elements[i].box; b != nil {
			p.Elements[i].Style = template.CSS(fmt.Sprintf("left:%.2f%%;top:%.2f%%;width:%.2f%%;height:%.2f%%", //nolint:gosec // numbers
				100*b.X0/width, 100*b.Y0/height, 100*(b.X1-b.X0)/width, 100*(b.Y1-b.Y0)/height))
		}
	}
}

// clipRunes is the beginning of a text, its line ends kept.
func clipRunes(s string, most int) string {
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}
