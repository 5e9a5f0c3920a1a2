package xmlscan

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// Name is the local name of the current element, without prefix. It is good until the data go away.
func (s *Scanner) Name() []byte { return s.data[s.cur.colon+1 : s.cur.end] }

// Prefix is the prefix of the current element as it is written; empty where there is none.
func (s *Scanner) Prefix() []byte { return s.prefix(s.cur) }

func (s *Scanner) prefix(n name) []byte {
	if n.colon < n.start {
		return nil
	}
	return s.data[n.start:n.colon]
}

// Space is the namespace of the current element; empty where none is declared for it.
func (s *Scanner) Space() []byte { return s.resolve(s.prefix(s.cur)) }

func (s *Scanner) resolve(prefix []byte) []byte {
	if string(prefix) == "xml" {
		return []byte("http://www.w3.org/XML/1998/namespace")
	}
	for i := len(s.bindings) - 1; i >= 0; i-- {
		if bytes.Equal(s.bindings[i].prefix, prefix) {
			return s.bindings[i].uri
		}
	}
	return nil
}

// Attr is the value of the current element's first attribute of that local name, whatever its namespace; ok says that there is one. The
// value is good until the next event.
func (s *Scanner) Attr(local string) (value []byte, ok bool) {
	for i := range s.attrs {
		if a := &s.attrs[i]; string(s.data[a.colon+1:a.end]) == local {
			return s.value(a), true
		}
	}
	return nil, false
}

// AttrIn is Attr for one namespace; an empty space means attributes without a prefix.
func (s *Scanner) AttrIn(space, local string) (value []byte, ok bool) {
	for i := range s.attrs {
		a := &s.attrs[i]
		if string(s.data[a.colon+1:a.end]) != local {
			continue
		}
		if prefix := s.prefix(a.name); len(prefix) == 0 && space == "" || len(prefix) > 0 && string(s.resolve(prefix)) == space {
			return s.value(a), true
		}
	}
	return nil, false
}

// String is the value of an attribute by local name; "" where there is none.
func (s *Scanner) String(local string) string {
	v, _ := s.Attr(local)
	return string(v)
}

// Int is the number that an attribute holds by local name, or otherwise where there is none.
func (s *Scanner) Int(local string, otherwise int) int {
	v, ok := s.Attr(local)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(v)))
	if err != nil {
		return otherwise
	}
	return n
}

// Attrs is how many attributes the current element has; declarations of namespaces are none.
func (s *Scanner) Attrs() int { return len(s.attrs) }

// AttrAt is attribute i: its namespace, which is empty for attributes without a prefix, its local name and its value, good until the next event.
func (s *Scanner) AttrAt(i int) (space, local, value []byte) {
	a := &s.attrs[i]
	if prefix := s.prefix(a.name); len(prefix) > 0 {
		space = s.resolve(prefix)
	}
	return space, s.data[a.colon+1 : a.end], s.value(a)
}

func (s *Scanner) value(a *attribute) []byte {
	raw := s.data[a.val:a.valEnd]
	if bytes.IndexByte(raw, '&') < 0 && bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	start := len(s.scratch)
	s.scratch = appendDecoded(s.scratch, raw, true)
	return s.scratch[start:len(s.scratch):len(s.scratch)]
}

// Text is the text of the current event, with entities resolved and line ends as "\n"; good until the next event.
func (s *Scanner) Text() []byte {
	if s.cdata && bytes.IndexByte(s.text, '\r') < 0 || bytes.IndexByte(s.text, '&') < 0 && bytes.IndexByte(s.text, '\r') < 0 {
		return s.text
	}
	if s.cdata {
		return bytes.ReplaceAll(bytes.ReplaceAll(s.text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	}
	start := len(s.scratch)
	s.scratch = appendDecoded(s.scratch, s.text, false)
	return s.scratch[start:len(s.scratch):len(s.scratch)]
}

// Blank says that the text of the current event is white space alone, without resolving entities.
func (s *Scanner) Blank() bool { return len(bytes.Trim(s.text, " \t\r\n")) == 0 }

// longestReference bounds how far behind a & its ; is looked for.
const longestReference = 12

// appendDecoded appends raw with its references resolved. White space of attributes becomes spaces.
func appendDecoded(dst, raw []byte, attr bool) []byte {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '\r':
			if i+1 < len(raw) && raw[i+1] == '\n' {
				i++
			}
			dst = append(dst, lineEnd(attr))
			i++
		case c == '\n':
			dst = append(dst, lineEnd(attr))
			i++
		case c == '&':
			var n int
			if dst, n = reference(dst, raw[i:]); n == 0 {
				dst = append(dst, '&')
				n = 1
			}
			i += n
		default:
			k := i + 1
			for k < len(raw) && raw[k] != '&' && raw[k] != '\r' && raw[k] != '\n' {
				k++
			}
			dst = append(dst, raw[i:k]...)
			i = k
		}
	}
	return dst
}

func lineEnd(attr bool) byte {
	if attr {
		return ' '
	}
	return '\n'
}

// reference resolves the reference at the start of raw and says how long it is; 0 if it is none that is known.
func reference(dst, raw []byte) ([]byte, int) {
	end := bytes.IndexByte(raw[:min(len(raw), longestReference)], ';')
	if end < 2 {
		return dst, 0
	}
	switch ref := raw[1:end]; string(ref) {
	case "lt":
		return append(dst, '<'), end + 1
	case "gt":
		return append(dst, '>'), end + 1
	case "amp":
		return append(dst, '&'), end + 1
	case "quot":
		return append(dst, '"'), end + 1
	case "apos":
		return append(dst, '\''), end + 1
	default:
		if ref[0] != '#' {
			return dst, 0
		}
		digits, base := string(ref[1:]), 10
		if len(ref) > 2 && (ref[1] == 'x' || ref[1] == 'X') {
			digits, base = string(ref[2:]), 16
		}
		n, err := strconv.ParseUint(digits, base, 32)
		if err != nil {
			return dst, 0
		}
		if n == 0 || n > utf8.MaxRune || n >= 0xD800 && n < 0xE000 {
			n = utf8.RuneError
		}
		return utf8.AppendRune(dst, rune(n)), end + 1
	}
}
