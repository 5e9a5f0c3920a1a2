package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/kbsync/kbsync/connector"
)

// nestBase cuts the children: by the strategy that was chosen, or by the one that suits a document's elements.
type nestBase struct {
	chosen                     connector.Strategy // nil: by the elements
	text, blocks, tables, code connector.Strategy
}

// openBase opens the strategy below another one: the choice or, without one, those for running text, headings, tables and code at a size.
func openBase(ctx context.Context, of *connector.Choice, size Sizing, env connector.StrategyEnv) (*nestBase, error) {
	if of != nil {
		if env.Strategy == nil {
			return nil, errors.New("of: no other strategy can be opened here")
		}
		s, err := env.Strategy(ctx, *of)
		if err != nil {
			return nil, fmt.Errorf("of: %w", err)
		}
		if len(s.Info().ParentCaps) > 0 {
			return nil, fmt.Errorf("of: %s makes parents of its own: choose a strategy that only cuts", of.Kind)
		}
		return &nestBase{chosen: s}, nil
	}
	md, tab := markdownDefaults(), tableDefaults()
	md.Sizing, tab.Sizing = size, size
	b := &nestBase{}
	for _, x := range []struct {
		to     *connector.Strategy
		plugin connector.StrategyPlugin
		config any
	}{
		{&b.text, Recursive(), &RecursiveConfig{Sizing: size}}, {&b.blocks, Markdown(), &md}, {&b.tables, Table(), &tab}, {&b.code, Code(), &CodeConfig{Sizing: size}},
	} {
		s, err := x.plugin.Open(ctx, x.config, env)
		if err != nil {
			return nil, err
		}
		*x.to = s
	}
	return b, nil
}

// info is that of the strategy below; those that are chosen from have the same caps.
func (b *nestBase) info() connector.StrategyInfo {
	if b.chosen != nil {
		return b.chosen.Info()
	}
	info := b.text.Info()
	for _, s := range []connector.Strategy{b.blocks, b.tables, b.code} {
		info.Version += s.Info().Version
	}
	return info
}

// peekBytes is how much running text is looked at for the first sign of a structure.
const peekBytes = 64 << 10

// choose finds the strategy for a document. The elements that it looked at are given again; stop must be called in the end.
func (b *nestBase) choose(elements iter.Seq2[connector.Element, error]) (s connector.Strategy, again iter.Seq2[connector.Element, error], stop func()) {
	if b.chosen != nil {
		return b.chosen, elements, func() {}
	}
	next, stop := iter.Pull2(elements)
	var seen []connector.Element
	var failed error
	s = b.text
	for size, open := 0, true; open && size < peekBytes; {
		el, err, ok := next()
		if !ok {
			break
		}
		if err != nil {
			failed = err
			break
		}
		seen, size = append(seen, el), size+len(el.Text)
		if sure := b.byKind(el.Kind); sure != nil {
			s, open = sure, false
		}
	}
	return s, func(yield func(connector.Element, error) bool) {
		for _, el := range seen {
			if !yield(el, nil) {
				return
			}
		}
		if failed != nil {
			yield(connector.Element{}, failed)
			return
		}
		for el, err, ok := next(); ok; el, err, ok = next() {
			if !yield(el, err) || err != nil {
				return
			}
		}
	}, stop
}

// byKind is the strategy that a kind of element asks for; nil if it says nothing.
func (b *nestBase) byKind(kind connector.Kind) connector.Strategy {
	switch kind {
	case connector.KindText, connector.KindBreak, connector.KindDropped, connector.KindFrontMatter:
		return nil
	case connector.KindSymbol:
		return b.code
	case connector.KindTable, connector.KindRecord:
		return b.tables
	}
	return b.blocks
}
