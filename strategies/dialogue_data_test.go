package strategies

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/shareddata"
)

func TestDialogueData(t *testing.T) {
	dir := shareddata.Dir(t)
	for _, name := range []string{"fixtures/dialog_zh_kdconv_Apache2/film_dev.json", "chroma_chunking_evaluation/corpora/chatlogs.md"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		els := talk(t, name, string(b))
		turns := 0
		for i := range els {
			if els[i].Table != nil {
				turns++
			}
		}
		for size, s := range dialogues(t) {
			if size != "default" && size != "3 turns" && !strings.HasSuffix(name, ".md") {
				continue // the smaller file has them all
			}
			t.Run(filepath.Base(name)+", "+size, func(t *testing.T) {
				chunks := lawful(t, s, els)
				forced := 0
				for i := range chunks {
					if chunks[i].ForcedSplit {
						forced++
					}
				}
				t.Logf("%d utterances, %d chunks, %d within a turn", turns, len(chunks), forced)
			})
		}
	}
}

// In real conversations, nearly all questions are in one chunk with what follows them, where both fit, and no chunk goes over from
// one conversation to the next. (What is parted are rows of questions that answer questions.)
func TestDialogueRealAnswers(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(shareddata.Dir(t), "fixtures/dialog_zh_kdconv_Apache2/film_dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	const size = 400
	els := talk(t, "film_dev.json", string(b))
	chunks := chunksOf(t, dialogueOf(t, func(c *DialogueConfig) { c.MaxChars, c.OverlapTurns = size, 0 }), given(els))
	holds := func(c *connector.Chunk, el *connector.Element) bool {
		return c.Spans[0].Start < el.Span.End && c.Spans[len(c.Spans)-1].End > el.Span.Start
	}
	pairs, kept, k := 0, 0, 0
	for i := 0; i+1 < len(els); i++ {
		a, b := &els[i], &els[i+1]
		if a.Table == nil || b.Table == nil {
			continue
		}
		for k+1 < len(chunks) && !holds(&chunks[k], a) {
			k++
		}
		if a.Table.ID != b.Table.ID {
			if holds(&chunks[k], a) && holds(&chunks[k], b) {
				t.Errorf("a chunk of two conversations: %q", chunks[k].Text)
			}
			continue
		}
		if !strings.HasSuffix(strings.TrimSpace(a.Text), "？") || len([]rune(a.Text+b.Text)) > size-20 {
			continue
		}
		pairs++
		c := &chunks[k]
		if c.Spans[0].Start <= a.Span.Start && c.Spans[len(c.Spans)-1].End >= b.Span.End-1 {
			kept++
		}
	}
	t.Logf("%d of %d pairs kept", kept, pairs)
	if pairs < 500 || 100*kept < 98*pairs {
		t.Errorf("%d of %d pairs kept", kept, pairs)
	}
}
