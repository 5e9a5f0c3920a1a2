package notebook

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// maxHeld bounds what waits for the language of the kernel, in bytes.
const maxHeld = 16 << 20

// output yields elements, each behind the one before. Until the language of code is known they are held.
type output struct {
	ctx      context.Context
	yield    func(connector.Element, error) bool
	pos      int
	held     []connector.Element
	size     int
	released bool
	language string
}

// send yields el with text.
func (o *output) send(el connector.Element, text string) error {
	el.Text = text
	el.Span = connector.Span{Start: o.pos, End: o.pos + len(text)}
	o.pos += len(text)
	return o.put(el)
}

func (o *output) put(el connector.Element) error {
	if !o.released {
		const overhead = 512
		o.held = append(o.held, el)
		if o.size += len(el.Text) + overhead; o.size < maxHeld {
			return nil
		}
		return o.release("")
	}
	if err := o.ctx.Err(); err != nil && el.Kind != connector.KindDropped {
		return err
	}
	if el.Language == kernel {
		el.Language = o.language
	}
	if !o.yield(el, nil) {
		return errStopped
	}
	return nil
}

// release yields what is held, the code in that language.
func (o *output) release(language string) error {
	if o.released {
		return nil
	}
	o.released, o.language = true, language
	held := o.held
	o.held = nil
	for _, el := range held {
		if err := o.put(el); err != nil {
			return err
		}
	}
	return nil
}

// finish yields all that is left.
func (o *output) finish(r *reading) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if err := o.drops(r.in.Drain(1 << 62)); err != nil {
		return err
	}
	return o.release("")
}

// drops notes what the decoder left out.
func (o *output) drops(list []decode.Drop) error {
	for _, d := range list {
		el := d.Element()
		el.Span = connector.Span{Start: o.pos, End: o.pos}
		if err := o.put(el); err != nil {
			return err
		}
	}
	return nil
}

// reasons are those for which parts of cells are left out.
var reasons = [...]connector.DropReason{connector.DropControl, connector.DropInvisible, connector.DropMarkup, connector.DropScript, connector.DropLimit}

// dropped notes what was left out of a cell, once for each reason.
func (o *output) dropped(s *shown) error {
	for k, reason := range reasons {
		text := strings.ToValidUTF8(s.left[k].String(), "")
		if text == "" {
			continue
		}
		el := connector.Element{Kind: connector.KindDropped, Reason: reason, Text: decode.Clip(text), Span: connector.Span{Start: o.pos, End: o.pos}}
		if err := o.put(el); err != nil {
			return err
		}
	}
	return nil
}

// shown is what a cell printed.
type shown struct {
	max  int
	list []printed
	left [len(reasons)]strings.Builder
}

// printed is the text of one output, or of successive parts of one stream.
type printed struct {
	stream string // its name; empty for what is no stream
	text   string
}

// maxOutputs bounds the outputs of one cell of which text is kept.
const maxOutputs = 64

// drop notes what is left out.
func (s *shown) drop(reason connector.DropReason, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	for k, r := range reasons {
		if r != reason || s.left[k].Len() >= restMax {
			continue
		}
		if s.left[k].Len() > 0 {
			s.left[k].WriteByte('\n')
		}
		s.left[k].WriteString(decode.Clip(text))
	}
}

// media notes something that is no text.
func (s *shown) media(reason connector.DropReason, name string, size int) {
	s.drop(reason, fmt.Sprintf("%s, %d bytes", name, size))
}

// add adds the text of an output.
func (s *shown) add(stream, text string) {
	text = clean(colours.ReplaceAllString(text, ""), s)
	if n := len(s.list); stream != "" && n > 0 && s.list[n-1].stream == stream {
		text = s.list[n-1].text + text
		s.list = s.list[:n-1]
	}
	if len(s.list) >= maxOutputs {
		s.drop(connector.DropLimit, text)
		return
	}
	if len(text) > s.max {
		c := clip{max: s.max}
		c.add([]byte(text))
		s.drop(connector.DropLimit, string(c.rest))
		text = string(c.b)
	}
	s.list = append(s.list, printed{stream, text})
}

// texts are the texts of the outputs that say anything.
func (s *shown) texts() []string {
	var out []string
	for _, p := range s.list {
		if text := strings.TrimRight(strings.Trim(p.text, "\n"), " \t\n"); strings.TrimSpace(text) != "" {
			out = append(out, text)
		}
	}
	return out
}

// colours are the sequences that terminals take as colours and the like (ECMA-48).
var colours = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?)")

// clean is text as a parsed text may hold it.
func clean(text string, s *shown) string {
	var c decode.Cleaner
	text = strings.ReplaceAll(c.Clean(strings.ToValidUTF8(text, "\uFFFD")), "\r", "\n")
	for _, d := range c.Dropped() {
		s.drop(d.Reason, d.Text)
	}
	return text
}
