package strategies

import (
	"bytes"
	"context"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	dialogueparser "github.com/kbsync/kbsync/parsers/dialogue"
)

// FuzzDialogue cuts any text, read as a conversation of each format, in any size.
func FuzzDialogue(f *testing.F) {
	names := []string{"x.txt", "x.vtt", "x.srt", "x.jsonl", "x.json"}
	for name, text := range hostileTalks() {
		if len(text) < 4096 {
			f.Add([]byte(text), uint8(40), uint8(1), uint8(len(name)%len(names)))
		}
	}
	f.Add([]byte("Ann: a?\nBob: b c d e f g h i j k l m n\nBob: x\n\nAnn: y\n"), uint8(12), uint8(2), uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, size, turns, format uint8) {
		if len(text) > 4096 || size < 4 {
			return
		}
		plugin := dialogueparser.Plugin()
		p, err := plugin.Open(context.Background(), plugin.Config(), connector.Env{})
		if err != nil {
			t.Fatal(err)
		}
		var els []connector.Element
		for el, err := range p.Parse(context.Background(), &connector.Document{Path: names[int(format)%len(names)]}, bytes.NewReader(text)) {
			if err != nil {
				return // no text
			}
			els = append(els, el)
		}
		s := dialogueOf(t, func(c *DialogueConfig) {
			c.MaxChars, c.OverlapTurns, c.MinChars = int(size), int(turns%4), int(turns)%24
		})
		var chunks []connector.Chunk
		for c, err := range s.Chunks(context.Background(), &connector.Document{}, given(els)) {
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, c)
		}
		for _, err := range strategytest.Laws(s.Info(), strategytest.Input{Elements: els}, chunks) {
			t.Errorf("size %d: %v", size, err)
		}
	})
}
