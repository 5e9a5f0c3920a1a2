package docx

import "strings"

// adobe is the Symbol font from 0x20 on, as Unicode's mapping of Adobe's encoding has it; a space where there is none.
const adobe = " !∀#∃%&∍()∗+,−./0123456789:;<=>?≅ΑΒΧ∆ΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"

// adobeHigh is the Symbol font from 0xA1 on.
const adobeHigh = "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪"

// wingdings are the characters of that font that documents use: boxes, marks, arrows, bullets.
var wingdings = map[rune]rune{
	0x4A: '☺', 0x4B: '😐', 0x4C: '☹', 0x6C: '●', 0x6D: '❍', 0x6E: '■', 0x6F: '□', 0x71: '❑', 0x72: '❒', 0x75: '◆', 0x76: '❖', 0x77: '⬥', 0x9F: '•', 0xA1: '○', 0xA7: '▪',
	0xA8: '☐', 0xAB: '★', 0xD8: '➢', 0xDF: '←', 0xE0: '→', 0xE1: '↑', 0xE2: '↓', 0xE8: '➔', 0xEF: '⇦', 0xF0: '⇨', 0xFB: '✗', 0xFC: '✓', 0xFD: '☒', 0xFE: '☑',
	0x22: '✂', 0x28: '☎', 0x29: '✆', 0x2A: '✉', 0x46: '☞', 0x45: '☜', 0x47: '☝', 0x48: '☟', 0x8C: '①', 0x81: '①', 0x82: '②', 0x83: '③', 0x84: '④', 0x85: '⑤', 0x86: '⑥',
	0x87: '⑦', 0x88: '⑧', 0x89: '⑨', 0x8A: '⑩',
}

// wingdings2 likewise.
var wingdings2 = map[rune]rune{0x50: '✓', 0x4F: '✗', 0x51: '☒', 0x52: '☑', 0x53: '☒', 0x54: '☒', 0x2A: '☐', 0xA3: '☐', 0x97: '●', 0x98: '●', 0xA2: '■'}

// symbolOf is the character that a code of a symbol font shows; 0 if that is unknown. Codes of the private use area are those of the font.
func symbolOf(font string, code rune) rune {
	if code >= 0xF000 && code <= 0xF0FF {
		code -= 0xF000
	}
	switch f := strings.ToLower(font); {
	case f == "symbol":
		switch r, high := []rune(adobe), []rune(adobeHigh); {
		case code >= 0x20 && int(code-0x20) < len(r):
			return r[code-0x20]
		case code >= 0xA1 && int(code-0xA1) < len(high):
			return high[code-0xA1]
		}
		return 0
	case f == "wingdings":
		return wingdings[code]
	case f == "wingdings 2":
		return wingdings2[code]
	case f == "wingdings 3", f == "webdings", code < 0x20, code >= 0xE000 && code < 0xF900:
		return 0
	}
	return code
}
