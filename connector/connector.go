// Package connector is the contract of kbsync: the vocabulary that sources,
// parsers, strategies, embedders and sinks share with the engine that drives
// them. It imports the standard library alone; plugins import it and nothing
// of each other.
//
// Data flows one way: a [Source] lists Documents, a [Parser] turns one into
// Elements, a [Strategy] cuts these into Chunks, an [Embedder] gives each a
// vector, and a [Collection] of a [Sink] holds the resulting Points. The engine
// (connector/pipeline) alone retries, batches, limits and reports.
package connector

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Document is one thing that a source lists: a file, an object, a page. It is
// cheap: nothing of its content is read before Open is called.
type Document struct {
	// Path identifies the document inside its source: slash-separated, never
	// empty, never starting with a slash, exactly as the source spells it (no
	// Unicode normalisation). It is unique within one listing.
	Path string
	// URI locates the document for people (file:///…, s3://…).
	URI string
	// Version changes whenever the content may have changed (etag, revision,
	// stat fingerprint). Empty means unknown: the engine then reads and hashes.
	Version string
	// Unsettled says that Version cannot be trusted yet (modified a moment before the
	// listing): the engine stores the document but reads it again next time.
	Unsettled bool
	// MediaType is a hint such as "text/markdown"; empty means unknown.
	MediaType string
	// Size in bytes, or -1 if unknown.
	Size int64
	// ModifiedAt is the source's modification time; zero means unknown.
	ModifiedAt time.Time
	// Metadata holds object tags and the like; may be nil.
	Metadata map[string]any
	// Open gives a fresh reader at the first byte each time; the caller closes it. If the
	// content is known to differ from what was listed, the reader or Open reports an error of
	// class [ClassChanged], unless the reader is an [Opened] that says which version it reads.
	Open func(ctx context.Context) (io.ReadCloser, error)
	// OpenAt, where the source can start in the middle, goes on with a reading that broke: a reader of the bytes from
	// offset on, of the very version that version names (that of the broken reading); an error of class [ClassChanged] where
	// that is no longer there. nil: a broken reading starts again.
	OpenAt func(ctx context.Context, offset int64, version string) (io.ReadCloser, error)
	// Sibling, where the source can find one document without listing all, is the document at a path of the same source, whether a listing would
	// name it or not; for formats whose documents take in others. [ClassNotFound] where there is none, [ClassInvalid] for a path that leads out
	// of the source. The engine looks again at a document when what it took in has changed. nil: the source cannot.
	Sibling func(ctx context.Context, path string) (*Document, error)
}

// Opened is a reader that knows more about the document than its listing said.
type Opened interface {
	io.ReadCloser
	// Facts are what the system said when the document was opened.
	Facts() Facts
}

// Facts stand in place of what the listing said of a document, where they are set.
type Facts struct {
	// Version is that of the content which the reader gives, in the form that listings use: what is read is stored under it.
	Version string
	// MediaType as in [Document].
	MediaType string
	// Encoding is how the bytes are packed: "gzip" (the engine unpacks them), or empty. Bytes that are labelled gzip and are
	// not are read as they are.
	Encoding string
	// ModifiedAt as in [Document].
	ModifiedAt time.Time
	// Metadata is added to that of the listing: object tags and user metadata, which only reading shows.
	Metadata map[string]any
}

// Span is a half-open byte range [Start, End) of a document's parsed text. In
// JSON it is the array [start, end].
type Span struct{ Start, End int }

// Len is the number of bytes in the span.
func (s Span) Len() int { return s.End - s.Start }

// MarshalJSON writes [start,end].
func (s Span) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%d,%d]", s.Start, s.End), nil
}

// UnmarshalJSON reads [start,end].
func (s *Span) UnmarshalJSON(b []byte) error {
	var pair [2]int
	if err := json.Unmarshal(b, &pair); err != nil {
		return fmt.Errorf("connector: span: %w", err)
	}
	s.Start, s.End = pair[0], pair[1]
	return nil
}

// Kind names what an element is.
type Kind string

// The kinds of elements. KindDropped is special: it is no part of the parsed text (see [Element]).
const (
	KindHeading     Kind = "heading"
	KindText        Kind = "text" // a paragraph or a run of plain text
	KindList        Kind = "list"
	KindItem        Kind = "item"
	KindTable       Kind = "table"
	KindCode        Kind = "code" // a code block of a document
	KindQuote       Kind = "quote"
	KindMath        Kind = "math"
	KindImage       Kind = "image"
	KindHTML        Kind = "html" // raw HTML inside another format
	KindFrontMatter Kind = "front_matter"
	KindFootnote    Kind = "footnote"
	KindDefinition  Kind = "definition" // definition list
	KindBreak       Kind = "break"      // thematic break, page break
	KindSymbol      Kind = "symbol"     // a declaration of a source file
	KindRecord      Kind = "record"     // one record of a JSON or JSON Lines file
	KindDropped     Kind = "dropped"
)

// DropReason is the closed list of reasons for which a parser may leave text out.
type DropReason string

// The reasons, in the words that `kbsync parse` prints.
const (
	DropControl     DropReason = "control characters"
	DropInvisible   DropReason = "invisible characters"
	DropBOM         DropReason = "byte order mark"
	DropScript      DropReason = "script or style"
	DropBoilerplate DropReason = "navigation or boilerplate"
	DropComment     DropReason = "markup comment"
	DropHidden      DropReason = "hidden element"
	DropFurniture   DropReason = "page furniture"
	DropMarkup      DropReason = "markup without text"
	DropUndecodable DropReason = "undecodable bytes"
	DropNoText      DropReason = "no text layer: OCR needed"
	DropDeleted     DropReason = "deleted in a tracked change"
	DropQuoted      DropReason = "quoted history"
	DropEmbedded    DropReason = "embedded object without text"
	DropRepeated    DropReason = "repeated text"
	DropLimit       DropReason = "over a limit"
)

// Element is a block of a parsed document.
//
// The elements that a parser yields at the top level tile the parsed text: each one's Span starts where
// the one before ended, the first at 0, and Text is exactly the parsed text in Span (so blank lines
// between blocks belong to the block before them). The parsed text is therefore the concatenation of
// all Text, and neither parser nor strategy needs to hold it whole. Elements of kind [KindDropped] stand
// outside this rule: their Span is empty, their Text holds what was left out (or its first 4 KiB) and
// Reason says why.
type Element struct {
	Kind Kind
	// Level is 1–6 for headings and the nesting depth for lists and items (from 1); 0 otherwise.
	Level int
	Text  string
	Span  Span
	// Title is a heading's plain text without markup, or a figure's or table's caption.
	Title string
	// Language is the programming language of code (lower case, as go-enry names it), if known.
	Language string
	// Page is the 1-based page, or 0 where there are none. PageEnd is the page on which the element ends, if that is another one.
	Page, PageEnd int
	// Box is where the element stands on Page; nil where that is unknown. Of an element that goes over pages or columns it is the first part.
	Box *Box
	// Properties are what the document says about itself beside its text: "title", "author", "subject", "created", … in lower case, values as
	// JSON has them. A parser sets them on the first element that is not dropped, if at all; the engine puts them into the metadata of every
	// chunk.
	Properties map[string]any
	// Atom marks what may not be cut while it fits the cap: a fence, a table row, an equation.
	Atom bool
	// Children are the parts of a list, a symbol or a container, in order; each Span lies inside
	// the parent's. They need not cover it.
	Children []Element
	// Table is set for KindTable.
	Table *Table
	// Symbol is set for KindSymbol.
	Symbol *Symbol
	// Front is the decoded front matter, for KindFrontMatter; nil if it did not parse.
	Front map[string]any
	// Reason is set for KindDropped.
	Reason DropReason
}

// Box is a rectangle on a page, in points (1/72 inch) from the page's upper left corner as a reader sees it: X0 ≤ X1, Y0 ≤ Y1.
type Box struct{ X0, Y0, X1, Y1 float64 }

// MarshalJSON writes [x0,y0,x1,y1], to a tenth of a point.
func (b Box) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%.1f,%.1f,%.1f,%.1f]", b.X0, b.Y0, b.X1, b.Y1), nil
}

// Table is a run of rows of one table. A large table arrives as several elements that share ID and
// Header; Rows are always complete.
type Table struct {
	// ID is equal for the parts of one table and different between tables of one document.
	ID int
	// Header holds the header rows' cell values; empty where the table has none.
	Header [][]string
	// HeaderText is the header as it stands in the text (with a Markdown table's separator line),
	// ending in a line end, ready to be repeated above other rows. HeaderSpan is where it stands;
	// it lies in the first part's Span.
	HeaderText string
	HeaderSpan Span
	// FirstRow is the 1-based number of Rows[0] among the data rows of the table.
	FirstRow int
	Rows     []Row
	Caption  string
	Sheet    string
}

// Row is one record of a table. Span covers the whole record in the parsed text, its line end included.
type Row struct {
	Cells []string
	Span  Span
}

// Symbol is a declaration of a source file: what chunking code by syntax needs to know.
type Symbol struct {
	// Kind is the class of the declaration: "class", "interface", "struct", "enum", "trait", "impl", "module",
	// "namespace", "function", "method", "type", "variable", "import", "statement".
	Kind string
	// Name is the declared name; empty for statements and imports.
	Name string
	// Path is the chain of names from the outermost declaration to this one.
	Path []string
	// Header is the declaration up to its body: signature, bases, opening brace or colon.
	Header Span
	// Doc is the doc comment or docstring; empty where there is none. Leading comments and decorators
	// belong to the element's Span in any case.
	Doc Span
	// Body is what follows the header; empty where there is none.
	Body Span
}

// Chunk is what a strategy makes: a piece of one document that is embedded and stored on its own.
//
// Unless Rendered or Generated, Text is the concatenation of the parsed text in Spans, which ascend and do
// not overlap. Spans of successive chunks may overlap (overlap is text too).
type Chunk struct {
	// Key names the chunk within its document for ParentKey; empty if nothing refers to it.
	Key       string
	ParentKey string
	// Text is the content.
	Text string
	// Context was added on purpose: breadcrumb, repeated header, class header. It stands before Text in the
	// embedded text and brings its own terminator (a line end, usually).
	Context      string
	Spans        []Span
	ContextSpans []Span
	// Headings is the breadcrumb, outermost first.
	Headings []string
	Page     int
	Language string
	// Tokens is the count of EmbedText by the counter named TokenUnit, where the strategy measured it; 0 means that nobody counted.
	Tokens    int
	TokenUnit string
	// ForcedSplit: a boundary falls inside an atom that alone exceeds the cap.
	ForcedSplit bool
	// Rendered: Text was made from whole records in Spans; every cell value occurs in it, in order.
	Rendered bool
	// Generated: a model wrote Text from the passage in Spans.
	Generated bool
	// StoreOnly chunks (parents) are stored but neither embedded nor searched.
	StoreOnly bool
	// Late asks for a vector that knows the text around the chunk: the mean of its tokens' vectors in a reading of many chunks of the
	// document (late chunking, Günther et al. 2024). Where the embedder cannot give one the chunk is embedded alone.
	Late bool
	// Metadata is what the strategy adds (sheet, row range, symbol path …); may be nil.
	Metadata map[string]any
	// Vector is set where the strategy computed it (semantic, late).
	Vector []float32
}

// EmbedText is what is embedded and hashed: Context followed by Text.
func (c *Chunk) EmbedText() string {
	if c.Context == "" {
		return c.Text
	}
	return c.Context + c.Text
}

// Record is a chunk as a sink stores it and as `chunk` and `export` print it.
type Record struct {
	ChunkID      string         `json:"chunk_id"`
	DocID        string         `json:"doc_id"`
	Source       string         `json:"source"`
	Path         string         `json:"path"`
	Content      string         `json:"content"`
	Context      string         `json:"context"`
	EmbedText    string         `json:"embed_text"`
	ParentID     string         `json:"parent_id"`
	Spans        []Span         `json:"spans"`
	ContextSpans []Span         `json:"context_spans"`
	CharCount    int            `json:"char_count"`
	TokenCount   int            `json:"token_count"`
	ContentHash  string         `json:"content_hash"`
	Metadata     map[string]any `json:"metadata"`
}

// Point is a record with its vector. Vector is nil for store-only records and where it was not asked for.
type Point struct {
	Record
	Vector []float32 `json:"vector,omitempty"`
}
