package strategies

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	dialogueparser "github.com/kbsync/kbsync/parsers/dialogue"
)

func dialogueOf(tb testing.TB, change func(*DialogueConfig)) connector.Strategy {
	tb.Helper()
	c := dialogueDefaults()
	if change != nil {
		change(&c)
	}
	return mustOpen(tb, Dialogue(), &c)
}

func dialogues(tb testing.TB) map[string]connector.Strategy {
	tb.Helper()
	return map[string]connector.Strategy{
		"default":    dialogueOf(tb, nil),
		"100 chars":  dialogueOf(tb, func(c *DialogueConfig) { c.MaxChars = 100 }),
		"40 tokens":  dialogueOf(tb, func(c *DialogueConfig) { c.MaxTokens = 40 }),
		"both caps":  dialogueOf(tb, func(c *DialogueConfig) { c.MaxTokens, c.MaxChars, c.Unit = 60, 90, "tokens" }),
		"8 chars":    dialogueOf(tb, func(c *DialogueConfig) { c.MaxChars, c.MinChars = 8, 0 }),
		"no overlap": dialogueOf(tb, func(c *DialogueConfig) { c.MaxChars, c.OverlapTurns = 200, 0 }),
		"by units":   dialogueOf(tb, func(c *DialogueConfig) { c.MaxChars, c.OverlapTurns, c.Overlap = 200, 0, Amount{N: 60} }),
		"3 turns":    dialogueOf(tb, func(c *DialogueConfig) { c.MaxChars, c.OverlapTurns = 300, 3 }),
	}
}

func talk(tb testing.TB, name, text string) []connector.Element {
	tb.Helper()
	return parsedBy(tb, dialogueparser.Plugin(), name, text)
}

// hostileTalks are conversations that break chunkers.
func hostileTalks() map[string]string {
	return map[string]string{
		"overlap.vtt":  "\ufeffWEBVTT\r\n\r\nNOTE a note\r\n\r\n1\r\n00:01.000 --> 00:05.000\r\n<v Ann>First and\r\n\r\n2\r\n00:03.000 --> 00:04.000\r\n<v Bob>Second?\r\n\r\n3\r\n00:00.500 --> 00:09.000\r\n<v Ann>third.\r\n\r\n4\r\n00:10.000 --> 00:11.000\r\n\r\n",
		"numbers.srt":  "00:00:01,000 --> 00:00:02,000\nOne line\n\n7\n00:00:02,000 --> 00:00:03,000\nTwo. 3\n4\n00:00:05,000 --> 00:00:06,000\nFour\n",
		"urls.txt":     "Ann: see http://example.com/a:b?c=d: there\nBot:v2: hello\n12:30 is the time\n张三：好的，见 https://example.com/甲\n",
		"one.txt":      "Ann: hi?\nBob: " + strings.Repeat("A long sentence with some words in it. ", 3000) + "\nAnn: thanks\n",
		"nospace.txt":  "Ann: " + strings.Repeat("QUJDREVGR0hJSktM", 9000) + "\n张三：" + strings.Repeat("天地玄黄宇宙洪荒", 20000) + "\n",
		"emoji.txt":    "Ann: " + strings.Repeat("👨‍👩‍👧‍👦🇨🇳👍🏽", 200) + "\nBob: \nAnn:\n\n\nBob: ok\n",
		"question.txt": strings.Repeat("Ann: Is that so?\nBob: Are you sure?\n", 300),
		"same.txt":     strings.Repeat("Ann: The same again.\n", 500),
		"short.txt":    strings.Repeat("甲：嗯\n乙：好\n", 500),
		"prose.txt":    "Some prose stands here.\n\nIt goes on. " + strings.Repeat("And on. ", 200),
		"mixed.jsonl":  "{\"title\":\"A talk\",\"messages\":[{\"role\":\"user\",\"content\":\"why?\"},{\"role\":\"assistant\",\"content\":\"" + strings.Repeat("because. ", 400) + "\"}]}\nno json\n{\"role\":\"user\",\"content\":\"x\"}\n",
		"head.txt":     "[2024-01-01 12:00:00] " + strings.Repeat("n", 36) + ": " + strings.Repeat("word ", 400) + "\n",
		"blank.vtt":    "WEBVTT\n\n",
	}
}

func TestDialogueLaws(t *testing.T) {
	var more []strategytest.Input
	for name, text := range hostileTalks() {
		more = append(more, strategytest.Input{Name: name, Elements: talk(t, name, text)})
	}
	for name, s := range dialogues(t) {
		t.Run(name, func(t *testing.T) { strategytest.Run(t, s, more...) })
	}
}

// TestDialogueGolden compares chunks with testdata/dialogue: each archive holds a conversation and the chunks that a cap of 160
// characters makes of it; KBSYNC_UPDATE=1 writes them anew.
func TestDialogueGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/dialogue/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil || len(ar.Files) == 0 {
				t.Fatal(err)
			}
			s := dialogueOf(t, func(c *DialogueConfig) { c.MaxChars = 160 })
			chunks := lawful(t, s, talk(t, ar.Files[0].Name, string(ar.Files[0].Data)))
			got := showChunks(chunks)
			for i, c := range chunks {
				got += fmt.Sprintf("%d: %v turns %v–%v %v–%v\n", i+1, c.Metadata["speakers"], c.Metadata["turn_start"], c.Metadata["turn_end"], c.Metadata["time_start"], c.Metadata["time_end"])
			}
			if updating() {
				ar.Files = append(ar.Files[:1], txtar.File{Name: "chunks", Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(ar.Files) < 2 || got != string(ar.Files[1].Data) {
				t.Errorf("run with KBSYNC_UPDATE=1 after a look at\n%s", got)
			}
		})
	}
}

// A question is in one chunk with its answer wherever both fit, whatever stands before them.
func TestDialogueKeepsAnswers(t *testing.T) {
	for _, lang := range []struct{ question, answer, filler string }{
		{"Ann: How tall is tower number %d?\n", "Bob: Tower %d is forty metres tall.\n", "Bob: Noted, thanks a lot %d.\n"},
		{"张三：第%d座塔有多高？\n", "李四：第%d座塔有四十米高。\n", "李四：知道了，谢谢第%d次。\n"},
	} {
		var b strings.Builder
		for i := range 200 {
			fmt.Fprintf(&b, lang.question, i)
			fmt.Fprintf(&b, lang.answer, i)
			for k := range i % 4 {
				fmt.Fprintf(&b, lang.filler, 1000*i+k)
			}
		}
		els := talk(t, "x.txt", b.String())
		for size := 90; size < 400; size += 37 {
			chunks := lawful(t, dialogueOf(t, func(c *DialogueConfig) { c.MaxChars = size }), els)
			for i := range 200 {
				pair := fmt.Sprintf(lang.question, i) + strings.TrimSpace(fmt.Sprintf(lang.answer, i))
				if !strings.Contains(strings.Join(texts(chunks), "\x00"), pair) {
					t.Fatalf("size %d: the pair %q is parted", size, pair)
				}
			}
		}
	}
}

// Every piece of a long turn but the first names its speaker in the context, which points at the line itself.
func TestDialogueRepeatsSpeaker(t *testing.T) {
	text := "张三：在吗？\n2024-01-01 12:00:00 李四\n" + strings.Repeat("这是一句很长的话，说了很多。", 40) + "\n张三：好。\n"
	chunks := lawful(t, dialogueOf(t, func(c *DialogueConfig) { c.MaxChars = 100 }), talk(t, "x.txt", text))
	for i, c := range chunks[2 : len(chunks)-1] {
		if c.Context != "2024-01-01 12:00:00 李四\n" || len(c.ContextSpans) != 1 || text[c.ContextSpans[0].Start:c.ContextSpans[0].End]+"\n" != c.Context || !c.ForcedSplit {
			t.Errorf("piece %d: %q %v", i, c.Context, c.ContextSpans)
		}
		if !strings.HasSuffix(c.Text, "。") {
			t.Errorf("piece %d ends in mid-sentence: %q", i, c.Text)
		}
	}
}

func TestDialogueOverlapTurns(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "%s: statement number %d is here.\n", []string{"Ann", "Bob", "Cy"}[i%3], i)
	}
	els := talk(t, "x.txt", b.String())
	for turns := range 4 {
		chunks := lawful(t, dialogueOf(t, func(c *DialogueConfig) { c.MaxChars, c.OverlapTurns = 300, turns }), els)
		for i := 1; i < len(chunks); i++ {
			if got := chunks[i-1].Metadata["turn_end"].(int) - chunks[i].Metadata["turn_start"].(int) + 1; got != turns && got != chunks[i-1].Metadata["turn_end"].(int)-chunks[i-1].Metadata["turn_start"].(int) {
				t.Errorf("%d turns wanted, %d repeated", turns, got)
			}
		}
	}
}

func TestDialogueMetadata(t *testing.T) {
	els := talk(t, "x.vtt", hostileTalks()["overlap.vtt"])
	chunks := lawful(t, dialogueOf(t, nil), els)
	want := map[string]any{"speakers": []string{"Ann", "Bob"}, "time_start": "00:00:00.500", "time_end": "00:00:09.000", "turn_start": 1, "turn_end": 3}
	if len(chunks) != 1 || !reflect.DeepEqual(chunks[0].Metadata, want) || chunks[0].Text != "Ann: First and\nBob: Second?\nAnn: third." {
		t.Errorf("%+v", chunks)
	}
}

// A line at the top of a long log changes the chunks near it, not all.
func TestDialogueEdits(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "%s: this is what was said at place %d.\n", []string{"Ann", "Bob"}[i%2], i*i%9973)
	}
	s := dialogueOf(t, func(c *DialogueConfig) { c.MaxTokens = 200 })
	if n := freshChunks(t, s, talk(t, "x.txt", b.String()), talk(t, "x.txt", "Cy: a new line, first of all.\n"+b.String())); n > 6 {
		t.Errorf("%d new chunks after one line at the top", n)
	}
}

// A long log is cut in a window: no chunk waits for the end.
func TestDialogueStreams(t *testing.T) {
	s := dialogueOf(t, nil)
	seen, read := 0, 0
	one := talk(t, "x.txt", strings.Repeat("Ann: Is that so?\nBob: It is so, as I told you.\n", 500))
	elements := func(yield func(connector.Element, error) bool) {
		base, number := 0, 0
		for range 100 {
			size := 0
			for _, el := range one {
				size = el.Span.End
				shifted := el
				shifted.Span = connector.Span{Start: el.Span.Start + base, End: el.Span.End + base}
				shifted.Children = nil
				table := *el.Table
				number++
				table.FirstRow = number
				shifted.Table = &table
				if read++; !yield(shifted, nil) {
					return
				}
			}
			base += size
		}
	}
	for _, err := range s.Chunks(context.Background(), &connector.Document{}, elements) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 1 && read > 1000 {
			t.Errorf("the first chunk came after %d utterances", read)
		}
	}
}

// A turn of 10 MB becomes chunks within the cap that tile it, each but the first below the speaker's line.
func TestDialogueLongTurn(t *testing.T) {
	const size = 1000
	text := "Ann: " + strings.Repeat("This is one sentence of a very long speech, 而且不止英文。 ", 170_000) + "\nBob: Thank you.\n"
	s := dialogueOf(t, func(c *DialogueConfig) { c.MaxChars = size })
	end, n := 0, 0
	for c, err := range s.Chunks(context.Background(), &connector.Document{}, given(talk(t, "x.txt", text))) {
		if err != nil {
			t.Fatal(err)
		}
		if k := len([]rune(c.EmbedText())); k > size || n > 0 && c.Context != "Ann:\n" && !strings.HasPrefix(c.Text, "Bob") {
			t.Fatalf("chunk %d has %d characters below %q", n, k, c.Context)
		}
		if gap := text[end:c.Spans[0].Start]; strings.TrimSpace(gap) != "" {
			t.Fatalf("chunk %d leaves out %q", n, gap)
		}
		end = c.Spans[len(c.Spans)-1].End
		n++
	}
	if strings.TrimSpace(text[end:]) != "" || n < 8000 {
		t.Errorf("%d chunks up to byte %d of %d", n, end, len(text))
	}
}
