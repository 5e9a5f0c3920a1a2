package strategies

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/connector/strategytest"
)

// TestChoosingGolden compares the chunks of an English and a Chinese document with testdata/choosing, and what their metadata say.
func TestChoosingGolden(t *testing.T) {
	small := Sizing{MaxChars: 240, MinChars: 20}
	asked := choosingEnv()
	asked.LLM = func(context.Context) (connector.LLM, error) {
		return llmtest.Texts(`{"strategy":"sentence","size":160,"overlap":0,"ground":"mixed","reason":"Stories beside figures."}`), nil
	}
	for name, s := range map[string]connector.Strategy{
		"auto":     openIn(t, Auto(), &AutoConfig{Sizing: small}, choosingEnv()),
		"agentic":  openIn(t, Agentic(), &AgenticConfig{Sizing: small}, asked),
		"adaptive": openIn(t, Adaptive(), &AdaptiveConfig{Sizing: small, MinTokens: 60}, choosingEnv()),
	} {
		t.Run(name, func(t *testing.T) {
			texts, err := txtar.ParseFile(filepath.Join("testdata", "choosing", "texts.txtar"))
			if err != nil {
				t.Fatal(err)
			}
			want := &txtar.Archive{Comment: []byte(name + " over the texts of texts.txtar\n")}
			for _, f := range texts.Files {
				in := strategytest.Input{Document: connector.Document{Path: f.Name}, Elements: strategytest.Prose(string(f.Data))}
				chunks, err := strategytest.Collect(s, in)
				if err != nil {
					t.Fatal(err)
				}
				for _, err := range strategytest.Laws(s.Info(), in, chunks) {
					t.Errorf("%s: %v", f.Name, err)
				}
				var b strings.Builder
				for _, c := range chunks {
					fmt.Fprintf(&b, "[%d, %d) %v\n    %s\n", c.Spans[0].Start, c.Spans[len(c.Spans)-1].End, c.Metadata, strings.ReplaceAll(c.Text, "\n", "\n    "))
				}
				want.Files = append(want.Files, txtar.File{Name: f.Name, Data: []byte(b.String())})
			}
			path := filepath.Join("testdata", "choosing", name+".txtar")
			if updating() {
				if err := os.WriteFile(path, txtar.Format(want), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			old, err := os.ReadFile(path)
			if err != nil || string(old) != string(txtar.Format(want)) {
				t.Errorf("%s differs (%v); run with -update after a look at\n%s", path, err, txtar.Format(want))
			}
		})
	}
}

// FuzzChoosing cuts any text with what auto and an obedient model choose.
func FuzzChoosing(f *testing.F) {
	f.Add(plainText(1, 10, false)+factText(2, 10, true), uint8(60), uint8(20), uint8(0))
	f.Add("Anna: x y z\nBob: 3.14\n"+strings.Repeat("- list\n", 20), uint8(30), uint8(30), uint8(3))
	kinds := choosable()
	f.Fuzz(func(t *testing.T, text string, size, chosen, kind uint8) {
		if len(text) > 4096 || size < 9 {
			return
		}
		sizing := Sizing{MaxChars: int(size), MinChars: int(chosen) % 24, Overlap: Amount{N: int(kind) % 60, Percent: true}}
		env := choosingEnv()
		env.LLM = func(context.Context) (connector.LLM, error) {
			return llmtest.Texts(fmt.Sprintf(`{"strategy":%q,"size":%d,"overlap":%d,"ground":"mixed","reason":"x"}`, kinds[int(kind)%len(kinds)], chosen, int(chosen)%40)), nil
		}
		text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "?")
		in := strategytest.Input{Document: connector.Document{Path: []string{"a.txt", "a.html", "a.tex"}[int(kind)%3]}, Elements: strategytest.Prose(strings.Repeat(text, 2))}
		for _, s := range []connector.Strategy{openIn(t, Auto(), &AutoConfig{Sizing: sizing}, env), openIn(t, Agentic(), &AgenticConfig{Sizing: sizing}, env)} {
			chunks, err := strategytest.Collect(s, in)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range strategytest.Laws(s.Info(), in, chunks) {
				t.Errorf("%s %+v: %v", s.Info().Name, sizing, err)
			}
		}
	})
}
