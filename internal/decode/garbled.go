package decode

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// garbledSample is how much of the first block with characters beyond ASCII is looked at.
const garbledSample = 16 << 10

// looksGarbled says that text looks like UTF-8 that was read as Windows-1252 (the accents come in pairs that make
// valid UTF-8 when they are written back), like GBK that passed through a lossy step, or full of replacements.
func looksGarbled(text string) bool {
	if strings.Contains(text, "锟斤拷") || strings.Count(text, "\uFFFD") >= 3 {
		return true
	}
	runs, garbled := 0, 0
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		j := i
		var raw []byte
		ok := true
		for j < len(text) && text[j] >= utf8.RuneSelf {
			if !ok { // Han, say: only the end of the run matters
				j++
				continue
			}
			r, size := utf8.DecodeRuneInString(text[j:])
			b, fits := charmap.Windows1252.EncodeRune(r)
			if !fits && r >= 0x80 && r < 0xA0 {
				b, fits = byte(r), true
			}
			if ok = fits; ok {
				raw = append(raw, b)
			}
			j += size
		}
		runs++
		if ok && len(raw) >= 2 && utf8.Valid(raw) {
			garbled++
		}
		i = j
	}
	return garbled >= 3 && garbled*2 >= runs
}
