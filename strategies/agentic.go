package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/features"
	"github.com/kbsync/kbsync/internal/llmjson"
	"github.com/kbsync/kbsync/internal/prompts"
)

// AgenticConfig configures the strategy agentic.
type AgenticConfig struct {
	Sizing `yaml:",inline"`
	Ask    string `yaml:"ask" enum:"auto,never,always" doc:"auto: ask the language model where one is configured; never: the rules alone; always: it is an error if there is none"`
}

func agenticDefaults() AgenticConfig {
	return AgenticConfig{Sizing: autoDefaults().Sizing, Ask: "auto"}
}

// Validate reports what cannot work.
func (c AgenticConfig) Validate() error {
	switch c.Ask {
	case "", "auto", "never", "always":
	default:
		return fmt.Errorf("ask is %q: choose auto, never or always", c.Ask)
	}
	return c.Sizing.Validate()
}

// Agentic is the strategy agentic: the language model chooses a strategy and its sizes for each document that does not fit one chunk, from
// the measured features and the beginning of the text. Its answer is checked, and asked for once more if it is wrong; after that, and where no
// model is configured, the rules of [Auto] choose, and the reason says so. Metadata as there.
func Agentic() connector.StrategyPlugin {
	return connector.Define("agentic", "A language model chooses a strategy and its sizes for each document; without one, the rules of auto do",
		agenticDefaults(), openAgentic)
}

func openAgentic(ctx context.Context, c *AgenticConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("agentic: %w", err)
	}
	s, err := openChooser(ctx, c.Sizing, env)
	if err != nil {
		return nil, fmt.Errorf("agentic: %w", err)
	}
	a := &agentic{chooser: s}
	if c.Ask == "never" {
		return a, nil
	}
	if env.LLM == nil {
		err = errors.ErrUnsupported
	} else {
		a.llm, err = env.LLM(ctx)
	}
	switch {
	case err == nil:
		a.model = a.llm.Model().Identity()
	case c.Ask == "always" || !errors.Is(err, errors.ErrUnsupported):
		return nil, fmt.Errorf("agentic: %w", err)
	default:
		a.llm = nil
	}
	return a, nil
}

type agentic struct {
	*chooser
	llm   connector.LLM // nil: the rules choose
	model string
}

var _ connector.Strategy = (*agentic)(nil)

// Info describes it. The version changes with that of every strategy it may choose, the models with the prompt.
func (s *agentic) Info() connector.StrategyInfo {
	info := connector.StrategyInfo{Name: "agentic", Version: 1 + s.version, Caps: s.caps}
	if s.llm != nil {
		info.Models = []string{s.model + " " + prompts.ChooseVersion}
	}
	return info
}

// Chunks holds what auto holds, and asks once for a document that must be cut.
func (s *agentic) Chunks(ctx context.Context, doc *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return s.chunks(ctx, doc, elements, s.decide)
}

// Explain says how a document would be cut, and why. It asks as Chunks does.
func (s *agentic) Explain(ctx context.Context, doc *connector.Document, elements iter.Seq2[connector.Element, error]) (*features.Decision, error) {
	return s.explain(ctx, doc, elements, s.decide)
}

const (
	answerTokens = 300
	sampleBytes  = 6000
	// leastPart is the smallest size that a model may choose, as a part of the largest.
	leastPart = 8
	// mostOverlap is the largest overlap that it may choose, in percent.
	mostOverlap = 30
)

func (s *agentic) decide(ctx context.Context, doc *connector.Document, h *docHead) (cutPlan, *features.Decision, error) {
	p, d, err := s.byRules(ctx, doc, h)
	if err != nil || p.kind == "whole" {
		return p, d, err
	}
	if s.llm == nil {
		d.Reason = "rules, no language model: " + d.Reason
		return p, d, nil
	}
	got, err := prompts.Choose(ctx, s.llm, s.question(doc, h), answerTokens)
	var useless *llmjson.UnusableError
	switch {
	case errors.As(err, &useless):
		d.Reason = "rules, no usable answer of the language model: " + d.Reason
		d.Said = useless.Error()
		return p, d, nil
	case errors.Is(err, llmjson.ErrBlank):
		return p, d, nil
	case err != nil:
		return p, d, err
	}
	p = cutPlan{kind: got.Kind, size: s.room(h, got.Size), overlap: got.Overlap, given: true}
	d.Kind, d.Config, d.Choice = p.kind, p.config(s.c), p.describe(s.c)
	d.Reason, d.Said = "language model: "+got.Ground, got.Reason
	return p, d, nil
}

// room raises a size that the model chose until everything that fits the cap and must not be cut fits it too. Of a document that is longer than
// what was looked at that is not known: the cap holds.
func (s *agentic) room(h *docHead, size int) int {
	most := s.c.primary(blockCaps)
	if !h.whole {
		return most
	}
	before := ""
	for k := range h.elements {
		el := &h.elements[k]
		if el.Kind == connector.KindDropped {
			continue
		}
		if spaceBetween(before, el.Text) {
			before = ""
		}
		for text := range keptTogether(before, el) {
			if !underByBytes(s.fit.caps[0], len(text), size) {
				size = max(size, min(most, s.fit.caps[0].Counter.Count(text)))
			}
		}
		before = el.Text
	}
	return size
}

// question is what the model is told. Figures are coarse, so that an edit seldom makes it another question: answers are kept.
func (s *agentic) question(doc *connector.Document, h *docHead) prompts.ChooseQuestion {
	f := h.features
	most := s.c.primary(blockCaps)
	q := prompts.ChooseQuestion{
		Name: doc.Path, Sample: headSample(h.elements), Unit: s.c.unit(), Least: max(1, most/leastPart), Most: most, MostOverlap: mostOverlap,
		Measured: []string{
			"code blocks and declarations: " + coarse(f.Code), "declarations of source code: " + coarse(f.Declarations),
			"tables and records: " + coarse(f.Tables), "utterances of a conversation: " + coarse(f.Turns), "lists: " + coarse(f.Lists), "running text: " + coarse(f.Prose),
			fmt.Sprintf("headings: %s in 1,000 characters, to depth %d", few(f.HeadingDensity), f.HeadingDepth),
			"technical terms: " + coarse(f.Terms) + " of the words", "numbers: " + coarse(f.Numbers) + " of the words",
			"words of narration: " + coarse(f.Narration), "lines that name a speaker: " + coarse(f.Dialogue), "Chinese: " + coarse(f.Chinese),
		},
	}
	for _, kind := range choosable() {
		if s.kinds[kind] && kind != "whole" && (kind != "html" || formatOf(doc) == "html") && (kind != "latex" || formatOf(doc) == "latex") {
			q.Kinds = append(q.Kinds, prompts.ChooseKind{Name: kind, Doc: kindDoc(kind)})
		}
	}
	slices.SortFunc(q.Kinds, func(a, b prompts.ChooseKind) int { return strings.Compare(a.Name, b.Name) })
	return q
}

// kindDoc tells a model what a kind is for.
func kindDoc(kind string) string {
	switch kind {
	case "adaptive":
		return "running text whose density changes: passages full of terms and numbers in smaller chunks; may overlap"
	case "recursive":
		return "running text of any kind, cut at paragraphs, lines and sentences; may overlap"
	case "sentence":
		return "stories, speeches and essays, whole sentences with one sentence of overlap"
	case "paragraph":
		return "texts whose paragraphs each say one thing; may overlap"
	case "markdown", "html", "latex":
		return "documents with headings, or with lists, tables and code blocks among the text"
	case "code":
		return "source code, whole declarations"
	case "table":
		return "tables and records, whole rows"
	case "dialogue":
		return "conversations and transcripts, whole turns"
	}
	return ""
}

// coarse is a share in steps of 5 %.
func coarse(share float64) string { return fmt.Sprintf("%d %%", 5*int(20*share+0.5)) }

// few is a density in halves.
func few(x float64) string { return fmt.Sprintf("%.1f", float64(int(2*x+0.5))/2) }

// headSample is the beginning of the text, up to the end of a word or a character.
func headSample(elements []connector.Element) string {
	var b strings.Builder
	for k := range elements {
		if elements[k].Kind == connector.KindDropped {
			continue
		}
		text := elements[k].Text
		if b.Len()+len(text) > sampleBytes {
			b.WriteString(text[:runeFloor(text, 0, sampleBytes-b.Len())])
			break
		}
		b.WriteString(text)
	}
	return strings.TrimSpace(b.String())
}
