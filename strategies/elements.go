package strategies

import (
	"context"
	"iter"

	"github.com/kbsync/kbsync/connector"
)

// textual is the elements that make up the parsed text, without the dropped ones. It ends with the first error, the end of ctx among them.
func textual(ctx context.Context, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		for el, err := range elements {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(connector.Element{}, err)
				return
			}
			if el.Kind != connector.KindDropped && !yield(el, nil) {
				return
			}
		}
	}
}

// resume is a sequence that was begun.
func resume(begun []connector.Element, next func() (connector.Element, error, bool)) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		for _, el := range begun {
			if !yield(el, nil) {
				return
			}
		}
		for el, err, ok := next(); ok && yield(el, err); el, err, ok = next() {
		}
	}
}

// atomSpans adds where what may not be cut while it fits stands in an element: marked elements and rows, at any depth.
func atomSpans(spans []connector.Span, el *connector.Element) []connector.Span {
	if el.Atom && el.Span.Len() > 0 {
		spans = append(spans, el.Span)
	}
	if el.Table != nil {
		for _, row := range el.Table.Rows {
			spans = append(spans, row.Span)
		}
	}
	for k := range el.Children {
		spans = atomSpans(spans, &el.Children[k])
	}
	return spans
}
