package delimited

import (
	"errors"
	"io"
)

// window is the part of the text that is held: buf[pos:] is unread, and buf[pos] is byte base of the text.
type window struct {
	r    io.Reader
	buf  []byte
	pos  int
	base int
	eof  bool
}

func (w *window) rest() []byte { return w.buf[w.pos:] }

func (w *window) skip(n int) {
	w.pos += n
	w.base += n
}

// want reads until at least n bytes are unread or the text ends.
func (w *window) want(n int) error {
	if len(w.buf)-w.pos >= n || w.eof {
		return nil
	}
	size := max(n, 4*maxElementBytes)
	if cap(w.buf) < size {
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
