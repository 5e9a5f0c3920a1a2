package strategies

import (
	"fmt"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
)

// TestTextLaws runs the conformance suite over the strategies for running text, at several sizes in both units.
func TestTextLaws(t *testing.T) {
	sizes := []Sizing{
		{MaxTokens: 512, MinChars: 20, Overlap: Amount{N: 10, Percent: true}},
		{MaxTokens: 40, MinChars: 20},
		{MaxTokens: 40, MinChars: 20, Overlap: Amount{N: 35}},
		{MaxChars: 200, MinChars: 20, Overlap: Amount{N: 60}},
		{MaxChars: 33, Overlap: Amount{N: 50, Percent: true}},
		{MaxTokens: 30, MaxChars: 60, Unit: "chars", MinChars: 20, Tokenizer: "o200k", Overlap: Amount{N: 20}},
	}
	for k, size := range sizes {
		for _, c := range []struct {
			plugin connector.StrategyPlugin
			config any
		}{
			{Recursive(), &RecursiveConfig{Sizing: size}},
			{Recursive(), &RecursiveConfig{Sizing: size, Separators: []string{"\n\n", "\n", " "}}},
			{Sentence(), &SentenceConfig{Sizing: size, OverlapSentences: k % 3}},
			{Paragraph(), &ParagraphConfig{Sizing: size, Pack: k%2 == 1}},
			{Fixed(), &FixedConfig{Sizing: size}},
		} {
			t.Run(fmt.Sprintf("%s/%d", c.plugin.Kind, k), func(t *testing.T) {
				strategytest.Run(t, mustOpen(t, c.plugin, c.config))
			})
		}
	}
	t.Run("whole", func(t *testing.T) { strategytest.Run(t, mustOpen(t, Whole(), &WholeConfig{})) })
}
