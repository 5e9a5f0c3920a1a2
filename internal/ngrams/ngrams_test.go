package ngrams

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppend(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"words", "Hello, World! v1.2", "hello world v1 2"},
		{"bigrams and the last character", "黑猫警长", "黑猫 猫警 警长 长"},
		{"run of one", "猫。狗", "猫 狗"},
		{"mixed", "用Go写", "用 go 写"},
		{"kana with long mark", "タワー", "タワ ワー ー"},
		{"hangul", "한국어 책", "한국 국어 어 책"},
		{"full width", "ＡＢＣ１２３，ｄ", "abc123 d"},
		{"half-width katakana", "ﾃｽﾄ", "テス スト ト"},
		{"decomposed", "Cafe\u0301", "café"},
		{"ligature and superscript", "ﬁne x²", "fine x2"},
		{"joiners do not cut", "co\u00adoperate", "cooperate"},
		{"final sigma", "ΟΔΥΣΣΕΥΣ ς", "οδυσσευσ σ"},
		{"thai", "ภาษา", "ภา าษ ษา า"},
		{"syntax", `"a" AND (b* OR NEAR/2 -c)`, "a and b or near 2 c"},
		{"invalid UTF-8", "a\xffb", "a b"},
		{"no term", "!!! — 。", ""},
		{"supplementary Han", "𠀀𠀁", "𠀀𠀁 𠀁"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.TrimSpace(string(Append(nil, tt.in))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestQuery(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"The cat the", "cat"},
		{"What is it?", "what is it"},
		{"猫", "猫*"},
		{"黑猫是什么？", "黑猫 猫是 是什"},
		{"什么", "什么"},
		{"", ""},
	} {
		var got []string
		for _, term := range Query(tt.in) {
			got = append(got, term.Text+map[bool]string{true: "*"}[term.Prefix])
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, s, tt.want)
		}
	}
}

// A question that is a piece of a text finds it: each term of the piece is a term, or starts a term, of the text.
func TestQueryMeetsIndex(t *testing.T) {
	text := "重庆大学在长江边 and Chongqing University 于1929年建校"
	indexed := strings.Fields(string(Append(nil, text)))
	for _, q := range []string{"重庆大学", "长江", "边", "庆", "CHONGQING", "1929年", "年"} {
		for _, term := range Query(q) {
			if !slices.ContainsFunc(indexed, func(s string) bool {
				return s == term.Text || term.Prefix && strings.HasPrefix(s, term.Text)
			}) {
				t.Errorf("%q: term %+v is not in the index %q", q, term, indexed)
			}
		}
	}
}

func FuzzEach(f *testing.F) {
	for _, s := range []string{"a b", "黑猫", "\xff", "ﾃｽﾄ", strings.Repeat("x", 500), "e\u0301\u0302"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		Each(text, func(term []byte, kind Kind) {
			if len(term) == 0 || len(term) > maxWord || !utf8.Valid(term) {
				t.Fatalf("term %q of %q", term, text)
			}
			for _, c := range term {
				if c < utf8.RuneSelf && asciiFold[c] != c {
					t.Fatalf("term %q holds %q", term, c)
				}
			}
			if n := utf8.RuneCount(term); kind == Bigram && n != 2 || kind == Single && n != 1 {
				t.Fatalf("term %q is of kind %d", term, kind)
			}
		})
	})
}

func BenchmarkEach(b *testing.B) {
	for _, tt := range []struct{ name, text string }{
		{"en", strings.Repeat("The quick brown fox jumps over the lazy dog, again and again. ", 1000)},
		{"zh", strings.Repeat("敏捷的棕色狐狸跳过了懒狗，一次又一次。", 1000)},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(tt.text)))
			n := 0
			for b.Loop() {
				Each(tt.text, func([]byte, Kind) { n++ })
			}
			_ = fmt.Sprint(n)
		})
	}
}
