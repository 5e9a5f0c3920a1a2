package lightmarkup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// DefaultMaxTreeSize is the default of max_tree_size, in bytes.
const DefaultMaxTreeSize = 32 << 20

// Config is the configuration of the parsers.
type Config struct {
	MaxTreeSize int `yaml:"max_tree_size" doc:"documents over this many bytes are read as plain paragraphs"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 || c.MaxTreeSize > MaxSize {
		return errors.New("max_tree_size must be at least 1 and at most 1073741824 bytes")
	}
	return nil
}

// Build makes the blocks of a document, in order, and its properties. Spans are places of the source; the blocks are tiled afterwards: each one
// goes up to the next.
type Build func(s *Source) (els []connector.Element, properties map[string]any)

// Read yields the elements of the document that r gives. One over maxTree bytes is read as plain paragraphs. Errors start with name.
func Read(ctx context.Context, name string, maxTree int, r io.Reader, build Build) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		src := decode.NewReader(r, decode.Options{})
		text, whole, err := src.ReadUpTo(maxTree)
		if err != nil {
			yield(connector.Element{}, fmt.Errorf("%s: %w", name, err))
			return
		}
		if !whole {
			plain(ctx, name, maxTree, io.MultiReader(strings.NewReader(text), src), src, yield)
			return
		}
		s := NewSource(text)
		els, properties := build(s)
		f := s.finish(els)
		if len(properties) > 0 && len(f.els) > 0 {
			f.els[0].Properties = properties
		}
		f.yield(ctx, name, s, src, yield)
	}
}

// yield gives the elements, and before each what was left out up to its place.
func (f *finished) yield(ctx context.Context, name string, s *Source, src *decode.Reader, yield func(connector.Element, error) bool) {
	m := mapping{cuts: f.cuts}
	next := 0
	drops := func(pos int) bool {
		moved := func(el connector.Element, err error) bool {
			at := m.at(el.Span.Start)
			el.Span = connector.Span{Start: at, End: at}
			return yield(el, err)
		}
		for ; next < len(f.cuts) && f.cuts[next].lo <= pos; next++ {
			c := f.cuts[next]
			at := m.at(c.lo)
			el := connector.Element{Kind: connector.KindDropped, Reason: connector.DropComment, Text: decode.Clip(s.Text[c.lo:c.hi])}
			el.Span = connector.Span{Start: at, End: at}
			if !yield(el, nil) {
				return false
			}
		}
		return decode.YieldDrops(src, pos, moved)
	}
	for i := range f.els {
		if !drops(f.starts[i]) {
			return
		}
		if err := ctx.Err(); err != nil {
			yield(connector.Element{}, fmt.Errorf("%s: %w", name, err))
			return
		}
		if !yield(f.els[i], nil) {
			return
		}
	}
	drops(math.MaxInt)
}

// plain yields the text as paragraphs, after a note that says why.
func plain(ctx context.Context, name string, maxTree int, text io.Reader, src *decode.Reader, yield func(connector.Element, error) bool) {
	note := fmt.Sprintf("over max_tree_size (%d bytes): read as plain paragraphs", maxTree)
	if !yield(connector.Element{Kind: connector.KindDropped, Reason: connector.DropMarkup, Text: note}, nil) {
		return
	}
	for el, err := range decode.TextElements(ctx, text, src, 0) {
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		if !yield(el, err) || err != nil {
			return
		}
	}
}
