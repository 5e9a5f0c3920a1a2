package llmjson

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// ErrBlank is given where there is nothing to ask about; nothing was sent.
var ErrBlank = errors.New("the text is blank: nothing was asked")

// UnusableError says that a model gave no answer that can be used, and that asking again would not help: the caller keeps what it had. No
// other error means that: a budget that is spent, a service that is away or a cancelled context says nothing about the text.
type UnusableError struct {
	// Prompt and its version.
	Prompt string
	// Faults of the answers, in order.
	Faults []error
}

// Error names the prompt and the faults.
func (e *UnusableError) Error() string {
	parts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		parts[i] = f.Error()
	}
	return fmt.Sprintf("the language model gave no usable answer to %s: %s", e.Prompt, strings.Join(parts, "; asked again: "))
}

// Unwrap gives the faults.
func (e *UnusableError) Unwrap() []error { return e.Faults }

// Ends of an answer that no repair can mend.
var (
	ErrRefused = errors.New("the model refused")
	ErrCutOff  = errors.New("the answer was cut off: raise max_tokens")
)

// Question is what is asked and what may be answered.
type Question[T any] struct {
	// Request without Name and Schema.
	Request connector.LLMRequest
	// Name of the answer, in letters and underscores, and its shape.
	Name   string
	Schema Schema
	// Check finds what is wrong beyond the shape, and may bring the answer into order; nil: nothing is. Its error should be a *[FaultError].
	Check func(*T) error
}

// mostQuoted is how many bytes of a faulty answer the second question repeats.
const mostQuoted = 8 << 10

// Ask asks. An answer that is not what the question allows is asked for once more, with the fault named; an answer that was cut off with
// twice the tokens, where the model has them. Errors are an *[UnusableError], [ErrBlank], or those of the model.
func Ask[T any](ctx context.Context, llm connector.LLM, q Question[T]) (T, error) {
	var none T
	if strings.TrimSpace(q.Request.User) == "" {
		return none, ErrBlank
	}
	r := q.Request
	r.Name, r.Schema = q.Name, q.Schema.JSON()
	given := &UnusableError{Prompt: r.Prompt}
	for {
		answer, err := llm.Complete(ctx, r)
		if class := connector.ClassOf(err); err != nil && class != connector.ClassInvalid && class != connector.ClassTooLarge {
			return none, err
		}
		var got T
		switch {
		case err != nil: // this request will never be answered
			given.Faults = append(given.Faults, err)
			return none, given
		case answer.Finish == connector.FinishRefused:
			given.Faults = append(given.Faults, ErrRefused)
			return none, given
		case answer.Finish == connector.FinishLength:
			err = ErrCutOff
		default:
			err = q.read(answer.Text, &got)
		}
		if err == nil {
			return got, nil
		}
		given.Faults = append(given.Faults, err)
		if len(given.Faults) > 1 || !q.again(&r, llm.Model(), answer, err) {
			return none, given
		}
	}
}

func (q *Question[T]) read(text string, into *T) error {
	if err := Read(text, &q.Schema, into); err != nil {
		return err
	}
	if q.Check == nil {
		return nil
	}
	return q.Check(into)
}

// again makes the second request of the first; false where it would be the same.
func (q *Question[T]) again(r *connector.LLMRequest, m connector.LLMModel, a connector.LLMAnswer, wrong error) bool {
	if a.Finish == connector.FinishLength {
		most := 2 * r.MaxTokens
		if m.MaxOutputTokens > 0 {
			most = min(most, m.MaxOutputTokens)
		}
		grows := most > r.MaxTokens
		r.MaxTokens = max(most, r.MaxTokens)
		return grows
	}
	said := strings.ToValidUTF8(a.Text, "?")
	if len(said) > mostQuoted {
		said = strings.ToValidUTF8(said[:mostQuoted], "") + " …"
	}
	r.User += "\n\nAn earlier answer to this could not be used.\nThe answer was:\n" + said + "\n\nWhat is wrong with it: " + wrong.Error() +
		"\n\nGive the whole answer again, as one JSON object and nothing else, without this fault."
	return true
}
