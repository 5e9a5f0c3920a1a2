package strategies

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
)

// TestMarksStayWithWhatTheyMark puts every kind of mark behind every kind of blank and stop, at small caps: no cluster is cut, by any strategy for
// running text.
func TestMarksStayWithWhatTheyMark(t *testing.T) {
	marks := []string{"\u200d", "\u0301", "\ufe0f", "\u3099", "\U000e0100", "\u0903"}
	for _, before := range []string{" ", "  ", "\t", "\u00a0", "\u3000", ". ", "! ", "; ", ", ", "。", "！", "；", "，", "…", "中", "e", " https://a.cn/b"} {
		for _, mark := range marks {
			text := strings.Repeat("ab cd"+before+mark+"ef gh"+before+mark+"中文", 12)
			for _, size := range []Sizing{{MaxChars: 8}, {MaxChars: 8, MinChars: 4, Overlap: Amount{N: 3}}, {MaxChars: 19, MinChars: 10}, {MaxTokens: 8, Tokenizer: "cl100k"}} {
				if size.MaxTokens > 0 && strings.Contains(before, "://") {
					continue // an address and the word that a mark ties to its end each fit, both together do not
				}
				in := strategytest.Input{Name: fmt.Sprintf("%q before %q", before, mark), Elements: strategytest.Prose(text)}
				for _, s := range []connector.Strategy{
					mustOpen(t, Recursive(), &RecursiveConfig{Sizing: size}), mustOpen(t, Sentence(), &SentenceConfig{Sizing: size}),
					mustOpen(t, Paragraph(), &ParagraphConfig{Sizing: size}), mustOpen(t, Fixed(), &FixedConfig{Sizing: size}),
				} {
					chunks, err := strategytest.Collect(s, in)
					if err != nil {
						t.Fatal(err)
					}
					for _, fault := range strategytest.Laws(s.Info(), in, chunks) {
						t.Errorf("%s, %s, %+v: %v", s.Info().Name, in.Name, size, fault)
					}
				}
			}
		}
	}
}
