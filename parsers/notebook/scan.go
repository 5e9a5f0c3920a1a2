package notebook

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// scanner pulls values out of JSON text without ever holding one that nobody asked for. Line ends and tabs may stand unescaped in
// strings.
type scanner struct {
	r   *bufio.Reader
	off int // bytes of the text read
}

func newScanner(r io.Reader) *scanner { return &scanner{r: bufio.NewReaderSize(r, 32<<10)} }

// fail is an error about the text at the present place.
func (s *scanner) fail(what string) error {
	return connector.Errorf(connector.ClassInvalid, "this is no valid notebook: %s at byte %d", what, s.off)
}

// broken tells the end of the text from a source that failed.
func (s *scanner) broken(err error) error {
	if errors.Is(err, io.EOF) {
		return connector.Errorf(connector.ClassInvalid, "the notebook breaks off after %d bytes: is the file cut short?", s.off)
	}
	return err
}

func (s *scanner) take() (byte, error) {
	c, err := s.r.ReadByte()
	if err != nil {
		return 0, err
	}
	s.off++
	return c, nil
}

// peek is the next byte that is no white space, which stays; io.EOF at the end.
func (s *scanner) peek() (byte, error) {
	for {
		b, err := s.r.Peek(1)
		if err != nil {
			return 0, err
		}
		switch b[0] {
		case ' ', '\t', '\n', '\r':
			if _, err := s.take(); err != nil {
				return 0, err
			}
		default:
			return b[0], nil
		}
	}
}

// want takes the byte c, white space before it aside.
func (s *scanner) want(c byte) error {
	got, err := s.peek()
	if err != nil {
		return s.broken(err)
	}
	if got != c {
		return s.fail("found " + quoted(got) + " where " + quoted(c) + " should stand")
	}
	_, err = s.take()
	return err
}

func quoted(c byte) string { return "'" + string(rune(c)) + "'" }

// items calls each for every item of the container that starts here, until closer.
func (s *scanner) items(opener, closer byte, each func() error) error {
	if err := s.want(opener); err != nil {
		return err
	}
	for first := true; ; first = false {
		c, err := s.peek()
		switch {
		case err != nil:
			return s.broken(err)
		case c == closer:
			_, err = s.take()
			return err
		case !first:
			if err := s.want(','); err != nil {
				return err
			}
		}
		if err := each(); err != nil {
			return err
		}
	}
}

// object calls each with every key of the object that starts here; each reads the value.
func (s *scanner) object(each func(key string) error) error {
	return s.items('{', '}', func() error {
		key := clip{max: 512}
		if err := s.str(&key); err != nil {
			return err
		}
		if err := s.want(':'); err != nil {
			return err
		}
		return each(string(key.b))
	})
}

// fields is object for a value that may be something else, which is skipped.
func (s *scanner) fields(each func(key string) error) error {
	if c, err := s.peek(); err != nil || c != '{' {
		return s.skip()
	}
	return s.object(each)
}

// list calls each for every value of the array that starts here; what is no array is skipped.
func (s *scanner) list(each func() error) error {
	if c, err := s.peek(); err != nil || c != '[' {
		return s.skip()
	}
	return s.items('[', ']', each)
}

// lines adds a string, or the strings of an array, to c. Anything else is skipped.
func (s *scanner) lines(c *clip) error {
	first, err := s.peek()
	switch {
	case err != nil:
		return s.broken(err)
	case first == '"':
		return s.str(c)
	case first != '[':
		return s.skip()
	}
	return s.list(func() error {
		if first, err := s.peek(); err != nil || first != '"' {
			return s.skip()
		}
		return s.str(c)
	})
}

// word is a short string, or a number or literal as it stands; empty for anything else.
func (s *scanner) word() (string, error) {
	first, err := s.peek()
	switch {
	case err != nil:
		return "", s.broken(err)
	case first == '"':
		c := clip{max: 128}
		err := s.str(&c)
		return string(c.b), err
	case first == '{' || first == '[':
		return "", s.skip()
	}
	var b [maxLiteral]byte
	n, err := s.literal(&b)
	return string(b[:n]), err
}

const maxLiteral = 64

// literal reads a number, true, false or null, and tells its length.
func (s *scanner) literal(b *[maxLiteral]byte) (n int, err error) {
	for {
		c, err := s.r.Peek(1)
		if err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if err != nil || strings.IndexByte("+-.", c[0]) < 0 && (c[0]|0x20 < 'a' || c[0]|0x20 > 'z') && (c[0] < '0' || c[0] > '9') {
			break
		}
		ch, err := s.take()
		if err != nil {
			return n, err
		}
		if n == len(b) {
			return n, s.fail("found no value")
		}
		b[n] = ch
		n++
	}
	if n == 0 {
		return n, s.fail("found no value")
	}
	return n, nil
}

// maxNesting bounds the nesting of what is skipped.
const maxNesting = 10_000

// skip passes one value, however large.
func (s *scanner) skip() error {
	var word [maxLiteral]byte
	open := make([]byte, 0, 16) // what closes the containers around
	for {
		c, err := s.peek()
		if err != nil {
			return s.broken(err)
		}
		switch {
		case c == '{' || c == '[':
			if len(open) == maxNesting {
				return s.fail("found too deep a nesting")
			}
			open = append(open, c+2)
			_, err = s.take()
		case c == '"':
			err = s.str(nil)
		case len(open) > 0 && c == open[len(open)-1]:
			open = open[:len(open)-1]
			_, err = s.take()
		case len(open) > 0 && (c == ',' || c == ':'):
			_, err = s.take()
		default:
			_, err = s.literal(&word)
		}
		if err != nil {
			return err
		}
		if len(open) == 0 {
			return nil
		}
	}
}

// clip keeps the first max bytes of a text, and of what follows them the first 4 KiB.
type clip struct {
	b    []byte
	max  int
	rest []byte
	lost int // bytes that are not in b
}

const restMax = 4 << 10

func (c *clip) add(p []byte) {
	if c == nil {
		return
	}
	if n := min(len(p), c.max-len(c.b)); n > 0 && c.lost == 0 {
		c.b = append(c.b, p[:n]...)
		p = p[n:]
	}
	if len(p) == 0 {
		return
	}
	if c.lost == 0 { // no half character at the end
		n := len(c.b)
		for n > 0 && len(c.b)-n < utf8.UTFMax && !utf8.RuneStart(c.b[n-1]) {
			n--
		}
		if n > 0 && !utf8.FullRune(c.b[n-1:]) {
			c.rest = append(c.rest, c.b[n-1:]...)
			c.lost = len(c.b) - n + 1
			c.b = c.b[:n-1]
		}
	}
	c.lost += len(p)
	c.rest = append(c.rest, p[:min(len(p), max(0, restMax-len(c.rest)))]...)
}

// str adds the string that starts here to c, which may be nil.
func (s *scanner) str(c *clip) error {
	if err := s.want('"'); err != nil {
		return err
	}
	high := rune(0) // the first half of a surrogate pair
	half := func() {
		if high != 0 {
			c.add([]byte("\uFFFD"))
			high = 0
		}
	}
	for {
		if _, err := s.r.Peek(1); err != nil {
			return s.broken(err)
		}
		b, err := s.r.Peek(s.r.Buffered())
		if err != nil {
			return err
		}
		n := 0
		for n < len(b) && b[n] != '"' && b[n] != '\\' {
			n++
		}
		if n > 0 {
			half()
			c.add(b[:n])
			if _, err := s.r.Discard(n); err != nil {
				return err
			}
			s.off += n
			continue
		}
		if ch, err := s.take(); err != nil || ch == '"' {
			half()
			return err
		}
		r, err := s.escape()
		switch {
		case err != nil:
			return err
		case high != 0 && utf16.IsSurrogate(r) && r >= 0xDC00:
			c.add(utf8.AppendRune(nil, utf16.DecodeRune(high, r)))
			high = 0
		case utf16.IsSurrogate(r) && r < 0xDC00:
			half()
			high = r
		default:
			half()
			c.add(utf8.AppendRune(nil, r))
		}
	}
}

// escape reads what follows a backslash. Halves of surrogate pairs come alone.
func (s *scanner) escape() (rune, error) {
	c, err := s.take()
	if err != nil {
		return 0, s.broken(err)
	}
	if k := strings.IndexByte(`"\/bfnrt`, c); k >= 0 {
		return rune("\"\\/\b\f\n\r\t"[k]), nil
	}
	if c != 'u' {
		return 0, s.fail("found the escape \\" + string(rune(c)))
	}
	r := rune(0)
	for range 4 {
		c, err := s.take()
		if err != nil {
			return 0, s.broken(err)
		}
		k := strings.IndexByte("0123456789abcdef", c|0x20)
		if c < '0' || k < 0 {
			return 0, s.fail("found a broken escape")
		}
		r = r<<4 | rune(k)
	}
	return r, nil
}
