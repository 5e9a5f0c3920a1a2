package prompts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/llmjson"
)

// boundariesSystem asks for numbers of sentences, as LumberChunker (Duarte et al. 2024, arXiv 2406.17526) and Chroma's LLMSemanticChunker do, so that no text
// is written anew.
const boundariesSystem = "The passage is given as numbered sentences, one a line: \"[1] …\". Divide it into parts that are each about one thing, so that a reader who finds one part alone understands it.\n" +
	"Give the numbers of the sentences after which the passage is to be cut, in ascending order: [3, 7] gives the parts 1-3, 4-7 and 8 to the end.\n" +
	"1. Cut where the subject changes. Keep a question with its answer, a term with its definition, a claim with its reasons, and an introduction with the list that it introduces.\n" +
	"2. Do not cut after the last sentence. Give an empty list if the passage is about one thing." + manner

// Boundaries asks after which of the sentences of a passage it is to be cut: numbers from 0 to len(sentences)-2, ascending, none twice.
// Numbers out of order or given twice are put in order, since it is clear what they mean; one that stands for no sentence shows that the model
// lost its way, and the answer is asked for again. A cut after the last sentence is none. Fewer than two sentences are not asked about.
func Boundaries(ctx context.Context, llm connector.LLM, p Passage, sentences []string, maxTokens int) ([]int, error) {
	if len(sentences) < 2 || blank(strings.Join(sentences, " ")) {
		return nil, nil
	}
	type answer struct {
		CutAfter []int `json:"cut_after"`
	}
	var numbered strings.Builder
	for i, s := range sentences {
		numbered.WriteString("[" + strconv.Itoa(i+1) + "] " + line(s) + "\n")
	}
	n := len(sentences)
	got, err := llmjson.Ask(ctx, llm, llmjson.Question[answer]{
		Request: connector.LLMRequest{Prompt: BoundariesVersion, System: boundariesSystem, MaxTokens: maxTokens,
			User: p.heading() + fmt.Sprintf("The passage has %d sentences.\n", n) + fenced("passage", numbered.String())},
		Name: "boundaries",
		Schema: llmjson.Schema{Fields: []llmjson.Field{{Name: "cut_after", Schema: llmjson.Schema{
			Kind: llmjson.List, Max: 4 * n, Doc: "numbers of the sentences after which to cut, ascending",
			Items: &llmjson.Schema{Kind: llmjson.Integer, Min: 1, Max: n, Bounded: true},
		}}}},
	})
	if err != nil {
		return nil, err
	}
	cuts := got.CutAfter
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	if len(cuts) > 0 && cuts[len(cuts)-1] == n {
		cuts = cuts[:len(cuts)-1]
	}
	for i := range cuts {
		cuts[i]--
	}
	return cuts, nil
}

// Fill adds the boundaries that are missing: a part between two of them whose sizes sum to more than most is cut after the last sentence that still
// fits, again and again. A sentence that is larger alone stays a part of its own. sizes are those of the sentences; cuts are as
// [Boundaries] gives them, and are not changed.
func Fill(cuts, sizes []int, most int) []int {
	out := make([]int, 0, len(cuts))
	next, sum := 0, 0
	for i, size := range sizes {
		if sum > 0 && sum+size > most {
			out = append(out, i-1)
			sum = 0
		}
		sum += size
		if next < len(cuts) && cuts[next] == i {
			if i < len(sizes)-1 {
				out = append(out, i)
			}
			next++
			sum = 0
		}
	}
	return out
}
