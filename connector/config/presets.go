package config

import (
	"reflect"
	"slices"
	"strings"
)

// presetStrategy is the strategy of a preset, as a rule would write it; empty for a name that is none. What it changes is decoded over the
// strategy's defaults. docs/strategies/presets.md gives the reasons.
func presetStrategy(name string) string {
	switch name {
	case "faq": // 100 to 250 tokens, 10 to 15 %
		return "markdown: { max_tokens: 250, overlap: 12%, min_chars: 120 }"
	case "policy": // 400 to 800 tokens, 15 to 20 %, the section around a hit is the answer
		return "parent_child: { parent: section, of: { markdown: { max_tokens: 800, overlap: 15% } } }"
	case "api_docs":
		return "api: { max_tokens: 800 }"
	case "source_code":
		return "code: { max_tokens: 800 }"
	case "spreadsheet":
		return "table: { mode: rows }"
	case "paper": // 800 to 1,200 tokens, 20 %; structure first, then size, then small neighbours together
		return "markdown: { max_tokens: 1200, overlap: 20% }"
	case "blog":
		return "sentence: { max_tokens: 512, overlap_sentences: 1 }"
	case "legal":
		return "semantic: { max_tokens: 512, min_size: 20% }"
	}
	return ""
}

var ruleType = reflect.TypeFor[Rule]()

// rule decodes a rule. A preset stands for a strategy with settings; a strategy of the same kind beside it changes some of them.
func (d *decoder) rule(n *node, v reflect.Value, path string) {
	given := n.get("preset")
	if n.kind != mapNode || given == nil || given.kind != scalarNode || given.tag != "!!str" {
		d.structure(n, v, path)
		return
	}
	name, _, err := d.expand(given.value)
	text := presetStrategy(name)
	if err != nil || text == "" {
		d.structure(n, v, path) // says what is wrong with it
		return
	}
	base := stamped(readNodes("preset "+name, []byte(text), &d.errs), given.pos)
	kind := base.entries[0].key
	if set := kindsOf(d.reg, "strategy"); !slices.Contains(set.kinds, kind) {
		d.fail(given.pos, joinPath(path, "preset"), "the preset %s needs the strategy %s, which this build lacks; kinds: %s", name, kind, strings.Join(set.kinds, ", "))
		return
	}
	own := n.get("strategy")
	if own != nil && own.kind == mapNode && len(own.entries) > 0 {
		if own.entries[0].key != kind {
			d.fail(own.entries[0].keyPos, joinPath(path, "strategy"), "the preset %s is of the strategy %s, and a strategy beside it may only change its settings: write %s, or leave one of the two out",
				name, kind, kind)
			return
		}
		if own.entries[0].value.kind != nullNode {
			base = merge(base, own, "strategy")
		}
	} else if own != nil && own.kind != nullNode {
		base = own // its fault is told below
	}
	whole := &node{kind: mapNode, pos: n.pos}
	for _, e := range n.entries {
		if e.key != "strategy" {
			whole.entries = append(whole.entries, e)
		}
	}
	whole.entries = append(whole.entries, entry{"strategy", given.pos, base})
	d.structure(whole, v, path)
}

// stamped gives nodes a place: faults of a preset are told where it is named.
func stamped(n *node, pos Position) *node {
	n.pos = pos
	for _, item := range n.items {
		stamped(item, pos)
	}
	for i := range n.entries {
		n.entries[i].keyPos = pos
		stamped(n.entries[i].value, pos)
	}
	return n
}
