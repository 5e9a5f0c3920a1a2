package remote

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Fields is the key `fields`: names that differ from kbsync's own, or a preset that an existing application reads.
type Fields struct {
	Preset string // "langchain", "llamaindex" or empty
	Names  map[string]string
}

// UnmarshalYAML reads a preset's name or a mapping from kbsync's names to the database's.
func (f *Fields) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		switch n.Value {
		case "langchain", "llamaindex":
			f.Preset = n.Value
			return nil
		}
		return fmt.Errorf("fields: expected langchain, llamaindex or a mapping such as { content: text }, found %q", n.Value)
	}
	f.Names = map[string]string{}
	if err := n.Decode(&f.Names); err != nil {
		return fmt.Errorf("fields: expected a mapping such as { content: text }: %w", err)
	}
	return nil
}

// JSONSchema describes both forms.
func (Fields) JSONSchema() map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"enum": []string{"langchain", "llamaindex"}},
		map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}},
	}}
}

// Resolve gives the name of each of a sink's fields: its own defaults, changed by the preset and the mapping. Unknown
// names, empty ones and two fields of one name are errors.
func (f Fields) Resolve(defaults map[string]string, presets map[string]map[string]string) (map[string]string, error) {
	out := maps.Clone(defaults)
	if f.Preset != "" {
		preset, ok := presets[f.Preset]
		if !ok {
			return nil, fmt.Errorf("fields: this sink has no preset %s", f.Preset)
		}
		maps.Copy(out, preset)
	}
	for own, name := range f.Names {
		if _, ok := defaults[own]; !ok {
			return nil, fmt.Errorf("fields: there is no field %q: choose from %s", own, strings.Join(slices.Sorted(maps.Keys(defaults)), ", "))
		}
		if strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("fields: the name for %q is empty", own)
		}
		out[own] = name
	}
	owner := map[string]string{}
	for _, own := range slices.Sorted(maps.Keys(out)) {
		if other, taken := owner[out[own]]; taken && out[own] != "" {
			return nil, fmt.Errorf("fields: %s and %s have the same name %q", other, own, out[own])
		}
		owner[out[own]] = own
	}
	return out, nil
}
