package strategies

import (
	"context"
	"fmt"
	"iter"
	"maps"

	"github.com/kbsync/kbsync/connector"
)

// AdaptiveConfig configures the strategy adaptive.
type AdaptiveConfig struct {
	Sizing    `yaml:",inline"`
	MinTokens int `yaml:"min_tokens" doc:"size of a chunk of the densest text, in the unit (characters with unit: chars); 0: a quarter of the cap"`
}

// adaptiveCaps are the caps of adaptive where none is set: those of the plainest text.
var adaptiveCaps = defaults{tokens: 800, chars: 2400}

// Validate reports what cannot work.
func (c AdaptiveConfig) Validate() error {
	if c.MinTokens < 0 {
		return fmt.Errorf("min_tokens is %d: it must not be negative (0: a quarter of the cap)", c.MinTokens)
	}
	if err := c.Sizing.Validate(); err != nil {
		return err
	}
	if size := c.primary(adaptiveCaps); c.MinTokens > size {
		return fmt.Errorf("min_tokens is %d but the cap is %d: lower it or raise the cap", c.MinTokens, size)
	}
	return nil
}

// adaptive cuts dense text small and plain text large.
type adaptive struct {
	b      *budget
	levels [densityLevels]*budget
	c      textCut
	window passageWindow
}

var _ connector.Strategy = (*adaptive)(nil)

// Adaptive is the strategy adaptive: running text is cut as by [Recursive], but the size of the chunks, and with it an overlap in percent,
// follows the density of the passage: how many different words it has, how evenly they are used, and how many of them are numbers and terms,
// in a window of 2,000 bytes on either side. There are four sizes from min_tokens to max_tokens. A passage begins at a paragraph, or at a
// sentence of a paragraph over 4,000 bytes; one that would hold less than about a small chunk joins its neighbour. No overlap reaches over
// the border of a passage. Metadata: density (low, medium, high, very_high).
func Adaptive() connector.StrategyPlugin {
	return connector.Define("adaptive", "Sizes follow the density of each passage: text full of terms and numbers is cut small, plain text large",
		AdaptiveConfig{Sizing: Sizing{MinChars: 20, Overlap: Amount{N: 10, Percent: true}}}, openAdaptive)
}

func openAdaptive(_ context.Context, c *AdaptiveConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("adaptive: %w", err)
	}
	b, err := c.open(env, adaptiveCaps)
	if err != nil {
		return nil, fmt.Errorf("adaptive: %w", err)
	}
	largest := b.caps[0].Max
	least := c.MinTokens
	if least == 0 {
		least = max(1, largest/4)
	}
	least = min(least, largest)
	s := &adaptive{b: b, c: textCut{cutting: cutting{seps: defaultSeparators(), fill: minFill}, anchored: true, good: levelLatinSemi}}
	for k := range s.levels {
		size := largest - (largest-least)*k/(densityLevels-1)
		part := *b
		part.caps = append([]connector.Cap(nil), b.caps...)
		part.caps[0].Max = size
		part.overlap = b.overlap * size / largest
		s.levels[k] = &part
	}
	s.window = passageWindow{least: 4 * least, limit: s.limit}
	if c.unit() == unitChars {
		s.window.least = 2 * least
	}
	return s, nil
}

// Info describes it.
func (s *adaptive) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "adaptive", Version: 1, Caps: s.b.caps}
}

// Chunks streams: it holds a window of the text.
func (s *adaptive) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		next, stop := iter.Pull2(s.window.passages(elements))
		defer stop()
		p := &passageReader{next: next}
		p.advance()
		for p.more {
			level := max(0, p.block.level)
			base := p.block.el.Span.Start
			for c, err := range chunkText(ctx, s.levels[level], s.c, p.passage(base)) {
				if err == nil {
					shiftChunk(&c, base)
					c.Metadata = maps.Clone(c.Metadata)
					if c.Metadata == nil {
						c.Metadata = map[string]any{}
					}
					c.Metadata["density"] = densityName(level)
				}
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

// limit is the densest level at which nothing of the element is cut that fits the cap and must stay together.
func (s *adaptive) limit(before string, el *connector.Element) int {
	level := densityLevels - 1
	for text := range keptTogether(before, el) {
		level = min(level, s.holds(text))
	}
	return level
}

// holds is the densest level whose chunks hold a text. What is over the cap is cut in any case, but may be made of words that fit it.
func (s *adaptive) holds(text string) int {
	c := s.b.caps[0]
	most := func(level int) int { return s.levels[level].caps[0].Max }
	if underByBytes(c, len(text), most(densityLevels-1)) {
		return densityLevels - 1
	}
	n := c.Counter.Count(text)
	level := densityLevels - 1
	for level > 0 && n > most(level) {
		level--
	}
	return level
}

// passageReader gives the blocks of one passage after the other as elements.
type passageReader struct {
	next     func() (densityBlock, error, bool)
	block    densityBlock // the next one
	err      error
	more     bool
	headings []connector.Element // those that hold, without their text
}

func (p *passageReader) advance() {
	p.block, p.err, p.more = p.next()
	p.more = p.more || p.err != nil
}

// passage yields the elements of the passage that starts at base, with spans from there on. The headings that hold come before
// them, without text.
func (p *passageReader) passage(base int) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		for _, h := range p.headings {
			h.Page = p.block.el.Page
			if !yield(h, nil) {
				return
			}
		}
		level := p.block.level
		for p.more && (p.err != nil || p.block.level == level) {
			el, err := p.block.el, p.err
			if err == nil {
				p.note(&el)
				el = shifted(el, -base)
			}
			p.advance()
			if !yield(el, err) || err != nil {
				return
			}
		}
	}
}

// note remembers a heading.
func (p *passageReader) note(el *connector.Element) {
	if el.Kind != connector.KindHeading || el.Level <= 0 {
		return
	}
	k := len(p.headings)
	for k > 0 && p.headings[k-1].Level >= el.Level {
		k--
	}
	p.headings = append(p.headings[:k:k], connector.Element{Kind: connector.KindHeading, Level: el.Level, Title: el.Title})
}

// shifted is an element whose spans are moved by d, and those of what the text cutter keeps whole in it.
func shifted(el connector.Element, d int) connector.Element {
	if d == 0 {
		return el
	}
	move := func(s connector.Span) connector.Span { return connector.Span{Start: s.Start + d, End: s.End + d} }
	el.Span = move(el.Span)
	if el.Table != nil {
		t := *el.Table
		t.HeaderSpan = move(t.HeaderSpan)
		t.Rows = append([]connector.Row(nil), t.Rows...)
		for k := range t.Rows {
			t.Rows[k].Span = move(t.Rows[k].Span)
		}
		el.Table = &t
	}
	if len(el.Children) > 0 {
		children := make([]connector.Element, len(el.Children))
		for k := range children {
			children[k] = shifted(el.Children[k], d)
		}
		el.Children = children
	}
	return el
}

// shiftChunk moves a chunk's spans by d.
func shiftChunk(c *connector.Chunk, d int) {
	for k := range c.Spans {
		c.Spans[k].Start += d
		c.Spans[k].End += d
	}
	for k := range c.ContextSpans {
		c.ContextSpans[k].Start += d
		c.ContextSpans[k].End += d
	}
}
