package tokens

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	tiktoken "github.com/pkoukk/tiktoken-go"
	tiktoken_loader "github.com/pkoukk/tiktoken-go-loader"
)

// encodings are the names under test.
var encodings = []string{"cl100k", "o200k"}

func get(t testing.TB, name string) *Encoding {
	t.Helper()
	e, err := Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// oracle is another implementation, by regular expressions and plain merging.
var oracle = func() map[string]func() (*tiktoken.Tiktoken, error) {
	m := make(map[string]func() (*tiktoken.Tiktoken, error))
	for _, name := range encodings {
		m[name] = sync.OnceValues(func() (*tiktoken.Tiktoken, error) {
			tiktoken.SetBpeLoader(tiktoken_loader.NewOfflineLoader())
			return tiktoken.GetEncoding(name + "_base")
		})
	}
	return m
}()

func oracleEncode(t testing.TB, name, text string) []int {
	t.Helper()
	o, err := oracle[name]()
	if err != nil {
		t.Fatal(err)
	}
	return o.EncodeOrdinary(text)
}

// bench returns a big file of the shared data, or "" where there is none.
func bench(t testing.TB, name string) string {
	t.Helper()
	roots := []string{os.Getenv("KBSYNC_SHARED")}
	if roots[0] == "" {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			roots = append(roots, filepath.Join(dir, "shared"))
		}
	}
	for _, root := range roots {
		if data, err := os.ReadFile(filepath.Join(root, "data", "bench", name)); err == nil {
			return string(data)
		}
	}
	return ""
}

// texts are small inputs in many languages and shapes.
var texts = []string{
	"", " ", "\n", "\r\n", "a", "中", "\t", "'", "'s", "'S", "'ll", "'l", "don't", "DON'T", "I'LL'lL", "it's'",
	"Hello, world! The quick brown fox doesn't jump over 13 lazy dogs; 1234567890 times.",
	"<|endoftext|> and <|fim_prefix|> are plain text <|endofprompt|>",
	"a  b   c\n\n  d\t\te \t f \n \n g  ", "\n\n\n", "   ", "  \n  \n  x", "x\n  ", "x  \r\n\r\n\t y",
	"line one\r\nline two\r\n\r\n  indented\r\n", "tabs\tand\u00a0no-break\u2003spaces\u3000ideographic\u3000\n",
	"中文分词测试:知识库同步工具,支持增量更新。第1章 概述(2024年)", "日本語のテキスト、カタカナとひらがな。", "한국어 텍스트도 있습니다.",
	"Ünïcödé éàü ß ſ straße ΑΒΓ αβγ Привет, мир! Ђорђе", "مرحبا بالعالم 123 ١٢٣", "नमस्ते दुनिया हिन्दी", "สวัสดีชาวโลก",
	"emoji 😀👩‍👩‍👧‍👦🇨🇳🇺🇸 ❤️ e\u0301 a\u0308\u0301 \u0301x \u0301X \u0301\u0301", "½ ² Ⅷ ①②③④ 12½3",
	"camelCase HTTPServer XMLHttpRequest iPhone ABC日D日 日DDd日D ǅabc ʰABC ʰ日A",
	"func main() {\n\tfmt.Println(\"hi\")\n}\n// comment///\n\n/// path/to/file\n//\n/",
	"| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nx := 1\n```\n", "https://example.com/a?b=c&d=%20#frag", "!!!\n\n\n...\r\n/\n/x",
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "aGVsbG8gd29ybGQgdGhpcyBpcyBiYXNlNjQ=",
	"\x00\x01\x7f\u0085\u200b\ufeff\ufffd",
}

func TestSameIDsAsOracle(t *testing.T) {
	for _, name := range encodings {
		e := get(t, name)
		for _, text := range texts {
			check(t, e, text)
		}
	}
}

// check compares all that an encoding does with text to the oracle.
func check(t testing.TB, e *Encoding, text string) {
	t.Helper()
	got := e.Encode(nil, text)
	if utf8.ValidString(text) {
		if want := oracleEncode(t, e.Name(), text); !slices.Equal(got, want) {
			t.Fatalf("%s: Encode(%.200q)\n got %v\nwant %v", e.Name(), text, got, want)
		}
	}
	if n := e.Count(text); n != len(got) {
		t.Fatalf("%s: Count(%.200q) = %d, want %d", e.Name(), text, n, len(got))
	}
	back, err := e.Decode(got)
	if err != nil || back != text {
		t.Fatalf("%s: Decode = %.200q, %v, want %.200q", e.Name(), back, err, text)
	}
	ends := e.Offsets(text)
	if len(ends) != len(got) {
		t.Fatalf("%s: %d offsets for %d tokens of %.200q", e.Name(), len(ends), len(got), text)
	}
	from := 0
	for i, end := range ends {
		if s, _ := e.Decode(got[i : i+1]); s != text[from:end] {
			t.Fatalf("%s: token %d of %.200q is %q, offsets say %q", e.Name(), i, text, s, text[from:end])
		}
		from = int(end)
	}
}

// The ids were made by OpenAI's tiktoken 0.14.0 (Python).
func TestKnownIDs(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		ids        []int
	}{
		{"cl100k", "a\n  ", []int{64, 198, 256}},
		{"cl100k", "a \n\n \t", []int{64, 4815, 7163}},
		{"cl100k", "\n \n ", []int{27907, 220}},
		{"cl100k", "a'ſ b", []int{64, 6, 129, 123, 293}},
		{"cl100k", "'LL'lL", []int{6, 4178, 64966, 43}},
		{"cl100k", "日DDd日D", []int{9080, 4195, 67, 9080, 35}},
		{"cl100k", "\n \u3000", []int{198, 220, 23249}},
		{"o200k", "a \n\n \t", []int{64, 1202, 14593}},
		{"o200k", "don'ſse", []int{22130, 6, 70067, 344}},
		{"o200k", "'LL'lL", []int{6, 7454, 54602, 43}},
		{"o200k", "日DDd日D", []int{2292, 9661, 67, 2292, 35}},
		{"o200k", "\n \u3000", []int{198, 16884}},
	} {
		if got := get(t, tc.name).Encode(nil, tc.text); !slices.Equal(got, tc.ids) {
			t.Errorf("%s: Encode(%q) = %v, want %v", tc.name, tc.text, got, tc.ids)
		}
	}
}

func TestBigFiles(t *testing.T) {
	for _, tc := range []struct {
		name, lang string
		tokens     int
	}{
		{"cl100k", "en", 1_207_878}, {"cl100k", "zh", 1_506_675}, {"o200k", "en", 0}, {"o200k", "zh", 0},
	} {
		text := bench(t, tc.lang+".md")
		if text == "" {
			t.Logf("no %s.md: set KBSYNC_SHARED to test with it", tc.lang)
			continue
		}
		e := get(t, tc.name)
		if n := e.Count(text); tc.tokens > 0 && n != tc.tokens {
			t.Errorf("%s %s: %d tokens, want %d", tc.name, tc.lang, n, tc.tokens)
		}
		part := 50_000
		if os.Getenv("KBSYNC_TOKENS_FULL") != "" {
			part = len(text)
		}
		for from := 0; from < len(text); from += len(text) / 2 {
			end := min(from+part, len(text))
			check(t, e, strings.ToValidUTF8(text[from:end], ""))
			if part == len(text) {
				break
			}
		}
	}
}

func TestInvalidUTF8(t *testing.T) {
	for _, name := range encodings {
		for _, text := range []string{"\xff", "a\xffb", "\xe4\xb8", "中\xe4\xb8 \xad", "\x80\x80\n\xf0\x9f", "\xed\xa0\x80", "\xc0\xaf'\xc5"} {
			check(t, get(t, name), text)
		}
	}
}

func TestErrors(t *testing.T) {
	if _, err := Get("p50k"); err == nil {
		t.Error("Get of an unknown encoding succeeds")
	}
	for _, name := range encodings {
		e := get(t, name)
		if again := get(t, name+"_base"); again != e {
			t.Errorf("%s is loaded twice", name)
		}
		for _, id := range []int{-1, int(e.vocab.size), 1 << 40} {
			if _, err := e.Decode([]int{id}); err == nil {
				t.Errorf("%s: Decode(%d) succeeds", name, id)
			}
		}
	}
}

func TestConcurrent(t *testing.T) {
	for _, name := range encodings {
		e := get(t, name)
		all := strings.Join(texts, "\n")
		want, ruler := e.Count(all), e.Ruler(all)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 20 {
					if n := e.Count(all); n != want {
						t.Errorf("%s: %d tokens, want %d", name, n, want)
					}
					if n := ruler.Count(0, len(all)); n != want {
						t.Errorf("%s: the ruler has %d tokens, want %d", name, n, want)
					}
				}
			})
		}
		wg.Wait()
	}
}

func FuzzEncode(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	for seed := range uint64(20) {
		f.Add(randomText(rand.New(rand.NewPCG(seed, 3)), 40))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 || strings.ContainsRune(text, 'ſ') { // the oracle has no case folding of long s
			return
		}
		for _, name := range encodings {
			check(t, get(t, name), text)
		}
	})
}
