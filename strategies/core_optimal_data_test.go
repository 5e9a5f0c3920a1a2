//go:build unix

package strategies

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sentences"
)

// runningText is the prose of a Markdown text: paragraphs of at least 60 characters, a third of them Han, that end as a sentence does and hold no
// heading, list item, quote, table row, fence, markup or link definition at the start of any line.
func runningText(text string) string {
	var out []string
	fence := false
	for _, block := range strings.Split(text, "\n\n") {
		was := fence
		n := strings.Count(block, "```")
		fence = fence != (n%2 == 1)
		block = strings.Trim(block, "\n")
		if n > 0 || was || utf8.RuneCountInString(block) < 60 {
			continue
		}
		han, plain := 0, true
		for _, r := range block {
			if unicode.Is(unicode.Han, r) {
				han++
			}
		}
		for _, line := range strings.Split(block, "\n") {
			plain = plain && !sentences.StartsBlock(line, 0) && !strings.ContainsAny(line[:min(1, len(line))], " \t<:{[=-!") && !strings.Contains(line, "|")
		}
		if plain && han*3 >= utf8.RuneCountInString(block) && endsAsSentence(block) {
			out = append(out, block)
		}
	}
	return strings.Join(out, "\n\n")
}

// endsAsSentence tells that a text ends with a stop, closing quotes and brackets aside. A semicolon is none.
func endsAsSentence(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, "”’」』）】》*_)\"'`] \n"))
	return strings.ContainsRune("。！？….!?", r)
}

// TestChineseProseEndsAtSentences: of the chunks of Chinese running text at most 5 in 100 end in mid-sentence, at the usual size and at small ones,
// with chunks as large on average as first fit made them (387, 183 and 87 tokens), less a tenth.
func TestChineseProseEndsAtSentences(t *testing.T) {
	text := runningText(benchText(t, "zh"))
	for _, c := range []struct{ size, mean int }{{512, 387}, {256, 183}, {128, 87}} {
		s := recursiveOf(t, Sizing{MaxTokens: c.size, MinChars: 20, Overlap: Amount{N: 10, Percent: true}})
		inside, tokens, n := 0, 0, 0
		for _, chunk := range chunksOf(t, s, textElements(text)) {
			rest := text[chunk.Spans[0].End:]
			if !strings.HasPrefix(rest, "\n\n") && rest != "" && !endsAsSentence(chunk.Text) {
				inside++
			}
			tokens += chunk.Tokens
			n++
		}
		t.Logf("%d tokens: %d chunks of %d on average, %.1f %% end in mid-sentence", c.size, n, tokens/n, 100*float64(inside)/float64(n))
		if 20*inside > n || tokens < n*c.mean*9/10 {
			t.Errorf("%d tokens: %d of %d chunks end in mid-sentence, %d tokens on average", c.size, inside, n, tokens/n)
		}
	}
}

// TestParagraphEditsStayLocal inserts, deletes and moves paragraphs of real text, 200 times in each language: the share of chunks that stay is that
// of first fit or better (at 512 tokens 97.4 and 98.0 %).
func TestParagraphEditsStayLocal(t *testing.T) {
	for lang, least := range map[string]float64{"en": 0.974, "zh": 0.980} {
		whole := benchText(t, lang)
		text := whole[strings.Index(whole[1_000_000:], "\n")+1_000_001:]
		text = text[:strings.LastIndex(text[:150_000], "\n")+1]
		paragraphs := strings.SplitAfter(text, "\n\n")
		s := recursiveOf(t, Sizing{MaxTokens: 512, MinChars: 20, Overlap: Amount{N: 10, Percent: true}})
		old := chunksOf(t, s, textElements(text))
		rng := rand.New(rand.NewPCG(11, 12))
		share := 0.0
		const edits = 200
		for k := range edits {
			i, j := rng.IntN(len(paragraphs)), rng.IntN(len(paragraphs))
			var edited []string
			switch edited = append(edited, paragraphs[:i]...); k % 3 {
			case 0: // insert
				edited = append(edited, "A few new words here, 新的文字。\n\n")
				edited = append(edited, paragraphs[i:]...)
			case 1: // delete
				edited = append(edited, paragraphs[i+1:]...)
			default: // move
				edited = append(edited, paragraphs[i+1:]...)
				j = min(j, len(edited))
				edited = append(edited[:j:j], append([]string{paragraphs[i]}, edited[j:]...)...)
			}
			share += kept(old, chunksOf(t, s, textElements(strings.Join(edited, "")))) / edits
		}
		t.Logf("%s: %.2f %% of %d chunks stay", lang, 100*share, len(old))
		if share < least {
			t.Errorf("%s: %.2f %% of %d chunks stay, want %.1f", lang, 100*share, len(old), 100*least)
		}
	}
}

// kept is the share of old chunks whose text is among the new ones.
func kept(old, edited []connector.Chunk) float64 {
	now := map[string]bool{}
	for _, c := range edited {
		now[c.Text] = true
	}
	n := 0
	for _, c := range old {
		if now[c.Text] {
			n++
		}
	}
	return float64(n) / float64(len(old))
}
