// Package notebook reads Jupyter notebooks (nbformat 3 and 4), cell by cell.
//
// The parsed text is the text of the cells, in order, each followed by a blank line: what a Markdown cell says, as headings, code blocks,
// tables, lists and paragraphs; the source of a code cell, which is an atom in the kernel's language (or that of its cell magic, such
// as %%bash); and below it what it printed, as text without colours. Of several forms of one output the most textual is kept: Markdown,
// plain text, LaTeX, then the text of HTML.
//
// # Config
//
//	max_output_bytes: 4096
//
// # Limits
//
// The file is read as a stream: images and other media are skipped as they pass and never held, and are told as dropped elements. Cells are
// held until the language of the kernel is known, which most notebooks tell at their end, up to 16 MiB of them; code cells that had to
// be given away before have no language. A cell of over 16 MiB of source is an error. Markdown cells are read line by line: nested blocks are
// part of the list or quote that they stand in.
package notebook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// DefaultMaxOutput is the default of max_output_bytes.
const DefaultMaxOutput = 4 << 10

// Config is the configuration of the parser.
type Config struct {
	MaxOutputBytes int `yaml:"max_output_bytes" doc:"how much text of one output is kept, in bytes; 0 drops all outputs"`
}

// Validate reports a value that is out of range.
func (c *Config) Validate() error {
	if c.MaxOutputBytes < 0 || c.MaxOutputBytes > 1<<20 {
		return fmt.Errorf("notebook: max_output_bytes is %d, want 0 to 1048576", c.MaxOutputBytes)
	}
	return nil
}

// Parser yields the cells of notebooks.
type Parser struct{ config Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry of kind "notebook".
func Plugin() connector.ParserPlugin {
	return connector.Define("notebook", "Jupyter notebooks, cell by cell", Config{MaxOutputBytes: DefaultMaxOutput},
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, err
			}
			return &Parser{config: *c}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo {
	return connector.ParserInfo{Name: "notebook", Version: 2}
}

// errStopped says that the consumer wants no more.
var errStopped = errors.New("stopped")

// Parse yields the blocks of Markdown cells, code cells and outputs. What is no notebook is an error of class invalid.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		in := decode.NewReader(r, decode.Options{})
		rd := &reading{ctx: ctx, in: in, scan: newScanner(in), max: p.config.MaxOutputBytes, out: &output{ctx: ctx, yield: yield}}
		err := rd.document()
		if err == nil {
			err = rd.out.finish(rd)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(connector.Element{}, fmt.Errorf("notebook: %w", err))
		}
	}
}
