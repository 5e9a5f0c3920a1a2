package sentences

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// cut marks the sentences of a text with bars.
func cut(text string) string {
	var parts []string
	for i, j := range All(text) {
		parts = append(parts, text[i:j])
	}
	return strings.Join(parts, "|")
}

func TestSentences(t *testing.T) {
	// A bar stands where a sentence must end; the text is the line without bars.
	for _, want := range []string{
		"One. |Two! |Three? |Four",
		"Mr. Smith met Dr. Jones at 3.14 p.m. today. |They talked.",
		"See Fig. 3 and No. 5, vol. 2, etc. and so on. |Done.",
		"Use it, e.g. Python or i.e. Go. |The U.S. Army knows. |Right",
		"Version v1.2.3 is out. |Get main.go from https://a.b/c.d?e=f. |Then run it.",
		"J. R. R. Tolkien wrote it. |He did.",
		`He said "Stop." |She did not. |"Why?" he asked. |(It was late.) |Yes.`,
		"Well... |Then it ended. |But so... on it went.",
		"It is 5 p.m. |The bell rings.",
		"你好。|今天天气不错！|真的吗？|是的；|好",
		"他说：“走吧。”|她点了点头。|「はい。」|彼は言った。",
		"“走！”|他说。|然后走了",
		"“好。”，他答。|完",
		"他想……|然后走了。|等等……！|好",
		"版本 v1.2.3 发布了，见 https://a.cn/b.html。|圆周率是3.14。|完",
		"（见图一。）|下一句。",
		"你好!|今天好吗?|好.",
		"He said 你好。|Then he left. |他走了。|Bye.",
		"line one\ngoes on. |Next",
		"a paragraph\n\n|another",
		"items:\n|- one\n|- two\n|1. three\n|2. four",
		"# Title\n|text goes on\nhere",
		"  \n\nleading",
		"これは文です。|これも文です！|本当？|はい",
		"Naïve café. |Next one.",
		"",
	} {
		if got := cut(strings.ReplaceAll(want, "|", "")); got != want {
			t.Errorf("\n got %q\nwant %q", got, want)
		}
	}
}

func FuzzNext(f *testing.F) {
	for _, s := range []string{"A. B", "。”", "……", "3. x", "e.g.", "\n\n \n", "\xff.", "U.S.", "?!\"'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for i := 0; i < len(text); {
			end := Next(text, i)
			if end <= i || end > len(text) {
				t.Fatalf("Next(%q, %d) = %d", text, i, end)
			}
			if utf8.ValidString(text) && !utf8.ValidString(text[i:end]) {
				t.Fatalf("cut inside a character: %q", text[i:end])
			}
			i = end
		}
	})
}

func TestLinear(t *testing.T) {
	for _, unit := range []string{".", "\n", " ", "。", "“", "a.", "…", "\n ", "( "} {
		for _, end := range []string{"", "x", "，", "\n"} {
			text := strings.Repeat(unit, 1<<20/len(unit)) + end
			for range All(text) {
			}
		}
	}
}

func BenchmarkSentences(b *testing.B) {
	for name, line := range map[string]string{
		"en": "The quick brown fox, e.g. a red one, jumps over v1.2 of the lazy dog. ",
		"zh": "“敏捷的棕色狐狸跳过了懒狗。”他说，然后走了；版本号是v1.2！",
	} {
		text := strings.Repeat(line, 10000)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for range b.N {
				for range All(text) {
				}
			}
		})
	}
}
