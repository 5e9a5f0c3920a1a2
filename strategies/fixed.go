package strategies

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// FixedConfig configures the strategy "fixed".
type FixedConfig struct {
	Sizing `yaml:",inline"`
	Compat string `yaml:"compat" enum:"tokentext" doc:"windows over one encoding of the whole text, as TokenTextSplitter makes them"`
}

// Validate checks what does not need the embedder.
func (c FixedConfig) Validate() error {
	if c.Compat != "" && c.Compat != "tokentext" {
		return fmt.Errorf("compat is %q: choose tokentext, or leave it out", c.Compat)
	}
	return c.Sizing.Validate()
}

// fixed makes windows of equal size, with a step of size less overlap. Both ends stand between grapheme clusters.
type fixed struct{ b *budget }

var _ connector.Strategy = (*fixed)(nil)

// Fixed is the strategy "fixed".
func Fixed() connector.StrategyPlugin {
	return connector.Define("fixed", "Windows of a number of characters or tokens; words may be cut. A baseline.", FixedConfig{}, openFixed)
}

func openFixed(_ context.Context, c *FixedConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("fixed: %w", err)
	}
	b, err := c.open(env, proseDefaults)
	if err != nil {
		return nil, fmt.Errorf("fixed: %w", err)
	}
	if c.Compat == "" {
		return &fixed{b: b}, nil
	}
	t, ok := b.caps[0].Counter.(tokenizer)
	if !ok {
		return nil, fmt.Errorf("fixed: compat: tokentext cuts between tokens, which %q has none of to show: set tokenizer to cl100k or o200k", b.caps[0].Counter.Name())
	}
	return &tokenText{b: b, t: t}, nil
}

// Info describes it.
func (s *fixed) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "fixed", Version: 1, Caps: s.b.caps, Exempt: true}
}

// Chunks streams: it holds a window of the text.
func (s *fixed) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		w := &windows{b: s.b, yield: yield}
		for el, err := range textual(ctx, elements) {
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			w.parts = append(w.parts, el.Text)
			w.waiting += len(el.Text)
			if w.waiting >= max(windowBytes, len(w.text)-w.pos) && !w.process(false) {
				return
			}
		}
		w.process(true)
	}
}

// windows is the state of one document.
type windows struct {
	b       *budget
	yield   func(connector.Chunk, error) bool
	parts   []string
	waiting int
	text    string
	base    int
	pos     int // where the next window starts, in text
	end     int // where the last one ended, in text
}

// process makes the windows that the text at hand decides. It returns false once the consumer wants no more.
func (w *windows) process(final bool) bool {
	if w.text != "" {
		w.parts = append([]string{w.text[w.pos:]}, w.parts...)
		w.base, w.end, w.pos = w.base+w.pos, w.end-w.pos, 0
	}
	w.text = strings.Join(w.parts, "")
	w.parts, w.waiting = nil, 0
	m := w.b.measure(w.text)
	hi := len(w.text)
	if _, end := trimSpan(w.text, 0, hi); final {
		hi = end
	}
	for w.pos = afterBlankLines(w.text, w.pos, hi); w.pos < hi; {
		// What becomes the chunk is measured: a token that begins with the blank before a word is another without it.
		begin := skipTo(trimSpan(w.text, w.pos, hi))
		stop := m.furthest(begin, hi, nil)
		if stop < hi || !m.fits(begin, hi, nil) {
			stop, _ = m.clusterCut(begin, hi, stop, nil)
		}
		if !final && stop+2*anchorBytes > hi {
			return true
		}
		if stop <= w.end { // the overlap alone filled the window
			w.pos = w.end
			continue
		}
		start, end := trimSpan(w.text, w.pos, stop)
		for start < end && !m.fits(start, end, nil) { // without the blank at its end a token may part in two
			stop, _ = m.clusterCut(start, hi, end-1, nil)
			start, end = trimSpan(w.text, w.pos, stop)
		}
		if start < end {
			chunk := connector.Chunk{Text: w.text[start:end], Spans: []connector.Span{{Start: w.base + start, End: w.base + end}}}
			chunk.Tokens, chunk.TokenUnit = m.tokens(start, end, nil)
			if !w.yield(chunk, nil) {
				return false
			}
		}
		w.end = stop
		if w.pos = m.windowStart(w.pos, stop, w.b.overlap); stop == hi {
			w.pos = hi
		}
		w.pos = afterBlankLines(w.text, w.pos, hi) // now, while what stands before it is known
	}
	return true
}

// skipTo is the start of a trimmed span.
func skipTo(start, _ int) int { return start }

// farIndent is how long an indentation may be to be kept.
const farIndent = 256

// afterBlankLines is the start of the first line at or after p that is not blank, or hi. Of a very long run of blanks nothing
// is kept, so that it is looked at once.
func afterBlankLines(text string, p, hi int) int {
	q := skipBlank(text, p, hi)
	if q == hi {
		return hi
	}
	if n := strings.LastIndexAny(text[max(p, q-farIndent):q], "\n\r"); n >= 0 {
		return max(p, q-farIndent) + n + 1
	}
	if q-p > farIndent || p > 0 && text[p-1] != '\n' && text[p-1] != '\r' {
		return q // in mid-line, or too far: no indentation
	}
	return p
}

// windowStart is the first grapheme boundary behind lo from which at most overlap is left to stop.
func (m *measure) windowStart(lo, stop, overlap int) int {
	if overlap == 0 {
		return stop
	}
	far, near := lo, stop
	for near-far > 1 {
		mid := int(uint(far+near) / 2)
		if m.size(mid, stop) > overlap {
			far = mid
		} else {
			near = mid
		}
	}
	at := graphemeFloor(m.text, lo, near)
	if at < near || at <= lo { // inside a cluster: the overlap starts behind it
		at = graphemeCeil(m.text, max(at, lo), stop)
	}
	return min(at, stop)
}

// tokenizer is a Counter that shows where its tokens end.
type tokenizer interface {
	Offsets(text string) []int32
}

// tokenText makes windows over the tokens of the whole text, as TokenTextSplitter of LangChain and FixedTokenChunker of
// Chroma do. Where a token ends inside a character, the character goes to the window that it starts in, for a chunk is text
// without replacement characters.
type tokenText struct {
	b *budget
	t tokenizer
}

var _ connector.Strategy = (*tokenText)(nil)

// Info describes it.
func (s *tokenText) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "fixed/tokentext", Version: 1, Exempt: true}
}

// Chunks gathers the text and cuts it.
func (s *tokenText) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return wholeText(ctx, elements, func(text string, yield func(connector.Chunk, error) bool) {
		ends := s.t.Offsets(text)
		at := func(k int) int { // where token k starts
			if k == 0 {
				return 0
			}
			return runeFloor(text, 0, int(ends[k-1]))
		}
		size, step := s.b.caps[0].Max, s.b.caps[0].Max-s.b.overlap
		for k := 0; k < len(ends); k += step {
			stop := min(k+size, len(ends))
			lo, hi := at(k), at(stop)
			if strings.TrimSpace(text[lo:hi]) != "" {
				if !yield(connector.Chunk{Text: text[lo:hi], Spans: []connector.Span{{Start: lo, End: hi}}}, nil) {
					return
				}
			}
			if stop == len(ends) {
				return
			}
		}
	})
}
