package mail

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// unpacker undoes a transfer encoding, whatever is wrong with it: characters that have no place are left out of base64, and stay as they are in
// quoted-printable.
type unpacker struct {
	in   *bufio.Reader
	step func(u *unpacker) error // puts some bytes into out
	out  []byte
	used int // of out
	err  error
	bad  int // characters left out

	// Of base64.
	bits  uint32
	count int
}

// unpack gives the content of a part whose transfer encoding is named so.
func unpack(encoding string, r io.Reader) *unpacker { return unpackBy(encoding, r, 16<<10) }

func unpackBy(encoding string, r io.Reader, buffer int) *unpacker {
	u := &unpacker{in: bufio.NewReaderSize(r, buffer)}
	switch encoding {
	case "base64":
		u.step = (*unpacker).base64
	case "quoted-printable":
		u.step = (*unpacker).quotedPrintable
	case "x-uuencode", "uuencode", "x-uue":
		u.step = (*unpacker).uuencode
	default:
		u.step = (*unpacker).plain
	}
	return u
}

// unpackAll is the content of b.
func unpackAll(encoding string, b []byte) []byte {
	out, _ := io.ReadAll(unpackBy(encoding, bytes.NewReader(b), min(16<<10, len(b)+16))) // no source, no error
	return out
}

// Read implements io.Reader.
func (u *unpacker) Read(p []byte) (int, error) {
	for u.used == len(u.out) {
		if u.err != nil {
			return 0, u.err
		}
		u.out, u.used = u.out[:0], 0
		u.err = u.step(u)
	}
	n := copy(p, u.out[u.used:])
	u.used += n
	return n, nil
}

func (u *unpacker) plain() error {
	if cap(u.out) == 0 {
		u.out = make([]byte, 0, 16<<10)
	}
	n, err := u.in.Read(u.out[:cap(u.out)])
	u.out = u.out[:n]
	return err
}

func sextet(c byte) int {
	switch {
	case c >= 'A' && c <= 'Z':
		return int(c - 'A')
	case c >= 'a' && c <= 'z':
		return int(c-'a') + 26
	case c >= '0' && c <= '9':
		return int(c-'0') + 52
	case c == '+':
		return 62
	case c == '/':
		return 63
	}
	return -1
}

// base64 decodes some kilobytes. Padding ends a quantum, after which another encoding may follow.
func (u *unpacker) base64() error {
	for len(u.out) < 8<<10 {
		c, err := u.in.ReadByte()
		if err != nil || c == '=' {
			switch u.count { // what is there of a last quantum
			case 2:
				u.out = append(u.out, byte(u.bits>>4))
			case 3:
				u.out = append(u.out, byte(u.bits>>10), byte(u.bits>>2))
			}
			u.bits, u.count = 0, 0
			if err != nil {
				return err
			}
			continue
		}
		v := sextet(c)
		switch {
		case v >= 0:
			u.bits = u.bits<<6 | uint32(v)
			if u.count++; u.count == 4 {
				u.out = append(u.out, byte(u.bits>>16), byte(u.bits>>8), byte(u.bits))
				u.bits, u.count = 0, 0
			}
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			u.bad++
		}
	}
	return nil
}

// line is the next line, or a piece of a very long one.
func (u *unpacker) line() ([]byte, error) {
	b, err := u.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	return b, err
}

// quotedPrintable decodes a line.
func (u *unpacker) quotedPrintable() error {
	line, err := u.line()
	end := line
	if len(line) > 0 && line[len(line)-1] == '\n' {
		line = bytes.TrimRight(line, " \t\r\n")
		end = end[len(line):]
		if bytes.HasSuffix(end, []byte("\r\n")) {
			end = []byte("\r\n")
		} else {
			end = []byte("\n")
		}
		if bytes.HasSuffix(line, []byte("=")) {
			line, end = line[:len(line)-1], nil
		}
	} else {
		end = nil
		if err != nil { // the last line
			line = bytes.TrimSuffix(line, []byte("="))
		} else if i := bytes.LastIndexByte(line[max(0, len(line)-2):], '='); i >= 0 { // do not cut within an escape
			more, _ := u.in.Peek(2)
			line = append(append([]byte{}, line...), more...)
			_, _ = u.in.Discard(len(more))
			if bytes.ContainsRune(more, '\n') {
				line, end = bytes.TrimRight(line, " \t\r\n"), nil
				line = bytes.TrimSuffix(line, []byte("="))
			}
		}
	}
	for i := 0; i < len(line); i++ {
		if line[i] == '=' && i+2 < len(line) {
			a, b := hexDigit(line[i+1]), hexDigit(line[i+2])
			if a >= 0 && b >= 0 {
				u.out = append(u.out, byte(a<<4|b))
				i += 2
				continue
			}
		}
		u.out = append(u.out, line[i])
	}
	u.out = append(u.out, end...)
	return err
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}

// uuencode decodes a line.
func (u *unpacker) uuencode() error {
	line, err := u.line()
	line = bytes.TrimRight(line, "\r\n")
	if len(line) == 0 || bytes.HasPrefix(line, []byte("begin ")) || string(line) == "end" {
		return err
	}
	n := int(line[0]-' ') & 63
	var group []byte
	for i := 1; i < len(line) && n > 0; i += 4 {
		var v uint32
		for k := range 4 {
			v <<= 6
			if i+k < len(line) {
				v |= uint32(line[i+k]-' ') & 63
			}
		}
		group = append(group[:0], byte(v>>16), byte(v>>8), byte(v))
		u.out = append(u.out, group[:min(n, 3)]...)
		n -= min(n, 3)
	}
	return err
}
