package code

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func open(tb testing.TB) connector.Parser {
	tb.Helper()
	plugin := Plugin()
	p, err := plugin.Open(context.Background(), plugin.Config(), connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func parse(tb testing.TB, p connector.Parser, name, text string) []connector.Element {
	tb.Helper()
	var out []connector.Element
	for e, err := range p.Parse(context.Background(), &connector.Document{Path: name}, strings.NewReader(text)) {
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		out = append(out, e)
	}
	return out
}

// tiled checks what holds for all elements and returns the parsed text.
func tiled(tb testing.TB, name string, elements []connector.Element) string {
	tb.Helper()
	var text strings.Builder
	for _, e := range elements {
		if e.Kind == connector.KindDropped {
			continue
		}
		if e.Span.Start != text.Len() || e.Span.Len() != len(e.Text) || e.Text == "" {
			tb.Fatalf("%s: element %v of %d bytes does not follow %d", name, e.Span, len(e.Text), text.Len())
		}
		text.WriteString(e.Text)
		inside(tb, name, e)
	}
	return text.String()
}

// inside checks that the children of e ascend within it, and that its symbol's spans do not leave it.
func inside(tb testing.TB, name string, e connector.Element) {
	tb.Helper()
	s := e.Symbol
	for _, span := range []connector.Span{s.Header, s.Doc, s.Body} {
		if span.Len() < 0 || span.Start < e.Span.Start || span.End > e.Span.End {
			tb.Fatalf("%s: %s %s: span %v is not in %v", name, s.Kind, s.Name, span, e.Span)
		}
	}
	from := e.Span.Start
	for _, c := range e.Children {
		if c.Span.Start < from || c.Span.End > e.Span.End || c.Span.Len() <= 0 {
			tb.Fatalf("%s: child %v of %v after %d", name, c.Span, e.Span, from)
		}
		if c.Text != e.Text[c.Span.Start-e.Span.Start:c.Span.End-e.Span.Start] {
			tb.Fatalf("%s: the text of child %v is not its own", name, c.Span)
		}
		from = c.Span.End
		inside(tb, name, c)
	}
}

func dump(elements []connector.Element, text string) string {
	var b strings.Builder
	for _, e := range elements {
		dumpElement(&b, e, text, "")
	}
	return b.String()
}

func dumpElement(b *strings.Builder, e connector.Element, text, indent string) {
	s := e.Symbol
	fmt.Fprintf(b, "%s%s %s %q\n", indent, s.Kind, strings.Join(s.Path, "/"), e.Text)
	if s.Kind != "statement" && s.Kind != "import" {
		fmt.Fprintf(b, "%s  header %q\n", indent, text[s.Header.Start:s.Header.End])
		if s.Doc.Len() > 0 {
			fmt.Fprintf(b, "%s  doc %q\n", indent, text[s.Doc.Start:s.Doc.End])
		}
	}
	for _, c := range e.Children {
		dumpElement(b, c, text, indent+"    ")
	}
}
