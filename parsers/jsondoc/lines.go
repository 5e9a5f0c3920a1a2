package jsondoc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

const (
	windowBytes = 256 << 10
	maxBlank    = 64 << 10 // white space that one element takes along
)

// window is the part of the text that is held: buf[pos:] is unread.
type window struct {
	r   io.Reader
	buf []byte
	pos int
	eof bool
}

func (w *window) rest() []byte { return w.buf[w.pos:] }

// want reads until at least n bytes are unread or the text ends.
func (w *window) want(n int) error {
	if len(w.buf)-w.pos >= n || w.eof {
		return nil
	}
	if size := max(n, windowBytes); cap(w.buf) < size {
		grown := make([]byte, len(w.buf)-w.pos, size)
		copy(grown, w.buf[w.pos:])
		w.buf = grown
	} else {
		w.buf = w.buf[:copy(w.buf[:cap(w.buf)], w.buf[w.pos:])]
	}
	w.pos = 0
	for len(w.buf) < cap(w.buf) {
		got, err := w.r.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf = w.buf[:len(w.buf)+got]
		if errors.Is(err, io.EOF) {
			w.eof = true
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// line finds the end of the line that starts at offset from; ok is false if it is longer than limit. The end of the text ends a line.
func (w *window) line(from, limit int) (end int, ok bool, err error) {
	for seen, want := from, from+1; ; want = from + 2*(len(w.rest())-from) {
		if err := w.want(min(want, from+limit)); err != nil {
			return 0, false, err
		}
		rest := w.rest()
		rest = rest[:min(len(rest), from+limit)]
		if k := bytes.IndexByte(rest[seen:], '\n'); k >= 0 {
			return seen + k + 1, true, nil
		}
		if len(rest) == from+limit {
			return 0, false, nil
		}
		if w.eof {
			return len(rest), true, nil
		}
		seen = len(rest)
	}
}

// blank finds the end of the white space that starts at offset from, as far as it reaches whole lines; it looks at most maxBlank far.
func (w *window) blank(from int) (int, error) {
	end := from
	for i := from; i < from+maxBlank; i++ {
		if i >= len(w.rest()) {
			if err := w.want(i + 1); err != nil {
				return 0, err
			}
			if i >= len(w.rest()) {
				return i, nil // white space up to the end of the text
			}
		}
		switch w.rest()[i] {
		case '\n':
			end = i + 1
		case ' ', '\t':
		default:
			return end, nil
		}
	}
	return end, nil
}

// parseLines yields the records of JSON Lines. r is clean text.
func parseLines(ctx context.Context, r io.Reader, maxRecord int, out *output) error {
	l := &lines{win: &window{r: r}, limit: maxRecord, out: out}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, err := l.next(ctx)
		if done || err != nil {
			return err
		}
	}
}

type lines struct {
	win     *window
	limit   int
	out     *output
	records records
	number  int
}

// next yields one line with the blank lines around it.
func (l *lines) next(ctx context.Context) (done bool, err error) {
	from := 0
	if l.out.pos == 0 {
		if from, err = l.win.blank(0); err != nil {
			return false, err
		}
	}
	end, ok, err := l.win.line(from, l.limit)
	if err != nil {
		return false, err
	}
	if !ok {
		return false, l.longLine(ctx)
	}
	if end == 0 {
		return true, nil
	}
	whole, err := l.win.blank(end)
	if err != nil {
		return false, err
	}
	text := string(l.win.rest()[:whole])
	l.win.pos += whole
	return false, l.out.send(l.element(text, from, end), text)
}

// element is the record that stands in text from start to end.
func (l *lines) element(text string, start, end int) connector.Element {
	start = skipSpace(text, start)
	if start >= end {
		return connector.Element{Kind: connector.KindText}
	}
	stop, ok := l.records.scan.value(text[:end], start)
	if !ok || skipSpace(text, stop) < end {
		return connector.Element{Kind: connector.KindText}
	}
	l.number++
	e := connector.Element{Kind: connector.KindRecord, Table: l.records.table(text, start, stop)}
	if e.Table != nil {
		e.Table.ID, e.Table.FirstRow = 1, l.number
	}
	return e
}

// longLine yields the line that is over the limit in pieces.
func (l *lines) longLine(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.win.want(maxPieceBytes + 1); err != nil {
			return err
		}
		rest := l.win.rest()
		n, last := len(rest), true
		if k := bytes.IndexByte(rest[:min(n, maxPieceBytes)], '\n'); k >= 0 {
			n = k + 1
		} else if n > maxPieceBytes {
			n, last = pieceEnd(string(rest[:maxPieceBytes+1])), false
		}
		text := string(rest[:n])
		l.win.pos += n
		if err := l.out.send(connector.Element{Kind: connector.KindText}, text); err != nil || last {
			return err
		}
	}
}

// runeBoundary is the last place in head, which goes on, that is not inside a character.
func runeBoundary(head string) int {
	n := len(head) - 1
	for n > 1 && len(head)-n < utf8.UTFMax && !utf8.RuneStart(head[n]) {
		n--
	}
	return n
}
