//go:build unix

package strategies

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/shareddata"
)

func benchText(tb testing.TB, lang string) string {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(shareddata.Dir(tb), "bench", lang+".md"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// cpuTime is the processor time that the process has spent. On a busy machine it tells more than the time that passed.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkStrategy cuts the two benchmark texts on one thread; scripts/bench-peers.sh puts the figures beside those of other libraries.
func BenchmarkStrategy(b *testing.B) {
	chars := Sizing{MaxChars: 1000, MinChars: 20}
	tokens := Sizing{MaxTokens: 512, MinChars: 20}
	for _, c := range []struct {
		name   string
		plugin connector.StrategyPlugin
		config any
	}{
		{"recursive/chars", Recursive(), &RecursiveConfig{Sizing: chars}},
		{"recursive/chars-overlap", Recursive(), &RecursiveConfig{Sizing: Sizing{MaxChars: 1000, MinChars: 20, Overlap: Amount{N: 200}}}},
		{"recursive/cl100k", Recursive(), &RecursiveConfig{Sizing: tokens}},
		{"recursive/langchain", Recursive(), &RecursiveConfig{Sizing: chars, Compat: "langchain"}},
		{"sentence/chars", Sentence(), &SentenceConfig{Sizing: chars}},
		{"paragraph/chars", Paragraph(), &ParagraphConfig{Sizing: chars}},
		{"fixed/chars", Fixed(), &FixedConfig{Sizing: chars}},
		{"fixed/cl100k", Fixed(), &FixedConfig{Sizing: tokens}},
	} {
		s := mustOpen(b, c.plugin, c.config)
		for _, lang := range []string{"en", "zh"} {
			text := benchText(b, lang)
			chunksOf(b, s, textElements(text[:4096])) // encodings load when first used
			b.Run(c.name+"/"+lang, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				n, size, before := 0, 0, cpuTime(b)
				for range b.N {
					n, size = 0, 0
					for chunk, err := range s.Chunks(context.Background(), &connector.Document{}, textElements(text)) {
						if err != nil {
							b.Fatal(err)
						}
						n++
						size += len(chunk.Text)
					}
				}
				spent := cpuTime(b) - before
				b.ReportMetric(float64(len(text))*float64(b.N)/1e6/spent.Seconds(), "cpuMB/s")
				b.ReportMetric(float64(n), "chunks")
				b.ReportMetric(float64(size)/float64(n), "bytes/chunk")
			})
		}
	}
}
