// Package convert reads documents through converters outside of this program: a command (exec), or a service over HTTP (tika, docling-serve,
// unstructured, mineru, kreuzberg). What a converter gives is read by another parser of this program, so that its headings, lists and tables
// are elements like any others.
//
// No type of file chooses these parsers: a rule names them.
//
// # Limits
//
// The document goes to the service as it is read, and to a command as a temporary file. The answer is held whole, up to max_output. That the
// same bytes give the same elements is the converter's matter. A converter that gives no text for a document that has bytes is an error.
package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/kbsync/kbsync/connector"
)

// parserVersion is raised whenever what this package makes of the same answer changes.
const parserVersion = 1

// errStopped says that the consumer wants no more.
var errStopped = errors.New("stopped")

// reader is what reads a converter's answer: another parser of this program.
type reader struct {
	kind   string
	parser connector.Parser
}

// openReader opens the parser that reads answers.
func openReader(ctx context.Context, env connector.Env, kind string) (reader, error) {
	for _, own := range []string{"exec", "tika", "docling-serve", "unstructured", "mineru", "kreuzberg"} {
		if kind == own {
			return reader{}, fmt.Errorf("output: %s is a converter itself: name the parser that reads what the converter gives, such as markdown, html or text", kind)
		}
	}
	if env.Parser == nil {
		return reader{}, fmt.Errorf("output: there is no parser %q here", kind)
	}
	p, err := env.Parser(ctx, kind)
	if err != nil {
		return reader{}, fmt.Errorf("output: %w", err)
	}
	return reader{kind, p}, nil
}

// info names a converter: with its version, as the user or the converter says it, and with the parser that reads what it gives.
func (r reader) info(name, version string) connector.ParserInfo {
	info := connector.ParserInfo{Name: name, Version: parserVersion, Backend: version}
	if r.parser != nil {
		own := r.parser.Info()
		info.Version = parserVersion*1000 + own.Version
		info.Backend = strings.TrimSpace(version + " " + own.Backend)
	}
	return info
}

// elements yields what the parser makes of the text that a converter gave.
func (r reader) elements(ctx context.Context, doc *connector.Document, text []byte, yield func(connector.Element, error) bool) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return noText()
	}
	inner := connector.Document{Path: doc.Path, URI: doc.URI, Size: int64(len(text)), ModifiedAt: doc.ModifiedAt, Metadata: doc.Metadata}
	inner.Path = strings.TrimSuffix(doc.Path, path.Ext(doc.Path)) // its extension is that of another format
	if inner.Path == "" || strings.HasSuffix(inner.Path, "/") {
		inner.Path = doc.Path
	}
	shown := false
	for el, err := range r.parser.Parse(ctx, &inner, bytes.NewReader(text)) {
		if err != nil {
			return fmt.Errorf("what the converter gave cannot be read: %w", err)
		}
		shown = shown || el.Kind != connector.KindDropped && hasText(el.Text)
		if !yield(el, nil) {
			return errStopped
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !shown {
		return noText()
	}
	return nil
}

// noText is the error for an answer without text: silence would take the document's chunks away.
func noText() error {
	return connector.Errorf(connector.ClassInvalid, "the converter gave no text: look at the document with the converter itself; a scan needs its OCR switched on")
}

func hasText(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) })
}

// slots bounds how many conversions run at a time.
type slots chan struct{}

func (s slots) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slots) give() { <-s }

// tooLarge is the error for a document over max_document.
func tooLarge(limit int64) error {
	return connector.Errorf(connector.ClassInvalid, "the document is larger than max_document (%d bytes): raise it", limit)
}

// tooMuch is the error for an answer over max_output.
func tooMuch(limit int64) error {
	return connector.Errorf(connector.ClassInvalid, "the converter gave more than max_output (%d bytes): raise it, or let the converter leave pictures out", limit)
}
