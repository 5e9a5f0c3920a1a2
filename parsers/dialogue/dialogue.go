// Package dialogue reads chat logs and transcripts: WebVTT, SRT, "Name: text" lines, chat exports whose lines of time and
// name stand above the messages (WeChat), and JSON messages (roles, Slack, Teams).
//
// Every utterance is an element of kind record. Its Table has the columns speaker, start, end and text and one row; the
// table's ID tells the conversation, FirstRow the number of the utterance in it. Its children are the line that names the
// speaker and what was said. An utterance over 64 KiB arrives as several elements, of which only the first has children.
// Text in front of the first utterance is a text element. A conversation's title is its Caption and stands in the text as an
// utterance of nobody.
//
// Lines and chat exports keep their text as it is. Cues and JSON messages become "Name: text" lines: of cues, timings,
// numbers and tags are left out (markup without text), notes (markup comment), styles and regions (script or style). Of
// JSON, members that hold words are kept as "key: value" lines; punctuation, ids, numbers and switches are left out.
//
// # Config
//
//	format: auto        # auto, lines, webvtt, srt, jsonl, json
//
// auto goes by the extension, then by the first bytes.
//
// # Limits
//
// All but json stream. Messages of JSON that carry times are sorted by them, where all of one conversation do. Teams is read as the
// JSON of Microsoft Graph, not as saved HTML. A name is told by its shape: one of more than four words or 40 characters is none.
package dialogue

import (
	"bufio"
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

// The formats.
const (
	formatAuto  = "auto"
	formatLines = "lines"
	formatVTT   = "webvtt"
	formatSRT   = "srt"
	formatJSONL = "jsonl"
	formatJSON  = "json"
)

// maxPiece bounds one element.
const maxPiece = decode.ParagraphMax

// Config of the dialogue parser.
type Config struct {
	Format string `yaml:"format" doc:"how the conversation is written" enum:"auto,lines,webvtt,srt,jsonl,json"`
}

// Validate reports an unknown format.
func (c *Config) Validate() error {
	switch c.Format {
	case formatAuto, formatLines, formatVTT, formatSRT, formatJSONL, formatJSON:
		return nil
	}
	return fmt.Errorf("dialogue: format is %q, want auto, lines, webvtt, srt, jsonl or json", c.Format)
}

// Parser reads conversations.
type Parser struct{ config Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry of kind "dialogue".
func Plugin() connector.ParserPlugin {
	return connector.Define("dialogue", "chat logs, transcripts and subtitles, utterance by utterance", Config{Format: formatAuto},
		func(_ context.Context, config *Config, _ connector.Env) (connector.Parser, error) {
			if config.Format == "" {
				config.Format = formatAuto
			}
			if err := config.Validate(); err != nil {
				return nil, err
			}
			return &Parser{config: *config}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo {
	return connector.ParserInfo{Name: "dialogue", Version: 1}
}

// Parse yields one element an utterance.
func (p *Parser) Parse(ctx context.Context, doc *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		in := decode.NewReader(r, decode.Options{})
		src := &source{in: in, r: bufio.NewReaderSize(in, maxPiece)}
		out := &output{ctx: ctx, in: in, src: src, yield: yield}
		err := p.read(doc, src, out)
		if err == nil {
			err = out.finish()
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(connector.Element{}, fmt.Errorf("dialogue: %w", err))
		}
	}
}

func (p *Parser) read(doc *connector.Document, src *source, out *output) error {
	format := p.config.Format
	if format == formatAuto {
		head, err := src.r.Peek(4096)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		name := ""
		if doc != nil {
			name = doc.Path
		}
		format = guess(name, string(head))
	}
	switch format {
	case formatVTT, formatSRT:
		return (&cues{src: src, out: out, vtt: format == formatVTT}).read()
	case formatJSONL:
		return readLines(src, out)
	case formatJSON:
		return readTree(src, out)
	}
	return readTurns(src, out)
}

// guess tells the format by a file's name, or by how it starts.
func guess(name, head string) string {
	head = strings.TrimSpace(head)
	switch strings.ToLower(path.Ext(name)) {
	case ".vtt":
		return formatVTT
	case ".srt":
		return formatSRT
	case ".jsonl", ".ndjson":
		return formatJSONL
	case ".json":
		return formatJSON
	}
	line, rest, _ := strings.Cut(head, "\n")
	switch {
	case strings.HasPrefix(head, "WEBVTT"):
		return formatVTT
	case isTiming(line), counter(line) && isTiming(strings.SplitN(rest, "\n", 2)[0]):
		return formatSRT
	case strings.HasPrefix(head, "{") && strings.HasSuffix(strings.TrimSpace(line), "}"):
		return formatJSONL
	case strings.HasPrefix(head, "{"), strings.HasPrefix(head, "[{"), strings.HasPrefix(head, "[") && strings.HasPrefix(strings.TrimSpace(head[1:]), "{"):
		return formatJSON
	}
	return formatLines
}
