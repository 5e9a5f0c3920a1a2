// Package delimited reads tables of delimited text: CSV, TSV and their kin. It keeps the byte span of every record,
// which encoding/csv does not.
//
// The delimiter, the quote character and whether there is a header are told from the first 64 KiB. Quoted cells may hold
// line ends; rows may have any number of cells; stray quotes are text. Lines before the header that
// fill one cell at most are titles and become text elements; blank lines belong to the row before them.
//
// # Config
//
//	delimiter: auto        # auto, comma, semicolon, tab, pipe
//	quote: auto            # auto, double, single, none
//	header: auto           # auto, yes, no
//	max_record_bytes: 1048576
//
// # Limits
//
// A quote that is not closed within max_record_bytes is taken as text, and its line as a row of its own. A line longer than that
// becomes text elements of at most 64 KiB. Memory is bounded by a few times max_record_bytes, whatever the
// input. A header of several rows is taken as one header row and data; a document whose only record could be a header has no header.
package delimited

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// Bounds of one table element.
const (
	maxElementBytes = 64 << 10
	maxElementRows  = 256
)

// Values of Config.Header and "auto" of the others.
const (
	auto       = "auto"
	headerAuto = auto
	headerYes  = "yes"
	headerNo   = "no"
)

// Config of the delimited parser.
type Config struct {
	Delimiter      string `yaml:"delimiter" doc:"what stands between cells" enum:"auto,comma,semicolon,tab,pipe"`
	Quote          string `yaml:"quote" doc:"the quote character of cells" enum:"auto,double,single,none"`
	Header         string `yaml:"header" doc:"whether the first record names the columns" enum:"auto,yes,no"`
	MaxRecordBytes int    `yaml:"max_record_bytes" doc:"the longest record; longer ones become plain text"`
}

// Validate reports the first value that is out of range.
func (c *Config) Validate() error {
	if _, ok := delimiterByName(c.Delimiter); !ok && c.Delimiter != auto {
		return fmt.Errorf("csv: delimiter is %q, want auto, comma, semicolon, tab or pipe", c.Delimiter)
	}
	if _, ok := quoteByName(c.Quote); !ok && c.Quote != auto {
		return fmt.Errorf("csv: quote is %q, want auto, double, single or none", c.Quote)
	}
	if c.Header != headerAuto && c.Header != headerYes && c.Header != headerNo {
		return fmt.Errorf("csv: header is %q, want auto, yes or no", c.Header)
	}
	if c.MaxRecordBytes < 256 || c.MaxRecordBytes > 256<<20 {
		return fmt.Errorf("csv: max_record_bytes is %d, want 256 to 268435456", c.MaxRecordBytes)
	}
	return nil
}

// Parser reads delimited text.
type Parser struct{ config Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry, of kind "csv"; it reads TSV and other dialects too.
func Plugin() connector.ParserPlugin {
	defaults := Config{Delimiter: auto, Quote: auto, Header: headerAuto, MaxRecordBytes: 1 << 20}
	return connector.Define("csv", "tables of delimited text: CSV, TSV and the like", defaults,
		func(_ context.Context, config *Config, _ connector.Env) (connector.Parser, error) {
			if err := config.Validate(); err != nil {
				return nil, err
			}
			return &Parser{config: *config}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo {
	return connector.ParserInfo{Name: "csv", Version: 2}
}

// Parse yields the table as elements of at most 64 KiB or 256 rows; a longer row stands alone.
func (p *Parser) Parse(ctx context.Context, doc *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		in := decode.NewReader(r, decode.Options{})
		run := &reading{
			in:     in,
			win:    &window{r: in},
			config: p.config,
			yield:  yield,
		}
		err := run.read(ctx, tabsExpected(doc))
		if err != nil && !errors.Is(err, errStopped) {
			yield(connector.Element{}, fmt.Errorf("csv: %w", err))
		}
	}
}

func tabsExpected(doc *connector.Document) bool {
	if doc == nil {
		return false
	}
	ext := strings.ToLower(path.Ext(doc.Path))
	return ext == ".tsv" || ext == ".tab" || strings.HasPrefix(doc.MediaType, "text/tab-separated-values")
}

func delimiterByName(name string) (byte, bool) {
	switch name {
	case "comma":
		return ',', true
	case "semicolon":
		return ';', true
	case "tab":
		return '\t', true
	case "pipe":
		return '|', true
	}
	return 0, false
}

func quoteByName(name string) (byte, bool) {
	switch name {
	case "double":
		return '"', true
	case "single":
		return '\'', true
	case "none":
		return 0, true
	}
	return 0, false
}
