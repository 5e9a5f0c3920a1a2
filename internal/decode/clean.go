package decode

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// What cleaning has to know about a byte that starts a character.
const (
	closer = iota // look closer: controls, leads of invisible characters, leads with rules of their own, no lead at all
	plain1        // ASCII that stays
	plain2        // lead of two bytes, all of whose characters stay
	plain3        // lead of three bytes, likewise
)

// starts sorts the bytes. It is never written.
var starts = func() (t [256]uint8) {
	for b := 0x20; b < 0x7F; b++ {
		t[b] = plain1
	}
	t['\t'], t['\n'] = plain1, plain1
	for b := 0xC3; b <= 0xDF; b++ {
		t[b] = plain2
	}
	t[0xD8] = closer // U+061C
	for b := 0xE3; b <= 0xEC; b++ {
		t[b] = plain3
	}
	t[0xEE] = plain3
	return t
}()

// plainRun is the first index from i on at which cleaning has to look closer.
func plainRun(s []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for i < len(s) {
		switch starts[s[i]] {
		case plain1:
			for i+8 <= len(s) {
				// Eight bytes at a time, while all are ASCII, none is below 0x20 and none is 0x7F.
				x := binary.LittleEndian.Uint64(s[i:])
				del := x ^ 0x7F*ones
				if x&highs != 0 || (x-0x20*ones)&highs != 0 || (del-ones)&^del&highs != 0 {
					break
				}
				i += 8
			}
			// A word with a line end in it: byte by byte.
			for end := min(i+8, len(s)); i < end && starts[s[i]] == plain1; {
				i++
			}
		case plain2:
			if i+1 >= len(s) || s[i+1]&0xC0 != 0x80 {
				return i
			}
			i += 2
		case plain3:
			if i+2 >= len(s) || s[i+1]&0xC0 != 0x80 || s[i+2]&0xC0 != 0x80 {
				return i
			}
			i += 3
		default:
			// The punctuation of Chinese text: U+FF00–FFBF, U+2010–2027.
			if s[i] == 0xEF && i+2 < len(s) && (s[i+1] == 0xBC || s[i+1] == 0xBD) && s[i+2]&0xC0 == 0x80 ||
				s[i] == 0xE2 && i+2 < len(s) && s[i+1] == 0x80 && s[i+2] >= 0x90 && s[i+2] <= 0xA7 {
				i += 3
				continue
			}
			return i
		}
	}
	return i
}

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
	i, kept := 0, 0 // src[kept:i] is to be kept
	if n > 0 && c.skipLF {
		c.skipLF = false
		if src[0] == '\n' {
			i, kept = 1, 1
		}
	}
	for {
		i = plainRun(src[:n], i)
		if i == n {
			dst = c.keep(dst, src[kept:i])
			break
		}
		reason, size := connector.DropUndecodable, 1
		if src[i] < utf8.RuneSelf || validAt(src[i:n]) {
			reason, size = classify(src[i:n], c.replacementIsBad)
		}
		if reason == "" {
			i += size
			continue
		}
		if reason == flagBase {
			i += size
			size = 0
		}
		dst = c.keep(dst, src[kept:i])
		dst = c.special(dst, base, reason, src[i:i+size], src[i+size:n])
		i += size
		if reason == lineEnd && i < n && src[i] == '\n' {
			i++
		}
		kept = i
	}
	c.pos += len(dst) - base
	return dst, n
}

// special deals with a character that classify gave a reason for, or with bytes that are none; rest is what follows it.
func (c *cleaner) special(dst []byte, base int, reason connector.DropReason, char, rest []byte) []byte {
	switch reason {
	case lineEnd:
		c.inWord, c.tags = false, false
		c.skipLF = len(rest) == 0
		return append(dst, '\n')
	case flagBase:
		c.tags = true
		return dst
	case tagChar:
		if c.tags {
			return append(dst, char...)
		}
		reason = connector.DropInvisible
	case spacing:
		reason = connector.DropControl
		if c.inWord {
			dst = append(dst, ' ')
			c.inWord = false
		}
	}
	var text string
	if reason == connector.DropUndecodable && !c.replacementIsBad {
		text = escaped(char[0])
	} else {
		text = string(char)
	}
	c.log.add(c.pos+len(dst)-base, reason, text)
	return dst
}

// keep appends s, which is clean.
func (c *cleaner) keep(dst, s []byte) []byte {
	if len(s) == 0 {
		return dst
	}
	b := s[len(s)-1]
	c.inWord = b != ' ' && b != '\n' && b != '\t'
	c.tags = false
	return append(dst, s...)
}

// Reasons that classify gives beside those of the contract.
const (
	lineEnd  = connector.DropReason("line end") // CR, with the LF after it if there is one
	spacing  = connector.DropReason("spacing control")
	flagBase = connector.DropReason("flag")
	tagChar  = connector.DropReason("tag")
)

// classify looks at the character at the start of s, whose first byte makes plainRun stop. An empty reason
// means that it stays.
func classify(s []byte, replacementIsBad bool) (connector.DropReason, int) {
	switch b := s[0]; b {
	case '\r':
		return lineEnd, 1
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
	if s[0] < utf8.RuneSelf {
		return connector.DropControl, 1
	}
	_, size := utf8.DecodeRune(s)
	return "", size
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
