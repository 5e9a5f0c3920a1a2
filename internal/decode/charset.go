package decode

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// markOf is the character set that a byte order mark names, and the mark's length.
func markOf(head []byte) (name string, size int) {
	switch {
	case bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")):
		return "utf-8", 3
	case bytes.HasPrefix(head, []byte("\xFF\xFE\x00\x00")) && len(head)%4 == 0:
		return "utf-32le", 4
	case bytes.HasPrefix(head, []byte("\x00\x00\xFE\xFF")):
		return "utf-32be", 4
	case bytes.HasPrefix(head, []byte("\xFF\xFE")):
		return "utf-16le", 2
	case bytes.HasPrefix(head, []byte("\xFE\xFF")):
		return "utf-16be", 2
	}
	return "", 0
}

// wideCharset knows UTF-16 and UTF-32 without a mark by their NUL bytes; "" if it is neither.
func wideCharset(head []byte) string {
	if bytes.IndexByte(head, 0) < 0 || len(head) < 4 {
		return ""
	}
	// Text in which a few NULs were left is valid UTF-8 and has few of them.
	zeros := bytes.Count(head, []byte{0})
	if utf8.Valid(head[:len(head)-incompleteTail(head)]) && zeros*5 < len(head) {
		return ""
	}
	var at [4]int
	for i, b := range head {
		if b == 0 {
			at[i%4]++
		}
	}
	quarter := max(len(head)/4, 1)
	const most = 90 // per cent
	full := func(n int) bool { return n*100 >= quarter*most }
	switch {
	case full(at[3]) && full(at[2]) && !full(at[0]) && plausible(head, 4, false):
		return "utf-32le"
	case full(at[0]) && full(at[1]) && !full(at[3]) && plausible(head, 4, true):
		return "utf-32be"
	}
	odd, even := at[1]+at[3], at[0]+at[2]
	switch {
	case odd*100 >= zeros*most && plausible(head, 2, false):
		return "utf-16le"
	case even*100 >= zeros*most && plausible(head, 2, true):
		return "utf-16be"
	}
	return ""
}

// plausible says whether nearly all code units of that size are characters of everyday text.
func plausible(s []byte, size int, bigEndian bool) bool {
	good, all := 0, 0
	for i := 0; i+size <= len(s); i += size {
		u := uint32(0)
		for k := range size {
			b := s[i+k]
			if bigEndian {
				u = u<<8 | uint32(b)
			} else {
				u |= uint32(b) << (8 * k)
			}
		}
		all++
		switch {
		case u >= 0x20 && u < 0x7F, u == '\n', u == '\r', u == '\t',
			u >= 0xA0 && u < 0x0700, u >= 0x0900 && u < 0x0E80, u >= 0x1E00 && u < 0x2800,
			u >= 0x3000 && u < 0x3400, u >= 0x4E00 && u < 0xA000, u >= 0xAC00 && u < 0xE000,
			u >= 0xFE00 && u < 0xFE10, u >= 0xFF00 && u < 0xFFF0, u >= 0x1F000 && u < 0x20000:
			good++
		}
	}
	return all > 0 && good*100 >= all*95
}

// binaryContent says that head has too many control characters to be text.
func binaryContent(head []byte) bool {
	controls := 0
	for _, b := range head {
		if b < 0x20 && b != '\t' && b != '\n' && b != '\r' && b != '\f' && b != 0x1B && b != '\b' {
			controls++
		}
	}
	return controls >= 8 && controls*100 > len(head)*8
}

// shiftsASCII recognises ISO-2022-JP by its escape sequences in 7-bit text.
func shiftsASCII(head []byte) bool {
	return firstHigh(head) == len(head) && (bytes.Contains(head, []byte("\x1B$B")) || bytes.Contains(head, []byte("\x1B$@"))) &&
		(bytes.Contains(head, []byte("\x1B(B")) || bytes.Contains(head, []byte("\x1B(J")))
}

// choose decides the character set of a block that is not ASCII. sure is false for the last resort.
func choose(block []byte, declared string) (name string, sure bool) {
	good, bad := sequences(block)
	if good >= 3*bad {
		return "utf-8", true
	}
	if name := canonical(declared); name != "" && name != "utf-8" && misfits(block, name)*100 <= len(block) {
		return name, true
	}
	name, confidence := detect(block)
	if (confidence < 0.9 || !multibyte(name)) && looksGB(block) {
		name = "gb18030"
	}
	if name != "" && name != "utf-8" && misfits(block, name)*200 <= len(block) {
		return name, true
	}
	for _, other := range []string{"gb18030", "big5", "shift_jis", "euc-kr", "euc-jp"} {
		if misfits(block, other) == 0 {
			return other, true
		}
	}
	if good > bad {
		return "utf-8", true
	}
	return "windows-1252", false
}

// sequences counts the valid multi-byte characters of s as UTF-8, and the bytes that belong to none.
func sequences(s []byte) (good, bad int) {
	s = s[:len(s)-incompleteTail(s)]
	for i := firstHigh(s); i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && size == 1 {
			bad++
		} else {
			good++
		}
		i += size
	}
	return good, bad
}

// detect asks the detector. It keeps a list of every byte it is fed last, so it is fed once.
func detect(block []byte) (name string, confidence float64) {
	defer func() {
		if recover() != nil {
			name, confidence = "", 0
		}
	}()
	res := chardet.Detect(block)
	label := res.Encoding
	switch strings.ToUpper(label) {
	case "GB2312", "HZ-GB-2312":
		label = "gb18030"
	case "CP932":
		label = "shift_jis"
	case "CP949", "JOHAB":
		label = "euc-kr"
	case "MACROMAN":
		label = "macintosh"
	case "MACCYRILLIC":
		// The detector mixes the two up, and the Macintosh's has died out.
		label = "windows-1251"
	}
	return canonical(label), res.Confidence
}

// canonical is the standard's name of the character set with that label; "" if it is unknown or no real one.
func canonical(label string) string {
	enc, err := htmlindex.Get(label)
	if err != nil {
		return ""
	}
	name, err := htmlindex.Name(enc)
	if err != nil || name == "replacement" || name == "x-user-defined" || strings.HasPrefix(name, "utf-16") {
		return ""
	}
	if name == "gbk" {
		return "gb18030" // its superset
	}
	return name
}

// encodingOf is the decoder of a name that canonical, markOf or wideCharset gave; nil if there is none.
func encodingOf(name string) encoding.Encoding {
	switch name {
	case "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	}
	enc, err := htmlindex.Get(name)
	if err != nil {
		return nil
	}
	return enc
}

func multibyte(name string) bool {
	switch name {
	case "gb18030", "big5", "shift_jis", "euc-kr", "euc-jp", "iso-2022-jp", "utf-8":
		return true
	}
	return false
}

// misfits counts what block, decoded as name, gives that no text holds: replacements, C1 controls and private use.
func misfits(block []byte, name string) int {
	enc := encodingOf(name)
	if enc == nil {
		return len(block) + 1
	}
	text, err := enc.NewDecoder().Bytes(block)
	if err != nil {
		return len(block) + 1
	}
	n := 0
	for i, r := range string(text) {
		if (r == utf8.RuneError && i < len(text)-6) || r >= 0x80 && r < 0xA0 || r >= 0xE000 && r < 0xF900 {
			n++
		}
	}
	return n
}

// looksGB says that the high bytes come in pairs of GB 2312's punctuation and common characters. Short texts give
// the detector too little to count.
func looksGB(s []byte) bool {
	pairs, common := 0, 0
	for i := firstHigh(s); i < len(s); i++ {
		if s[i] < 0x80 {
			continue
		}
		if i+1 == len(s) {
			break
		}
		a, b := s[i], s[i+1]
		pairs++
		if b >= 0xA1 && b != 0xFF && (a >= 0xA1 && a <= 0xA3 || a >= 0xB0 && a <= 0xD7) {
			common++
		}
		i++
	}
	return pairs >= 2 && common*100 >= pairs*95
}

// Binary says that a Reader would refuse content that starts with head as no text.
func Binary(head []byte) bool {
	name, _ := markOf(head)
	return name == "" && wideCharset(head) == "" && binaryContent(head)
}
