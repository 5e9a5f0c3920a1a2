package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/features"
)

// AutoConfig configures the strategy auto.
type AutoConfig struct {
	Sizing `yaml:",inline"`
}

func autoDefaults() AutoConfig {
	return AutoConfig{Sizing: Sizing{MinChars: 20, Overlap: Amount{N: 10, Percent: true}}}
}

// Validate reports what cannot work.
func (c AutoConfig) Validate() error { return c.Sizing.Validate() }

// Auto is the strategy auto: it looks at the beginning of a document and chooses the strategy and its sizes by rules. The first rule is that
// a document which fits one chunk is not cut. Every chunk names the choice and its reason in its metadata, as strategy_choice and
// strategy_reason; the reason names thresholds and no figures, so that it changes only with an answer.
func Auto() connector.StrategyPlugin {
	return connector.Define("auto", "Chooses a strategy and its sizes for each document, by rules over measured features; what fits one chunk stays whole",
		autoDefaults(), func(ctx context.Context, c *AutoConfig, env connector.StrategyEnv) (connector.Strategy, error) {
			s, err := openChooser(ctx, c.Sizing, env)
			if err != nil {
				return nil, fmt.Errorf("auto: %w", err)
			}
			return &auto{s}, nil
		})
}

type auto struct{ *chooser }

var _ connector.Strategy = (*auto)(nil)

// Info describes it. The version changes with that of every strategy it may choose.
func (s *auto) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "auto", Version: 1 + s.version, Caps: s.caps}
}

// Chunks holds the first 256 KiB of the text, and what the chosen strategy holds.
func (s *auto) Chunks(ctx context.Context, doc *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return s.chunks(ctx, doc, elements, s.byRules)
}

// Explain says how a document would be cut, and why.
func (s *auto) Explain(ctx context.Context, doc *connector.Document, elements iter.Seq2[connector.Element, error]) (*features.Decision, error) {
	return s.explain(ctx, doc, elements, s.byRules)
}

// chooser is what auto and agentic share: the strategies they choose from, and the beginning of the document that they look at.
type chooser struct {
	c       Sizing
	env     connector.StrategyEnv
	fit     *budget // what one chunk may hold
	caps    []connector.Cap
	kinds   map[string]bool // those of this build
	version int
}

// openChooser opens every strategy that may be chosen, so that what cannot work shows at once and the caps of all are known.
func openChooser(ctx context.Context, c Sizing, env connector.StrategyEnv) (*chooser, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	fit, err := c.open(env, blockCaps)
	if err != nil {
		return nil, err
	}
	s := &chooser{c: c, env: env, fit: fit, kinds: map[string]bool{}}
	var bounds []connector.StrategyInfo
	for _, kind := range choosable() {
		inner, err := s.open(ctx, cutPlan{kind: kind})
		if errors.Is(err, errors.ErrUnsupported) && kind != "recursive" {
			continue
		}
		if err != nil {
			return nil, err
		}
		info := inner.Info()
		s.kinds[kind] = true
		s.version += info.Version
		if kind != "whole" { // it is chosen only for what fits
			bounds = append(bounds, info)
		}
	}
	s.caps = widest(fit.caps, bounds)
	return s, nil
}

// widest are the caps that hold whichever strategy is chosen: of each unit that all of them count, the largest.
func widest(first []connector.Cap, infos []connector.StrategyInfo) []connector.Cap {
	var out []connector.Cap
	for _, c := range first {
		everywhere := true
		for _, info := range infos {
			found := false
			for _, other := range info.Caps {
				if other.Counter.Name() == c.Counter.Name() {
					found = true
					c.Max = max(c.Max, other.Max)
				}
			}
			everywhere = everywhere && found
		}
		if everywhere {
			out = append(out, c)
		}
	}
	return out
}

func (s *chooser) open(ctx context.Context, p cutPlan) (connector.Strategy, error) {
	return s.env.Strategy(ctx, connector.Choice{Kind: p.kind, Config: p.config(s.c)})
}

// docHead is the beginning of a document.
type docHead struct {
	elements []connector.Element
	whole    bool // there is no more
	features features.Features
	fits     bool // the whole text fits one chunk
}

// pulled gives the elements of a document one at a time.
type pulled func() (connector.Element, error, bool)

// lookAt reads as much of a document as is measured.
func (s *chooser) lookAt(ctx context.Context, next pulled) (*docHead, error) {
	h := &docHead{}
	var m features.Meter
	for !m.Full() {
		el, err, ok := next()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			h.whole = true
			break
		}
		m.Add(&el)
		h.elements = append(h.elements, el)
	}
	h.features = m.Features(h.whole)
	if h.whole {
		text := parsedText(h.elements)
		start, end := trimSpan(text, 0, len(text))
		h.fits = start == end || s.fit.measure(text).fits(start, end, nil)
	}
	return h, nil
}

// replay yields what was looked at, which it lets go, and then the rest.
func (h *docHead) replay(next pulled) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		for k := range h.elements {
			el := h.elements[k]
			h.elements[k] = connector.Element{}
			if !yield(el, nil) {
				return
			}
		}
		h.elements = nil
		for !h.whole {
			el, err, ok := next()
			if !ok || !yield(el, err) || err != nil {
				return
			}
		}
	}
}

// decider says how a document is cut.
type decider func(ctx context.Context, doc *connector.Document, h *docHead) (cutPlan, *features.Decision, error)

func (s *chooser) chunks(ctx context.Context, doc *connector.Document, elements iter.Seq2[connector.Element, error], decide decider) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		next, stop := iter.Pull2(elements)
		defer stop()
		h, err := s.lookAt(ctx, next)
		var d *features.Decision
		var inner connector.Strategy
		if err == nil {
			var p cutPlan
			if p, d, err = decide(ctx, doc, h); err == nil {
				inner, err = s.open(ctx, p)
			}
		}
		if err != nil {
			yield(connector.Chunk{}, err)
			return
		}
		for c, err := range inner.Chunks(ctx, doc, h.replay(next)) {
			if err == nil {
				c.Metadata = chosen(c.Metadata, d)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// chosen adds the choice to a chunk's metadata.
func chosen(m map[string]any, d *features.Decision) map[string]any {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]any{}
	}
	m["strategy_choice"], m["strategy_reason"] = d.Choice, d.Reason
	return m
}

func (s *chooser) explain(ctx context.Context, doc *connector.Document, elements iter.Seq2[connector.Element, error], decide decider) (*features.Decision, error) {
	next, stop := iter.Pull2(elements)
	defer stop()
	h, err := s.lookAt(ctx, next)
	if err != nil {
		return nil, err
	}
	_, d, err := decide(ctx, doc, h)
	return d, err
}

// parsedText is the parsed text of elements.
func parsedText(elements []connector.Element) string {
	n := 0
	for k := range elements {
		if elements[k].Kind != connector.KindDropped {
			n += len(elements[k].Text)
		}
	}
	b := make([]byte, 0, n)
	for k := range elements {
		if elements[k].Kind != connector.KindDropped {
			b = append(b, elements[k].Text...)
		}
	}
	return string(b)
}
