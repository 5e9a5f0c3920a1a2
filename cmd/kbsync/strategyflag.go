package main

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
)

// strategyRule makes a rule for every document out of --strategy and --set; nil if neither is given. The options are
// checked exactly as those of a configuration file.
func strategyRule(reg *connector.Registry, name string, sets []string) (*config.Rule, error) {
	switch {
	case name == "" && len(sets) == 0:
		return nil, nil
	case name == "":
		return nil, usagef("--set goes with --strategy: name one of %s", strings.Join(reg.Strategies.Kinds(), ", "))
	}
	options := &yaml.Node{Kind: yaml.MappingNode}
	for _, set := range sets {
		key, value, ok := strings.Cut(set, "=")
		if !ok || key == "" {
			return nil, usagef("--set %q: expected key=value", set)
		}
		put(options, strings.Split(key, "."), optionValue(value))
	}
	strategy := mapping(word(name), options)
	rules := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{mapping(word("strategy"), strategy)}}
	text, err := yaml.Marshal(mapping(word("name"), word("kbsync"), word("rules"), rules))
	if err != nil {
		return nil, usagef("--set: %w", err)
	}
	file, err := config.Parse("kbsync", text, reg, config.Options{Partial: true})
	if err != nil {
		return nil, optionErrors(err, name)
	}
	rule := file.Rules[0]
	rule.Name = "--strategy " + name
	return &rule, nil
}

// put sets a key, which may be a path of keys; the last value given for a key holds.
func put(m *yaml.Node, keys []string, value *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value != keys[0] {
			continue
		}
		if len(keys) > 1 && m.Content[i+1].Kind == yaml.MappingNode {
			put(m.Content[i+1], keys[1:], value)
			return
		}
		m.Content = append(m.Content[:i], m.Content[i+2:]...)
		break
	}
	if len(keys) > 1 {
		inner := &yaml.Node{Kind: yaml.MappingNode}
		put(inner, keys[1:], value)
		value = inner
	}
	m.Content = append(m.Content, word(keys[0]), value)
}

// optionValue reads a value as YAML does: 200, true, [a, b]; what is no YAML is taken as text.
func optionValue(s string) *yaml.Node {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(s), &doc); err != nil || doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return literal(word(s))
	}
	v := doc.Content[0]
	if v.Kind == yaml.AliasNode || v.Anchor != "" {
		return literal(word(s))
	}
	return literal(v)
}

// literal doubles dollars: the shell has expanded variables already.
func literal(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.ScalarNode {
		n.Value = strings.ReplaceAll(n.Value, "$", "$$")
	}
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, c := range n.Content {
		literal(c)
	}
	return n
}

func word(s string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(s)
	return n
}

func mapping(content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Content: content}
}

// optionErrors names options as they were given on the command line.
func optionErrors(err error, name string) error {
	faults, ok := err.(config.Errors) //nolint:errorlint // Parse documents this type
	if !ok {
		return err
	}
	prefix := "rules[0].strategy."
	for _, f := range faults {
		f.Pos = config.Position{File: "--set"}
		rest := strings.TrimPrefix(f.Path, prefix)
		if f.Path = rest; rest == name || !strings.HasPrefix(rest, name+".") {
			f.Pos.File = "--strategy"
		}
	}
	return faults
}
