package markdown

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

var errTooDeep = errors.New("nested too deeply for a tree")

// newBlockParser makes a parser of the block structure alone: no inline markup, which costs most of the time
// of parsing Markdown and decides nothing about blocks.
//
// Link reference definitions stay paragraphs, since they are text like any other.
func newBlockParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(append(parser.DefaultBlockParsers(),
			util.Prioritized(footnoteParser{extension.NewFootnoteBlockParser()}, 999),
			util.Prioritized(extension.NewDefinitionListParser(), 101),
			util.Prioritized(extension.NewDefinitionDescriptionParser(), 102),
			util.Prioritized(mathParser{}, 710),
		)...),
		parser.WithParagraphTransformers(util.Prioritized(rootFinder{}, 100), util.Prioritized(tableTransformer{}, 200)),
	)
}

// tree parses src into blocks. It gives up, with an error, on input for which that is not linear.
func (p *Parser) tree(src []byte) (doc ast.Node, err error) {
	defer func() {
		switch v := recover(); {
		case v == nil:
		case v == errTooDeep: //nolint:errorlint // it is recovered, not returned
			err = errTooDeep
		default:
			err = fmt.Errorf("goldmark failed (%v)", v)
		}
	}()
	return p.blocks.Parse(&meter{Reader: text.NewReader(src), left: allowance(len(src))}), nil
}

// allowance is how many looks at a line a document of size bytes may take. Real documents need about 0.1 a byte, lists of one
// letter an item 3; such lists fill no megabytes.
func allowance(size int) int {
	return 1<<20 + 6*min(size, 1<<20) + 2*max(size-1<<20, 0)
}

// meter is a reader that bounds the work of the block parsers: all of them look at the current line whenever they
// are asked to open or continue a block, which deeply nested containers make quadratic.
type meter struct {
	text.Reader
	left int
	root ast.Node
	pc   parser.Context
}

func (m *meter) PeekLine() ([]byte, text.Segment) {
	line, seg := m.Reader.PeekLine()
	m.left -= 1 + len(line)/64
	if m.left < 0 {
		panic(errTooDeep)
	}
	return line, seg
}

// Source is what goldmark asks for between the parse of blocks and that of inline markup. The latter finds no text then but that of
// headings: it takes a third of the time, and nothing here needs it.
func (m *meter) Source() []byte {
	if m.root != nil && m.Peek() == text.EOF && len(m.pc.OpenedBlocks()) == 0 {
		dropLines(m.root)
		m.root = nil
	}
	return m.Reader.Source()
}

// dropLines takes the text from all paragraphs below n. Where they start stays, as the start of one empty line.
func dropLines(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c.Kind() {
		case ast.KindParagraph, ast.KindTextBlock:
			if lines := c.Lines(); lines.Len() > 0 {
				at := lines.At(0).Start
				lines.SetSliced(0, 1)
				lines.Set(0, text.NewSegment(at, at))
			}
		default:
			dropLines(c)
		}
	}
}

// rootFinder tells the meter the root of the tree, which the first paragraph leads to.
type rootFinder struct{}

func (rootFinder) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	m, ok := reader.(*meter)
	if !ok || m.pc != nil {
		return
	}
	m.pc = pc
	for m.root = node; m.root.Parent() != nil; {
		m.root = m.root.Parent()
	}
}

// footnoteParser leaves footnote definitions where they stand; goldmark collects them at the end.
type footnoteParser struct{ parser.BlockParser }

func (footnoteParser) Close(ast.Node, text.Reader, parser.Context) {}

// kinds of blocks that goldmark does not have.
var (
	kindMath  = ast.NewNodeKind("KbsyncMath")
	kindTable = ast.NewNodeKind("KbsyncTable")
)

// mathBlock is display math between lines that start and end with "$$".
type mathBlock struct {
	ast.BaseBlock
	closed bool
}

func (n *mathBlock) Kind() ast.NodeKind         { return kindMath }
func (n *mathBlock) IsRaw() bool                { return true }
func (n *mathBlock) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }

// mathParser ends math at a blank line too, which TeX does not allow in it, so that a stray "$$" swallows no more than a
// paragraph.
type mathParser struct{}

func (mathParser) Trigger() []byte { return []byte{'$'} }

func (mathParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := reader.PeekLine()
	pos := pc.BlockOffset()
	if pos < 0 || !bytes.HasPrefix(line[pos:], []byte("$$")) {
		return nil, parser.NoChildren
	}
	rest := bytes.TrimSpace(line[pos+2:])
	closes := bytes.HasSuffix(rest, []byte("$$"))
	if !closes && bytes.Contains(rest, []byte("$$")) {
		return nil, parser.NoChildren // a paragraph that starts with math
	}
	reader.AdvanceToEOL()
	return &mathBlock{closed: closes}, parser.NoChildren
}

func (mathParser) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	line, _ := reader.PeekLine()
	m, ok := node.(*mathBlock)
	if !ok || m.closed || util.IsBlank(line) {
		return parser.Close
	}
	m.closed = bytes.HasSuffix(bytes.TrimSpace(line), []byte("$$"))
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

func (mathParser) Close(ast.Node, text.Reader, parser.Context) {}
func (mathParser) CanInterruptParagraph() bool                 { return true }
func (mathParser) CanAcceptIndentedLine() bool                 { return false }
