package local

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/wordpieces"
)

// Model implements [connector.Embedder]. The version is the fingerprint of weights, vocabulary and configuration.
func (e *Embedder) Model() connector.Model { return e.model }

// Embed implements [connector.Embedder]. A text that is too long or blank is refused alone.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	failed := map[int]error{}
	ids := make([][]int32, 0, len(texts))
	places := make([]int, 0, len(texts))
	for i, text := range texts {
		x, err := e.encode(e.documents, text)
		if err != nil {
			failed[i] = err
			continue
		}
		ids, places = append(ids, x), append(places, i)
	}
	out := make([][]float32, len(texts))
	got, err := e.compute(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, v := range got {
		out[places[i]] = v
	}
	if len(failed) > 0 {
		return out, &connector.BatchError{Items: failed}
	}
	return out, nil
}

// EmbedQuery implements [connector.Embedder].
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	ids, err := e.encode(e.queries, text)
	if err != nil {
		return nil, err
	}
	got, err := e.compute(ctx, [][]int32{ids})
	if err != nil {
		return nil, err
	}
	return got[0], nil
}

// EmbedTokens implements [connector.TokenEmbedder].
func (e *Embedder) EmbedTokens(ctx context.Context, text string) ([][]float32, []connector.Span, error) {
	ids, spans := e.documents.Encode(text, 0)
	if err := e.check(text, len(ids)); err != nil {
		return nil, nil, err
	}
	encoder, err := e.encoder()
	if err != nil {
		return nil, nil, fmt.Errorf("local: %w", err)
	}
	vectors, err := encoder.Tokens(ctx, ids)
	if err != nil {
		return nil, nil, fmt.Errorf("local: %w", err)
	}
	return vectors, spans, nil
}

// encode gives the ids of a text that passes check.
func (e *Embedder) encode(t wordpieces.Tokenizer, text string) ([]int32, error) {
	ids := t.AppendIDs(nil, text, 0)
	return ids, e.check(text, len(ids))
}

// check refuses what is blank and what the model cannot take whole.
func (e *Embedder) check(text string, tokens int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return connector.Errorf(connector.ClassInvalid, "local: the text is blank")
	case tokens > e.model.MaxInputTokens:
		return connector.Errorf(connector.ClassTooLarge, "local: the text has %d tokens, the model %s takes %d", tokens, e.model.Name, e.model.MaxInputTokens)
	}
	return nil
}

func (e *Embedder) compute(ctx context.Context, ids [][]int32) ([][]float32, error) {
	if len(ids) == 0 {
		return nil, ctx.Err()
	}
	encoder, err := e.encoder()
	if err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	got, err := encoder.Encode(ctx, ids)
	if err != nil && !errors.Is(err, context.Canceled) {
		err = fmt.Errorf("local: %w", err)
	}
	return got, err
}

// Close has nothing to close.
func (e *Embedder) Close() error { return nil }
