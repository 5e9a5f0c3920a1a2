package strategies

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/internal/decode"
)

// nestCases are settings of the strategies that make parents, by name.
func nestCases() map[string]struct {
	plugin connector.StrategyPlugin
	config any
} {
	type of = struct {
		plugin connector.StrategyPlugin
		config any
	}
	recursive := func(max int, overlap string) *connector.Choice {
		c := &RecursiveConfig{Sizing: Sizing{MaxChars: max, MinChars: 20}}
		if err := c.Overlap.UnmarshalText([]byte(overlap)); err != nil {
			panic(err)
		}
		return &connector.Choice{Kind: "recursive", Config: c}
	}
	md := markdownDefaults()
	md.MaxChars, md.Heading = 90, "out"
	chars := NestSizing{Unit: unitChars}
	over := func(c *connector.Choice) NestSizing { return NestSizing{Unit: unitChars, Of: c} }
	return map[string]of{
		"default":   {ParentChild(), &ParentChildConfig{Parent: ParentSize{N: 1500}}},
		"small":     {ParentChild(), &ParentChildConfig{Parent: ParentSize{N: 60}, Child: 20}},
		"chars":     {ParentChild(), &ParentChildConfig{Parent: ParentSize{N: 200}, Child: 60, NestSizing: chars}},
		"section":   {ParentChild(), &ParentChildConfig{Parent: ParentSize{Word: "section"}, ParentMax: 300, Child: 80, NestSizing: chars}},
		"document":  {ParentChild(), &ParentChildConfig{Parent: ParentSize{Word: "document"}, Child: 80, NestSizing: chars}},
		"overlap":   {ParentChild(), &ParentChildConfig{Parent: ParentSize{N: 200}, NestSizing: over(recursive(70, "30%"))}},
		"too small": {ParentChild(), &ParentChildConfig{Parent: ParentSize{N: 50}, NestSizing: over(recursive(90, "10%"))}},
		"rows":      {ParentChild(), &ParentChildConfig{Parent: ParentSize{N: 150}, NestSizing: over(&connector.Choice{Kind: "table"})}},
		"headings":  {ParentChild(), &ParentChildConfig{Parent: ParentSize{N: 240}, NestSizing: over(&connector.Choice{Kind: "markdown", Config: &md})}},
		"levels":    {Hierarchical(), &HierarchicalConfig{Levels: []int{2048, 512, 128}, MergeRatio: 0.5}},
		"4 levels":  {Hierarchical(), &HierarchicalConfig{Levels: []int{640, 320, 100, 40}, MergeRatio: 0.5, NestSizing: chars}},
		"over rows": {Hierarchical(), &HierarchicalConfig{Levels: []int{800, 200, 100}, MergeRatio: 0.5, NestSizing: over(recursive(70, "30%"))}},
	}
}

func nestEnv() connector.StrategyEnv {
	return strategytest.Env(Recursive(), Markdown(), Table(), Sentence(), Whole(), Code())
}

func openNest(tb testing.TB, p connector.StrategyPlugin, config any) connector.Strategy {
	tb.Helper()
	s, err := p.Open(context.Background(), config, nestEnv())
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestNestLaws runs the conformance suite, and what parents promise beyond it.
func TestNestLaws(t *testing.T) {
	for name, c := range nestCases() {
		t.Run(name, func(t *testing.T) {
			s := openNest(t, c.plugin, c.config)
			strategytest.Run(t, s)
			for _, in := range strategytest.Inputs() {
				chunks, err := strategytest.Collect(s, in)
				if err != nil {
					t.Fatal(err)
				}
				for _, err := range nestFaults(s.Info(), in.Text(), chunks, true) {
					t.Errorf("%s: %v", in.Name, err)
				}
			}
		})
	}
}

// nestFaults checks that every parent comes right before its children, is the text from the first to the last of them, and numbers them; and that parents are apart,
// as they are unless a chunk repeats more than the one before it.
func nestFaults(info connector.StrategyInfo, text string, chunks []connector.Chunk, apart bool) []error {
	var faults []error
	kids := map[string][]*connector.Chunk{}
	for i := range chunks {
		c := &chunks[i]
		if c.ParentKey != "" {
			kids[c.ParentKey] = append(kids[c.ParentKey], c)
		}
	}
	over := func(s string) bool {
		for _, limit := range info.ParentCaps {
			if limit.Counter.Count(s) > limit.Max {
				return true
			}
		}
		return false
	}
	end := 0
	for i := range chunks {
		c := &chunks[i]
		if !c.StoreOnly {
			if c.Key != "" {
				faults = append(faults, fmt.Errorf("chunk %d is no parent and has the key %s", i, c.Key))
			}
			if span := (connector.Span{Start: c.Spans[0].Start, End: c.Spans[len(c.Spans)-1].End}); c.ParentKey == "" && !over(text[span.Start:span.End]) {
				faults = append(faults, fmt.Errorf("chunk %d has no parent and fits into one: %q", i, c.Text))
			}
			continue
		}
		mine := kids[c.Key]
		if len(mine) == 0 || c.Metadata["children"] != len(mine) {
			faults = append(faults, fmt.Errorf("parent %s says that it has %v children, and has %d", c.Key, c.Metadata["children"], len(mine)))
			continue
		}
		last := 0
		rendered := false
		for k, kid := range mine {
			rendered = rendered || kid.Rendered
			last = max(last, kid.Spans[len(kid.Spans)-1].End)
			if kid.Metadata["child_index"] != k {
				faults = append(faults, fmt.Errorf("child %d of %s says that it is number %v", k, c.Key, kid.Metadata["child_index"]))
			}
		}
		if span := c.Spans[0]; !rendered && (span.Start != mine[0].Spans[0].Start || span.End != last) {
			faults = append(faults, fmt.Errorf("parent %s is %v, its children %d to %d", c.Key, span, mine[0].Spans[0].Start, last))
		}
		if c.ParentKey == "" {
			if apart && c.Spans[0].Start < end && !rendered && !c.ForcedSplit {
				faults = append(faults, fmt.Errorf("parent %s starts in the one before, which ends at %d", c.Key, end))
			}
			end = c.Spans[0].End
		}
	}
	return faults
}

// TestNestGolden compares what parents are made of with testdata/nest-*.txtar, English and Chinese; KBSYNC_UPDATE=1 writes them anew.
func TestNestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		plugin connector.StrategyPlugin
		config any
	}{
		"parent_child": {ParentChild(), &ParentChildConfig{Parent: ParentSize{N: 260}, Child: 90, NestSizing: NestSizing{Unit: unitChars}}},
		"section":      {ParentChild(), &ParentChildConfig{Parent: ParentSize{Word: "section"}, Child: 90, NestSizing: NestSizing{Unit: unitChars}}},
		"hierarchical": {Hierarchical(), &HierarchicalConfig{Levels: []int{400, 160, 70}, MergeRatio: 0.5, NestSizing: NestSizing{Unit: unitChars}}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, filepath.Join("testdata", "nest-"+name+".txtar"), openNest(t, c.plugin, c.config))
		})
	}
}

// golden compares the chunks of the documents of testdata/nest.txtar with those in the archive at path.
func golden(t *testing.T, path string, s connector.Strategy) {
	t.Helper()
	docs, err := txtar.ParseFile(filepath.Join("testdata", "nest.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	want := &txtar.Archive{Comment: []byte(strings.TrimSuffix(filepath.Base(path), ".txtar") + " over the documents of testdata/nest.txtar\n")}
	for _, f := range docs.Files {
		els := markdownElements(t, string(f.Data))
		var b strings.Builder
		for c, err := range s.Chunks(context.Background(), &connector.Document{Path: f.Name}, given(els)) {
			if err != nil {
				t.Fatal(err)
			}
			depth, _ := c.Metadata["level"].(int)
			indent := strings.Repeat("    ", depth)
			fmt.Fprintf(&b, "%s[%d, %d) %s%s", indent, c.Spans[0].Start, c.Spans[len(c.Spans)-1].End, strings.Join(c.Headings, " > "), map[bool]string{true: " (parent)"}[c.StoreOnly])
			if w, ok := c.Metadata["window"].(string); ok {
				fmt.Fprintf(&b, " window %q", w)
			}
			fmt.Fprintf(&b, "\n%s  %s\n", indent, strings.ReplaceAll(c.Text, "\n", "\n"+indent+"  "))
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
	if old, err := os.ReadFile(path); err != nil || string(old) != string(got) {
		t.Errorf("%s differs (KBSYNC_UPDATE=1 writes it anew): %v\n%s", path, err, got)
	}
}

// TestNestEditsStayLocal: a paragraph more at the top leaves nearly all parents as they are.
func TestNestEditsStayLocal(t *testing.T) {
	var b strings.Builder
	for i := range 600 {
		fmt.Fprintf(&b, "Paragraph %d is about item %d and its %d friends, none of which is like the others. 第%d段。\n\n", i, i*i%97, i%13, i)
		if i%25 == 0 {
			fmt.Fprintf(&b, "## Section %d\n\n", i/25)
		}
	}
	for name, c := range nestCases() {
		if name == "document" || name == "rows" || name == "too small" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := openNest(t, c.plugin, c.config)
			before, after := parentTexts(t, s, b.String()), parentTexts(t, s, "An inserted paragraph, which moves everything behind it.\n\n"+b.String())
			same := 0
			for text := range before {
				if after[text] {
					same++
				}
			}
			if lost := len(before) - same; lost > max(4, len(before)/8) {
				t.Errorf("%d of %d parents are gone after an insertion at the top", lost, len(before))
			}
		})
	}
}

func parentTexts(t *testing.T, s connector.Strategy, text string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for c, err := range s.Chunks(context.Background(), &connector.Document{Path: "x.md"}, given(markdownElements(t, text))) {
		if err != nil {
			t.Fatal(err)
		}
		if c.StoreOnly {
			out[c.Text] = true
		}
	}
	return out
}

// TestNestConfig: what cannot work is refused with the reason.
func TestNestConfig(t *testing.T) {
	parents := &connector.Choice{Kind: "parent_child"}
	for want, c := range map[string]struct {
		plugin connector.StrategyPlugin
		config any
	}{
		"children must be smaller":        {ParentChild(), &ParentChildConfig{Parent: ParentSize{N: 100}, Child: 100}},
		"parent_max goes with":            {ParentChild(), &ParentChildConfig{Parent: ParentSize{N: 900}, ParentMax: 3}},
		"child and of are both set":       {ParentChild(), &ParentChildConfig{Parent: ParentSize{N: 900}, Child: 3, NestSizing: NestSizing{Of: parents}}},
		"parent is":                       {ParentChild(), &ParentChildConfig{}},
		"makes parents of its own":        {Hierarchical(), &HierarchicalConfig{Levels: []int{9, 5}, MergeRatio: 0.5, NestSizing: NestSizing{Of: parents}}},
		"must be smaller than the one":    {Hierarchical(), &HierarchicalConfig{Levels: []int{100, 100}, MergeRatio: 0.5}},
		"two sizes or more":               {Hierarchical(), &HierarchicalConfig{Levels: []int{100}, MergeRatio: 0.5}},
		"must be above 0":                 {Hierarchical(), &HierarchicalConfig{Levels: []int{100, 5}}},
		"no strategy \"none\" in this te": {ParentChild(), &ParentChildConfig{Parent: ParentSize{N: 900}, NestSizing: NestSizing{Of: &connector.Choice{Kind: "none"}}}},
	} {
		_, err := c.plugin.Open(context.Background(), c.config, strategytest.Env(ParentChild()))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	var p ParentSize
	for in, want := range map[string]string{"1500": "1500", "section": "section", "document": "document", "0": "", "big": ""} {
		if err := p.UnmarshalText([]byte(in)); (err == nil) != (want != "") || err == nil && p.String() != want {
			t.Errorf("parent: %s gave %s, %v", in, p, err)
		}
	}
}

// TestNestBase: without a choice the elements decide how children are cut.
func TestNestBase(t *testing.T) {
	base, err := openBase(context.Background(), nil, Sizing{MaxChars: 80}, nestEnv())
	if err != nil {
		t.Fatal(err)
	}
	kinds := func(list ...connector.Kind) []connector.Element {
		var els []connector.Element
		for _, k := range list {
			els = append(els, connector.Element{Kind: k, Text: "x\n\n"})
		}
		return strategytest.Blocks(els...)
	}
	for want, els := range map[string][]connector.Element{
		"recursive": kinds(connector.KindText, connector.KindFrontMatter, connector.KindText),
		"markdown":  kinds(connector.KindText, connector.KindText, connector.KindHeading),
		"table":     kinds(connector.KindFrontMatter, connector.KindTable),
		"code":      kinds(connector.KindDropped, connector.KindSymbol),
	} {
		s, again, stop := base.choose(given(els))
		var got []connector.Element
		for el, err := range again {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, el)
		}
		stop()
		if s.Info().Name != want || len(got) != len(els) || !slices.EqualFunc(got, els, func(a, b connector.Element) bool { return a.Kind == b.Kind && a.Span == b.Span }) {
			t.Errorf("want %s over %d elements, got %s over %d", want, len(els), s.Info().Name, len(got))
		}
	}
}

// TestNestIsBounded: the text that is measured and held grows with the text, and not with its square.
func TestNestIsBounded(t *testing.T) {
	s := openNest(t, Hierarchical(), &HierarchicalConfig{Levels: []int{640, 320, 100}, MergeRatio: 0.5, NestSizing: NestSizing{Unit: unitChars}}).(*nest)
	work := func(n int) (measured, held int) {
		counted := &countingCounter{Counter: s.levels[0].b.caps[0].Counter}
		run := *s
		run.levels = []nestLevel{{b: &budget{caps: []connector.Cap{{Max: 320, Counter: counted}}}}, {b: &budget{caps: []connector.Cap{{Max: 640, Counter: counted}}}}}
		for range run.Chunks(context.Background(), &connector.Document{}, func(yield func(connector.Element, error) bool) {
			at := 0
			for i := range n {
				text := fmt.Sprintf("Line %d of a log, without an end in sight\n\n", i)
				if !yield(connector.Element{Kind: connector.KindText, Text: text, Span: connector.Span{Start: at, End: at + len(text)}}, nil) {
					return
				}
				at += len(text)
			}
		}) {
			continue
		}
		return counted.bytes, counted.longest
	}
	small, _ := work(20_000)
	large, held := work(80_000)
	if large > 5*small || held > 2*windowBytes {
		t.Errorf("4 times the text took %d bytes measured instead of %d, %d at once", large, small, held)
	}
}

// countingCounter counts the bytes that rulers are made of.
type countingCounter struct {
	connector.Counter
	bytes, longest int
}

func (c *countingCounter) Ruler(text string) connector.Ruler {
	c.bytes, c.longest = c.bytes+len(text), max(c.longest, len(text))
	return c.Counter.Ruler(text)
}

// FuzzNest holds both strategies to the laws.
func FuzzNest(f *testing.F) {
	f.Add([]byte("# A\n\n## B\n\ntext, more text. 中文。\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\n# x\n\ty\n```\n- i\n  - j\n\n> q\n"), uint8(30), uint8(5))
	f.Add([]byte(strings.Repeat("longword", 60)+"\n\n"+strings.Repeat("中文没有空格", 60)), uint8(12), uint8(3))
	f.Add([]byte("a\r\n\r\n~~~\n\tcode code code\n\n# not\n~~~\n"+strings.Repeat("long word ", 40)), uint8(60), uint8(20))
	f.Fuzz(func(t *testing.T, text []byte, size, overlap uint8) {
		if len(text) > 4096 || size < 4 || decode.Binary(text) {
			return
		}
		els := markdownElements(t, string(text))
		small := Sizing{MaxChars: int(size), Overlap: Amount{N: int(overlap) % int(size)}, MinChars: int(overlap) % 24}
		md := markdownDefaults()
		md.Sizing = small
		chars := func(kind string, config any) NestSizing {
			return NestSizing{Unit: unitChars, Of: &connector.Choice{Kind: kind, Config: config}}
		}
		for _, s := range []connector.Strategy{
			openNest(t, ParentChild(), &ParentChildConfig{Parent: ParentSize{N: 3 * int(size)}, NestSizing: chars("recursive", &RecursiveConfig{Sizing: small})}),
			openNest(t, ParentChild(), &ParentChildConfig{Parent: ParentSize{Word: "section"}, ParentMax: 4 * int(size), NestSizing: chars("markdown", &md)}),
			openNest(t, Hierarchical(), &HierarchicalConfig{Levels: []int{9 * int(size), 3 * int(size), int(size)}, MergeRatio: 0.5, NestSizing: NestSizing{Unit: unitChars}}),
		} {
			in := strategytest.Input{Elements: els}
			chunks, err := strategytest.Collect(s, in)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range append(strategytest.Laws(s.Info(), in, chunks), nestFaults(s.Info(), in.Text(), chunks, small.Overlap.N == 0)...) {
				t.Errorf("%s: %v", s.Info().Name, err)
			}
		}
	})
}
