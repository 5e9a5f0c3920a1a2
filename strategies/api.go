package strategies

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// APIConfig configures the strategy api.
type APIConfig struct {
	Sizing     `yaml:",inline"`
	References bool `yaml:"references" doc:"put the schemas, types and messages that a chunk refers to into its context, one level deep, as far as there is room"`
}

// apiCaps are the caps of api where none is set: those of code, of which descriptions of interfaces are a kind.
var apiCaps = defaults{tokens: 800, chars: 3000}

func apiDefaults() APIConfig { return APIConfig{Sizing: Sizing{MinChars: 20}, References: true} }

// Validate reports what cannot work.
func (c APIConfig) Validate() error { return c.Sizing.Validate() }

// apiStrategy cuts descriptions of interfaces.
type apiStrategy struct {
	b    *budget
	refs bool
}

var _ connector.Strategy = (*apiStrategy)(nil)

// API is the strategy api: one operation, schema, type, message or rpc in each chunk, however small the file, below the
// title of the API, the tag or service and the name. What stands beside them (info, servers, imports) is packed together.
// What does not fit is cut by parameter, property or field, below the key or the line that opens it. The schemas, types
// and messages that a chunk refers to follow in its context, one level deep, so that circular references end. Text that
// is no such description is cut like the strategy markdown does.
func API() connector.StrategyPlugin {
	return connector.Define("api", "One operation, schema, type or rpc in each chunk, with what it refers to in the context", apiDefaults(),
		func(_ context.Context, c *APIConfig, env connector.StrategyEnv) (connector.Strategy, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("api: %w", err)
			}
			b, err := c.open(env, apiCaps)
			if err != nil {
				return nil, fmt.Errorf("api: %w", err)
			}
			return &apiStrategy{b: b, refs: c.References}, nil
		})
}

// Info describes the strategy.
func (s *apiStrategy) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "api", Parser: "apidoc", Version: 1, Caps: s.b.caps}
}

// Chunks cuts one file. A description is held whole, since what it refers to may stand anywhere in it; other text streams.
func (s *apiStrategy) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		next, stop := iter.Pull2(textual(ctx, elements))
		defer stop()
		var els []connector.Element
		for el, err, ok := next(); ok; el, err, ok = next() {
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			if el.Text == "" {
				continue
			}
			if el.Symbol == nil && len(els) == 0 {
				cutBlocks(ctx, s.b, layout{prefix: true}, nil, resume([]connector.Element{el}, next))(yield)
				return
			}
			els = append(els, el)
		}
		s.cut(ctx, els, yield)
	}
}

// cut cuts a description, a window after the other.
func (s *apiStrategy) cut(ctx context.Context, els []connector.Element, yield func(connector.Chunk, error) bool) {
	a := &apiCutter{refs: s.refs, yield: yield, b: s.b}
	a.note(els)
	a.f = newFlow(s.b, layout{}, a.finish)
	for lo := 0; lo < len(els) && !a.f.done; {
		if err := ctx.Err(); err != nil {
			yield(connector.Chunk{}, err)
			return
		}
		hi := lo + 1
		for hi < len(els) && els[hi].Span.End-els[lo].Span.Start < windowLimit {
			hi++
		}
		a.f.els = els[lo:hi]
		a.window(a.f.window())
		a.f.out.flush()
		lo = hi
	}
}

// apiUnit is what becomes a chunk of its own: an operation with what belongs to it, or a whole symbol.
type apiUnit struct {
	region
	owner *connector.Element // the path item, service or type around an operation, if that starts in another unit
	loose bool               // may share a chunk with its neighbours
}

// standsAlone tells the symbols inside others that are units.
func standsAlone(kind string) bool {
	switch kind {
	case "operation", "rpc", "query", "mutation", "subscription":
		return true
	}
	return false
}

// units are the units of a window.
func (a *apiCutter) unitsOf(w *window) []apiUnit {
	var out []apiUnit
	for i := range w.els {
		el := &w.els[i]
		u := apiUnit{region: region{lo: w.at(i), hi: w.at(i + 1), top: i}}
		if el.Symbol == nil {
			out = append(out, u)
			continue
		}
		u.el, u.loose = el, el.Symbol.Kind == "member"
		first := true
		for j := range el.Children {
			c := &el.Children[j]
			if c.Symbol == nil || !standsAlone(c.Symbol.Kind) {
				continue
			}
			if at := c.Span.Start - w.base; !first && at > u.lo {
				out = append(out, apiUnit{region: region{lo: u.lo, hi: at, top: i, el: u.el}, owner: u.owner})
				u.lo, u.owner = at, el
			}
			u.el, first = c, false
		}
		out = append(out, u)
	}
	return out
}

// window cuts a window.
func (a *apiCutter) window(w *window) {
	a.w, a.k = w, &coder{w: w}
	units := a.unitsOf(w)
	a.units = units
	for i := 0; i < len(units) && !a.f.done; {
		j := i + 1
		if units[i].el == nil {
			w.pack(w.parts(units[i].top, units[i].top+1, nil), nil, -1)
			i = j
			continue
		}
		x := a.contexts(a.crumbOf(&units[i]), a.heads(&units[i]))
		if units[i].loose {
			for j < len(units) && units[j].loose && a.k.fits(units[i].lo, units[j].hi, leanest(x)) {
				j++
			}
		} else {
			j = a.withShort(units, i, leanest(x))
		}
		a.unit(&units[i], units[j-1].hi, x)
		a.f.out.flush()
		i = j
	}
}

// withShort is the end of the run of units that share the chunk of unit i: those after one under min_chars, and the last
// one of the window if it is under min_chars.
func (a *apiCutter) withShort(units []apiUnit, i int, x *extra) int {
	j := i + 1
	for j < len(units) && units[j].el != nil && a.k.fits(units[i].lo, units[j].hi, x) &&
		(a.short(units[i].lo, units[j-1].hi) || j == len(units)-1 && a.short(units[j].lo, units[j].hi)) {
		j++
	}
	return j
}

// short tells whether a range has fewer characters than min_chars.
func (a *apiCutter) short(lo, hi int) bool {
	return utf8.RuneCountInString(strings.TrimSpace(a.w.text[lo:hi])) < a.b.minChars
}
