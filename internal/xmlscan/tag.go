package xmlscan

import "bytes"

// classes of bytes in tags. It is never written.
var inName = func() (t [256]bool) {
	for i := range t {
		t[i] = i > ' ' && i != '/' && i != '>' && i != '=' && i != '<' && i != '"' && i != '\'' && i != '&'
	}
	return t
}()

// name reads a name at i.
func (s *Scanner) name(i int) name {
	n := name{start: i, colon: i - 1}
	for i < len(s.data) && inName[s.data[i]] {
		if s.data[i] == ':' && n.colon < n.start && i > n.start {
			n.colon = i
		}
		i++
	}
	n.end = i
	return n
}

func (s *Scanner) space(i int) int {
	for i < len(s.data) && s.data[i] <= ' ' {
		i++
	}
	return i
}

// startTag reads a start tag with its attributes.
func (s *Scanner) startTag() (Kind, error) {
	n := s.name(s.pos + 1)
	if n.start == n.end {
		return None, s.fail(s.pos, "a < that starts no tag")
	}
	if len(s.stack) == 0 && s.root {
		return None, s.fail(s.pos, "a second root element")
	}
	if len(s.stack) >= MaxDepth {
		return None, s.fail(s.pos, "elements are nested more than %d deep", MaxDepth)
	}
	s.root = true
	s.cur = n
	s.attrs = s.attrs[:0]
	s.stack = append(s.stack, frame{name: n, bindings: len(s.bindings)})
	i := n.end
	for {
		if i = s.space(i); i >= len(s.data) {
			return None, s.fail(s.at, "a tag is cut short")
		}
		switch s.data[i] {
		case '>':
			s.pos = i + 1
			return Start, nil
		case '/':
			if i+1 >= len(s.data) || s.data[i+1] != '>' {
				return None, s.fail(i, "a / inside of a tag")
			}
			s.pos, s.closed = i+2, true
			return Start, nil
		}
		var err error
		if i, err = s.attribute(i); err != nil {
			return None, err
		}
	}
}

// attribute reads an attribute at i and returns where it ends.
func (s *Scanner) attribute(i int) (int, error) {
	a := attribute{name: s.name(i)}
	eq := s.space(a.end)
	if a.start == a.end || eq >= len(s.data) || s.data[eq] != '=' {
		return 0, s.fail(i, "an attribute without a name or value")
	}
	quote := s.space(eq + 1)
	if quote >= len(s.data) || s.data[quote] != '"' && s.data[quote] != '\'' {
		return 0, s.fail(i, "an attribute whose value is not in quotes")
	}
	a.val = quote + 1
	n := bytes.IndexByte(s.data[a.val:], s.data[quote])
	if n < 0 {
		return 0, s.fail(quote, "an attribute's value is not closed")
	}
	a.valEnd = a.val + n
	if bytes.IndexByte(s.data[a.val:a.valEnd], '<') >= 0 {
		return 0, s.fail(quote, "an attribute's value holds a <")
	}
	if s.data[a.start] == 'x' && a.end-a.start >= 5 && string(s.data[a.start:a.start+5]) == "xmlns" {
		switch {
		case a.end == a.start+5:
			s.bind(nil, a)
			return a.valEnd + 1, nil
		case s.data[a.start+5] == ':':
			s.bind(s.data[a.start+6:a.end], a)
			return a.valEnd + 1, nil
		}
	}
	s.attrs = append(s.attrs, a)
	return a.valEnd + 1, nil
}

// bind declares a prefix.
func (s *Scanner) bind(prefix []byte, a attribute) {
	uri := s.data[a.val:a.valEnd]
	if bytes.IndexByte(uri, '&') >= 0 {
		uri = appendDecoded(nil, uri, true)
	}
	s.bindings = append(s.bindings, binding{prefix, uri})
}

// endTag reads an end tag.
func (s *Scanner) endTag() (Kind, error) {
	n := s.name(s.pos + 2)
	i := s.space(n.end)
	if i >= len(s.data) {
		return None, s.fail(s.pos, "a tag is cut short")
	}
	if s.data[i] != '>' {
		return None, s.fail(i, "an end tag that holds more than a name")
	}
	if len(s.stack) == 0 {
		return None, s.fail(s.pos, "an end tag </%.60s> that closes nothing", s.data[n.start:n.end])
	}
	top := s.stack[len(s.stack)-1]
	if !bytes.Equal(s.data[n.start:n.end], s.data[top.start:top.end]) {
		return None, s.fail(s.pos, "</%.60s> closes <%.60s> of byte %d", s.data[n.start:n.end], s.data[top.start:top.end], top.start-1)
	}
	s.pos = i + 1
	s.attrs = s.attrs[:0]
	return s.pop(), nil
}

func (s *Scanner) pop() Kind {
	top := s.stack[len(s.stack)-1]
	s.stack = s.stack[:len(s.stack)-1]
	s.cur = top.name
	s.leaving = true
	return End
}

// Skip goes to the End of the element whose Start is the current event.
func (s *Scanner) Skip() error {
	for depth := len(s.stack); len(s.stack) >= depth; {
		if _, err := s.Next(); err != nil {
			return err
		}
	}
	return nil
}
