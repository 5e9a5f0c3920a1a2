package strategies

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/features"
)

// The thresholds of the rules. They part the documents that the strategies were tuned on: novels and speeches tell 7 to 14 % of their words,
// encyclopaedias, papers and contracts under 5 %; papers and annual reports have 14 % of terms and numbers and more, speeches, chats and
// encyclopaedias 4 to 8 %. Texts in Chinese are counted by the character, and have thresholds of their own.
const (
	mostly         = 0.5
	muchCode       = 0.3
	allCode        = 0.8
	muchBlocks     = 0.3
	headingEvery   = 4000 // characters
	narrationWords = 0.06
	narrationChars = 0.035
	denseWords     = 0.12
	denseChars     = 0.20
	shortParagraph = 200
	longParagraph  = 2000
	wideCharacters = 3 // a Chinese character says about as much as so many letters
	mostlyProse    = 0.8
	chineseFrom    = 0.4
	densePart      = 2 // the densest passages of a dense text have chunks of half the size
)

// choosable are the kinds that may be chosen where a build has them.
func choosable() []string {
	return []string{"whole", "recursive", "sentence", "paragraph", "adaptive", "markdown", "html", "latex", "code", "table", "dialogue"}
}

// cutPlan is a choice: a kind and its settings. All kinds have the cap of the configuration, so that what fits it stays whole whichever is chosen.
type cutPlan struct {
	kind string
	// given says that a language model chose a size in the primary unit, and an overlap in percent.
	given         bool
	size, overlap int
}

// overlaps tells whether the kind repeats text: blocks, rows and declarations stand on their own.
func (p cutPlan) overlaps() bool {
	return p.kind == "recursive" || p.kind == "paragraph" || p.kind == "adaptive"
}

// sizing is the size of the plan within that of the configuration.
func (p cutPlan) sizing(c Sizing) Sizing {
	size := c.primary(blockCaps)
	if p.given {
		size = min(p.size, size)
	}
	c.Unit = c.unit()
	if c.Unit == unitChars {
		c.MaxChars = size
	} else {
		c.MaxTokens = size
	}
	switch {
	case !p.overlaps():
		c.Overlap = Amount{}
	case p.given:
		c.Overlap = Amount{N: p.overlap, Percent: true}
	}
	return c
}

// config is the configuration of the kind.
func (p cutPlan) config(c Sizing) any {
	s := p.sizing(c)
	switch p.kind {
	case "recursive":
		return &RecursiveConfig{Sizing: s}
	case "sentence":
		conf := &SentenceConfig{Sizing: s}
		if c.Overlap.N > 0 && !p.given || p.overlap > 0 {
			conf.OverlapSentences = 1
		}
		return conf
	case "paragraph":
		return &ParagraphConfig{Sizing: s, Pack: true}
	case "adaptive":
		return &AdaptiveConfig{Sizing: s, MinTokens: max(1, s.primary(blockCaps)/densePart)}
	case "markdown", "html":
		conf := markdownDefaults()
		conf.Sizing = s
		return &conf
	case "latex":
		conf := latexDefaults()
		conf.Sizing = s
		return &conf
	case "code":
		return &CodeConfig{Sizing: s}
	case "table":
		conf := tableDefaults()
		conf.Sizing = s
		return &conf
	case "dialogue":
		conf := dialogueDefaults()
		conf.Sizing = s
		return &conf
	}
	return nil
}

// describe writes the plan on one line.
func (p cutPlan) describe(c Sizing) string {
	if p.kind == "whole" {
		return p.kind
	}
	s := p.sizing(c)
	text := p.kind
	if s.MaxTokens > 0 {
		text += fmt.Sprintf(" max_tokens=%d", s.MaxTokens)
	}
	if s.MaxChars > 0 {
		text += fmt.Sprintf(" max_chars=%d", s.MaxChars)
	}
	if s.Overlap.N > 0 {
		text += " overlap=" + s.Overlap.String()
	}
	return text
}

// autoRule is a question whose answer chooses a kind.
type autoRule struct {
	name, want, kind string
	holds            bool
	found            string
}

// byRules is auto's way to decide: the first rule that holds chooses.
func (s *chooser) byRules(_ context.Context, doc *connector.Document, h *docHead) (cutPlan, *features.Decision, error) {
	d := &features.Decision{}
	p := cutPlan{}
	for _, r := range s.rules(doc, h) {
		d.Checks = append(d.Checks, features.Check{Rule: r.name, Want: r.want, Found: r.found, Holds: r.holds})
		if r.holds && p.kind == "" && s.kinds[r.kind] {
			p.kind, d.Reason = r.kind, r.want
		}
	}
	d.Kind, d.Config, d.Choice = p.kind, p.config(s.c), p.describe(s.c)
	return p, d, nil
}

// rules are the questions in order; the last one always holds.
func (s *chooser) rules(doc *connector.Document, h *docHead) []autoRule {
	f := h.features
	blocks := "markdown"
	if formatOf(doc) == "html" && s.kinds["html"] {
		blocks = "html"
	}
	code := blocks
	if f.Code >= allCode {
		code = "code"
	}
	narration, dialect := narrationWords, "words"
	if f.Chinese >= chineseFrom {
		narration, dialect = narrationChars, "characters"
	}
	letters := f.Paragraph
	if f.Chinese >= chineseFrom {
		letters *= wideCharacters
	}
	size := fmt.Sprintf("%d characters", f.Characters)
	if !h.whole {
		size = "more than " + size
	}
	dense := denseText(f)
	return []autoRule{
		{"one chunk", "the whole text fits one chunk", "whole", h.fits, size},
		{"conversation", "half of the text or more is utterances", "dialogue", f.Turns >= mostly, percentOf(f.Turns)},
		{"source code", "half of the text or more is declarations", "code", f.Declarations >= mostly, percentOf(f.Declarations)},
		{"table", "half of the text or more is rows and records", "table", f.Tables >= mostly, percentOf(f.Tables)},
		{"LaTeX", "a LaTeX document", "latex", formatOf(doc) == "latex", orText(formatOf(doc), "another format")},
		{"sections", "two headings or more, and one in 4,000 characters", blocks, f.Headings >= 2 && f.Headings*headingEvery >= f.Characters,
			fmt.Sprintf("%d headings, one in %d characters, to depth %d", f.Headings, f.Characters/max(1, f.Headings), f.HeadingDepth)},
		{"code blocks", "30 % of the text or more is code", code, f.Code >= muchCode, percentOf(f.Code)},
		{"lists and tables", "30 % of the text or more is lists and tables", blocks, f.Lists+f.Tables >= muchBlocks, percentOf(f.Lists + f.Tables)},
		{"speakers", "half of the lines or more name a speaker who speaks again", "recursive", f.Dialogue >= mostly, percentOf(f.Dialogue)},
		{"narrative", fmt.Sprintf("%s of the %s or more tell a story", percentOf(narration), dialect), "sentence", f.Narration >= narration, percentOf(f.Narration)},
		dense,
		{"paragraphs", "running text in paragraphs of 200 to 2,000 letters", "paragraph", f.Prose >= mostlyProse && letters >= shortParagraph && letters <= longParagraph,
			fmt.Sprintf("%s running text, %.0f characters in a paragraph", percentOf(f.Prose), f.Paragraph)},
		{"any text", "no rule before holds", "recursive", true, "always"},
	}
}

// denseText asks whether sizes should follow the passages: text full of terms and numbers says more in as many words.
func denseText(f features.Features) autoRule {
	limit, unit := denseWords, "words"
	if f.Chinese >= chineseFrom {
		limit, unit = denseChars, "characters"
	}
	return autoRule{name: "dense", kind: "adaptive", want: fmt.Sprintf("%s of the %s or more are terms and numbers", percentOf(limit), unit), holds: f.Terms+f.Numbers >= limit,
		found: percentOf(f.Terms) + " terms, " + percentOf(f.Numbers) + " numbers"}
}

// percentOf writes a share with one decimal at most.
func percentOf(share float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*share), ".0") + " %"
}

// formatOf is "html", "latex" or empty, by the name and media type of a document.
func formatOf(doc *connector.Document) string {
	if doc == nil {
		return ""
	}
	switch strings.ToLower(path.Ext(doc.Path)) {
	case ".html", ".htm", ".xhtml", ".xht", ".shtml":
		return "html"
	case ".tex", ".latex", ".ltx":
		return "latex"
	}
	if strings.HasPrefix(doc.MediaType, "text/html") {
		return "html"
	}
	return ""
}
