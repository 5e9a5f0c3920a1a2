package numerals

import "testing"

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		s    Style
		n    int
		want string
	}{
		{Decimal, 12, "12"}, {Zero, 7, "07"}, {Zero, 12, "12"}, {LowerLetter, 1, "a"}, {LowerLetter, 28, "bb"}, {UpperLetters, 28, "AB"}, {UpperLetter, 26, "Z"},
		{LowerRoman, 14, "xiv"}, {UpperRoman, 1999, "MCMXCIX"}, {UpperRoman, 4000, "4000"}, {Ordinal, 22, "22nd"}, {Ordinal, 112, "112th"}, {Circled, 3, "③"},
		{Circled, 21, "21"}, {FullWidth, 10, "１０"}, {Chinese, 1, "一"}, {Chinese, 10, "十"}, {Chinese, 15, "十五"}, {Chinese, 20, "二十"}, {Chinese, 101, "一百零一"},
		{Chinese, 110, "一百一十"}, {Chinese, 1010, "一千零一十"}, {Chinese, 12345, "12345"}, {ChineseDigit, 10, "一〇"}, {ChineseLegal, 12, "壹拾贰"}, {Stems, 2, "乙"},
		{Branches, 13, "13"}, {Parenthesized, 2, "⑵"}, {None, 5, ""}, {LowerLetter, 0, "0"}, {LowerRoman, -3, "-3"},
	} {
		if got := c.s.Format(c.n); got != c.want {
			t.Errorf("style %d of %d is %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]Style{"decimal": Decimal, "chineseCounting": Chinese, "lowerRoman": LowerRoman, "none": None, "odd": Decimal} {
		if got := OOXML(name); got != want {
			t.Errorf("%s is %d", name, got)
		}
	}
	for name, want := range map[string]Style{"1": Decimal, "一, 二, 三, ...": Chinese, "a": LowerLetters, "": None, "I": UpperRoman} {
		if got := ODF(name, false); got != want {
			t.Errorf("%s is %d", name, got)
		}
	}
	if ODF("a", true) != LowerLetter {
		t.Error("letters in step")
	}
}
