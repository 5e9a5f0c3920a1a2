package strategytest

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// packer is a lawful strategy over the whole text: it packs words up to a cap of code points, and cuts what alone is over it.
type packer struct {
	limit  int
	spoil  func(chunks []connector.Chunk, text string) []connector.Chunk
	calls  *atomic.Int64
	vary   bool // spoil every other run only
	deaf   bool // to errors and to the context
	exempt bool
}

type codePoints struct{}

func (codePoints) Name() string                      { return "chars" }
func (codePoints) Count(s string) int                { return utf8.RuneCountInString(s) }
func (codePoints) Ruler(text string) connector.Ruler { return codePointRuler(text) }

type codePointRuler string

func (r codePointRuler) Count(i, j int) int { return utf8.RuneCountInString(string(r)[i:j]) }

func (p packer) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "packer", Version: 1, Exempt: p.exempt, Caps: []connector.Cap{{Max: p.limit, Counter: codePoints{}}}}
}

func (p packer) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		var text strings.Builder
		for el, err := range elements {
			if !p.deaf && err == nil {
				err = ctx.Err()
			}
			if err != nil && !p.deaf {
				yield(connector.Chunk{}, err)
				return
			}
			if el.Kind != connector.KindDropped {
				text.WriteString(el.Text)
			}
		}
		chunks := p.pack(text.String())
		if n := p.calls.Add(1); p.spoil != nil && (!p.vary || n%2 == 0) {
			chunks = p.spoil(chunks, text.String())
		}
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (p packer) pack(text string) []connector.Chunk {
	var chunks []connector.Chunk
	lo, hi, n := -1, 0, 0
	flush := func() {
		if lo >= 0 {
			chunks = append(chunks, connector.Chunk{Text: text[lo:hi], Spans: []connector.Span{{Start: lo, End: hi}}})
		}
		lo, n = -1, 0
	}
	for at := 0; at < len(text); {
		if strings.ContainsAny(text[at:at+1], " \n\t\r") {
			if n++; n >= p.limit {
				flush()
			}
			at++
			continue
		}
		end := at + len(text[at:])
		if k := strings.IndexAny(text[at:], " \n\t\r"); k >= 0 {
			end = at + k
		}
		size := utf8.RuneCountInString(text[at:end])
		if lo >= 0 && n+size > p.limit {
			flush()
		}
		if size > p.limit {
			panic("the test's inputs hold no such word")
		}
		if lo < 0 {
			lo, n = at, 0
		}
		n += size
		hi, at = end, end
	}
	flush()
	return chunks
}

func inputs() []Input {
	return []Input{
		{Name: "prose", Elements: Prose(strings.Repeat("Some words, a number 3.14 and https://example.com/path stand here é😀. ", 20))},
		{Name: "six", Elements: Blocks(text(strings.Repeat("The same sentence again, word for word. ", 6)))},
	}
}

// TestPlantedFaults spoils a lawful strategy in one way after another: the suite must name each of them.
func TestPlantedFaults(t *testing.T) {
	set := func(edit func(c *connector.Chunk, text string)) func([]connector.Chunk, string) []connector.Chunk {
		return func(chunks []connector.Chunk, text string) []connector.Chunk {
			if len(chunks) > 2 {
				edit(&chunks[1], text)
			}
			return chunks
		}
	}
	respan := func(c *connector.Chunk, text string, start, end int) {
		c.Spans = []connector.Span{{Start: start, End: end}}
		c.Text = text[start:end]
	}
	for name, c := range map[string]struct {
		spoil func([]connector.Chunk, string) []connector.Chunk
		want  string
	}{
		"drops a chunk":         {func(c []connector.Chunk, _ string) []connector.Chunk { return slices.Delete(c, 1, min(2, len(c))) }, "law 1"},
		"drops the last word":   {set(func(c *connector.Chunk, text string) { respan(c, text, c.Spans[0].Start, c.Spans[0].Start+4) }), "law 1"},
		"over the cap":          {set(func(c *connector.Chunk, text string) { respan(c, text, c.Spans[0].Start, len(text)) }), "law 2"},
		"context over the cap":  {set(func(c *connector.Chunk, _ string) { c.Context = strings.Repeat("context ", 20) }), "law 2"},
		"false forced split":    {set(func(c *connector.Chunk, _ string) { c.ForcedSplit = true }), "law 2"},
		"cuts a word":           {set(func(c *connector.Chunk, text string) { respan(c, text, c.Spans[0].Start+1, c.Spans[0].End) }), "law 3"},
		"other text":            {set(func(c *connector.Chunk, _ string) { c.Text = strings.ToUpper(c.Text) }), "law 4"},
		"shifted spans":         {set(func(c *connector.Chunk, _ string) { c.Spans[0].Start--; c.Spans[0].End-- }), "law 4"},
		"spans out of the text": {set(func(c *connector.Chunk, text string) { c.Spans[0].End = len(text) + 1 }), "law 4"},
		"spans out of order":    {set(func(c *connector.Chunk, _ string) { c.Spans = append(c.Spans, c.Spans[0]) }), "law 4"},
		"context spans outside": {set(func(c *connector.Chunk, text string) {
			c.ContextSpans = []connector.Span{{Start: 0, End: len(text) + 9}}
		}), "law 4"},
		"no spans":              {set(func(c *connector.Chunk, _ string) { c.Spans = nil }), "law 4"},
		"blank chunk":           {set(func(c *connector.Chunk, _ string) { c.Text = " " }), "empty chunk"},
		"mojibake":              {set(func(c *connector.Chunk, _ string) { c.Text = "\xe4\xb8" }), "UTF-8"},
		"replacement character": {set(func(c *connector.Chunk, _ string) { c.Text = "\uFFFD" }), "UTF-8"},
		"twice":                 {func(c []connector.Chunk, _ string) []connector.Chunk { return slices.Insert(c, 1, c[0]) }, "offsets"},
		"backwards":             {func(c []connector.Chunk, _ string) []connector.Chunk { slices.Reverse(c); return c }, "offsets"},
		"orphan":                {set(func(c *connector.Chunk, _ string) { c.ParentKey = "nobody" }), "keys"},
		"same key": {func(c []connector.Chunk, _ string) []connector.Chunk {
			for k := range c {
				c[k].Key = "k"
			}
			return c
		}, "keys"},
	} {
		t.Run(name, func(t *testing.T) {
			if !breaks(packer{limit: 60, spoil: c.spoil, calls: new(atomic.Int64)}, c.want, inputs()...) {
				t.Errorf("the suite does not notice (%s)", c.want)
			}
		})
	}
	t.Run("differs from run to run", func(t *testing.T) {
		spoil := func(c []connector.Chunk, _ string) []connector.Chunk { return c[:len(c)-1] }
		if !breaks(packer{limit: 60, spoil: spoil, vary: true, calls: new(atomic.Int64)}, "law 5", inputs()...) {
			t.Error("the suite does not notice")
		}
	})
}

// TestPlantedCuts cuts what the packer by itself cannot: clusters, line ends, atoms, rows and cells.
func TestPlantedCuts(t *testing.T) {
	at := func(p int, forced bool) func([]connector.Chunk, string) []connector.Chunk {
		return func(_ []connector.Chunk, text string) []connector.Chunk {
			return []connector.Chunk{
				{Text: text[:p], Spans: []connector.Span{{End: p}}, ForcedSplit: forced},
				{Text: text[p:], Spans: []connector.Span{{Start: p, End: len(text)}}, ForcedSplit: forced},
			}
		}
	}
	family := "👨‍👩‍👧 x"
	fence := Blocks(Fence(1))
	table := Blocks(Table(3))
	rendered := func(cells ...string) func([]connector.Chunk, string) []connector.Chunk {
		return func(_ []connector.Chunk, text string) []connector.Chunk {
			return []connector.Chunk{{Text: strings.Join(cells, "; "), Spans: []connector.Span{{End: len(text)}}, Rendered: true}}
		}
	}
	for name, c := range map[string]struct {
		in    []connector.Element
		limit int
		spoil func([]connector.Chunk, string) []connector.Chunk
		want  string
	}{
		"emoji":       {Blocks(text(family)), 60, at(7, true), "law 3"},
		"combining":   {Blocks(text("cafe\u0301 x")), 60, at(4, true), "law 3"},
		"CRLF":        {Blocks(text("a\r\nb")), 60, at(2, false), "law 3"},
		"number":      {Blocks(text("a 3.14 b")), 60, at(4, false), "law 3"},
		"URL":         {Blocks(text("a https://example.com/x b")), 60, at(10, false), "law 3"},
		"fence":       {fence, 200, at(10, false), "law 3"},
		"big fence":   {fence, 30, at(7, false), "not marked"},
		"row":         {table, 200, at(strings.Index(table[0].Text, "name 2")-1, false), "law 3"},
		"long word":   {Blocks(text(strings.Repeat("x", 80))), 60, at(40, false), "not marked"},
		"lost cell":   {Blocks(Table(1)), 60, rendered("1", "name 1"), "law 4"},
		"cells mixed": {Blocks(Table(1)), 60, rendered("数据 1", "name 1", "1"), "law 4"},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Name: name, Elements: c.in}
			chunks := c.spoil(nil, in.Text())
			for _, err := range Laws(packer{limit: c.limit, calls: new(atomic.Int64)}.Info(), in, chunks) {
				if strings.Contains(err.Error(), c.want) {
					return
				}
			}
			t.Errorf("the suite does not notice (%s)", c.want)
		})
	}
}

// TestLawful shows that the suite finds nothing where there is nothing.
func TestLawful(t *testing.T) {
	p := packer{limit: 60, calls: new(atomic.Int64)}
	for _, in := range inputs() {
		for _, err := range Check(p, in) {
			t.Error(err)
		}
	}
	for _, err := range Contract(p) {
		t.Error(err)
	}
	if len(Contract(packer{limit: 60, calls: new(atomic.Int64), deaf: true})) < 2 {
		t.Error("a strategy that is deaf to errors and to the context passes")
	}
}

// breaks tells whether the suite names a fault.
func breaks(s connector.Strategy, want string, ins ...Input) bool {
	for _, in := range ins {
		for _, err := range Check(s, in) {
			if strings.HasPrefix(err.Error(), want) {
				return true
			}
		}
	}
	return false
}
