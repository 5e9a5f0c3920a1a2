package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/kbsync/kbsync/connector/pipeline"
)

// explained says what a document gets and why.
func explained(f *found, x *pipeline.Explanation, n int) []string {
	lines := []string{f.doc.Path + ": " + number(n, "chunk")}
	add := func(key, value string) {
		if value != "" {
			lines = append(lines, fmt.Sprintf("  %-10s %s", key, value))
		}
	}
	parser := x.Parser
	if x.Backend != "" {
		parser += " (" + x.Backend + ")"
	}
	add("source", f.source)
	add("type", x.MediaType)
	add("language", x.Language)
	add("parser", parser)
	add("rule", x.Rule)
	add("strategy", x.Strategy)
	if x.Config != nil {
		add("options", options(x.Config))
	}
	add("caps", strings.Join(x.Caps, ", "))
	if x.LeftOut > 0 {
		add("left out", number(x.LeftOut, "chunk")+" that others stand for")
	}
	add("degraded", x.Degraded)
	add("skipped", x.Skip)
	return lines
}

// options are a strategy's options on one line, by the keys of a configuration; secrets are ***.
func options(conf any) string {
	text, err := yaml.Marshal(conf)
	if err != nil {
		return ""
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		return ""
	}
	b, err := json.Marshal(values)
	if err != nil {
		return ""
	}
	return string(b)
}
