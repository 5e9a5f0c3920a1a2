package man

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// glyphs are the special characters of groff_char(7) that pages use.
var glyphs = map[string]string{
	"em": "—", "en": "–", "hy": "-", "mi": "−", "bu": "•", "ci": "○", "sq": "□", "lq": "“", "rq": "”", "oq": "‘", "cq": "’", "aq": "'", "dq": "\"",
	"Bq": "„", "bq": "‚", "Fo": "«", "Fc": "»", "fo": "‹", "fc": "›", "ga": "`", "aa": "´", "ha": "^", "ti": "~", "rs": "\\", "sl": "/", "ba": "|", "bb": "¦", "at": "@",
	"sh": "#", "Do": "$", "Eu": "€", "eu": "€", "Po": "£", "Ye": "¥", "ct": "¢", "co": "©", "rg": "®", "tm": "™", "de": "°", "mc": "µ", "dg": "†", "dd": "‡", "ps": "¶",
	"sc": "§", "lh": "☜", "rh": "☞", "OK": "✓", "->": "→", "<-": "←", "ua": "↑", "da": "↓", "<>": "↔", "rA": "⇒", "lA": "⇐", "hA": "⇔", "pl": "+", "eq": "=", "**": "∗",
	"mu": "×", "tmu": "×", "di": "÷", "tdi": "÷", "+-": "±", "t+-": "±", "<=": "≤", ">=": "≥", "!=": "≠", "==": "≡", "~=": "≅", "~~": "≈", "ap": "∼", "if": "∞", "sr": "√", "sum": "∑",
	"pd": "∂", "no": "¬", "tno": "¬", "AN": "∧", "OR": "∨", "te": "∃", "fa": "∀", "mo": "∈", "nm": "∉", "es": "∅", "ca": "∩", "cu": "∪", "sb": "⊂", "sp": "⊃", "fm": "′", "sd": "″",
	"12": "½", "14": "¼", "34": "¾", "S1": "¹", "S2": "²", "S3": "³", "r!": "¡", "r?": "¿", "lB": "[", "rB": "]", "lC": "{", "rC": "}", "la": "⟨", "ra": "⟩", "ul": "_", "rn": "‾",
	"ss": "ß", "AE": "Æ", "ae": "æ", "OE": "Œ", "oe": "œ", "/O": "Ø", "/o": "ø", "oA": "Å", "oa": "å", ",C": "Ç", ",c": "ç", "/L": "Ł", "/l": "ł", "-D": "Ð", "Sd": "ð", "TP": "Þ", "Tp": "þ",
	"*a": "α", "*b": "β", "*g": "γ", "*d": "δ", "*e": "ε", "*l": "λ", "*m": "μ", "*p": "π", "*s": "σ", "*t": "τ", "*w": "ω", "*D": "Δ", "*S": "Σ", "*W": "Ω", "br": "|", "rk": "}", "lk": "{",
	"R": "®", "Tm": "™", "ff": "ff", "fi": "fi", "fl": "fl", "Fi": "ffi", "Fl": "ffl", "pc": "·", "a^": "^", "a~": "~", "ad": "¨", "ac": "¸", "ao": "˚", "ho": "˛", "sqrt": "√", "space": " ",
}

// accents are the letters that a name of two characters puts together.
var accents = map[byte]string{'\'': "\u0301", '`': "\u0300", '^': "\u0302", '~': "\u0303", ':': "\u0308", ',': "\u0327", 'v': "\u030c"}

// glyph is the special character of that name.
func glyph(name string) string {
	if g, ok := glyphs[name]; ok {
		return g
	}
	if len(name) == 2 {
		if mark, ok := accents[name[0]]; ok && (name[1] >= 'A' && name[1] <= 'Z' || name[1] >= 'a' && name[1] <= 'z') {
			return composed(name[1:] + mark)
		}
	}
	for _, prefix := range []string{"u", "char"} {
		digits, ok := strings.CutPrefix(name, prefix)
		if !ok || digits == "" {
			continue
		}
		base := 16
		if prefix == "char" {
			base = 10
		}
		var b strings.Builder
		for part := range strings.SplitSeq(digits, "_") {
			n, err := strconv.ParseUint(part, base, 32)
			if err != nil || !utf8.ValidRune(rune(n)) || n < ' ' {
				return name
			}
			b.WriteRune(rune(n))
		}
		return b.String()
	}
	return name
}

// text is s without escape sequences. joined says that the line ends with \c: nothing stands between it and the next one.
func (p *page) text(s string) (out string, joined bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, false
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		if i++; i >= len(s) {
			break
		}
		switch c := s[i]; c {
		case 'e', '\\':
			b = append(b, '\\')
		case '-', '.', '_':
			b = append(b, c)
		case '\'', '`':
			b = append(b, c)
		case ' ', '~', '0':
			b = append(b, ' ')
		case 't', 'a':
			b = append(b, '\t')
		case '(':
			name, end := argument(s, i)
			b = append(b, glyph(name)...)
			i = end
		case '[':
			name, end := argument(s, i)
			b = append(b, glyph(name)...)
			i = end
		case '*':
			name, end := argument(s, i+1)
			b = append(b, p.value(name)...)
			i = end
		case 'f', 'F', 'm', 'M', 'n', 'g', 'k', 'V', 'Y':
			_, i = argument(s, signed(s, i+1))
		case 's':
			i = size(s, i+1)
		case 'N':
			arg, end := quoted(s, i+1)
			if n, err := strconv.Atoi(arg); err == nil && n >= ' ' && utf8.ValidRune(rune(n)) {
				b = utf8.AppendRune(b, rune(n))
			}
			i = end
		case 'o', 'b', 'Z':
			arg, end := quoted(s, i+1)
			b = append(b, arg...)
			i = end
		case 'h', 'v', 'w', 'l', 'L', 'D', 'H', 'S', 'x', 'X', 'A', 'B', 'R', 'C':
			arg, end := quoted(s, i+1)
			if c == 'C' {
				b = append(b, glyph(arg)...)
			}
			i = end
		case 'c':
			joined = true
		case '&', ')', '%', ':', '/', ',', '^', '|', '{', '}', 'p', 'u', 'd', 'r', 'z', '!', '?':
		default:
			b = append(b, c)
		}
	}
	return string(b), joined
}

// value is that of a string: the page's own, or one of man's.
func (p *page) value(name string) string {
	if v, ok := p.strings[name]; ok {
		if p.spent += len(v); p.spent > maxSpent {
			return `\*[` + name + "]"
		}
		return v
	}
	switch name {
	case "lq", "rq", "R", "Tm":
		return glyph(name)
	case "Aq":
		return "'"
	case "q":
		return `"`
	case "Lt", "Gt", "Le", "Ge", "Ne", "Pm", "If":
		return map[string]string{"Lt": "<", "Gt": ">", "Le": "≤", "Ge": "≥", "Ne": "≠", "Pm": "±", "If": "∞"}[name]
	}
	return ""
}

// argument reads a name at s[i:]: one character, two behind "(", or those in brackets. end is the place of its last character.
func argument(s string, i int) (name string, end int) {
	switch {
	case i >= len(s):
		return "", len(s)
	case s[i] == '(':
		_, n := utf8.DecodeRuneInString(s[i+1:])
		_, m := utf8.DecodeRuneInString(s[i+1+n:])
		return s[i+1 : i+1+n+m], i + n + m
	case s[i] == '[':
		if n := strings.IndexByte(s[i:], ']'); n > 0 {
			return s[i+1 : i+n], i + n
		}
		return s[i+1:], len(s)
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return s[i : i+n], i + n - 1
}

// signed is behind a sign, which registers may have.
func signed(s string, i int) int {
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		return i + 1
	}
	return i
}

// size is the place of the last character of a size: \s2, \s-1, \s10 where it begins with 1 to 3, \s(12, \s[12].
func size(s string, i int) int {
	i = signed(s, i)
	if i < len(s) && s[i] == '\'' {
		_, end := quoted(s, i)
		return end
	}
	if i < len(s) && (s[i] == '(' || s[i] == '[') {
		_, end := argument(s, i)
		return end
	}
	if i+1 < len(s) && s[i] >= '1' && s[i] <= '3' && s[i+1] >= '0' && s[i+1] <= '9' {
		return i + 1
	}
	return min(i, len(s))
}

// quoted reads what stands between two equal characters; end is the place of the second one.
func quoted(s string, i int) (arg string, end int) {
	if i >= len(s) {
		return "", len(s)
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	mark, rest := s[i:i+size], s[i+size:]
	if n := strings.Index(rest, mark); n >= 0 {
		return rest[:n], i + size + n + size - 1
	}
	return rest, len(s)
}
