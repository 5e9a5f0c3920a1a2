package prompts

import (
	"context"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/llmjson"
)

// contextSystem follows Anthropic, "Introducing Contextual Retrieval" (2024).
const contextSystem = "A chunk of a document will be searched for on its own. Write one or two sentences that place it in the document, to stand before it: what the document is, whom or what the chunk is about, " +
	"which period, product, chapter or case it belongs to, and what its pronouns stand for. Name what the chunk itself leaves unsaid; do not repeat or sum up what it says. " +
	"Write nothing about the task, such as \"this chunk\" or \"本段\"." + manner

// MostContext is how many characters a context may have.
const MostContext = 600

// Context asks for one or two sentences that place a chunk in its document. document is the text around the chunk, as much of it as the
// model takes. It comes first and the chunk last, so that services that keep the beginnings of requests do so for the chunks of
// one document. A chunk without a letter or a number has no context, and is not asked about.
func Context(ctx context.Context, llm connector.LLM, document, chunk Passage, maxTokens int) (string, error) {
	if blank(chunk.Text) || blank(document.Text) {
		return "", nil
	}
	type answer struct {
		Context string `json:"context"`
	}
	got, err := llmjson.Ask(ctx, llm, llmjson.Question[answer]{
		Request: connector.LLMRequest{Prompt: ContextVersion, System: contextSystem, MaxTokens: maxTokens,
			User: document.heading() + fenced("document", document.Text) + "\n" + Passage{Section: chunk.Section}.heading() + fenced("chunk", chunk.Text)},
		Name: "context",
		Schema: llmjson.Schema{Fields: []llmjson.Field{{Name: "context", Schema: llmjson.Schema{
			Kind: llmjson.String, Min: 1, Max: MostContext, Doc: "one or two sentences",
		}}}},
		Check: func(a *answer) error {
			a.Context = line(a.Context)
			return sound("$.context", contextSystem, chunk.Text, a.Context)
		},
	})
	return got.Context, err
}

const titleSystem = "Give the passage a title of at most twelve words (or 25 Chinese characters) that tells it from other passages of the document, and sum it up in one to three sentences, " +
	"with the names, numbers and terms that somebody would search for." + manner

// TitleSummary is what [Title] gives.
type TitleSummary struct {
	Title   string `json:"title"`
	Summary string `json:"summary"`
}

// The most characters of a title and of a summary.
const (
	MostTitle   = 120
	MostSummary = 1200
)

// Title asks for a title and a summary of a passage. One without a letter or a number has neither, and is not asked about.
func Title(ctx context.Context, llm connector.LLM, p Passage, maxTokens int) (TitleSummary, error) {
	if blank(p.Text) {
		return TitleSummary{}, nil
	}
	return llmjson.Ask(ctx, llm, llmjson.Question[TitleSummary]{
		Request: connector.LLMRequest{Prompt: TitleVersion, System: titleSystem, User: p.heading() + fenced("passage", p.Text), MaxTokens: maxTokens},
		Name:    "title_and_summary",
		Schema: llmjson.Schema{Fields: []llmjson.Field{
			{Name: "title", Schema: llmjson.Schema{Kind: llmjson.String, Min: 1, Max: MostTitle, Doc: "the title"}},
			{Name: "summary", Schema: llmjson.Schema{Kind: llmjson.String, Min: 1, Max: MostSummary, Doc: "one to three sentences"}},
		}},
		Check: func(a *TitleSummary) error {
			a.Title, a.Summary = line(a.Title), line(a.Summary)
			if a.Title == "" || a.Summary == "" {
				return &llmjson.FaultError{Path: "$", What: "the title or the summary is empty"}
			}
			return sound("$", titleSystem, p.Text, a.Title+" "+a.Summary) // a title may be a name in another script
		},
	})
}
