package strategies

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/internal/decode"
)

// slidingConfig is the default, changed.
func slidingConfig(change func(c *SlidingConfig)) *SlidingConfig {
	c := Sliding().Config().(*SlidingConfig)
	change(c)
	return c
}

func over(kind string, config any) *connector.Choice {
	return &connector.Choice{Kind: kind, Config: config}
}

// TestSlidingLaws runs the conformance suite.
func TestSlidingLaws(t *testing.T) {
	table := tableDefaults()
	table.MaxChars = 90
	md := markdownDefaults()
	md.MaxChars = 120
	for name, c := range map[string]*SlidingConfig{
		"default":  slidingConfig(func(*SlidingConfig) {}),
		"small":    slidingConfig(func(c *SlidingConfig) { c.MaxTokens, c.Size, c.Step = 30, 3, 3 }),
		"chars":    slidingConfig(func(c *SlidingConfig) { c.MaxChars, c.Size, c.Step = 60, 3, 1 }),
		"sentence": slidingConfig(func(c *SlidingConfig) { c.Window, c.MaxChars = "sentence", 70 }),
		"alone":    slidingConfig(func(c *SlidingConfig) { c.Window, c.MinChars, c.Around = "sentence", 0, 0 }),
		"over markdown": slidingConfig(func(c *SlidingConfig) {
			c.Of, c.MaxChars, c.Size, c.Step = over("markdown", &md), 300, 3, 2
		}),
		"over overlap": slidingConfig(func(c *SlidingConfig) {
			c.Of, c.MaxChars = over("recursive", &RecursiveConfig{Sizing: Sizing{MaxChars: 60, Overlap: Amount{N: 20}}}), 200
		}),
		"over rows": slidingConfig(func(c *SlidingConfig) { c.Of, c.MaxChars, c.Window = over("table", &table), 200, "sentence" }),
	} {
		t.Run(name, func(t *testing.T) {
			s := openNest(t, Sliding(), c)
			strategytest.Run(t, s)
			for _, in := range strategytest.Inputs() {
				chunks, err := strategytest.Collect(s, in)
				if err != nil {
					t.Fatal(err)
				}
				for _, err := range windowFaults(in.Text(), chunks, c.Window == "sentence") {
					t.Errorf("%s: %s", in.Name, err)
				}
			}
		})
	}
}

// windowFaults checks that windows hold the chunk and are the text where they say they are.
func windowFaults(text string, chunks []connector.Chunk, windows bool) []string {
	var faults []string
	for i := range chunks {
		c := &chunks[i]
		w, ok := c.Metadata["window"].(string)
		if ok != (windows && !c.Rendered && len(c.Spans) == 1) {
			faults = append(faults, "window or none: "+c.Text)
		}
		if !ok {
			continue
		}
		from, end := c.Metadata["window_start"].(int), c.Metadata["window_end"].(int)
		if text[from:end] != w || from > c.Spans[0].Start || end < c.Spans[0].End {
			faults = append(faults, "the window of "+c.Text+" is "+w)
		}
	}
	return faults
}

// TestSlidingWindows shows how windows move.
func TestSlidingWindows(t *testing.T) {
	var b strings.Builder
	for _, word := range strings.Fields("One Two Three Four Five Six Seven") {
		b.WriteString(word + " is a sentence here. ")
	}
	for want, c := range map[string]*SlidingConfig{
		"One Two Three|Three Four Five|Five Six Seven":    slidingConfig(func(c *SlidingConfig) { c.Size, c.Step = 3, 2 }),
		"One Two Three|Four Five Six|Seven":               slidingConfig(func(c *SlidingConfig) { c.Size, c.Step = 3, 3 }),
		"One Two Three Four Five Six Seven":               slidingConfig(func(c *SlidingConfig) { c.Size, c.Step = 9, 1 }),
		"One Two|Three Four|Five Six|Seven":               slidingConfig(func(c *SlidingConfig) { c.Size, c.Step, c.MaxChars = 3, 3, 50 }),
		"One|Two|Three|Four|Five|Six|Seven":               slidingConfig(func(c *SlidingConfig) { c.Window = "sentence" }),
		"One Two Three Four|Four Five Six Seven":          slidingConfig(func(c *SlidingConfig) { c.Size, c.Step = 4, 3 }),
		"One Two Three Four Five Six|Four Five Six Seven": slidingConfig(func(*SlidingConfig) {}),
	} {
		var got []string
		for _, chunk := range chunksOf(t, openNest(t, Sliding(), c), textElements(b.String())) {
			got = append(got, strings.Join(strings.Fields(strings.NewReplacer(" is a sentence here.", "").Replace(chunk.Text)), " "))
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("want %s, got %s", want, s)
		}
	}
}

// TestSlidingGolden compares windows with testdata/sliding-*.txtar, English and Chinese; KBSYNC_UPDATE=1 writes them anew.
func TestSlidingGolden(t *testing.T) {
	for name, c := range map[string]*SlidingConfig{
		"text":     slidingConfig(func(c *SlidingConfig) { c.Size, c.Step = 4, 3 }),
		"sentence": slidingConfig(func(c *SlidingConfig) { c.Window, c.Around = "sentence", 1 }),
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, filepath.Join("testdata", "sliding-"+name+".txtar"), openNest(t, Sliding(), c))
		})
	}
}

// TestSlidingWithoutSentences: a text of 20 KB without an end of a sentence, blank text, and none.
func TestSlidingWithoutSentences(t *testing.T) {
	s := openNest(t, Sliding(), slidingConfig(func(c *SlidingConfig) { c.Window = "sentence" }))
	for text, least := range map[string]int{"": 0, " \n\n\t ": 0, strings.Repeat("word ", 4000): 8, strings.Repeat("字", 7000): 8, "One.": 1} {
		chunks := chunksOf(t, s, textElements(text))
		if len(chunks) < least || least == 0 && len(chunks) > 0 {
			t.Errorf("%d bytes gave %d chunks, want at least %d", len(text), len(chunks), least)
		}
	}
}

// TestSlidingConfig: what cannot work is refused with the reason.
func TestSlidingConfig(t *testing.T) {
	for want, change := range map[string]func(c *SlidingConfig){
		"window is":            func(c *SlidingConfig) { c.Window = "big" },
		"size is 0":            func(c *SlidingConfig) { c.Size = 0 },
		"would be left out":    func(c *SlidingConfig) { c.Step = 7 },
		"step is 0":            func(c *SlidingConfig) { c.Step = 0 },
		"around is":            func(c *SlidingConfig) { c.Around = -1 },
		"step says what":       func(c *SlidingConfig) { c.Overlap.N = 3 },
		"parents of its own":   func(c *SlidingConfig) { c.Of = over("parent_child", nil) },
		"no strategy \"none\"": func(c *SlidingConfig) { c.Of = over("none", nil) },
	} {
		if _, err := Sliding().Open(context.Background(), slidingConfig(change), strategytest.Env(ParentChild())); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

// FuzzSliding holds both modes to the laws.
func FuzzSliding(f *testing.F) {
	f.Add([]byte("# A\n\n## B\n\ntext, more text. 中文。另一句。\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\n# x\n\ty\n```\n- i\n  - j\n\n> q\n"), uint8(30), uint8(5))
	f.Add([]byte(strings.Repeat("longword", 60)+"\n\n"+strings.Repeat("中文没有空格", 60)), uint8(12), uint8(3))
	f.Add([]byte("Dr. No said: \"Go!\" Then v1.2 of it. 3.14 is pi.\r\n\r\n1. one\n2. two\n"), uint8(40), uint8(2))
	f.Fuzz(func(t *testing.T, text []byte, size, n uint8) {
		if len(text) > 4096 || size < 4 || decode.Binary(text) {
			return
		}
		els := markdownElements(t, string(text))
		small := &RecursiveConfig{Sizing: Sizing{MaxChars: int(size), Overlap: Amount{N: int(size) / 4}}}
		for _, mode := range []string{"text", "sentence"} {
			for _, of := range []*connector.Choice{nil, over("recursive", small)} {
				s := openNest(t, Sliding(), slidingConfig(func(c *SlidingConfig) {
					c.Window, c.Of, c.MaxChars, c.Size, c.Around, c.MinChars = mode, of, int(size), 1+int(n%7), int(n%5), int(n)%24
					c.Step = 1 + int(n/7)%c.Size
				}))
				in := strategytest.Input{Elements: els}
				chunks, err := strategytest.Collect(s, in)
				if err != nil {
					t.Fatal(err)
				}
				for _, err := range strategytest.Laws(s.Info(), in, chunks) {
					t.Errorf("%s: %v", mode, err)
				}
				for _, fault := range windowFaults(in.Text(), chunks, mode == "sentence") {
					t.Errorf("%s: %s", mode, fault)
				}
			}
		}
	})
}
