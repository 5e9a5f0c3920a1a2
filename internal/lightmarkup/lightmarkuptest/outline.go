// Package lightmarkuptest helps to test parsers of light markup.
package lightmarkuptest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// Parse reads src, and checks that nothing of it is missing from what comes out.
func Parse(t testing.TB, p connector.Parser, src string) []connector.Element {
	t.Helper()
	var els []connector.Element
	for el, err := range p.Parse(context.Background(), &connector.Document{Path: "document", Size: int64(len(src))}, strings.NewReader(src)) {
		if err != nil {
			t.Fatal(err)
		}
		els = append(els, el)
	}
	if err := Check(els, src); err != nil {
		t.Error(err)
	}
	return els
}

// Check tells whether the source is the text of the elements with the comments at their places.
func Check(els []connector.Element, src string) error {
	var all, b strings.Builder
	for _, el := range els {
		if el.Kind != connector.KindDropped {
			all.WriteString(el.Text)
		}
	}
	text := all.String()
	at := 0
	for _, el := range els {
		if el.Kind != connector.KindDropped {
			continue
		}
		if el.Reason != connector.DropComment || len(el.Text) >= 4000 {
			return nil // what it replaced is not known
		}
		if el.Span.Start < at {
			return fmt.Errorf("a comment at %d comes behind one at %d", el.Span.Start, at)
		}
		b.WriteString(text[at:el.Span.Start])
		b.WriteString(el.Text)
		at = el.Span.Start
	}
	b.WriteString(text[at:])
	if b.String() != src {
		return fmt.Errorf("text and comments are not the source:\n%.400q\n%.400q", b.String(), src)
	}
	return nil
}

// Outline shows elements as kind(level)[title]:language!{children}; ! marks atoms, what follows # is the number of rows.
func Outline(els []connector.Element) string {
	parts := make([]string, 0, len(els))
	for _, el := range els {
		s := string(el.Kind)
		if el.Level > 0 {
			s += fmt.Sprint(el.Level)
		}
		if el.Title != "" {
			s += "[" + el.Title + "]"
		}
		if el.Language != "" {
			s += ":" + el.Language
		}
		if el.Atom {
			s += "!"
		}
		if el.Table != nil {
			s += fmt.Sprintf("#%d", len(el.Table.Rows))
		}
		if len(el.Children) > 0 {
			s += "{" + Outline(el.Children) + "}"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

// Table shows the header and rows of the first table at any depth.
func Table(els []connector.Element) string {
	for i := range els {
		if t := els[i].Table; t != nil {
			rows := make([][]string, 0, len(t.Rows))
			for _, r := range t.Rows {
				rows = append(rows, r.Cells)
			}
			return fmt.Sprintf("%q %q", t.Header, rows)
		}
		if s := Table(els[i].Children); s != "" {
			return s
		}
	}
	return ""
}

// Linear checks that reading text of four times the size is no more than about four times the work, and nothing is lost. source makes a text of
// about n bytes.
func Linear(t *testing.T, p connector.Parser, build lightmarkup.Build, source func(n int) string) {
	t.Helper()
	const size = 1 << 14
	work := func(n int) int {
		s := lightmarkup.NewSource(source(n))
		build(s)
		return s.Work()
	}
	Parse(t, p, source(size))
	small, large := work(size), work(4*size)
	if large > 5*small+1000 || small > 64*size {
		t.Errorf("of %d bytes %d is looked at, of four times as many %d", size, small, large)
	}
}
