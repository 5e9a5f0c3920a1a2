package rtf

import "bytes"

// kind is what a token is.
type kind uint8

const (
	tokenEnd  kind = iota
	tokenOpen      // {
	tokenClose
	tokenWord   // a control word
	tokenSymbol // a control symbol, in char
	tokenByte   // \'hh, in char
	tokenText   // bytes of text, in text
)

// token is one token of the file.
type token struct {
	kind  kind
	word  string
	param int
	has   bool // there is a param
	char  byte
	text  []byte
}

// scanner cuts a file into tokens.
type scanner struct {
	data []byte
	pos  int
}

// next is the next token. Line ends are none.
func (s *scanner) next() token {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case '\r', '\n', 0:
			s.pos++
		case '{':
			s.pos++
			return token{kind: tokenOpen}
		case '}':
			s.pos++
			return token{kind: tokenClose}
		case '\\':
			s.pos++
			return s.control()
		default:
			rest := s.data[s.pos:]
			n := bytes.IndexAny(rest[:min(len(rest), 4096)], "{}\\\r\n\x00")
			if n < 0 {
				n = min(len(rest), 4096)
			}
			s.pos += n
			return token{kind: tokenText, text: rest[:n]}
		}
	}
	return token{kind: tokenEnd}
}

// control reads what follows a backslash.
func (s *scanner) control() token {
	if s.pos >= len(s.data) {
		return token{kind: tokenEnd}
	}
	c := s.data[s.pos]
	if !letter(c) {
		s.pos++
		if c != '\'' {
			return token{kind: tokenSymbol, char: c}
		}
		if s.pos+2 <= len(s.data) {
			hi, lo := digit(s.data[s.pos]), digit(s.data[s.pos+1])
			if hi >= 0 && lo >= 0 {
				s.pos += 2
				return token{kind: tokenByte, char: byte(hi<<4 | lo)} //nolint:gosec // two digits
			}
		}
		return token{kind: tokenSymbol, char: c}
	}
	start := s.pos
	for s.pos < len(s.data) && letter(s.data[s.pos]) && s.pos-start < 40 {
		s.pos++
	}
	t := token{kind: tokenWord, word: string(s.data[start:s.pos])}
	t.param, t.has = s.number()
	if s.pos < len(s.data) && s.data[s.pos] == ' ' {
		s.pos++
	}
	if t.word == "bin" && t.param > 0 {
		s.pos += min(t.param, len(s.data)-s.pos)
	}
	return t
}

// number reads a parameter, if there is one.
func (s *scanner) number() (n int, ok bool) {
	at, sign := s.pos, 1
	if at < len(s.data) && s.data[at] == '-' {
		at, sign = at+1, -1
	}
	start := at
	for at < len(s.data) && s.data[at] >= '0' && s.data[at] <= '9' && at-start < 10 {
		n = n*10 + int(s.data[at]-'0')
		at++
	}
	if at == start {
		return 0, false
	}
	s.pos = at
	return sign * n, true
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
