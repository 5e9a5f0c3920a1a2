package html

import (
	"context"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/kbsync/kbsync/connector"
)

// Sizes of code, in bytes, that is divided. Smaller code is hardly ever cut; larger code is cut between lines.
const (
	minCode = 256
	maxCode = 1 << 20
)

// divide gives code the declarations in it as children.
func (p *Parser) divide(ctx context.Context, el *connector.Element) error {
	if p.code == nil || el.Kind != connector.KindCode || el.Language == "" || len(el.Text) < minCode || len(el.Text) > maxCode {
		return nil
	}
	parts, err := p.code.Divide(ctx, el.Language, el.Text)
	if err == nil && len(parts) > 0 {
		move(parts, el.Span.Start)
		el.Children = parts
	}
	return err
}

// move shifts elements of the code to their places in the page's text.
func move(els []connector.Element, by int) {
	shift := func(s *connector.Span) { s.Start += by; s.End += by }
	for i := range els {
		shift(&els[i].Span)
		if s := els[i].Symbol; s != nil {
			shift(&s.Header)
			shift(&s.Doc)
			shift(&s.Body)
		}
		move(els[i].Children, by)
	}
}

// script writes a script or a style as code.
func (w *writer) script(n *node) {
	var b strings.Builder
	for _, k := range n.kids {
		b.WriteString(k.text)
	}
	text := strings.Trim(b.String(), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	el := w.emit(connector.KindCode, text)
	el.Atom, el.Language = true, scriptLanguage(n)
}

// scriptLanguage is the language of a script or style by the type that its tag names; empty if that is unknown.
func scriptLanguage(n *node) string {
	word := strings.ToLower(strings.TrimSpace(n.lang))
	switch {
	case n.tag == atom.Style:
		return "css"
	case word == "", word == "module", strings.HasSuffix(word, "javascript"), strings.HasSuffix(word, "ecmascript"), word == "text/babel":
		return "javascript"
	case strings.HasSuffix(word, "typescript"), word == "ts":
		return "typescript"
	case strings.HasSuffix(word, "json"), word == "importmap", word == "speculationrules":
		return "json"
	}
	return ""
}
