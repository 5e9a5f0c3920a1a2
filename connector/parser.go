package connector

import (
	"context"
	"io"
	"iter"
)

// ParserInfo describes a parser.
type ParserInfo struct {
	// Name is the kind ("markdown"). Version is raised whenever the same bytes may give other elements; Backend
	// names what does the work where builds differ ("tree-sitter", "go/ast", "indent"). All three are part of a document's fingerprint.
	Name    string
	Version int
	Backend string
}

// Parser turns the bytes of one document into elements. Implementations keep no state between documents and
// are safe for concurrent use.
type Parser interface {
	Info() ParserInfo
	// Parse reads r to its end and yields elements that tile the parsed text (see [Element]). The same bytes give
	// the same elements. An error ends the sequence and spoils the document; it wraps a classed error where
	// the bytes are at fault ([ClassInvalid]). Line-oriented formats stream: memory does not grow with the input.
	Parse(ctx context.Context, doc *Document, r io.Reader) iter.Seq2[Element, error]
}

// PageDrawer is what a parser of a format with pages may also be: it shows the pages that its elements stand on.
type PageDrawer interface {
	Parser
	// Draw reads r to its end and yields a picture of each page in order, of at most about width pixels in breadth. Errors are those of Parse.
	Draw(ctx context.Context, doc *Document, r io.Reader, width int) iter.Seq2[Picture, error]
}

// Picture is a page as its reader sees it.
type Picture struct {
	Page int // from 1
	// Width and Height are those of the page in points, in which the [Box] of an element is given.
	Width, Height float64
	PNG           []byte
}
