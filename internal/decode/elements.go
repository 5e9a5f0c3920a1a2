package decode

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"

	"github.com/kbsync/kbsync/connector"
)

// TextElements yields the paragraphs of text as KindText elements, the first at byte pos of the parsed text, and
// what drops reports at its place. text is drops itself or starts with what was read from it before.
func TextElements(ctx context.Context, text io.Reader, drops *Reader, pos int) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		paragraphs := NewParagraphs(text)
		for {
			piece, err := paragraphs.Next()
			if errors.Is(err, io.EOF) {
				YieldDrops(drops, math.MaxInt, yield)
				return
			}
			if err != nil {
				yield(connector.Element{}, err)
				return
			}
			if !YieldDrops(drops, pos, yield) {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(connector.Element{}, err)
				return
			}
			span := connector.Span{Start: pos, End: pos + len(piece)}
			pos = span.End
			if !yield(connector.Element{Kind: connector.KindText, Text: piece, Span: span}, nil) {
				return
			}
		}
	}
}

// YieldDrops yields, as elements, what r left out up to byte pos of the text; after the end of the text all the rest. It
// returns false if yield did.
func YieldDrops(r *Reader, pos int, yield func(connector.Element, error) bool) bool {
	for _, d := range r.Drain(pos) {
		if !yield(d.Element(), nil) {
			return false
		}
	}
	return true
}
