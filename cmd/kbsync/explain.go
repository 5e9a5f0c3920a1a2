package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/internal/features"
)

// explainer says what a document gets and why, where that is asked for; nil: it is not.
type explainer struct {
	ctx context.Context //nolint:containedctx // printers have no room for one; it lives within one command
	v   *pipeline.Preview
}

func newExplainer(ctx context.Context, v *pipeline.Preview, on bool) *explainer {
	if !on {
		return nil
	}
	return &explainer{ctx, v}
}

// lines are the explanation for people.
func (e *explainer) lines(f *found, x *pipeline.Explanation, n int) ([]string, error) {
	if err := e.v.Measure(e.ctx, f.source, f.caps, f.doc, x); err != nil {
		return nil, err
	}
	return explained(f, x, n), nil
}

// explanation is what a document gets and why, as JSON.
type explanation struct {
	Path   string `json:"path"`
	Source string `json:"source"`
	Chunks int    `json:"chunks"`
	*pipeline.Explanation
	Config map[string]any `json:"config,omitempty"`
}

// object is the explanation as JSON: it stands on a line of its own behind the document's chunks.
func (e *explainer) object(f *found, x *pipeline.Explanation, n int) (any, error) {
	if err := e.v.Measure(e.ctx, f.source, f.caps, f.doc, x); err != nil {
		return nil, err
	}
	out := explanation{Path: f.doc.Path, Source: f.source, Chunks: n, Explanation: x, Config: settings(x.Config)}
	if x.Measures != nil && x.Measures.Decision != nil {
		d := *x.Measures.Decision
		d.Config = settings(d.Config)
		m := *x.Measures
		m.Decision = &d
		x.Measures = &m
	}
	return map[string]any{"explain": out}, nil
}

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
	if x.ParserBy != "" {
		parser += ", " + x.ParserBy
	}
	add("source", f.source)
	if kind := x.MediaType; x.KnownBy != "" {
		add("type", kind+", known by "+x.KnownBy)
	} else {
		add("type", kind)
	}
	add("language", x.Language)
	add("parser", parser)
	add("rule", x.Rule)
	add("preset", x.Preset)
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
	if m := x.Measures; m != nil {
		add("cutting", map[bool]string{true: "needed: ", false: "not needed: "}[m.Needed]+m.Why)
		for i, line := range figures(&m.Features) {
			add([]string{"measured", ""}[min(i, 1)], line)
		}
		if m.Decision != nil {
			for i, line := range decided(m.Decision) {
				add([]string{"choice", "reason", ""}[min(i, 2)], line)
			}
		}
	}
	return lines
}

// figures are the features of a document on a few lines.
func figures(f *features.Features) []string {
	share := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
	part := ""
	if !f.Complete {
		part = " of its beginning"
	}
	out := []string{
		fmt.Sprintf("%d characters%s in %s", f.Characters, part, number(f.Elements, "element")),
		fmt.Sprintf("text %s, code %s, tables %s, lists %s", share(f.Prose), share(f.Code), share(f.Tables), share(f.Lists)),
		fmt.Sprintf("%s to depth %d, %.2f in 1,000 characters", number(f.Headings, "heading"), f.HeadingDepth, f.HeadingDensity),
	}
	if f.Words == 0 {
		return out
	}
	return append(out,
		fmt.Sprintf("%d words: terms %s, numbers %s, narration %s, Chinese %s", f.Words, share(f.Terms), share(f.Numbers), share(f.Narration), share(f.Chinese)),
		fmt.Sprintf("entropy %.2f bits a word, types to tokens %.3f, %.1f words a sentence, speakers %s of the lines", f.Entropy, f.TypeToken, f.Sentence, share(f.Dialogue)))
}

// decided are the choice, its reason, and every question that was asked.
func decided(d *features.Decision) []string {
	out := []string{d.Choice, d.Reason}
	if d.Said != "" {
		out = append(out, "the model says: "+d.Said)
	}
	for _, c := range d.Checks {
		sign := "no "
		if c.Holds {
			sign = "yes"
		}
		out = append(out, fmt.Sprintf("%s  %s: %s? %s", sign, c.Rule, c.Want, c.Found))
	}
	return out
}

// options are a strategy's options on one line, by the keys of a configuration; secrets are ***.
func options(conf any) string {
	values := settings(conf)
	if values == nil {
		return ""
	}
	b, err := json.Marshal(values)
	if err != nil {
		return ""
	}
	return string(b)
}

// settings are a strategy's options by the keys of a configuration; nil where there are none.
func settings(conf any) map[string]any {
	if conf == nil {
		return nil
	}
	text, err := yaml.Marshal(conf)
	if err != nil {
		return nil
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		return nil
	}
	return values
}
