// Package jsondoc reads JSON documents and JSON Lines.
//
// Every record becomes an element whose Text is the exact text and whose Table has the keys as header and the values as one row:
// strings are decoded, nested values are compact JSON. An array's records are its items, an object's are its members; a member of more
// than 16 KiB is divided in turn, if it is an object or an array of objects, and its path stands in the tables' Caption.
// Duplicate keys are kept in order. Separators and blank lines belong to the record before them, openers to the one after.
//
// # Config
//
//	max_record_bytes: 4194304   # jsonl only
//
// # Limits
//
// JSON Lines stream: a line that is no JSON is a text element, and one over max_record_bytes becomes several, of at most 64 KiB each.
// A JSON document is held whole. One that does not parse is read as JSON Lines if its first line is a record, or else becomes text elements.
package jsondoc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

const (
	maxPieceBytes    = 64 << 10 // of text elements
	defaultMaxRecord = 4 << 20
)

// Config of the JSON parser: there is nothing to set.
type Config struct{}

// LinesConfig of the JSON Lines parser.
type LinesConfig struct {
	MaxRecordBytes int `yaml:"max_record_bytes" doc:"the longest line that is read as a record; longer ones become plain text"`
}

// Validate reports a value that is out of range.
func (c *LinesConfig) Validate() error {
	if c.MaxRecordBytes < 1<<10 || c.MaxRecordBytes > 256<<20 {
		return fmt.Errorf("jsonl: max_record_bytes is %d, want 1024 to 268435456", c.MaxRecordBytes)
	}
	return nil
}

// Parser reads JSON documents.
type Parser struct{}

// LinesParser reads JSON Lines.
type LinesParser struct{ config LinesConfig }

var (
	_ connector.Parser = (*Parser)(nil)
	_ connector.Parser = (*LinesParser)(nil)
)

// Plugin is the registry entry of kind "json".
func Plugin() connector.ParserPlugin {
	return connector.Define("json", "JSON documents, record by record", Config{},
		func(context.Context, *Config, connector.Env) (connector.Parser, error) { return &Parser{}, nil })
}

// LinesPlugin is the registry entry of kind "jsonl".
func LinesPlugin() connector.ParserPlugin {
	return connector.Define("jsonl", "JSON Lines, one record a line", LinesConfig{MaxRecordBytes: defaultMaxRecord},
		func(_ context.Context, config *LinesConfig, _ connector.Env) (connector.Parser, error) {
			if err := config.Validate(); err != nil {
				return nil, err
			}
			return &LinesParser{config: *config}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "json", Version: 1} }

// Info names the parser.
func (p *LinesParser) Info() connector.ParserInfo {
	return connector.ParserInfo{Name: "jsonl", Version: 1}
}

// Parse yields one element a record.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		in := decode.NewReader(r, decode.Options{})
		text, err := in.ReadString(0)
		if err != nil {
			yield(connector.Element{}, fmt.Errorf("json: %w", err))
			return
		}
		out := &output{drain: in.Drain, yield: yield}
		finish("json", out, parseTree(ctx, text, out))
	}
}

// Parse yields one element a line.
func (p *LinesParser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		in := decode.NewReader(r, decode.Options{})
		out := &output{drain: in.Drain, yield: yield}
		finish("jsonl", out, parseLines(ctx, in, p.config.MaxRecordBytes, out))
	}
}

// finish yields what is left of the dropped text, or the error.
func finish(kind string, out *output, err error) {
	if err == nil {
		err = out.drops()
	}
	if err != nil && !errors.Is(err, errStopped) {
		out.yield(connector.Element{}, fmt.Errorf("%s: %w", kind, err))
	}
}

// errStopped says that the consumer wants no more.
var errStopped = errors.New("stopped")

// output yields elements one after the other and knows how far the text has come.
type output struct {
	pos   int
	drain func(pos int) []decode.Drop
	yield func(connector.Element, error) bool
}

// send yields e with text, which follows what was sent before.
func (o *output) send(e connector.Element, text string) error {
	if text == "" {
		return nil
	}
	if err := o.drops(); err != nil {
		return err
	}
	e.Text = text
	e.Span = connector.Span{Start: o.pos, End: o.pos + len(text)}
	if e.Table != nil {
		for i := range e.Table.Rows {
			e.Table.Rows[i].Span = e.Span
		}
	}
	o.pos += len(text)
	if !o.yield(e, nil) {
		return errStopped
	}
	return nil
}

// sendText yields text in pieces of at most maxPieceBytes, cut after line ends or spaces where there are any.
func (o *output) sendText(ctx context.Context, text string) error {
	for text != "" {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := pieceEnd(text)
		if err := o.send(connector.Element{Kind: connector.KindText}, text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

func (o *output) drops() error {
	for _, d := range o.drain(o.pos) {
		if !o.yield(d.Element(), nil) {
			return errStopped
		}
	}
	return nil
}

func pieceEnd(text string) int {
	if len(text) <= maxPieceBytes {
		return len(text)
	}
	head := text[:maxPieceBytes]
	if k := strings.LastIndexByte(head, '\n'); k >= 0 {
		return k + 1
	}
	if k := strings.LastIndexByte(head, ' '); k > maxPieceBytes/2 {
		return k + 1
	}
	return runeBoundary(head)
}
