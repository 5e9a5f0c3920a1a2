// Package numerals writes numbers as the lists and headings of office documents count.
package numerals

import (
	"strconv"
	"strings"
)

// Style is a way to write numbers.
type Style int

// The styles. Numbers that a style cannot write are written in decimal.
const (
	Decimal      Style = iota
	Zero               // 01, 02, … 10
	LowerLetter        // a, … z, aa, bb
	UpperLetter        // A, … Z, AA, BB
	LowerRoman         // i, ii
	UpperRoman         // I, II
	Ordinal            // 1st
	Circled            // ①
	FullWidth          // １
	Chinese            // 一, 十, 十一, 一百零一
	ChineseDigit       // 一, 一〇, 一一
	ChineseLegal       // 壹, 拾
	Stems              // 甲, 乙
	Branches           // 子, 丑
	LowerLetters       // a, … z, aa, ab: as in the columns of a sheet
	UpperLetters
	Parenthesized // ⑴
	None          // nothing at all
)

// OOXML is the style that Word and PowerPoint call name; Decimal if it is unknown.
func OOXML(name string) Style {
	switch name {
	case "decimalZero":
		return Zero
	case "lowerLetter":
		return LowerLetter
	case "upperLetter":
		return UpperLetter
	case "lowerRoman":
		return LowerRoman
	case "upperRoman":
		return UpperRoman
	case "ordinal":
		return Ordinal
	case "decimalEnclosedCircle", "decimalEnclosedCircleChinese":
		return Circled
	case "decimalEnclosedParen":
		return Parenthesized
	case "decimalFullWidth", "decimalFullWidth2":
		return FullWidth
	case "chineseCounting", "chineseCountingThousand", "japaneseCounting", "taiwaneseCounting", "taiwaneseCountingThousand", "koreanCounting":
		return Chinese
	case "ideographDigital", "japaneseDigitalTenThousand", "taiwaneseDigital", "koreanDigital2":
		return ChineseDigit
	case "chineseLegalSimplified", "ideographLegalTraditional", "japaneseLegal":
		return ChineseLegal
	case "ideographTraditional":
		return Stems
	case "ideographZodiac":
		return Branches
	case "none":
		return None
	}
	return Decimal
}

// ODF is the style that OpenDocument names by its first numeral ("1", "a", "一, 二, 三, ..."); None for an empty name. sync says that letters
// go on with aa, bb.
func ODF(name string, sync bool) Style {
	first, _, _ := strings.Cut(name, ",")
	switch strings.TrimSpace(first) {
	case "":
		return None
	case "a":
		if sync {
			return LowerLetter
		}
		return LowerLetters
	case "A":
		if sync {
			return UpperLetter
		}
		return UpperLetters
	case "i":
		return LowerRoman
	case "I":
		return UpperRoman
	case "①":
		return Circled
	case "１":
		return FullWidth
	case "一":
		return Chinese
	case "壹", "壱":
		return ChineseLegal
	case "甲":
		return Stems
	case "子":
		return Branches
	case "01":
		return Zero
	case "1st":
		return Ordinal
	}
	return Decimal
}

const (
	digits   = "零一二三四五六七八九"
	stems    = "甲乙丙丁戊己庚辛壬癸"
	branches = "子丑寅卯辰巳午未申酉戌亥"
	legal    = "零壹贰叁肆伍陆柒捌玖"
)

// Format writes n.
func (s Style) Format(n int) string {
	if n >= 1 || s == Zero || s == ChineseDigit || s == None || s == FullWidth {
		if out, ok := s.format(n); ok {
			return out
		}
	}
	return strconv.Itoa(n)
}

func (s Style) format(n int) (string, bool) {
	switch s {
	case None:
		return "", true
	case Zero:
		return "0" + strconv.Itoa(n), n >= 0 && n < 10
	case LowerLetter, UpperLetter:
		return strings.Repeat(string(s.letter((n-1)%26)), (n-1)/26+1), n <= 26*30
	case LowerLetters, UpperLetters:
		out := ""
		for n--; n >= 0; n = n/26 - 1 {
			out = string(s.letter(n%26)) + out
		}
		return out, true
	case LowerRoman:
		return strings.ToLower(roman(n)), n < 4000
	case UpperRoman:
		return roman(n), n < 4000
	case Ordinal:
		return strconv.Itoa(n) + ordinal(n), true
	case Circled:
		return string(rune('①' + n - 1)), n <= 20
	case Parenthesized:
		return string(rune('⑴' + n - 1)), n <= 20
	case FullWidth:
		return mapDigits(n, "０１２３４５６７８９"), n >= 0
	case Chinese:
		return chinese(n, digits, "十百千"), n < 10_000
	case ChineseLegal:
		return chinese(n, legal, "拾佰仟"), n < 10_000
	case ChineseDigit:
		return mapDigits(n, "〇一二三四五六七八九"), n >= 0
	case Stems:
		return nth(stems, n-1), n <= 10
	case Branches:
		return nth(branches, n-1), n <= 12
	}
	return "", false
}

func (s Style) letter(i int) rune {
	if s == UpperLetter || s == UpperLetters {
		return rune('A' + i)
	}
	return rune('a' + i)
}

// nth is character i of s.
func nth(s string, i int) string {
	r := []rune(s)
	if i < 0 || i >= len(r) {
		return ""
	}
	return string(r[i])
}

func mapDigits(n int, to string) string {
	var b strings.Builder
	for _, c := range strconv.Itoa(max(n, 0)) {
		b.WriteString(nth(to, int(c-'0')))
	}
	return b.String()
}

func roman(n int) string {
	if n >= 4000 {
		return ""
	}
	var b strings.Builder
	for _, p := range [...]struct {
		n int
		s string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for ; n >= p.n; n -= p.n {
			b.WriteString(p.s)
		}
	}
	return b.String()
}

func ordinal(n int) string {
	switch {
	case n%100 >= 11 && n%100 <= 13:
		return "th"
	case n%10 == 1:
		return "st"
	case n%10 == 2:
		return "nd"
	case n%10 == 3:
		return "rd"
	}
	return "th"
}

// chinese counts to 9999: a gap of zeros inside is one 零, and ten to nineteen start with 十.
func chinese(n int, digits, units string) string {
	if n >= 10_000 {
		return ""
	}
	var b strings.Builder
	gap := false
	for i, unit := 3, 1000; i >= 0; i, unit = i-1, unit/10 {
		d := n / unit % 10
		if d == 0 {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteString(nth(digits, 0))
			gap = false
		}
		if i != 1 || d != 1 || b.Len() > 0 || strings.HasPrefix(digits, "零壹") {
			b.WriteString(nth(digits, d))
		}
		if i > 0 {
			b.WriteString(nth(units, i-1))
		}
	}
	return b.String()
}
