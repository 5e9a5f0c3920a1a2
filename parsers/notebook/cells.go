package notebook

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-enry/go-enry/v2"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// maxSource bounds the source of one cell, in bytes.
const maxSource = 16 << 20

// reading is the state of one Parse.
type reading struct {
	ctx  context.Context
	in   *decode.Reader
	scan *scanner
	max  int // bytes of text of one output
	out  *output

	cells  int
	tables int
	found  bool // a list of cells was there
}

// document reads the whole notebook.
func (r *reading) document() error {
	switch c, err := r.scan.peek(); {
	case errors.Is(err, io.EOF):
		return nil // an empty file
	case err != nil:
		return err
	case c != '{':
		return r.scan.fail("found " + quoted(c) + " where '{' should stand")
	}
	err := r.scan.object(func(key string) error {
		switch key {
		case "cells":
			r.found = true
			return r.scan.list(r.cell)
		case "worksheets":
			r.found = true
			return r.scan.list(func() error {
				return r.scan.fields(func(key string) error {
					if key == "cells" {
						return r.scan.list(r.cell)
					}
					return r.scan.skip()
				})
			})
		case "metadata":
			return r.metadata()
		}
		return r.scan.skip()
	})
	if err != nil {
		return err
	}
	if !r.found {
		return connector.Errorf(connector.ClassInvalid, "this is JSON but no notebook: it has neither cells (nbformat 4) nor worksheets (nbformat 3)")
	}
	c, err := r.scan.peek()
	switch {
	case err == nil:
		return r.scan.fail("found " + quoted(c) + " behind the notebook's end")
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// metadata looks for the language of the kernel.
func (r *reading) metadata() error {
	kernel, info := "", ""
	err := r.scan.fields(func(key string) error {
		switch key {
		case "kernelspec":
			return r.named("language", &kernel)
		case "language_info":
			return r.named("name", &info)
		}
		return r.scan.skip()
	})
	if err != nil {
		return err
	}
	if info == "" {
		info = kernel
	}
	if info == "" {
		return nil
	}
	return r.out.release(languageName(info))
}

// named reads one field of an object.
func (r *reading) named(name string, into *string) error {
	return r.scan.fields(func(key string) (err error) {
		if key != name {
			return r.scan.skip()
		}
		*into, err = r.scan.word()
		return err
	})
}

// languageName is the name that go-enry has for a language, in lower case.
func languageName(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if trimmed := strings.TrimRight(name, "0123456789."); trimmed == "python" || trimmed == "ipython" {
		return "python"
	}
	if len(name) > 64 {
		return ""
	}
	if known, ok := enry.GetLanguageByAlias(name); ok {
		return strings.ToLower(known)
	}
	return name
}

// cell is one cell as it is read.
type cell struct {
	kind     string
	level    int
	language string
	source   clip
	shown    shown
}

// cell reads and yields one cell.
func (r *reading) cell() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.cells++
	c := cell{level: 1, source: clip{max: maxSource}, shown: shown{max: r.max}}
	err := r.scan.fields(func(key string) (err error) {
		switch key {
		case "cell_type":
			c.kind, err = r.scan.word()
		case "source", "input":
			err = r.scan.lines(&c.source)
		case "level":
			var level string
			if level, err = r.scan.word(); err == nil {
				c.setLevel(level)
			}
		case "language":
			c.language, err = r.scan.word()
		case "metadata":
			err = r.cellMetadata(&c)
		case "outputs":
			err = r.scan.list(func() error { return r.scan.output(&c.shown) })
		case "attachments":
			err = r.attachments(&c)
		default:
			err = r.scan.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	if c.source.lost > 0 {
		return connector.Errorf(connector.ClassTooLarge, "cell %d holds over %d bytes of source", r.cells, maxSource)
	}
	return r.emit(&c)
}

func (c *cell) setLevel(level string) {
	if n, err := strconv.Atoi(level); err == nil {
		c.level = min(max(n, 1), 6)
	}
}

// cellMetadata looks for the language that an editor noted.
func (r *reading) cellMetadata(c *cell) error {
	return r.scan.fields(func(key string) error {
		if key != "vscode" {
			return r.scan.skip()
		}
		return r.named("languageId", &c.language)
	})
}

// attachments are images pasted into a Markdown cell.
func (r *reading) attachments(c *cell) error {
	return r.scan.fields(func(name string) error {
		return r.scan.fields(func(mime string) error {
			before := r.scan.off
			err := r.scan.skip()
			c.shown.media(connector.DropMarkup, name+": "+mime, r.scan.off-before)
			return err
		})
	})
}

// emit yields a cell.
func (r *reading) emit(c *cell) error {
	source := strings.Trim(clean(string(c.source.b), &c.shown), "\n")
	if strings.TrimSpace(source) != "" {
		text := strings.TrimRight(source, " \t\n") + "\n\n"
		if err := r.source(c, text); err != nil {
			return err
		}
	}
	for _, text := range c.shown.texts() {
		if err := r.out.send(connector.Element{Kind: connector.KindCode, Atom: true}, text+"\n\n"); err != nil {
			return err
		}
	}
	if err := r.out.drops(r.in.Drain(r.scan.off)); err != nil {
		return err
	}
	return r.out.dropped(&c.shown)
}

// source yields the text of a cell.
func (r *reading) source(c *cell, text string) error {
	switch c.kind {
	case "code":
		return r.out.send(connector.Element{Kind: connector.KindCode, Atom: true, Language: codeLanguage(c.language, text)}, text)
	case "heading":
		title := strings.Join(strings.Fields(text), " ")
		return r.out.send(connector.Element{Kind: connector.KindHeading, Level: c.level, Title: title}, text)
	case "markdown":
		return r.blocks(text)
	}
	return r.out.send(connector.Element{Kind: connector.KindText}, text)
}

// kernel stands for the language of the kernel until it is known.
const kernel = "\x00"

// codeLanguage is the language of a code cell.
func codeLanguage(noted, text string) string {
	if magic, ok := strings.CutPrefix(text, "%%"); ok {
		switch name := firstWord(magic); name {
		case "bash", "sh", "script":
			return "shell"
		case "html", "javascript", "sql", "ruby", "perl", "latex", "markdown", "r", "R", "cython", "svg", "julia":
			return languageName(name)
		case "js":
			return "javascript"
		}
	}
	if noted != "" {
		return languageName(noted)
	}
	return kernel
}

// firstWord is s up to its first white space.
func firstWord(s string) string {
	if k := strings.IndexAny(s, " \t\n"); k >= 0 {
		return s[:k]
	}
	return s
}
