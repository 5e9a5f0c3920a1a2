package config

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

type presetConfig struct {
	MaxTokens        int               `yaml:"max_tokens"`
	Overlap          Amount            `yaml:"overlap"`
	MinChars         int               `yaml:"min_chars"`
	OverlapSentences int               `yaml:"overlap_sentences"`
	Mode             string            `yaml:"mode"`
	MinSize          Amount            `yaml:"min_size"`
	Parent           string            `yaml:"parent"`
	Of               *connector.Choice `yaml:"of" kinds:"strategy"`
}

func presetRegistry(t *testing.T, kinds ...string) *connector.Registry {
	t.Helper()
	reg := &connector.Registry{}
	for _, kind := range kinds {
		err := reg.Strategies.Add(kind, connector.Define(kind, kind, presetConfig{Mode: "rows"},
			func(context.Context, *presetConfig, connector.StrategyEnv) (connector.Strategy, error) {
				return nil, nil
			}))
		if err != nil {
			t.Fatal(err)
		}
	}
	return reg
}

// presetNames are those of the rule's key.
func presetNames(t *testing.T) []string {
	t.Helper()
	for _, f := range fields(reflect.TypeFor[Rule]()) {
		if f.key == "preset" {
			return f.enum
		}
	}
	t.Fatal("rules have no preset")
	return nil
}

var presetKinds = []string{"markdown", "parent_child", "api", "code", "table", "sentence", "semantic"}

// TestPresets: every name of the key is a preset of a strategy, and what `config show` prints of it is read again as the same.
func TestPresets(t *testing.T) {
	reg := presetRegistry(t, presetKinds...)
	for _, name := range presetNames(t) {
		file, err := Parse("kbsync.yaml", []byte("name: x\nrules:\n  - preset: "+name+"\n"), reg, Options{Partial: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := file.Rules[0]
		if r.Preset != name || r.Strategy == nil || r.Strategy.Pos.Line != 3 {
			t.Errorf("%s: %+v", name, r)
		}
		shown, err := file.Show()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("kbsync.yaml", shown, reg, Options{Partial: true})
		if err != nil || !reflect.DeepEqual(again.Rules[0].Strategy.Config, r.Strategy.Config) || again.Rules[0].Preset != name {
			t.Errorf("%s: shown as\n%s\nand read again: %v", name, shown, err)
		}
	}
}

func TestPresetSettings(t *testing.T) {
	reg := presetRegistry(t, presetKinds...)
	parse := func(rule string) (*presetConfig, string, error) {
		file, err := Parse("kbsync.yaml", []byte("name: x\nrules:\n  - "+rule+"\n"), reg, Options{Partial: true, Getenv: func(string) (string, bool) { return "faq", true }})
		if err != nil {
			return nil, "", err
		}
		return file.Rules[0].Strategy.Config.(*presetConfig), file.Rules[0].Strategy.Kind, nil
	}
	for rule, want := range map[string]presetConfig{
		"preset: faq":        {MaxTokens: 250, Overlap: Amount{Value: 12, Percent: true}, MinChars: 120, Mode: "rows"},
		"preset: \"${WHO}\"": {MaxTokens: 250, Overlap: Amount{Value: 12, Percent: true}, MinChars: 120, Mode: "rows"},
		"{ preset: faq, strategy: { markdown: { max_tokens: 200, mode: x } } }": {MaxTokens: 200, Overlap: Amount{Value: 12, Percent: true}, MinChars: 120, Mode: "x"},
		"{ preset: blog, strategy: { sentence: } }":                             {MaxTokens: 512, OverlapSentences: 1, Mode: "rows"},
	} {
		got, kind, err := parse(rule)
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %s %+v, %v", rule, kind, got, err)
		}
	}
	for rule, want := range map[string]string{
		"preset: fqa": `rules[0].preset: expected one of faq, policy`,
		"preset: 7":   "rules[0].preset: expected one of",
		"{ preset: faq, strategy: { sentence: { max_tokens: 7 } } }": "the preset faq is of the strategy markdown, and a strategy beside it may only change its settings",
		"{ preset: faq, strategy: { markdown: { max_tokns: 7 } } }":  `rules[0].strategy.markdown.max_tokns: unknown key; did you mean "max_tokens"?`,
		"{ preset: faq, strategy: 7 }":                               "expected the kind of strategy as a key",
		"{ preset: faq, match: { path: \"[\" } }":                    "not a valid glob pattern",
	} {
		if _, _, err := parse(rule); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", rule, err, want)
		}
	}
	_, err := Parse("kbsync.yaml", []byte("name: x\nrules:\n  - preset: legal\n"), presetRegistry(t, "markdown"), Options{Partial: true})
	if err == nil || !strings.Contains(err.Error(), "kbsync.yaml:3:13: rules[0].preset: the preset legal needs the strategy semantic, which this build lacks; kinds: markdown") {
		t.Errorf("%v", err)
	}
}
