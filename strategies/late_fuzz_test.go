package strategies

import (
	"reflect"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/internal/decode"
)

// FuzzLate holds the chunks to the laws; they are those of the strategy below, each marked unless it is only stored.
func FuzzLate(f *testing.F) {
	f.Add([]byte("# A\n\nBerlin is large. It has 3.7 million people. 它有很多人。\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"), uint8(30))
	f.Add([]byte(strings.Repeat("longword", 60)+"\n\n"+strings.Repeat("中文没有空格", 60)), uint8(12))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		if len(text) > 4096 || size < 4 || decode.Binary(text) {
			return
		}
		in := strategytest.Input{Elements: markdownElements(t, string(text))}
		sizing := Sizing{MaxChars: int(size), MinChars: int(size) / 4}
		for _, of := range []*connector.Choice{over("sentence", &SentenceConfig{Sizing: sizing}), {Kind: "parent_child"}} {
			env := strategytest.Env(Sentence(), Recursive(), ParentChild())
			s, err := Late().Open(t.Context(), &LateConfig{Of: of}, env)
			if err != nil {
				t.Fatal(err)
			}
			chunks, err := strategytest.Collect(s, in)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range strategytest.Laws(s.Info(), in, chunks) {
				t.Error(err)
			}
			below, err := env.Strategy(t.Context(), *of)
			if err != nil {
				t.Fatal(err)
			}
			want, err := strategytest.Collect(below, in)
			if err != nil {
				t.Fatal(err)
			}
			for i := range chunks {
				if chunks[i].Late == chunks[i].StoreOnly {
					t.Errorf("chunk %d: late %v, only stored %v", i, chunks[i].Late, chunks[i].StoreOnly)
				}
				chunks[i].Late = false
			}
			if !reflect.DeepEqual(chunks, want) {
				t.Errorf("not the chunks of %s", of.Kind)
			}
		}
	})
}
