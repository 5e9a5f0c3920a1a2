// Package xmlscan is a pull scanner of XML over bytes in memory, for the large and plain XML of office documents. It gives elements and text
// in order, resolves namespaces and the predefined entities, and allocates nothing per element.
//
// It checks what a reader of text needs: tags match, attributes are quoted, nothing is cut short. It does not check that names are made of
// the right characters or that attributes are distinct. A document type is skipped and no entity of it expanded: references to one are the
// text that they are written as, so nothing grows beyond the input. It does not recurse, and the cost is linear in the input.
package xmlscan

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// MaxDepth is how deep elements may nest.
const MaxDepth = 10_000

// Kind is what [Scanner.Next] found.
type Kind uint8

// The kinds.
const (
	None  Kind = iota
	Start      // a start tag; <a/> is a Start and an End
	End        // an end tag
	Text       // text or a CDATA section; text between two tags may come in pieces
)

// name is a qualified name by its place in the data.
type name struct{ start, colon, end int } // colon is start-1 without a prefix

type attribute struct {
	name
	val, valEnd int
}

type frame struct {
	name
	bindings int // those in force outside of the element
}

type binding struct{ prefix, uri []byte }

// Scanner reads one document.
type Scanner struct {
	data     []byte
	pos      int
	at       int // where the current event starts
	cur      name
	attrs    []attribute
	stack    []frame
	bindings []binding
	text     []byte
	cdata    bool
	closed   bool // the start tag was that of an empty element
	leaving  bool // the current event is an End whose bindings are still in force
	root     bool
	scratch  []byte
}

// New returns a scanner of data, which is not changed and must not be. Encodings other than UTF-8 are decoded as a whole.
func New(data []byte) (*Scanner, error) {
	if wide(data) || !utf8.Valid(data) {
		text, err := decode.NewReader(bytes.NewReader(data), decode.Options{Declared: Declared}).ReadString(0)
		if err != nil {
			return nil, err
		}
		data = []byte(text)
	}
	return &Scanner{data: bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")), cur: name{colon: -1}}, nil
}

// wide says that data starts like UTF-16.
func wide(data []byte) bool {
	return len(data) >= 2 && (data[0] == 0 || data[1] == 0 || data[0] == 0xFE && data[1] == 0xFF || data[0] == 0xFF && data[1] == 0xFE)
}

var declaration = regexp.MustCompile(`^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_.:-]{2,40})`)

// Declared is the encoding that an XML declaration at the start of head names; "" if there is none.
func Declared(head []byte) string {
	if m := declaration.FindSubmatch(head[:min(len(head), 400)]); m != nil {
		return strings.ToLower(string(m[1]))
	}
	return ""
}

// Offset is the byte at which the current event starts, in the data as UTF-8.
func (s *Scanner) Offset() int { return s.at }

// Depth is how many elements are open: a Start counts its own, an End does not.
func (s *Scanner) Depth() int { return len(s.stack) }

// fail is an error at a byte of the data.
func (s *Scanner) fail(at int, format string, args ...any) error {
	return connector.Errorf(connector.ClassInvalid, "malformed XML at byte %d: %w", at, fmt.Errorf(format, args...))
}

// Next goes to the next event. At the end of the document it returns io.EOF.
func (s *Scanner) Next() (Kind, error) {
	s.scratch = s.scratch[:0]
	if s.leaving {
		s.leaving = false
		s.bindings = s.bindings[:s.stack[:len(s.stack)+1][len(s.stack)].bindings]
	}
	if s.closed {
		s.closed = false
		s.attrs = s.attrs[:0]
		return s.pop(), nil
	}
	for {
		s.at = s.pos
		if s.pos >= len(s.data) {
			return None, s.ended()
		}
		if s.data[s.pos] != '<' {
			if found, err := s.chars(); err != nil || found {
				return Text, err
			}
			continue
		}
		if s.pos+1 >= len(s.data) {
			return None, s.fail(s.pos, "a tag is cut short")
		}
		switch s.data[s.pos+1] {
		case '/':
			return s.endTag()
		case '?':
			if err := s.past("?>", "a processing instruction"); err != nil {
				return None, err
			}
		case '!':
			if found, err := s.declaration(); err != nil || found {
				return Text, err
			}
		default:
			return s.startTag()
		}
	}
}

func (s *Scanner) ended() error {
	switch {
	case len(s.stack) > 0:
		top := s.stack[len(s.stack)-1]
		return s.fail(len(s.data), "the document ends inside of <%.60s>, which starts at byte %d", s.data[top.start:top.end], top.start-1)
	case !s.root:
		return s.fail(len(s.data), "it has no element")
	}
	return io.EOF
}

// chars takes text up to the next tag. Outside of the root there may be white space alone.
func (s *Scanner) chars() (bool, error) {
	n := bytes.IndexByte(s.data[s.pos:], '<')
	if n < 0 {
		n = len(s.data) - s.pos
	}
	s.text, s.cdata = s.data[s.pos:s.pos+n], false
	s.pos += n
	if len(s.stack) == 0 {
		if len(bytes.Trim(s.text, " \t\r\n\x00")) > 0 {
			return false, s.fail(s.at, "text outside of the root element")
		}
		return false, nil
	}
	return true, nil
}

// past moves behind the next end.
func (s *Scanner) past(end, what string) error {
	n := bytes.Index(s.data[s.pos:], []byte(end))
	if n < 0 {
		return s.fail(s.pos, "%s is not closed", what)
	}
	s.pos += n + len(end)
	return nil
}

// declaration deals with what starts with "<!". It returns true for the text of a CDATA section.
func (s *Scanner) declaration() (bool, error) {
	rest := s.data[s.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		s.pos += 4
		return false, s.past("-->", "a comment")
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		start := s.pos + 9
		s.pos = start
		if err := s.past("]]>", "a CDATA section"); err != nil {
			return false, err
		}
		if len(s.stack) == 0 {
			return false, s.fail(s.at, "text outside of the root element")
		}
		s.text, s.cdata = s.data[start:s.pos-3], true
		return len(s.text) > 0, nil
	}
	return false, s.doctype()
}

// doctype skips a document type with its internal subset.
func (s *Scanner) doctype() error {
	brackets := 0
	for i := s.pos + 2; i < len(s.data); i++ {
		switch c := s.data[i]; c {
		case '"', '\'':
			n := bytes.IndexByte(s.data[i+1:], c)
			if n < 0 {
				return s.fail(i, "a document type is not closed")
			}
			i += n + 1
		case '<':
			if bytes.HasPrefix(s.data[i:], []byte("<!--")) {
				n := bytes.Index(s.data[i+4:], []byte("-->"))
				if n < 0 {
					return s.fail(i, "a comment is not closed")
				}
				i += n + 6
			}
		case '[':
			brackets++
		case ']':
			brackets--
		case '>':
			if brackets <= 0 {
				s.pos = i + 1
				return nil
			}
		}
	}
	return s.fail(s.pos, "a document type is not closed")
}
