package pipeline

import (
	"context"
	"fmt"
	"sync"

	"github.com/kbsync/kbsync/connector"
)

// vectorizer is the embedder as strategies see it. A preview without a configuration opens the default one when it is first asked for.
func (p *Pipeline) vectorizer(ctx context.Context) (connector.Vectorizer, error) {
	p.vectors.once.Do(func() {
		if p.embedder != nil {
			p.vectors.embedder = p.embedder
			return
		}
		p.vectors.embedder, p.vectors.err = OpenEmbedder(ctx, p.file, p.reg, p.log)
		p.vectors.own = p.vectors.embedder
	})
	if p.vectors.err != nil {
		return nil, p.vectors.err
	}
	return &askVectors{p: p, model: p.vectors.embedder.Model()}, nil
}

// lazyVectors is an embedder that strategies alone need.
type lazyVectors struct {
	once     sync.Once
	embedder connector.Embedder
	own      connector.Embedder // to close: nobody else uses it
	err      error
}

// askVectors is a connector.Vectorizer over the pipeline's embedder.
type askVectors struct {
	p     *Pipeline
	model connector.Model
}

// Identity implements connector.Vectorizer.
func (a *askVectors) Identity() string { return a.model.Identity() }

// Vectors implements connector.Vectorizer.
func (a *askVectors) Vectors(ctx context.Context, texts []string) ([][]float32, error) {
	most := a.model.MaxItems
	if most <= 0 {
		most = defaultEmbedItems
	}
	out := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := min(most, len(texts))
		var got [][]float32
		err := a.p.retry(ctx, "embed with "+a.model.Provider, func() (err error) {
			got, err = a.p.vectors.embedder.Embed(ctx, texts[:n])
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(got) != n {
			return nil, fmt.Errorf("embedder %s returned %d vectors for %d texts", a.model.Provider, len(got), n)
		}
		out, texts = append(out, got...), texts[n:]
	}
	return out, nil
}
