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
