package strategies

import (
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/counters"
)

// newTexts counts the chunks of a text that are not among those of another: what an edit costs in embeddings.
func newTexts(old, new []connector.Chunk) int {
	seen := map[string]bool{}
	for _, c := range old {
		seen[c.Text] = true
	}
	n := 0
	for _, c := range new {
		if !seen[c.Text] {
			n++
			seen[c.Text] = true
		}
	}
	return n
}

// prose makes paragraphs of random sentences.
func prose(seed uint64, paragraphs int, chinese bool) string {
	rng := rand.New(rand.NewPCG(seed, 7))
	words := strings.Fields("the knowledge base holds many documents that change every day so chunks must stay where they are while text moves around them slowly")
	han := []rune("知识库里有许多每天都在变化的文档因此切块必须保持原位而文字在周围移动")
	var b strings.Builder
	for range paragraphs {
		for range 1 + rng.IntN(6) {
			for k := range 5 + rng.IntN(20) {
				if chinese {
					b.WriteRune(han[rng.IntN(len(han))])
					continue
				}
				if k > 0 {
					b.WriteByte(' ')
				}
				b.WriteString(words[rng.IntN(len(words))])
			}
			if chinese {
				b.WriteString("。")
			} else {
				b.WriteString(". ")
			}
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

// TestEditsStayLocal inserts a line at many places: chunks far from it keep their texts, whatever they held before.
func TestEditsStayLocal(t *testing.T) {
	for name, text := range map[string]string{
		"English":       prose(1, 1500, false),
		"Chinese":       prose(2, 1500, true),
		"lines":         strings.ReplaceAll(prose(3, 1500, false), "\n\n", "\n"),
		"one long line": strings.ReplaceAll(prose(4, 2000, true), "\n\n", ""),
	} {
		for _, c := range []struct {
			plugin connector.StrategyPlugin
			config any
		}{
			{Recursive(), &RecursiveConfig{Sizing: Sizing{MaxTokens: 200, Overlap: Amount{N: 10, Percent: true}, MinChars: 20}}},
			{Recursive(), &RecursiveConfig{Sizing: Sizing{MaxChars: 500, MinChars: 20}}},
			{Sentence(), &SentenceConfig{Sizing: Sizing{MaxChars: 500, MinChars: 20}, OverlapSentences: 1}},
			{Paragraph(), &ParagraphConfig{Sizing: Sizing{MaxChars: 500, MinChars: 20}}},
		} {
			s := mustOpen(t, c.plugin, c.config)
			old := chunksOf(t, s, textElements(text))
			rng := rand.New(rand.NewPCG(5, 5))
			sum, worst, tries := 0, 0, 10
			for try := range tries {
				at := 0
				if try > 0 {
					at = runeFloor(text, 0, rng.IntN(len(text)))
				}
				n := newTexts(old, chunksOf(t, s, textElements(text[:at]+"A new line of plain prose, 一行新的文字。\n"+text[at:])))
				sum += n
				worst = max(worst, n)
			}
			t.Logf("%s, %s: %d chunks, an inserted line changes %.1f on average, %d at most", name, c.plugin.Kind, len(old), float64(sum)/float64(tries), worst)
			if worst > 12 || sum > 6*tries {
				t.Errorf("%s, %s: an inserted line changes %d chunks on average, %d at most", name, c.plugin.Kind, sum/tries, worst)
			}
		}
	}
}

// TestLineAtTheTop inserts a line of prose at the top of 10 MB: three embeddings at most.
func TestLineAtTheTop(t *testing.T) {
	for _, lang := range []string{"en", "zh"} {
		text := benchText(t, lang)
		text += text
		s := mustOpen(t, Recursive(), &RecursiveConfig{Sizing: Sizing{MaxChars: 500, Overlap: Amount{N: 10, Percent: true}, MinChars: 20}})
		old := chunksOf(t, s, textElements(text))
		new := chunksOf(t, s, textElements("A line of plain prose at the top.\n"+text))
		if n := newTexts(old, new); n > 3 {
			t.Errorf("%s: %d new chunks of %d", lang, n, len(new))
		}
	}
}

// pieces gives a text as elements of about n bytes.
func inPieces(text string, n int) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		for at := 0; at < len(text); {
			end := runeFloor(text, at, min(len(text), at+n))
			if !yield(connector.Element{Kind: connector.KindText, Text: text[at:end], Span: connector.Span{Start: at, End: end}}, nil) {
				return
			}
			at = end
		}
	}
}

// TestWindowsDoNotShow cuts the same text arriving whole and in small parts: where a window of the stream ends must change nothing.
func TestWindowsDoNotShow(t *testing.T) {
	texts := map[string]string{
		"English": prose(6, 6000, false),
		"Chinese": prose(7, 6000, true),
		"a line":  strings.ReplaceAll(prose(8, 4000, true), "\n\n", ""),
		"lines":   strings.ReplaceAll(prose(9, 4000, false), "\n\n", "\r\n"),
		"no end":  strings.Repeat("天地玄黄宇宙洪荒", 30000),
		"word":    strings.Repeat("abcdefgh01234567", 40000),
		"blanks":  strings.Repeat("word"+strings.Repeat(" \n", 999), 400),
	}
	for name, text := range texts {
		for _, c := range []struct {
			plugin connector.StrategyPlugin
			config any
		}{
			{Recursive(), &RecursiveConfig{Sizing: Sizing{MaxTokens: 100, Overlap: Amount{N: 20}, MinChars: 20}}},
			{Recursive(), &RecursiveConfig{Sizing: Sizing{MaxChars: 300, MinChars: 20}}},
			{Sentence(), &SentenceConfig{Sizing: Sizing{MaxChars: 300, MinChars: 20}, OverlapSentences: 2}},
			{Paragraph(), &ParagraphConfig{Sizing: Sizing{MaxChars: 300, MinChars: 20}}},
			{Fixed(), &FixedConfig{Sizing: Sizing{MaxChars: 300, Overlap: Amount{N: 100}}}},
			{Fixed(), &FixedConfig{Sizing: Sizing{MaxTokens: 100, Overlap: Amount{N: 10}}}},
		} {
			s := mustOpen(t, c.plugin, c.config)
			want := chunksOf(t, s, textElements(text))
			got := chunksOf(t, s, inPieces(text, 10000))
			for k := range want {
				if k >= len(got) || got[k].Text != want[k].Text || got[k].Spans[0] != want[k].Spans[0] {
					t.Errorf("%s, %s: chunk %d of %d differs", name, c.plugin.Kind, k, len(want))
					break
				}
			}
		}
	}
}

// TestWindowStaysSmall streams a long text: what is held does not grow with it.
func TestWindowStaysSmall(t *testing.T) {
	part := prose(1, 1000, false)
	b := &budget{caps: []connector.Cap{{Max: 500, Counter: counters.Chars{}}}, overlap: 50, minChars: 20}
	s := newStream(b, textCut{cutting: cutting{seps: defaultSeparators(), fill: minFill}, anchored: true, good: levelLatinSemi}, func(connector.Chunk, error) bool { return true })
	for k := range 50 {
		s.add(&connector.Element{Kind: connector.KindText, Text: part, Span: connector.Span{Start: k * len(part), End: (k + 1) * len(part)}})
		if s.waiting >= max(windowBytes, len(s.text)-s.pos) {
			s.process(false)
		}
		if held := s.waiting + len(s.text); held > 4*max(windowBytes, len(part)) {
			t.Fatalf("%d bytes are held after %d", held, (k+1)*len(part))
		}
	}
}
