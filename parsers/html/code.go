package html

import (
	"context"

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
