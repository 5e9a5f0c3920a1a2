package dialogue

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// errStopped says that the consumer wants no more.
var errStopped = errors.New("stopped")

// source gives lines of clean text.
type source struct {
	in    *decode.Reader
	r     *bufio.Reader
	carry string // the start of a line of which a piece was given
	pos   int    // given so far
}

// line is the next line with its line end, or a piece of at most maxPiece of one; whole tells that the piece ends the line.
// It is empty at the end of the text.
func (s *source) line() (text string, whole bool, err error) {
	ended := strings.HasSuffix(s.carry, "\n")
	for len(s.carry) < maxPiece && !ended {
		b, err := s.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return "", false, err
		}
		s.carry += string(b)
		ended = !errors.Is(err, bufio.ErrBufferFull)
	}
	n := len(s.carry)
	if n > maxPiece || !ended {
		n, ended = decode.CutLine([]byte(s.carry[:min(n, maxPiece)])), false
	}
	text, s.carry = s.carry[:n], s.carry[n:]
	s.pos += n
	return text, ended, nil
}

// rest is all the text that is left.
func (s *source) rest() (string, error) {
	var b strings.Builder
	n, err := io.Copy(&b, s.r)
	s.pos += int(n)
	return b.String(), err
}

// output yields elements one after the other and knows how far the text has come.
type output struct {
	ctx     context.Context //nolint:containedctx // lives as long as one Parse
	in      *decode.Reader
	src     *source
	yield   func(connector.Element, error) bool
	pos     int
	talk    int // conversations begun
	number  int // utterances of this one
	title   string
	dropped map[connector.DropReason]*strings.Builder
}

// utterance is what one speaker says at one time.
type utterance struct {
	speaker, start, end string
	head                int // bytes of text that name the speaker
	goesOn              bool
}

// converse begins another conversation.
func (o *output) converse(title string) { o.talk, o.number, o.title = o.talk+1, 0, title }

// say yields an utterance, in pieces if it is long. What has no words is yielded as text.
func (o *output) say(u utterance, text string) error {
	if strings.TrimSpace(text) == "" {
		return o.text(text)
	}
	if o.talk == 0 {
		o.converse("")
	}
	for text != "" {
		n := len(text)
		if n > maxPiece {
			n = cutPoint(text[:maxPiece])
		}
		piece := text[:n]
		if strings.TrimSpace(piece) == "" {
			if err := o.text(piece); err != nil {
				return err
			}
			text = text[n:]
			continue
		}
		o.number++
		span := connector.Span{Start: o.pos, End: o.pos + n}
		body := piece
		el := connector.Element{Kind: connector.KindRecord, Span: span}
		if u.head > 0 && u.head <= n && !u.goesOn {
			body = piece[u.head:]
			el.Children = append(el.Children, part(piece[:u.head], o.pos))
			if body != "" {
				el.Children = append(el.Children, part(body, o.pos+u.head))
			}
		}
		el.Table = &connector.Table{
			ID: o.talk, FirstRow: o.number, Caption: o.title, Header: [][]string{{"speaker", "start", "end", "text"}},
			Rows: []connector.Row{{Cells: []string{u.speaker, u.start, u.end, strings.TrimSpace(body)}, Span: span}},
		}
		if err := o.send(el, piece); err != nil {
			return err
		}
		text, u.goesOn = text[n:], true
	}
	return nil
}

func part(text string, at int) connector.Element {
	return connector.Element{Kind: connector.KindText, Text: text, Span: connector.Span{Start: at, End: at + len(text)}}
}

// cutPoint is where to cut text, which goes on: behind a line end, if there is one in its second half.
func cutPoint(text string) int {
	if k := strings.LastIndexByte(text, '\n'); k > len(text)/2 {
		return k + 1
	}
	return decode.CutLine([]byte(text))
}

// text yields what is no utterance.
func (o *output) text(text string) error {
	for text != "" {
		n := len(text)
		if n > maxPiece {
			n = cutPoint(text[:maxPiece])
		}
		if err := o.send(connector.Element{Kind: connector.KindText}, text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// send yields el with text, which follows what was sent before.
func (o *output) send(el connector.Element, text string) error {
	if err := o.ctx.Err(); err != nil {
		return err
	}
	if err := o.drops(o.src.pos); err != nil {
		return err
	}
	el.Text = text
	el.Span = connector.Span{Start: o.pos, End: o.pos + len(text)}
	o.pos += len(text)
	if !o.yield(el, nil) {
		return errStopped
	}
	return nil
}

// drop notes what is left out; it is yielded with more of its kind.
func (o *output) drop(reason connector.DropReason, text string) error {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	if o.dropped == nil {
		o.dropped = map[connector.DropReason]*strings.Builder{}
	}
	b := o.dropped[reason]
	if b == nil {
		b = &strings.Builder{}
		o.dropped[reason] = b
	}
	for text != "" {
		piece := decode.Clip(text)
		if b.Len() > 0 && b.Len()+1+len(piece) > 4<<10 {
			if err := o.flush(reason); err != nil {
				return err
			}
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(piece)
		text = text[len(piece):]
	}
	return nil
}

func (o *output) flush(reason connector.DropReason) error {
	b := o.dropped[reason]
	if b == nil || b.Len() == 0 {
		return nil
	}
	el := connector.Element{Kind: connector.KindDropped, Reason: reason, Text: b.String(), Span: connector.Span{Start: o.pos, End: o.pos}}
	b.Reset()
	if !o.yield(el, nil) {
		return errStopped
	}
	return nil
}

// drops yields what the decoder left out up to a position of the decoded text.
func (o *output) drops(pos int) error {
	for _, d := range o.in.Drain(pos) {
		el := d.Element()
		el.Span = connector.Span{Start: o.pos, End: o.pos}
		if !o.yield(el, nil) {
			return errStopped
		}
	}
	return nil
}

// finish yields all that was left out and not yet told.
func (o *output) finish() error {
	for _, reason := range []connector.DropReason{connector.DropMarkup, connector.DropComment, connector.DropScript} {
		if err := o.flush(reason); err != nil {
			return err
		}
	}
	return o.drops(o.src.pos)
}
