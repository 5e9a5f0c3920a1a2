// Package decode turns the bytes of a document into clean UTF-8 text: it finds the character set,
// removes byte order marks, control and invisible characters, and turns every line end into "\n". Whatever it
// leaves out is reported as a [Drop] with its place and reason, so that a parser can show it.
//
// # Rules
//
// Bytes that are valid UTF-8 are taken as UTF-8; UTF-16 and UTF-32 are known by their mark or by where their
// NUL bytes stand; other bytes go to a detector of legacy character sets. Up to the first byte over 0x7F nothing
// needs to be decided, so a long English head does not hide what follows.
//
// Joiners (U+200C, U+200D, U+034F) and variation selectors are text and stay. A form feed, a vertical tab or a
// NEL between two words leaves a space, so that the words do not grow together.
//
// # Limits
//
// A reader holds a few buffers of 64 KiB whatever the input. One document has one character set.
package decode

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/transform"

	"github.com/kbsync/kbsync/connector"
)

// blockSize is how much is read, and looked at to find the character set, at a time. Buffers start at firstSize, since most
// documents are small.
const (
	blockSize = 64 << 10
	firstSize = 4 << 10
)

// ErrBinary is the cause of errors about content that is no text. The errors have [connector.ClassInvalid].
var ErrBinary = errors.New("binary content, not text")

// Options adjust a Reader. The zero value is right for plain text.
type Options struct {
	// Declared finds the character set that the document itself names (HTML meta, XML declaration) in its first
	// bytes; "" if none. It is believed only where the bytes are not valid UTF-8 and fit what it says.
	Declared func(head []byte) string
}

// Reader decodes. It is not safe for concurrent use.
type Reader struct {
	src     io.Reader
	opts    Options
	in      []byte // unread input is in[start:end]
	start   int
	end     int
	srcErr  error // io.EOF or the source's error, once met
	err     error // what Read returns when ready is used up
	started bool
	mode    mode
	charset string
	guessed bool
	suspect bool
	checked bool // the mojibake check has been done
	decoder transform.Transformer
	wide    []byte // legacy text as UTF-8, before cleaning
	wideLen int
	clean   cleaner
	out     []byte
	ready   []byte
}

type mode int

const (
	modeASCII  mode = iota // nothing but ASCII so far
	modeUTF8               // decided
	modeLegacy             // through decoder
)

// NewReader returns a Reader of the clean text of r.
func NewReader(r io.Reader, opts Options) *Reader {
	return &Reader{src: r, opts: opts, in: make([]byte, firstSize), charset: "utf-8"}
}

// All reads r to its end. Over max bytes of text (if max > 0) are an error of class TooLarge.
func All(r io.Reader, max int64) (text string, drops []Drop, err error) {
	d := NewReader(r, Options{})
	text, err = d.ReadString(max)
	return text, d.Dropped(), err
}

// ReadString reads to the end. Over max bytes of text (if max > 0) are an error of class TooLarge.
func (r *Reader) ReadString(max int64) (string, error) {
	var b strings.Builder
	for {
		if err := r.next(); err != nil {
			if errors.Is(err, io.EOF) {
				return b.String(), nil
			}
			return "", err
		}
		if max > 0 && int64(b.Len()+len(r.ready)) > max {
			return "", connector.Errorf(connector.ClassTooLarge, "decode: more than %d bytes of text", max)
		}
		b.Write(r.ready)
		r.ready = nil
	}
}

// ReadUpTo reads until it has more than max bytes or the text ends. whole says that it ended; if not, Read goes on
// after text.
func (r *Reader) ReadUpTo(max int) (text string, whole bool, err error) {
	var b strings.Builder
	for {
		if err := r.next(); err != nil {
			if errors.Is(err, io.EOF) {
				return b.String(), true, nil
			}
			return "", false, err
		}
		b.Write(r.ready)
		r.ready = nil
		if b.Len() > max {
			return b.String(), false, nil
		}
	}
}

// Read gives clean UTF-8. It may end within a character; the whole of what it gives does not.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := r.next(); err != nil {
		return 0, err
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// Charset is the character set decided on so far, as the WHATWG Encoding Standard names it; "utf-8" for ASCII.
func (r *Reader) Charset() string { return r.charset }

// Suspect says that the text looks like mojibake: text that was decoded wrongly, here or before it got here. Valid
// after the first characters beyond ASCII were read; nothing is changed on its strength.
func (r *Reader) Suspect() bool { return r.suspect || r.guessed }

// Dropped is everything that has been left out so far, in order of place, but for the entries that gather what was
// over the bound: these come last.
func (r *Reader) Dropped() []Drop { return r.clean.log.all() }

// Drain returns each drop once: those that stand at or before pos in the text and have not been returned yet.
// After the end of the text a pos of at least its length returns all that is left.
func (r *Reader) Drain(pos int) []Drop {
	ended := r.err != nil && len(r.ready) == 0
	return r.clean.log.drain(pos, ended && pos >= r.clean.pos)
}

// next makes r.ready non-empty or returns an error.
func (r *Reader) next() error {
	for len(r.ready) == 0 {
		if r.err != nil {
			return r.err
		}
		r.fill()
		if !r.started {
			r.started = true
			if err := r.begin(); err != nil {
				r.err = err
				return err
			}
		}
		r.step()
	}
	return nil
}

// fill reads until the buffer is full or the source ends, so that blocks do not depend on how the source cuts.
func (r *Reader) fill() {
	if r.start > 0 {
		copy(r.in, r.in[r.start:r.end])
		r.end -= r.start
		r.start = 0
	}
	for r.srcErr == nil && r.end < blockSize {
		if r.end == len(r.in) {
			r.in = append(make([]byte, 0, 4*len(r.in)), r.in...)
			r.in = r.in[:min(cap(r.in), blockSize)]
		}
		n, err := r.src.Read(r.in[r.end:])
		r.end += n
		r.srcErr = err
	}
}

// begin looks at the first block.
func (r *Reader) begin() error {
	head := r.in[:r.end]
	name, bom := markOf(head)
	if name == "" {
		name = wideCharset(head)
	}
	if name == "" && binaryContent(head) {
		return connector.Errorf(connector.ClassInvalid, "decode: %w", ErrBinary)
	}
	if name == "" && shiftsASCII(head) {
		name = "iso-2022-jp"
	}
	if bom > 0 {
		r.start = bom
		r.clean.log.add(0, connector.DropBOM, "\uFEFF")
	}
	switch name {
	case "":
	case "utf-8":
		r.mode = modeUTF8
	default:
		return r.useLegacy(name)
	}
	return nil
}

func (r *Reader) useLegacy(name string) error {
	enc := encodingOf(name)
	if enc == nil {
		return fmt.Errorf("decode: no decoder for %q", name)
	}
	r.mode, r.charset = modeLegacy, name
	r.decoder = enc.NewDecoder()
	r.wide = make([]byte, 2*blockSize)
	r.clean.replacementIsBad = true
	return nil
}

// step cleans one block into ready.
func (r *Reader) step() {
	block := r.in[r.start:r.end]
	last := r.srcErr != nil
	if r.mode == modeASCII && firstHigh(block) < len(block) {
		declared := ""
		if r.opts.Declared != nil {
			declared = r.opts.Declared(block)
		}
		name, sure := choose(block, declared)
		r.guessed = !sure
		r.mode = modeUTF8
		if name != "utf-8" {
			if err := r.useLegacy(name); err != nil {
				r.err = err
				return
			}
		}
	}
	if r.mode == modeLegacy {
		r.stepLegacy(block, last)
	} else {
		var n int
		r.out, n = r.clean.run(r.out[:0], block, last)
		r.start += n
	}
	r.ready = r.out
	if !r.checked && len(r.ready) > 0 && firstHigh(r.ready) < len(r.ready) {
		r.checked = true
		r.suspect = looksGarbled(string(r.ready[:min(len(r.ready), garbledSample)]))
	}
	if last && r.start == r.end && r.wideLen == 0 {
		r.err = r.srcErr
	}
}

func (r *Reader) stepLegacy(block []byte, last bool) {
	nDst, nSrc, err := r.decoder.Transform(r.wide[r.wideLen:], block, last)
	r.start += nSrc
	r.wideLen += nDst
	if err != nil && !errors.Is(err, transform.ErrShortDst) && !errors.Is(err, transform.ErrShortSrc) {
		// Decoders replace what they cannot read; an error here is a character set that broke its contract.
		r.err = connector.Errorf(connector.ClassInvalid, "decode: %s: %w", r.charset, err)
		return
	}
	done := last && r.start == r.end && err == nil
	var n int
	r.out, n = r.clean.run(r.out[:0], r.wide[:r.wideLen], done)
	copy(r.wide, r.wide[n:r.wideLen])
	r.wideLen -= n
}
