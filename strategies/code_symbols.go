package strategies

import (
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// path is the chain of names down to s.
func (s *scope) path() []string {
	if s == nil {
		return nil
	}
	if len(s.el.Symbol.Path) > 0 {
		return s.el.Symbol.Path
	}
	up := s.parent.path()
	if s.el.Symbol.Name == "" {
		return up
	}
	return append(up[:len(up):len(up)], s.el.Symbol.Name)
}

// maxSymbols bounds the list of symbols of one chunk.
const maxSymbols = 100

// symbolNames is the chain of names down to a symbol.
func symbolNames(el *connector.Element) []string {
	if len(el.Symbol.Path) == 0 {
		return []string{el.Symbol.Name}
	}
	return el.Symbol.Path
}

// describeSymbols sets headings and metadata of a chunk of code: the one symbol in it, or the declaration around several
// and their paths.
func describeSymbols(d *draft, c *connector.Chunk) {
	if d.scope == nil && len(d.syms) == 0 {
		return
	}
	path, kind := d.scope.path(), ""
	if d.scope != nil {
		kind = d.scope.el.Symbol.Kind
	}
	named := namedSymbols(d.syms)
	switch {
	case len(named) == 1, len(named) > 1 && d.scope == nil && inFirst(named):
		kind, path = named[0].Symbol.Kind, symbolNames(named[0])
	case len(named) == 0 && len(d.syms) > 0 && d.scope == nil:
		kind = d.syms[0].Symbol.Kind
	}
	c.Headings = path
	meta := map[string]any{}
	if len(path) > 0 {
		meta["symbol"] = strings.Join(path, ".")
	}
	if kind != "" {
		meta["symbol_kind"] = kind
	}
	if len(named) > 1 {
		list := make([]any, 0, len(named)) // any, as the sinks keep lists
		for _, el := range named[:min(len(named), maxSymbols)] {
			list = append(list, strings.Join(symbolNames(el), "."))
		}
		meta["symbols"] = list
	}
	if len(meta) > 0 {
		c.Metadata = meta
	}
}

// namedSymbols are the symbols that have names, each once.
func namedSymbols(syms []*connector.Element) []*connector.Element {
	var out []*connector.Element
	for _, el := range syms {
		if el.Symbol.Name != "" && (len(out) == 0 || out[len(out)-1] != el) {
			out = append(out, el)
		}
	}
	return out
}

// inFirst tells whether all symbols but the first stand in the first.
func inFirst(syms []*connector.Element) bool {
	outer := symbolNames(syms[0])
	for _, el := range syms[1:] {
		if names := symbolNames(el); len(names) < len(outer) || !slices.Equal(names[:len(outer)], outer) {
			return false
		}
	}
	return true
}
