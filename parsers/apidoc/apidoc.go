// Package apidoc reads descriptions of interfaces: OpenAPI 2 and 3 and JSON Schema (YAML or JSON), GraphQL schemas and
// documents, and Protocol Buffers.
//
// The elements are symbols that tile the file: path items with their operations, schemas and other components, types with
// their fields, services with their rpcs, messages. A symbol's Path is what people read above it: the title of the API
// or the package, a tag or the container, the name. Comments and descriptions belong to what they stand above. Two kinds
// of symbols inside the others are no declarations: an "attribute" (Name deprecated or operation_id, its value the last
// of Path) and a "reference" (Name as written; Path that of the symbol it means, empty where this file has none).
//
// # Config
//
// There is nothing to set.
//
// # Limits
//
// The whole file is held in memory. Text that [Detect] does not know, or that does not parse, becomes text elements;
// [Check] says why. YAML is read by its structure alone, by byte offsets: block and flow style, block and quoted scalars,
// anchors; complex keys ("? key") are refused, and what follows a second "---" is text. Nesting over 128 levels is refused.
// References are looked up in the same file alone, never opened elsewhere.
package apidoc

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/apiformat"
	"github.com/kbsync/kbsync/internal/decode"
)

// Config of the parser: there is nothing to set.
type Config struct{}

// Parser reads descriptions of interfaces.
type Parser struct{}

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry of kind "apidoc".
func Plugin() connector.ParserPlugin {
	return connector.Define("apidoc", "OpenAPI, JSON Schema, GraphQL and Protocol Buffers, by operation and type", Config{},
		func(context.Context, *Config, connector.Env) (connector.Parser, error) { return New(), nil })
}

// New returns the parser.
func New() *Parser { return &Parser{} }

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo {
	return connector.ParserInfo{Name: "apidoc", Version: 1}
}

// Parse yields one element for each path item, component, type, service or message, and for what stands beside them.
func (p *Parser) Parse(ctx context.Context, doc *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		in := decode.NewReader(r, decode.Options{})
		text, err := in.ReadString(0)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(connector.Element{}, fmt.Errorf("apidoc: %w", err))
			return
		}
		path := ""
		if doc != nil {
			path = doc.Path
		}
		_, list, err := describe(path, text)
		if err != nil || len(list) == 0 {
			plain(ctx, in, text, yield)
			return
		}
		if err := send(ctx, in, list, yield); err != nil {
			yield(connector.Element{}, fmt.Errorf("apidoc: %w", err))
		}
	}
}

// Check says why a document would be read as plain text: nil if it is read by its structure.
func Check(path, text string) error {
	_, _, err := describe(path, text)
	return err
}

// describe reads text by its structure.
func describe(path, text string) (apiformat.Format, []connector.Element, error) {
	format := apiformat.Detect(path, []byte(text))
	var list []decl
	var err error
	language := ""
	switch format {
	case apiformat.OpenAPI, apiformat.JSONSchema:
		var root node
		root, language, err = structure(text)
		switch {
		case err != nil:
		case format == apiformat.OpenAPI:
			list = openAPI(text, &root)
		default:
			list = jsonSchema(text, path, &root)
		}
	case apiformat.GraphQL:
		language = "graphql"
		list = graphQL(text)
	case apiformat.Protobuf:
		language = "protocol buffer"
		list = protobuf(text)
	default:
		err = fmt.Errorf("%s is no description of an interface: it has no openapi, swagger or $schema key, GraphQL type or proto declaration", path)
	}
	if err != nil {
		return "", nil, err
	}
	return format, elements(text, language, list), nil
}

// plain yields the text by paragraphs.
func plain(ctx context.Context, in *decode.Reader, text string, yield func(connector.Element, error) bool) {
	for el, err := range decode.TextElements(ctx, strings.NewReader(text), in, 0) {
		if err != nil {
			err = fmt.Errorf("apidoc: %w", err)
		}
		if !yield(el, err) || err != nil {
			return
		}
	}
}

// send yields the elements, each after what was left out before it. It returns nil if the consumer stops.
func send(ctx context.Context, in *decode.Reader, list []connector.Element, yield func(connector.Element, error) bool) error {
	at := 0
	for i := 0; i <= len(list); i++ {
		for _, d := range in.Drain(at) {
			if !yield(d.Element(), nil) {
				return nil
			}
		}
		if i == len(list) {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !yield(list[i], nil) {
			return nil
		}
		at = list[i].Span.End
	}
	return nil
}
