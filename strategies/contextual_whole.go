package strategies

import (
	"context"
	"iter"

	"github.com/kbsync/kbsync/connector"
)

// roomyBytes is the text of a document up to which both ways to cut it are tried.
const roomyBytes = 4 << 20

// cut yields the chunks of the strategy below: those with room for contexts, unless the smaller caps would cut something in the middle that the
// whole ones may leave whole. Then, and where the document is too long to be looked at twice, the caps are the whole ones, and contexts
// stand where they fit.
func (s *contextual) cut(ctx context.Context, doc *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	if s.roomy == nil {
		return s.of.Chunks(ctx, doc, elements)
	}
	return func(yield func(connector.Chunk, error) bool) {
		next, stop := iter.Pull2(elements)
		defer stop()
		var held []connector.Element
		size, whole := 0, true
		for el, err, ok := next(); ok; el, err, ok = next() {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			held, size = append(held, el), size+len(el.Text)
			if size > roomyBytes {
				whole = false
				break
			}
		}
		if whole {
			chunks, ok, err := uncut(s.roomy.Chunks(ctx, doc, following(held, nil)))
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			for i := range chunks {
				if ok && !yield(chunks[i], nil) {
					return
				}
			}
			if ok {
				return
			}
			next = nil
		}
		for c, err := range s.of.Chunks(ctx, doc, following(held, next)) {
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// uncut collects chunks; ok is false, and they are not all, once one is cut in the middle of something.
func uncut(chunks iter.Seq2[connector.Chunk, error]) (all []connector.Chunk, ok bool, err error) {
	for c, err := range chunks {
		if err != nil || c.ForcedSplit {
			return nil, false, err
		}
		all = append(all, c)
	}
	return all, true, nil
}

// following yields the elements that are held, and then those that next gives; nil: none.
func following(held []connector.Element, next func() (connector.Element, error, bool)) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		for _, el := range held {
			if !yield(el, nil) {
				return
			}
		}
		for next != nil {
			el, err, ok := next()
			if !ok || !yield(el, err) {
				return
			}
		}
	}
}
