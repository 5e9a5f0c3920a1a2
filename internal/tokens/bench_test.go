package tokens

import (
	"strings"
	"testing"
)

// big returns a text of megabytes: the shared data, or else a made-up one.
func big(tb testing.TB, lang string) string {
	if text := bench(tb, lang+".md"); text != "" {
		return text
	}
	return strings.Repeat(strings.Join(texts, "\n"), 1000)
}

func perLanguage(b *testing.B, f func(b *testing.B, e *Encoding, text string)) {
	for _, name := range encodings {
		for _, lang := range []string{"en", "zh"} {
			b.Run(name+"/"+lang, func(b *testing.B) {
				text := big(b, lang)
				b.SetBytes(int64(len(text)))
				f(b, get(b, name), text)
			})
		}
	}
}

func BenchmarkCount(b *testing.B) {
	perLanguage(b, func(b *testing.B, e *Encoding, text string) {
		for b.Loop() {
			e.Count(text)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	perLanguage(b, func(b *testing.B, e *Encoding, text string) {
		for b.Loop() {
			for p := 0; p < len(text); {
				p = e.scan(e.classes, text, p)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	perLanguage(b, func(b *testing.B, e *Encoding, text string) {
		var dst []int
		for b.Loop() {
			dst = e.Encode(dst[:0], text)
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range encodings {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := loadVocab(name + "_base.tiktoken"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRuler(b *testing.B) {
	perLanguage(b, func(b *testing.B, e *Encoding, text string) {
		for b.Loop() {
			e.Ruler(text)
		}
	})
}

// BenchmarkFurthest cuts a whole text into ranges of 512 tokens.
func BenchmarkFurthest(b *testing.B) {
	perLanguage(b, func(b *testing.B, e *Encoding, text string) {
		r := e.Ruler(text)
		for b.Loop() {
			for i := 0; i < len(text); {
				i = r.Furthest(i, len(text), 512)
			}
		}
	})
}
