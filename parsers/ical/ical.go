// Package ical reads calendars (iCalendar, RFC 5545) and address books (vCard 2.1–4.0): each event, task, journal entry and card is a record.
//
// # Limits
//
// The file is held in memory.
package ical

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/decode"
)

// DefaultMaxTreeSize is the default of max_tree_size, in bytes.
const DefaultMaxTreeSize = 64 << 20

// Config is the configuration of both parsers.
type Config struct {
	MaxTreeSize int64 `yaml:"max_tree_size" doc:"files over this many bytes are an error"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 {
		return errors.New("max_tree_size must be at least 1")
	}
	return nil
}

func defaults() Config { return Config{MaxTreeSize: DefaultMaxTreeSize} }

// Parser reads calendars or cards.
type Parser struct {
	cfg  Config
	name string
}

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry of calendars.
func Plugin() connector.ParserPlugin {
	return plugin("ical", "Calendars (iCalendar): one record for each event, task and journal entry")
}

// CardPlugin is the registry entry of address books.
func CardPlugin() connector.ParserPlugin {
	return plugin("vcard", "Address books (vCard): one record for each card")
}

func plugin(name, doc string) connector.ParserPlugin {
	return connector.Define(name, doc, defaults(), func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
		if err := c.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return &Parser{cfg: *c, name: name}, nil
	})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: p.name, Version: 1} }

// Parse yields the records.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil && !errors.Is(err, blocks.ErrStopped) {
			yield(connector.Element{}, fmt.Errorf("%s: %w", p.name, err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	data, err := io.ReadAll(io.LimitReader(r, p.cfg.MaxTreeSize+1))
	if err != nil {
		return err
	}
	if int64(len(data)) > p.cfg.MaxTreeSize {
		return connector.Errorf(connector.ClassInvalid, "the file is larger than %d bytes: raise max_tree_size", p.cfg.MaxTreeSize)
	}
	// Lines may be folded between the bytes of a character, so they are joined first.
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\n "), nil)
	data = bytes.ReplaceAll(data, []byte("\n\t"), nil)
	text, drops, err := decode.All(bytes.NewReader(data), 0)
	if err != nil {
		return err
	}
	top := components(text)
	props := map[string]any{}
	w := blocks.NewWriter(ctx, yield, props)
	if name := calendarName(top); name != "" {
		props["title"] = name
		w = blocks.NewWriter(ctx, yield, props)
		w.Add(blocks.Block{Kind: connector.KindHeading, Level: 1, Text: name})
	}
	for _, d := range drops {
		w.Add(blocks.Block{Kind: connector.KindDropped, Reason: d.Reason, Text: d.Element().Text})
	}
	write(w, top)
	return w.Close()
}
