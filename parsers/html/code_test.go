package html

import (
	"context"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

// lineDivider makes a symbol of each line of code in a language that it knows.
type lineDivider struct{ language string }

func (lineDivider) Backend() string { return "lines" }

func (d lineDivider) Divide(_ context.Context, language, text string) ([]connector.Element, error) {
	if language != d.language {
		return nil, nil
	}
	var out []connector.Element
	at := 0
	for line := range strings.Lines(text) {
		span := connector.Span{Start: at, End: at + len(line)}
		out = append(out, connector.Element{
			Kind: connector.KindSymbol, Text: line, Span: span,
			Symbol: &connector.Symbol{Kind: "statement", Header: span, Doc: connector.Span{Start: at, End: at}, Body: span},
		})
		at += len(line)
	}
	return out, nil
}

func pageElements(t *testing.T, c Config, d Divider, page string) []connector.Element {
	t.Helper()
	plugin := Plugin(d)
	p, err := plugin.Open(context.Background(), &c, connector.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Info().Backend != "lines" {
		t.Errorf("backend %q", p.Info().Backend)
	}
	els, err := parsertest.Collect(context.Background(), p, "x.html", strings.NewReader(page))
	if err == nil {
		err = parsertest.CheckElements(els)
	}
	if err != nil {
		t.Fatal(err)
	}
	return els
}

// Code in a page that is large enough to be cut has the parts of its code; where scripts are kept, so have they, in their own language.
func TestCodeInPages(t *testing.T) {
	lines := strings.Repeat("call(1); // 注释\n", 20)
	page := "<html><head><script>\n" + lines + "</script><script type=\"application/ld+json\">{\"a\": 1}</script><style>.a{}</style></head>" +
		"<body><p>text</p><pre class=\"language-javascript\">" + lines + "</pre></body></html>"
	code := func(els []connector.Element) (languages string, parts int) {
		for _, el := range els {
			if el.Kind == connector.KindCode {
				languages += el.Language + " "
				parts += len(el.Children)
			}
		}
		return languages, parts
	}
	c := defaults()
	if languages, parts := code(pageElements(t, c, lineDivider{"javascript"}, page)); languages != "javascript " || parts < 20 {
		t.Errorf("%s with %d parts", languages, parts)
	}
	c.KeepScripts = true
	if languages, parts := code(pageElements(t, c, lineDivider{"javascript"}, page)); languages != "javascript json css javascript " || parts < 40 {
		t.Errorf("%s with %d parts", languages, parts)
	}
}
