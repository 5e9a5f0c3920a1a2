package connector

import "context"

// TokenEmbedder is an [Embedder] that gives the vectors of a text's tokens too, each of which knows the whole text: means over
// parts of them are vectors of the parts (late chunking, Günther et al. 2024).
type TokenEmbedder interface {
	Embedder
	// EmbedTokens returns one vector of Model().Dimensions values for each token, in order, as the last layer leaves it, and the
	// bytes of text that each stands for; those of special tokens and of the document prefix are empty. A text over
	// Model().MaxInputTokens is [ClassTooLarge].
	EmbedTokens(ctx context.Context, text string) (vectors [][]float32, spans []Span, err error)
}
