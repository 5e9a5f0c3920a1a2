package strategies

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/internal/features"
)

// plainText tells a story in few words; denseText states figures and terms.
func plainText(seed uint64, sentences int, chinese bool) string {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for n := range sentences {
		who := []string{"he", "she", "the old man", "his wife"}[rng.IntN(4)]
		did := []string{"went down to the sea", "came back to the house", "said that it was late", "sat by the fire and said it again"}[rng.IntN(4)]
		if chinese {
			who = []string{"他", "她", "老人", "他们"}[rng.IntN(4)]
			did = []string{"走到海边去了", "又回到家里来了", "说天已经晚了", "坐在火边又说了一遍"}[rng.IntN(4)]
			b.WriteString(who + did + "。")
		} else {
			b.WriteString(who + " " + did + ". ")
		}
		if n%6 == 5 {
			b.WriteString("\n\n")
		}
	}
	return b.String() + "\n\n"
}

func factText(seed uint64, sentences int, chinese bool) string {
	rng := rand.New(rand.NewPCG(seed, 2))
	var b strings.Builder
	for n := range sentences {
		code := fmt.Sprintf("TX%d", rng.IntN(9000))
		if chinese {
			fmt.Fprintf(&b, "型号%s的额定频率为%d.%dkHz，增益%d%%，阻抗%d欧，协议为MQTT%d。", code, rng.IntN(90), rng.IntN(9), rng.IntN(100), rng.IntN(999), rng.IntN(9))
		} else {
			fmt.Fprintf(&b, "Module %s draws %d.%d mA at %d kHz via USB_%d, gain %d%%, checksum 0x%x. ", code, rng.IntN(90), rng.IntN(9), rng.IntN(900), rng.IntN(99), rng.IntN(100), rng.Uint32())
		}
		if n%4 == 3 {
			b.WriteString("\n\n")
		}
	}
	return b.String() + "\n\n"
}

// TestAdaptiveSizes: in one document the dense passage is cut smaller than the plain ones around it.
func TestAdaptiveSizes(t *testing.T) {
	for _, chinese := range []bool{false, true} {
		before, facts, after := plainText(1, 400, chinese), factText(2, 160, chinese), plainText(3, 400, chinese)
		text := before + facts + after
		s := mustOpen(t, Adaptive(), &AdaptiveConfig{Sizing: Sizing{MaxTokens: 600, MinChars: 20}, MinTokens: 150})
		sum, count := map[string]int{}, map[string]int{}
		for _, c := range chunksOf(t, s, textElements(text)) {
			where := "plain"
			if at := c.Spans[0].Start; at >= len(before) && at < len(before)+len(facts) {
				where = "facts"
			}
			inside := c.Spans[0].Start > len(before)+densityReach && c.Spans[0].End < len(before)+len(facts)-densityReach
			if d := c.Metadata["density"]; where == "plain" && c.Spans[0].End < len(before)-densityReach && d != "low" || inside && d != "high" && d != "very_high" {
				t.Errorf("Chinese %v: %s text is %v: %.60q", chinese, where, d, c.Text)
			}
			sum[where] += c.Tokens
			count[where]++
		}
		plain, dense := sum["plain"]/count["plain"], sum["facts"]/count["facts"]
		t.Logf("Chinese %v: mean chunk of plain text %d tokens, of facts %d", chinese, plain, dense)
		if 2*plain < 3*dense {
			t.Errorf("Chinese %v: plain text has chunks of %d tokens, facts of %d", chinese, plain, dense)
		}
	}
}

func adaptiveVariants() []*AdaptiveConfig {
	return []*AdaptiveConfig{
		{Sizing: Sizing{Overlap: Amount{N: 10, Percent: true}, MinChars: 20}},
		{Sizing: Sizing{MaxTokens: 60, Overlap: Amount{N: 12}, MinChars: 20}, MinTokens: 20},
		{Sizing: Sizing{MaxTokens: 60, MinChars: 20}, MinTokens: 60},
		{Sizing: Sizing{MaxChars: 150, Overlap: Amount{N: 20, Percent: true}, MinChars: 20}, MinTokens: 40},
		{Sizing: Sizing{MaxChars: 33, MinChars: 20}},
		{Sizing: Sizing{MaxTokens: 100, MaxChars: 200, Tokenizer: "o200k", Overlap: Amount{N: 50}}},
	}
}

func TestAdaptiveLaws(t *testing.T) {
	for k, conf := range adaptiveVariants() {
		mixed := plainText(1, 60, k%2 == 0) + factText(2, 60, k%2 == 0)
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			strategytest.Run(t, mustOpen(t, Adaptive(), conf),
				strategytest.Input{Name: "mixed", Elements: strategytest.Prose(strings.Repeat(mixed, 6))},
				strategytest.Input{Name: "structured", Elements: strategytest.Blocks(
					strategytest.Heading(1, "Facts"), connector.Element{Kind: connector.KindText, Text: factText(4, 80, false)}, strategytest.Table(80),
					strategytest.Heading(2, "故事"), connector.Element{Kind: connector.KindText, Text: plainText(5, 200, true)}, strategytest.Fence(60),
					connector.Element{Kind: connector.KindText, Text: plainText(6, 200, false)})})
		})
	}
}

// TestAdaptiveHeadings: the breadcrumb holds over the border of a passage.
func TestAdaptiveHeadings(t *testing.T) {
	els := strategytest.Blocks(strategytest.Heading(1, "Top"), strategytest.Heading(2, "Sub"),
		connector.Element{Kind: connector.KindText, Text: plainText(1, 300, false), Page: 3}, connector.Element{Kind: connector.KindText, Text: factText(2, 100, false), Page: 4})
	levels := map[any]bool{}
	for _, c := range chunksOf(t, mustOpen(t, Adaptive(), &AdaptiveConfig{Sizing: Sizing{MinChars: 20}}), given(els)) {
		levels[c.Metadata["density"]] = true
		if got := strings.Join(c.Headings, ">"); got != "Top>Sub" && c.Spans[0].Start > 0 {
			t.Errorf("at %v: %q", c.Spans, got)
		}
		if want := 3; c.Spans[0].Start > els[3].Span.Start && c.Page != want+1 || c.Spans[0].End < els[3].Span.Start && c.Spans[0].Start > 20 && c.Page != want {
			t.Errorf("at %v: page %d", c.Spans, c.Page)
		}
	}
	if len(levels) < 2 {
		t.Errorf("one density alone: %v", levels)
	}
}

// TestAdaptiveEdits inserts, deletes and moves paragraphs of a document of several densities: the chunks far from the edit stay.
func TestAdaptiveEdits(t *testing.T) {
	for _, chinese := range []bool{false, true} {
		var parts []string
		for k := range uint64(12) {
			parts = append(parts, strings.SplitAfter(plainText(k, 120, chinese), "\n\n")...)
			parts = append(parts, strings.SplitAfter(factText(k, 60, chinese), "\n\n")...)
		}
		s := mustOpen(t, Adaptive(), &AdaptiveConfig{Sizing: Sizing{MaxTokens: 400, MinChars: 20, Overlap: Amount{N: 10, Percent: true}}, MinTokens: 100})
		old := chunksOf(t, s, textElements(strings.Join(parts, "")))
		rng := rand.New(rand.NewPCG(9, 9))
		worst, sum := 0, 0
		const tries = 60
		for try := range tries {
			at := rng.IntN(len(parts))
			edited := append([]string(nil), parts[:at]...)
			switch try % 3 {
			case 0:
				edited = append(append(edited, "One line more, 多了一行。\n\n"), parts[at:]...)
			case 1:
				edited = append(edited, parts[min(at+1, len(parts)):]...)
			default:
				rest := append([]string(nil), parts[at:]...)
				edited = append(append(edited, rest[1:]...), rest[0])
			}
			n := newTexts(old, chunksOf(t, s, textElements(strings.Join(edited, ""))))
			worst, sum = max(worst, n), sum+n
		}
		t.Logf("Chinese %v: %d chunks; an edit makes %.1f new ones, %d at worst", chinese, len(old), float64(sum)/tries, worst)
		if 100*sum > 4*tries*len(old) || worst > len(old)/8 {
			t.Errorf("Chinese %v: of %d chunks an edit makes %.1f anew, %d at worst", chinese, len(old), float64(sum)/tries, worst)
		}
	}
}

// TestAdaptiveStreams: blocks that nothing asks for are let go, whatever the text, and no block is measured more than twice.
func TestAdaptiveStreams(t *testing.T) {
	for name, part := range map[string]string{"words": "word ", "lines": "a\n\n", "sentences": "It is so. ", "no break": "x", "wide": "天地玄黄"} {
		piece := strings.Repeat(part, 4096/len(part))
		held, yielded := 0, 0
		w := passageWindow{least: 600}
		s := &passageState{w: w, level: -1, yield: func(b densityBlock, _ error) bool {
			yielded += b.size()
			return true
		}}
		total := 0
		for k := range 400 {
			el := connector.Element{Kind: connector.KindText, Text: piece, Span: connector.Span{Start: k * len(piece), End: (k + 1) * len(piece)}}
			for b := range blocksOf(el, true) {
				s.add(b)
			}
			total += len(piece)
			bytes := 0
			for i := range s.blocks {
				bytes += s.blocks[i].size()
			}
			held = max(held, bytes)
		}
		s.finish()
		if yielded != total {
			t.Errorf("%s: %d of %d bytes came out", name, yielded, total)
		}
		if held > 64<<10+64*4096 {
			t.Errorf("%s: %d bytes are held", name, held)
		}
	}
}

// TestAdaptiveWork: the units that go through the bag are linear in the text.
func TestAdaptiveWork(t *testing.T) {
	for name, text := range map[string]string{"lines": strings.Repeat("a\n\n", 20000), "words": strings.Repeat("some words here. ", 4000), "facts": factText(1, 800, false)} {
		units := 0
		features.Units(text, func(features.Unit) { units++ })
		in := 0
		w := passageWindow{least: 500}
		for b, err := range w.passages(textElements(text)) {
			if err != nil {
				t.Fatal(err)
			}
			features.Units(b.el.Text, func(features.Unit) { in++ })
		}
		if in < units || in > units+units/10 {
			t.Errorf("%s: %d units in blocks, %d in the text", name, in, units)
		}
	}
}

func TestAdaptiveValidate(t *testing.T) {
	for _, c := range []AdaptiveConfig{{MinTokens: -1}, {MinTokens: 900}, {Sizing: Sizing{MaxTokens: 100}, MinTokens: 101}, {Sizing: Sizing{MaxTokens: -1}}} {
		if c.Validate() == nil {
			t.Errorf("%+v is taken", c)
		}
		if _, err := Adaptive().Open(context.Background(), &c, env(t)); err == nil {
			t.Errorf("%+v opens", c)
		}
	}
}

// FuzzAdaptive cuts any text in any two sizes.
func FuzzAdaptive(f *testing.F) {
	f.Add(plainText(1, 10, false)+factText(2, 10, true), uint8(60), uint8(20), uint8(4))
	f.Add("a\r\n\r\n"+factText(3, 30, false), uint8(30), uint8(30), uint8(0))
	f.Fuzz(func(t *testing.T, text string, size, least, overlap uint8) {
		if len(text) > 8192 || size < 4 {
			return
		}
		conf := &AdaptiveConfig{Sizing: Sizing{MaxChars: int(size), Overlap: Amount{N: int(overlap) % 90, Percent: true}, MinChars: int(overlap) % 24}, MinTokens: min(int(least), int(size))}
		text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "?")
		s := mustOpen(t, Adaptive(), conf)
		in := strategytest.Input{Elements: strategytest.Prose(strings.Repeat(text, 3))}
		chunks, err := strategytest.Collect(s, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range strategytest.Laws(s.Info(), in, chunks) {
			t.Errorf("%+v: %v", conf, err)
		}
	})
}
