package strategies

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/connector/strategytest"
)

// TestLLMGolden compares the chunks that the strategies which ask a language model make of an English and a Chinese text with
// testdata/llm-*.txtar; KBSYNC_UPDATE=1 writes them anew. The answers are those of [llmtest.Oblige].
func TestLLMGolden(t *testing.T) {
	env := modelEnv(llmtest.Obliging())
	sentence := &connector.Choice{Kind: "sentence", Config: &SentenceConfig{Sizing: Sizing{MaxTokens: 60, MinChars: 20}}}
	for name, s := range map[string]connector.Strategy{
		"propositions": openWith(t, Propositions(), &PropositionsConfig{Of: sentence}, env),
		"llm":          openWith(t, LLM(), &LLMConfig{Sizing: Sizing{MaxTokens: 60, MinChars: 20}, WindowTokens: 100, Title: true}, env),
		"contextual":   openWith(t, Contextual(), &ContextualConfig{Of: sentence, ContextTokens: 20, DocumentTokens: 120}, env),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "llm-"+name+".txtar")
			want := &txtar.Archive{Comment: []byte(name + " over the two texts of testdata/text.txtar\n")}
			texts, err := txtar.ParseFile(filepath.Join("testdata", "text.txtar"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range texts.Files {
				var b strings.Builder
				for _, chunk := range chunksOf(t, s, textElements(string(f.Data))) {
					fmt.Fprintf(&b, "[%d, %d)", chunk.Spans[0].Start, chunk.Spans[len(chunk.Spans)-1].End)
					if chunk.StoreOnly {
						b.WriteString(" stored as " + chunk.Key)
					}
					if chunk.ParentKey != "" {
						b.WriteString(" of " + chunk.ParentKey)
					}
					for _, key := range slices.Sorted(maps.Keys(chunk.Metadata)) {
						fmt.Fprintf(&b, " %s=%q", key, chunk.Metadata[key])
					}
					fmt.Fprintf(&b, "\n    %s\n", strings.ReplaceAll(chunk.EmbedText(), "\n", "\n    "))
				}
				want.Files = append(want.Files, txtar.File{Name: f.Name, Data: []byte(b.String())})
			}
			got := txtar.Format(want)
			if updating() {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			old, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(old) != string(got) {
				t.Errorf("%s differs (KBSYNC_UPDATE=1 writes it anew):\n%s", path, got)
			}
		})
	}
}

// FuzzLLMStrategies: no text and no answer breaks a law.
func FuzzLLMStrategies(f *testing.F) {
	f.Add("One. Two.\n\n三。", `{"cut_after":[1],"propositions":["a"],"context":"c","title":"t","summary":"s"}`)
	f.Add("```\nx\n```\n https://example.com/a.b?c=d 😀👨‍👩‍👧\r\n", `{"cut_after":[3,2,1,99]}`)
	f.Add(strings.Repeat("x", 300), "{{{")
	f.Fuzz(func(t *testing.T, text, answer string) {
		if len(text) > 4<<10 || !utf8.ValidString(text) {
			return
		}
		in := strategytest.Input{Name: "fuzz", Elements: strategytest.Prose(text)}
		d := llmtest.Texts(answer)
		d.Forgets = true
		all := llmVariants(t, d)
		maps.Copy(all, contextualVariants(t, d))
		for name, s := range all {
			chunks, err := strategytest.Collect(s, in)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range strategytest.Laws(s.Info(), in, chunks) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
