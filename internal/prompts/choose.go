package prompts

import (
	"context"
	"fmt"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/llmjson"
)

// ChooseVersion is the prompt of [Choose] and its version.
const ChooseVersion = "choose/1"

const chooseSystem = "A document is to be cut into chunks that are searched one by one. Choose the way of cutting, the size of the chunks and their overlap.\n" +
	"1. Choose by what the document is made of: the figures were measured over all of its beginning, the sample shows its first lines.\n" +
	"2. Smaller chunks suit text that says much in few words (reference, figures, questions with answers); larger ones suit stories and arguments.\n" +
	"3. Overlap, in percent of a chunk, helps running text without structure; 0 elsewhere.\n" +
	"4. Give the ground that decided, and your reason in one sentence." + manner

// ChooseKind is a way of cutting.
type ChooseKind struct{ Name, Doc string }

// ChooseQuestion is what a choice is made from.
type ChooseQuestion struct {
	Name     string   // of the document
	Measured []string // figures, one a line
	Sample   string   // the beginning of its text
	Kinds    []ChooseKind
	// Least and Most bound the size in Unit ("tokens", "chars"), MostOverlap the overlap in percent.
	Unit        string
	Least, Most int
	MostOverlap int
}

// ChooseAnswer is a choice within the bounds of its question.
type ChooseAnswer struct {
	Kind    string `json:"strategy"`
	Size    int    `json:"size"`
	Overlap int    `json:"overlap"`
	// Ground is one of [Grounds], Reason is free text.
	Ground string `json:"ground"`
	Reason string `json:"reason"`
}

// Grounds are what a choice may rest on: few words, so that the metadata of chunks which name one stay as they are when a sentence does not.
func Grounds() []string {
	return []string{"headings", "source code", "tables", "conversation", "narrative", "argument", "reference", "instructions", "questions and answers", "mixed"}
}

// mostReason is the longest reason in characters.
const mostReason = 400

// Choose asks how a document is to be cut. A sample without a letter or a number is not asked about: [llmjson.ErrBlank].
func Choose(ctx context.Context, llm connector.LLM, q ChooseQuestion, maxTokens int) (ChooseAnswer, error) {
	if blank(q.Sample) {
		return ChooseAnswer{}, llmjson.ErrBlank
	}
	var kinds, docs []string
	for _, k := range q.Kinds {
		kinds = append(kinds, k.Name)
		docs = append(docs, k.Name+": "+k.Doc)
	}
	user := Passage{Title: q.Name}.heading() + "Measured:\n- " + strings.Join(q.Measured, "\n- ") + "\nWays of cutting:\n- " + strings.Join(docs, "\n- ") +
		fmt.Sprintf("\nSizes: %d to %d %s. Overlap: 0 to %d percent.\n", q.Least, q.Most, q.Unit, q.MostOverlap) + fenced("sample", q.Sample)
	return llmjson.Ask(ctx, llm, llmjson.Question[ChooseAnswer]{
		Request: connector.LLMRequest{Prompt: ChooseVersion, System: chooseSystem, User: user, MaxTokens: maxTokens},
		Name:    "choice",
		Schema: llmjson.Schema{Fields: []llmjson.Field{
			{Name: "strategy", Schema: llmjson.Schema{Kind: llmjson.String, Enum: kinds, Doc: "the way of cutting"}},
			{Name: "size", Schema: llmjson.Schema{Kind: llmjson.Integer, Min: q.Least, Max: q.Most, Bounded: true, Doc: fmt.Sprintf("the largest size of a chunk, %d to %d", q.Least, q.Most)}},
			{Name: "overlap", Schema: llmjson.Schema{Kind: llmjson.Integer, Min: 0, Max: q.MostOverlap, Bounded: true, Doc: fmt.Sprintf("percent, 0 to %d", q.MostOverlap)}},
			{Name: "ground", Schema: llmjson.Schema{Kind: llmjson.String, Enum: Grounds(), Doc: "what decided"}},
			{Name: "reason", Schema: llmjson.Schema{Kind: llmjson.String, Min: 1, Max: mostReason, Doc: "one sentence"}},
		}},
		Check: func(a *ChooseAnswer) error {
			a.Reason = line(a.Reason)
			return nil
		},
	})
}
