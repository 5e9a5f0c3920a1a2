// Package code reads source code. Its elements are the declarations of the file, each with its doc comments,
// decorators and attributes, runs of imports, and groups of other statements; they tile the file. Classes and other containers have
// their members as children, large bodies their statements.
//
// With cgo the files are parsed by tree-sitter (22 languages); text that does not parse degrades node by node to
// statements. Without cgo, Go is parsed by go/ast. All other languages, and files that cost tree-sitter too many steps, are
// divided by indentation. Components of Vue, Svelte and Astro, HTML and its templates are divided into scripts, styles and markup, each by its own
// grammar. Which of these a build has is part of [connector.ParserInfo], as Backend.
//
// # Config
//
// There is nothing to set. The language is go-enry's, from the path and the first 16 KiB.
//
// # Limits
//
// The whole file is held in memory. Names are cut at 200 bytes. Declarations are told apart to a depth of 24. Divided by indentation, whatever
// the language, are also: files over 4 MiB; files over 128 KiB whose head does not look like their language; YAML, shell and Ruby whose
// nesting or here-documents could overrun the grammar's scanner. A file that still takes over 20 s and 30 ms a KiB of processor time is an error.
package code

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// Config of the code parser.
type Config struct{}

// Parser reads source code.
type Parser struct{ engine *engine }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry of kind "code".
func Plugin() connector.ParserPlugin {
	return connector.Define("code", "source code, by declaration", Config{},
		func(context.Context, *Config, connector.Env) (connector.Parser, error) {
			return &Parser{engine: newEngine()}, nil
		})
}

// Backend names what divides source text in this build: "tree-sitter", or "go/ast+indent" where it was built without cgo.
func Backend() string { return backend }

// Languages are the languages that this build parses by their syntax, in alphabetical order and by the names that
// [LanguageOf] gives. All others are divided by indentation.
func Languages() []string { return newEngine().languages() }

// Info names the parser and its backend.
func (p *Parser) Info() connector.ParserInfo {
	return connector.ParserInfo{Name: "code", Version: 2, Backend: backend}
}

// Parse yields one element for each top-level declaration, run of imports or group of statements.
func (p *Parser) Parse(ctx context.Context, doc *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		in := decode.NewReader(r, decode.Options{})
		text, err := in.ReadString(0)
		if err == nil {
			err = ctx.Err()
		}
		var list []connector.Element
		if err == nil {
			list, err = p.elements(ctx, doc, text)
		}
		if err == nil {
			err = send(ctx, in, list, yield)
		}
		if err != nil {
			yield(connector.Element{}, fmt.Errorf("code: %w", err))
		}
	}
}

// send yields the elements, each after what was left out before it. It returns nil if the consumer stops.
func send(ctx context.Context, in *decode.Reader, list []connector.Element, yield func(connector.Element, error) bool) error {
	going := true
	step := func(e connector.Element) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		going = yield(e, nil)
		return nil
	}
	at := 0
	for i := 0; i <= len(list) && going; i++ {
		for _, d := range in.Drain(at) {
			if err := step(d.Element()); err != nil || !going {
				return err
			}
		}
		if i == len(list) {
			break
		}
		if err := step(list[i]); err != nil {
			return err
		}
		at = list[i].Span.End
	}
	return nil
}

func (p *Parser) elements(ctx context.Context, doc *connector.Document, text string) ([]connector.Element, error) {
	if text == "" {
		return nil, nil
	}
	name := ""
	if doc != nil {
		name = doc.Path
	}
	language := LanguageOf(name, []byte(text[:min(len(text), headSize)]))
	if mixes(language) {
		list, err := p.engine.mixed(ctx, text)
		return elements(text, language, list), err
	}
	list, ok, err := p.engine.parse(ctx, language, text)
	if err != nil {
		return nil, err
	}
	if !ok {
		list = indented(text)
	}
	return elements(text, language, list), nil
}
