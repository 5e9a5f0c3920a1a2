package rtf

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// Code pages that are no numbers of Windows.
const (
	pageDocument = 0  // that of the document
	pageSymbol   = -1 // the font has characters of its own
)

// codePage is the code page of a font's \fcharset.
func codePage(charset int) int {
	switch charset {
	case 2:
		return pageSymbol
	case 77:
		return 10000
	case 78, 128:
		return 932
	case 79, 129:
		return 949
	case 80, 134:
		return 936
	case 81, 136:
		return 950
	case 130:
		return 1361
	case 161:
		return 1253
	case 162:
		return 1254
	case 163:
		return 1258
	case 177, 181:
		return 1255
	case 178, 179, 180:
		return 1256
	case 186:
		return 1257
	case 204:
		return 1251
	case 222:
		return 874
	case 238:
		return 1250
	case 254:
		return 437
	case 255:
		return 850
	}
	return pageDocument
}

// encodingOf is the encoding of a code page; nil if it is unknown.
func encodingOf(page int) encoding.Encoding {
	switch page {
	case 437:
		return charmap.CodePage437
	case 850:
		return charmap.CodePage850
	case 852:
		return charmap.CodePage852
	case 855:
		return charmap.CodePage855
	case 858:
		return charmap.CodePage858
	case 860:
		return charmap.CodePage860
	case 862:
		return charmap.CodePage862
	case 863:
		return charmap.CodePage863
	case 865:
		return charmap.CodePage865
	case 866:
		return charmap.CodePage866
	case 874:
		return charmap.Windows874
	case 932:
		return japanese.ShiftJIS
	case 936, 54936:
		return simplifiedchinese.GB18030
	case 949, 51949:
		return korean.EUCKR
	case 950:
		return traditionalchinese.Big5
	case 10000:
		return charmap.Macintosh
	case 10007:
		return charmap.MacintoshCyrillic
	case 20866:
		return charmap.KOI8R
	case 21866:
		return charmap.KOI8U
	case 65001:
		return unicode.UTF8
	}
	if windows := []encoding.Encoding{charmap.Windows1250, charmap.Windows1251, charmap.Windows1252, charmap.Windows1253, charmap.Windows1254,
		charmap.Windows1255, charmap.Windows1256, charmap.Windows1257, charmap.Windows1258}; page >= 1250 && page-1250 < len(windows) {
		return windows[page-1250]
	}
	return nil
}

func doubleByte(page int) bool { return page == 932 || page == 936 || page == 949 || page == 950 }

// pairs says that the bytes over 0x7F come in twos, as those of Chinese and Korean do.
func pairs(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] < 0x80 {
			continue
		}
		if i+1 == len(raw) || raw[i+1] < 0x80 {
			return false
		}
		i++
	}
	return true
}

// decoded is raw in the code page, without the bytes that are no character, which are in bad as \xNN.
func decoded(raw []byte, page int) (text, bad string) {
	enc := encodingOf(page)
	if enc == nil {
		enc = charmap.Windows1252
	}
	if doubleByte(page) && len(raw) > 0 && utf8.Valid(raw) && ascii(raw) {
		return string(raw), ""
	}
	out, err := enc.NewDecoder().Bytes(raw)
	if err != nil {
		return "", hexes(raw)
	}
	text = string(out)
	if strings.ContainsRune(text, utf8.RuneError) {
		text = strings.ReplaceAll(text, string(utf8.RuneError), "")
		bad = hexes(raw)
	}
	return text, bad
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

const hexDigits = "0123456789abcdef"

func hexes(raw []byte) string {
	var b strings.Builder
	for _, c := range raw[:min(len(raw), 64)] {
		b.WriteString(`\x`)
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
	return b.String()
}

// Letters of the fonts Symbol and Wingdings, by byte.
const (
	symbolUpper = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ"
	symbolLower = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"
)

// symbol is the character of a symbol font at c; 0 if it is unknown. Wingdings says which font it is.
func symbol(c byte, wingdings bool) rune {
	if wingdings {
		switch c {
		case 0x6C:
			return '●'
		case 0x6E:
			return '■'
		case 0x6F, 0x71, 0xA8:
			return '□'
		case 0x76:
			return '❖'
		case 0xA7:
			return '▪'
		case 0xD8:
			return '➢'
		case 0xE0:
			return '→'
		case 0xFB:
			return '✗'
		case 0xFC:
			return '✓'
		case 0xFD:
			return '☒'
		case 0xFE:
			return '☑'
		case 0x20:
			return ' '
		}
		return 0
	}
	switch {
	case c >= 'A' && c <= 'Z':
		return []rune(symbolUpper)[c-'A']
	case c >= 'a' && c <= 'z':
		return []rune(symbolLower)[c-'a']
	case c == ' ' || c >= '0' && c <= '9' || strings.IndexByte("!#%&()+,./:;<=>?[]_{|}", c) >= 0:
		return rune(c)
	}
	for i, at := range []byte{0x2A, 0x2D, 0x22, 0x24, 0xA3, 0xA5, 0xAB, 0xAC, 0xAD, 0xAE, 0xAF, 0xB0, 0xB1, 0xB3, 0xB4, 0xB6, 0xB7, 0xB8, 0xB9, 0xBA, 0xBB, 0xBC,
		0xC7, 0xC8, 0xCC, 0xCD, 0xCE, 0xCF, 0xD1, 0xD5, 0xD6, 0xD7, 0xDB, 0xDE, 0xE5, 0xF2} {
		if at == c {
			return []rune("∗−∀∃≤∞↔←↑→↓°±≥×∂•÷≠≡≈…∩∪⊂⊆∈∉∇∏√⋅⇔⇒∑∫")[i]
		}
	}
	return 0
}
