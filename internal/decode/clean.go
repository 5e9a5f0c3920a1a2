package decode

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// special marks the bytes at which cleaning has to look closer: controls, and lead bytes of invisible characters.
var special = func() (t [256]bool) {
	for b := range 0x20 {
		t[b] = b != '\t' && b != '\n'
	}
	for _, b := range []byte{0x7F, 0xC2, 0xD8, 0xE1, 0xE2, 0xEF, 0xF0, 0xF3} {
		t[b] = true
	}
	return t
}()

// cleaner drops what is no text from UTF-8, block by block.
type cleaner struct {
	pos    int // length of all text so far
	skipLF bool
	inWord bool // the last byte kept is no white space
	tags   bool // the last character kept may be followed by tag characters (flags of regions)
	log    dropLog
	// replacementIsBad: U+FFFD in the input was put there by a decoder.
	replacementIsBad bool
}

// run appends the clean text of src to dst and says how much of src it used: all of it but an incomplete last
// character, which is used too if last is set.
func (c *cleaner) run(dst, src []byte, last bool) ([]byte, int) {
	n := len(src)
	if !last {
		n -= incompleteTail(src)
	}
	base := len(dst)
	i := 0
	if utf8.Valid(src[:n]) {
		dst = c.valid(dst, base, src[:n])
		i = n
	}
	for i < n {
		valid := i + validPrefix(src[i:n])
		dst = c.valid(dst, base, src[i:valid])
		i = valid
		for i < n && !validAt(src[i:n]) {
			c.log.add(c.pos+len(dst)-base, connector.DropUndecodable, escaped(src[i]))
			c.skipLF, c.tags = false, false
			i++
		}
	}
	c.pos += len(dst) - base
	return dst, n
}

// valid cleans src, which is valid UTF-8.
func (c *cleaner) valid(dst []byte, base int, src []byte) []byte {
	i, kept := 0, 0 // src[kept:i] is to be kept
	if len(src) > 0 && c.skipLF {
		c.skipLF = false
		if src[0] == '\n' {
			i, kept = 1, 1
		}
	}
	flush := func(to int) {
		if to > kept {
			dst = append(dst, src[kept:to]...)
			b := dst[len(dst)-1]
			c.inWord = b != ' ' && b != '\n' && b != '\t'
			if to-kept > 4 || !isTag(src[kept:to]) {
				c.tags = false
			}
		}
	}
	for {
		for i < len(src) && !special[src[i]] {
			i++
		}
		if i == len(src) {
			flush(i)
			return dst
		}
		if src[i] == '\r' {
			flush(i)
			dst = append(dst, '\n')
			c.inWord, c.tags = false, false
			i++
			if i < len(src) && src[i] == '\n' {
				i++
			} else if i == len(src) {
				c.skipLF = true
			}
			kept = i
			continue
		}
		reason, size := classify(src[i:], c.replacementIsBad)
		switch {
		case reason == "":
			i += size
			continue
		case reason == flagBase:
			flush(i + size)
			i += size
			kept = i
			c.tags = true
			continue
		case reason == tagChar:
			flush(i)
			kept = i
			if c.tags {
				dst = append(dst, src[i:i+size]...)
				i += size
				kept = i
				continue
			}
			reason = connector.DropInvisible
		}
		flush(i)
		text := string(src[i : i+size])
		if reason == spacing {
			reason = connector.DropControl
			if c.inWord {
				dst = append(dst, ' ')
				c.inWord = false
			}
		}
		c.log.add(c.pos+len(dst)-base, reason, text)
		i += size
		kept = i
	}
}

// Reasons that classify gives beside those of the contract.
const (
	spacing  = connector.DropReason("spacing control")
	flagBase = connector.DropReason("flag")
	tagChar  = connector.DropReason("tag")
)

// classify looks at the character at the start of s, whose first byte is special but not CR. An empty reason
// means that it stays.
func classify(s []byte, replacementIsBad bool) (connector.DropReason, int) {
	switch b := s[0]; b {
	case '\v', '\f':
		return spacing, 1
	case 0xC2:
		switch {
		case s[1] == 0x85:
			return spacing, 2
		case s[1] < 0xA0:
			return connector.DropControl, 2
		case s[1] == 0xAD:
			return connector.DropInvisible, 2
		}
		return "", 2
	case 0xD8: // U+061C, Arabic letter mark
		return invisibleIf(s[1] == 0x9C), 2
	case 0xE1: // U+180E, Mongolian vowel separator
		return invisibleIf(s[1] == 0xA0 && s[2] == 0x8E), 3
	case 0xE2: // U+200B, U+200E–200F, U+202A–202E, U+2060–206F
		return invisibleIf(s[1] == 0x80 && (s[2] == 0x8B || s[2] == 0x8E || s[2] == 0x8F || s[2] >= 0xAA && s[2] <= 0xAE) ||
			s[1] == 0x81 && s[2] >= 0xA0 && s[2] <= 0xAF), 3
	case 0xEF: // U+FEFF, U+FFF9–FFFB
		if replacementIsBad && s[1] == 0xBF && s[2] == 0xBD {
			return connector.DropUndecodable, 3
		}
		return invisibleIf(s[1] == 0xBB && s[2] == 0xBF || s[1] == 0xBF && s[2] >= 0xB9 && s[2] <= 0xBB), 3
	case 0xF0: // U+1F3F4, black flag
		if s[1] == 0x9F && s[2] == 0x8F && s[3] == 0xB4 {
			return flagBase, 4
		}
		return "", 4
	case 0xF3: // U+E0000–E007F, tags
		if isTag(s[:4]) {
			return tagChar, 4
		}
		return "", 4
	}
	return connector.DropControl, 1
}

func invisibleIf(drop bool) connector.DropReason {
	if drop {
		return connector.DropInvisible
	}
	return ""
}

func isTag(s []byte) bool {
	return len(s) == 4 && s[0] == 0xF3 && s[1] == 0xA0 && (s[2] == 0x80 || s[2] == 0x81)
}

// escaped is b as \xNN.
func escaped(b byte) string {
	const digits = "0123456789ABCDEF"
	return string([]byte{'\\', 'x', digits[b>>4], digits[b&15]})
}

// validAt reports whether s starts with a valid character.
func validAt(s []byte) bool {
	r, size := utf8.DecodeRune(s)
	return r != utf8.RuneError || size > 1
}

// validPrefix is the length of the longest valid start of s.
func validPrefix(s []byte) int {
	i := 0
	for i < len(s) {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return i
}

// incompleteTail is how many bytes at the end of s may be the start of a character that goes on.
func incompleteTail(s []byte) int {
	for back := 1; back <= 3 && back <= len(s); back++ {
		b := s[len(s)-back]
		if utf8.RuneStart(b) {
			if !utf8.FullRune(s[len(s)-back:]) {
				return back
			}
			return 0
		}
	}
	return 0
}

// firstHigh is the index of the first byte over 0x7F, or len(s).
func firstHigh(s []byte) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		if binary.LittleEndian.Uint64(s[i:])&0x8080808080808080 != 0 {
			break
		}
	}
	for i < len(s) && s[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// Cleaner cleans pieces of text that came into being after decoding, such as characters written as entities. Pos
// of its drops counts over all its output. The zero value is ready.
type Cleaner struct{ c cleaner }

// Clean is s as a Reader would give it. Each piece stands for itself.
func (c *Cleaner) Clean(s string) string {
	c.c.skipLF, c.c.inWord, c.c.tags = false, false, false
	out, _ := c.c.run(make([]byte, 0, len(s)), []byte(s), true)
	return string(out)
}

// Dropped is all that was left out.
func (c *Cleaner) Dropped() []Drop { return c.c.log.all() }
