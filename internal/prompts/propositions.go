package prompts

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/llmjson"
)

// propositionsSystem follows Chen et al. 2023, "Dense X Retrieval: What Retrieval Granularity Should We Use?" (arXiv 2312.06648).
const propositionsSystem = "Take the passage apart into propositions: short statements of one fact each, which can be understood without the passage and without each other.\n" +
	"1. Split compound sentences. Keep the wording of the passage where it can be kept.\n" +
	"2. Take descriptions of a name apart into statements of their own.\n" +
	"3. Replace pronouns and words such as \"this\", \"the former\", \"该公司\", \"其\" by what they stand for.\n" +
	"4. Keep every number, unit, date, name and condition. Leave no fact of the passage out, and state none twice.\n" +
	"5. Follow the order of the passage." + manner

// MostPropositions of one passage.
const MostPropositions = 200

// Propositions asks for the self-contained facts of a passage, in order. maxTokens bounds the answer, which is longer than the passage. A
// passage without a letter or a number has none, and is not asked about. Propositions that say the same are given once.
func Propositions(ctx context.Context, llm connector.LLM, p Passage, maxTokens int) ([]string, error) {
	if blank(p.Text) {
		return nil, nil
	}
	type answer struct {
		Propositions []string `json:"propositions"`
	}
	// Propositions repeat what they refer to, so that they are longer together than the passage; those that run away are not of it.
	most := 1000 + 10*utf8.RuneCountInString(p.Text)
	got, err := llmjson.Ask(ctx, llm, llmjson.Question[answer]{
		Request: connector.LLMRequest{Prompt: PropositionsVersion, System: propositionsSystem, User: p.heading() + fenced("passage", p.Text), MaxTokens: maxTokens},
		Name:    "propositions",
		Schema: llmjson.Schema{Fields: []llmjson.Field{{Name: "propositions", Schema: llmjson.Schema{
			Kind: llmjson.List, Min: 1, Max: MostPropositions, Doc: "the propositions, in the order of the passage",
			Items: &llmjson.Schema{Kind: llmjson.String, Min: 1, Max: 2000},
		}}}},
		Check: func(a *answer) error {
			a.Propositions = distinct(a.Propositions)
			all := strings.Join(a.Propositions, "\n")
			if utf8.RuneCountInString(all) > most {
				return &llmjson.FaultError{Path: "$.propositions", What: "the propositions are more than ten times as long as the passage"}
			}
			return sound("$.propositions", propositionsSystem, p.Text, all)
		},
	})
	return got.Propositions, err
}

// distinct makes one line of each text and leaves out those that were there before.
func distinct(texts []string) []string {
	seen := map[string]bool{}
	out := texts[:0:0]
	for _, s := range texts {
		if s = line(s); s != "" && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
