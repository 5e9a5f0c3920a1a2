package strategies

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/internal/features"
)

// choosingEnv is an environment with every kind that may be chosen, but for those left out.
func choosingEnv(without ...string) connector.StrategyEnv {
	var plugins []connector.StrategyPlugin
	for _, p := range []connector.StrategyPlugin{Whole(), Recursive(), Sentence(), Paragraph(), Adaptive(), Markdown(), HTML(), Latex(), Code(), Table(), Dialogue()} {
		left := false
		for _, kind := range without {
			left = left || kind == p.Kind
		}
		if !left {
			plugins = append(plugins, p)
		}
	}
	return strategytest.Env(plugins...)
}

func openIn(tb testing.TB, p connector.StrategyPlugin, config any, env connector.StrategyEnv) connector.Strategy {
	tb.Helper()
	s, err := p.Open(context.Background(), config, env)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func textElement(s string) connector.Element {
	return connector.Element{Kind: connector.KindText, Text: s}
}

func records(n int, header ...string) []connector.Element {
	var out []connector.Element
	for k := range n {
		line := fmt.Sprintf("Anna: this is what I say for the %dth time today\n", k)
		row := connector.Row{Cells: []string{"Anna", line}}
		out = append(out, connector.Element{Kind: connector.KindRecord, Text: line, Table: &connector.Table{ID: k, Header: [][]string{header}, Rows: []connector.Row{row}}})
	}
	return strategytest.Blocks(out...)
}

func declarations(n int) []connector.Element {
	var out []connector.Element
	for k := range n {
		text := fmt.Sprintf("func f%d() int {\n\treturn %d\n}\n\n", k, k)
		out = append(out, connector.Element{Kind: connector.KindSymbol, Language: "go", Text: text, Symbol: &connector.Symbol{Kind: "function", Name: "f"}})
	}
	return strategytest.Blocks(out...)
}

func essay(paragraphs int, chinese bool) string {
	line := "The council of the town decided to build another bridge over the river, which the merchants of both banks wanted for their trade. " +
		"The costs were shared among all households, and every guild gave stone, timber or labour according to its size and means. "
	if chinese {
		line = "城里的议会决定在河上再建一座桥，两岸的商人都希望有这座桥来做生意。费用由所有家庭分担，每个行会按照自己的规模和财力出石料、木材或者劳力。"
	}
	var b strings.Builder
	for k := range paragraphs {
		b.WriteString(strings.Repeat(line, 1+k%3) + "\n\n")
	}
	return b.String()
}

type choiceCase struct {
	name     string
	path     string
	elements []connector.Element
	want     string // choice
	reason   string
}

func choiceCases() []choiceCase {
	var sections, blocks []connector.Element
	for k := range 30 {
		sections = append(sections, strategytest.Heading(2, fmt.Sprint("Part ", k)), textElement(essay(2, k%2 == 0)))
		blocks = append(blocks, textElement(essay(1, false)), connector.Element{Kind: connector.KindList, Level: 1, Text: strings.Repeat("- one more thing of the list\n", 12)})
	}
	return []choiceCase{
		{"nothing", "a.txt", nil, "whole", "fits"},
		{"short", "a.md", strategytest.Blocks(strategytest.Heading(1, "T"), textElement("Short.\n")), "whole", "fits"},
		{"short zh", "a.md", strategytest.Prose("很短的一段话。\n"), "whole", "fits"},
		{"sections", "a.md", strategytest.Blocks(sections...), "markdown max_tokens=512", "headings"},
		{"sections of a page", "a.html", strategytest.Blocks(sections...), "html max_tokens=512", "headings"},
		{"latex", "a/b.tex", strategytest.Blocks(sections...), "latex max_tokens=512", "LaTeX"},
		{"code", "a.go", declarations(200), "code max_tokens=512", "declarations"},
		{"table", "a.csv", strategytest.Blocks(strategytest.Table(200)), "table max_tokens=512", "rows"},
		{"records", "a.jsonl", records(100, "name", "line"), "table max_tokens=512", "rows"},
		{"conversation", "a.vtt", records(100, "speaker", "text"), "dialogue max_tokens=512", "utterances"},
		{"lists", "a.txt", strategytest.Blocks(blocks...), "markdown max_tokens=512", "lists"},
		{"speakers", "a.txt", strategytest.Prose(strings.Repeat("Anna: where did you put the keys of the car?\nBob: on the table beside the door.\n", 60)), "recursive max_tokens=512 overlap=10%", "speaker"},
		{"story", "a.txt", strategytest.Prose(plainText(1, 300, false)), "sentence max_tokens=512", "tell a story"},
		{"story zh", "a.txt", strategytest.Prose(plainText(1, 300, true)), "sentence max_tokens=512", "characters or more tell a story"},
		{"essay", "a.txt", strategytest.Prose(essay(40, false)), "paragraph max_tokens=512 overlap=10%", "paragraphs"},
		{"essay zh", "a.txt", strategytest.Prose(essay(40, true)), "paragraph max_tokens=512 overlap=10%", "paragraphs"},
		{"one long paragraph", "a.txt", strategytest.Prose(strings.ReplaceAll(essay(60, false), "\n\n", "")), "recursive max_tokens=512 overlap=10%", "no rule before"},
		{"facts", "a.txt", strategytest.Prose(factText(1, 100, false)), "adaptive max_tokens=512 overlap=10%", "terms and numbers"},
		{"facts zh", "a.txt", strategytest.Prose(factText(1, 100, true)), "adaptive max_tokens=512 overlap=10%", "characters or more are terms and numbers"},
	}
}

// TestAutoChooses: what is chosen for each kind of document, that every chunk says so, and that Explain says the same.
func TestAutoChooses(t *testing.T) {
	s := openIn(t, Auto(), &AutoConfig{Sizing: autoDefaults().Sizing}, choosingEnv())
	for _, c := range choiceCases() {
		in := strategytest.Input{Name: c.name, Document: connector.Document{Path: c.path}, Elements: c.elements}
		chunks, err := strategytest.Collect(s, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range strategytest.Laws(s.Info(), in, chunks) {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, chunk := range chunks {
			if got := chunk.Metadata["strategy_choice"]; got != c.want || !strings.Contains(fmt.Sprint(chunk.Metadata["strategy_reason"]), c.reason) {
				t.Errorf("%s: %v because %v, want %s because of %s", c.name, got, chunk.Metadata["strategy_reason"], c.want, c.reason)
				break
			}
		}
		d, err := s.(*auto).Explain(context.Background(), &in.Document, in.Sequence())
		if err != nil || d.Choice != c.want || !strings.Contains(d.Reason, c.reason) || len(d.Checks) < 12 {
			t.Errorf("%s: %+v, %v", c.name, d, err)
		}
	}
}

// TestAutoWithout: a kind that the build lacks is not chosen; without recursive nothing works.
func TestAutoWithout(t *testing.T) {
	s := openIn(t, Auto(), &AutoConfig{}, choosingEnv("dialogue", "latex", "html"))
	for path, want := range map[string]string{"a.vtt": "table", "b.tex": "markdown", "c.html": "markdown"} {
		for _, c := range choiceCases() {
			if (path == "a.vtt") != (c.name == "conversation") || path != "a.vtt" && c.name != "sections" {
				continue
			}
			d, err := s.(*auto).Explain(context.Background(), &connector.Document{Path: path}, given(c.elements))
			if err != nil || d.Kind != want {
				t.Errorf("%s: %+v, %v, want %s", path, d, err, want)
			}
		}
	}
	if _, err := Auto().Open(context.Background(), &AutoConfig{}, choosingEnv("recursive")); err == nil {
		t.Error("auto opens without recursive")
	}
	broken := choosingEnv()
	open := broken.Strategy
	broken.Strategy = func(ctx context.Context, c connector.Choice) (connector.Strategy, error) {
		if c.Kind == "table" {
			return nil, errors.New("planted")
		}
		return open(ctx, c)
	}
	if _, err := Auto().Open(context.Background(), &AutoConfig{}, broken); err == nil || !strings.Contains(err.Error(), "planted") {
		t.Errorf("a strategy that cannot be opened is passed over: %v", err)
	}
}

func autoVariants() []Sizing {
	return []Sizing{
		autoDefaults().Sizing,
		{MaxTokens: 40, MinChars: 20, Overlap: Amount{N: 8}},
		{MaxChars: 90, MinChars: 20, Overlap: Amount{N: 50, Percent: true}},
		{MaxTokens: 60, MaxChars: 120, Tokenizer: "o200k", MinChars: 20},
		{Unit: "chars"},
	}
}

func TestAutoLaws(t *testing.T) {
	for k, size := range autoVariants() {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			var more []strategytest.Input
			for _, c := range choiceCases() {
				more = append(more, strategytest.Input{Name: c.name, Document: connector.Document{Path: c.path}, Elements: c.elements})
			}
			strategytest.Run(t, openIn(t, Auto(), &AutoConfig{Sizing: size}, choosingEnv()), more...)
		})
	}
}

// TestAutoCaps: the caps are those of the widest choice, within the model's.
func TestAutoCaps(t *testing.T) {
	env := choosingEnv()
	for _, c := range []struct {
		size Sizing
		cap  int
		want []int
	}{{Sizing{}, 0, []int{512}}, {Sizing{MaxTokens: 100}, 0, []int{100}}, {Sizing{MaxTokens: 100, MaxChars: 300}, 0, []int{100, 300}}, {Sizing{}, 128, []int{128}}} {
		env.ModelCap = connector.Cap{Max: c.cap}
		env.ModelCap.Counter, _ = env.Counter("cl100k")
		inner := env
		env.Strategy = func(ctx context.Context, ch connector.Choice) (connector.Strategy, error) {
			p := map[string]connector.StrategyPlugin{"whole": Whole(), "recursive": Recursive(), "code": Code()}
			if _, ok := p[ch.Kind]; !ok {
				return nil, errors.ErrUnsupported
			}
			if ch.Config == nil {
				ch.Config = p[ch.Kind].Config()
			}
			return p[ch.Kind].Open(ctx, ch.Config, inner)
		}
		var got []int
		for _, limit := range openIn(t, Auto(), &AutoConfig{Sizing: c.size}, env).Info().Caps {
			got = append(got, limit.Max)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%+v below %d: %v, want %v", c.size, c.cap, got, c.want)
		}
	}
}

// TestAutoIsBounded: no more is read ahead than is measured, and what is far behind changes neither choice nor reason.
func TestAutoIsBounded(t *testing.T) {
	s := openIn(t, Auto(), &AutoConfig{Sizing: Sizing{MaxTokens: 200}}, choosingEnv())
	part := essay(3, false)
	read, first := 0, 0
	elements := func(tail string) func(yield func(connector.Element, error) bool) {
		return func(yield func(connector.Element, error) bool) {
			for at := 0; at < 2<<20; at += len(part) {
				read = at
				text := part
				if at > 1<<20 {
					text = (tail + part)[:len(part)]
				}
				if !yield(connector.Element{Kind: connector.KindText, Text: text, Span: connector.Span{Start: at, End: at + len(part)}}, nil) {
					return
				}
			}
		}
	}
	var reasons []any
	for _, tail := range []string{"", strings.Repeat("0x1F 77 ", 60)} {
		for c, err := range s.Chunks(context.Background(), &connector.Document{Path: "x.txt"}, elements(tail)) {
			if err != nil {
				t.Fatal(err)
			}
			if first == 0 {
				first = read
			}
			reasons = append(reasons, fmt.Sprint(c.Metadata["strategy_choice"], c.Metadata["strategy_reason"]))
		}
	}
	if first > 3*features.Window {
		t.Errorf("%d bytes were read before the first chunk", first)
	}
	for _, r := range reasons {
		if r != reasons[0] {
			t.Fatalf("%v, then %v", reasons[0], r)
		}
	}
	var m features.Meter
	n := 0
	for ; !m.Full() && n < 1<<20; n++ {
		m.Add(&connector.Element{Kind: connector.KindText})
	}
	if n > features.Window/8 {
		t.Errorf("%d empty elements fit the window", n)
	}
}

const wellChosen = `{"strategy":"sentence","size":300,"overlap":10,"ground":"narrative","reason":"It tells a story."}`

// TestAgentic: what the model says is kept within its bounds; what cannot be used leaves the choice to the rules.
func TestAgentic(t *testing.T) {
	story := strategytest.Input{Document: connector.Document{Path: "a.txt"}, Elements: strategytest.Prose(essay(40, true))}
	swap := func(old, new string) string { return strings.Replace(wellChosen, old, new, 1) }
	byRules := "paragraph max_tokens=512 overlap=10%"
	for name, c := range map[string]struct {
		says   []string
		want   string
		reason string
		asked  int
	}{
		"right":          {[]string{wellChosen}, "sentence max_tokens=300", "language model: narrative", 1},
		"overlap":        {[]string{swap("sentence", "recursive")}, "recursive max_tokens=300 overlap=10%", "language model: narrative", 1},
		"prose around":   {[]string{"Well: {x}\n```json\n" + wellChosen + "\n```\nSo be it."}, "sentence max_tokens=300", "language model: narrative", 1},
		"repaired":       {[]string{swap("300", "5"), wellChosen}, "sentence max_tokens=300", "language model: narrative", 2},
		"out of range":   {[]string{swap("300", "513")}, byRules, "rules, no usable answer of the language model: running text in paragraphs", 2},
		"wrong kind":     {[]string{swap("sentence", "fixed")}, byRules, "rules, no usable answer", 2},
		"not this build": {[]string{swap("sentence", "semantic")}, byRules, "rules, no usable answer", 2},
		"empty":          {[]string{""}, byRules, "rules, no usable answer", 2},
		"nonsense":       {[]string{"I cannot say."}, byRules, "rules, no usable answer", 2},
	} {
		d := llmtest.Texts(c.says...)
		env := choosingEnv()
		env.LLM = func(context.Context) (connector.LLM, error) { return d, nil }
		s := openIn(t, Agentic(), &AgenticConfig{Sizing: agenticDefaults().Sizing}, env)
		chunks, err := strategytest.Collect(s, story)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, err := range strategytest.Laws(s.Info(), story, chunks) {
			t.Errorf("%s: %v", name, err)
		}
		m := chunks[0].Metadata
		if m["strategy_choice"] != c.want || !strings.HasPrefix(fmt.Sprint(m["strategy_reason"]), c.reason) || len(d.Asked()) != c.asked {
			t.Errorf("%s: %v because %v, asked %d times", name, m["strategy_choice"], m["strategy_reason"], len(d.Asked()))
		}
		if got := s.Info().Models; len(got) != 1 || !strings.Contains(got[0], "choose/1") || !strings.Contains(got[0], d.Model().Identity()) {
			t.Errorf("%s: models %q", name, got)
		}
	}
}

// TestAgenticFaults: a refusal leaves the choice to the rules; a service that is away fails the document; what fits is not asked about.
func TestAgenticFaults(t *testing.T) {
	long := strategytest.Input{Elements: strategytest.Prose(essay(40, false))}
	away := connector.Errorf(connector.ClassTransient, "away")
	for name, c := range map[string]struct {
		answer connector.LLMAnswer
		err    error
		in     strategytest.Input
		reason string
		fails  error
	}{
		"refused":  {connector.LLMAnswer{Finish: connector.FinishRefused}, nil, long, "rules, no usable answer", nil},
		"cut off":  {connector.LLMAnswer{Finish: connector.FinishLength, Text: wellChosen[:30]}, nil, long, "rules, no usable answer", nil},
		"too long": {connector.LLMAnswer{}, connector.Errorf(connector.ClassTooLarge, "too long"), long, "rules, no usable answer", nil},
		"away":     {connector.LLMAnswer{}, away, long, "", away},
		"fits":     {connector.LLMAnswer{}, away, strategytest.Input{Elements: strategytest.Prose("Short.")}, "the whole text fits one chunk", nil},
	} {
		d := &llmtest.Double{Says: func(context.Context, connector.LLMRequest) (connector.LLMAnswer, error) { return c.answer, c.err }}
		env := choosingEnv()
		env.LLM = func(context.Context) (connector.LLM, error) { return d, nil }
		s := openIn(t, Agentic(), &AgenticConfig{Sizing: agenticDefaults().Sizing}, env)
		chunks, err := strategytest.Collect(s, c.in)
		if !errors.Is(err, c.fails) {
			t.Errorf("%s: %v", name, err)
		}
		if c.fails == nil && (len(chunks) == 0 || !strings.HasPrefix(fmt.Sprint(chunks[0].Metadata["strategy_reason"]), c.reason)) {
			t.Errorf("%s: %+v", name, chunks)
		}
	}
}

// TestAgenticWithout: without a model the rules choose, unless one is asked for; a model that cannot be opened is an error.
func TestAgenticWithout(t *testing.T) {
	long := strategytest.Input{Elements: strategytest.Prose(essay(40, false))}
	broken := func(context.Context) (connector.LLM, error) {
		return nil, connector.Errorf(connector.ClassCredentials, "no key")
	}
	for name, c := range map[string]struct {
		ask    string
		llm    func(context.Context) (connector.LLM, error)
		reason string
	}{
		"none":                {"auto", choosingEnv().LLM, "rules, no language model: running text"},
		"no environment":      {"auto", nil, "rules, no language model: running text"},
		"never":               {"never", broken, "rules, no language model: running text"},
		"always":              {"always", choosingEnv().LLM, ""},
		"one that is broken":  {"auto", broken, ""},
		"what is no such key": {"sometimes", nil, ""},
	} {
		env := choosingEnv()
		env.LLM = c.llm
		s, err := Agentic().Open(context.Background(), &AgenticConfig{Sizing: agenticDefaults().Sizing, Ask: c.ask}, env)
		if (err == nil) != (c.reason != "") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		chunks, err := strategytest.Collect(s, long)
		if err != nil || !strings.HasPrefix(fmt.Sprint(chunks[0].Metadata["strategy_reason"]), c.reason) || len(s.Info().Models) != 0 {
			t.Errorf("%s: %v, %v, %v", name, chunks[0].Metadata, s.Info().Models, err)
		}
	}
}

func TestAgenticLaws(t *testing.T) {
	env := choosingEnv()
	env.LLM = func(context.Context) (connector.LLM, error) {
		return llmtest.Texts(strings.Replace(strings.Replace(wellChosen, "300", "20", 1), "sentence", "markdown", 1)), nil
	}
	strategytest.Run(t, openIn(t, Agentic(), &AgenticConfig{Sizing: Sizing{MaxTokens: 60, MinChars: 20}}, env))
}
