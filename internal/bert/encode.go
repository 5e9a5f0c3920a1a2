package bert

import (
	"context"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"
)

// chunkTokens is how many tokens are computed together: enough that weights are read from memory once for many rows, few
// enough that the rows stay in the cache.
const chunkTokens = 256

// Encode gives each text, as token ids with the special tokens around it, its vector of Dimensions values. Texts are computed in the
// order of their lengths, by up to Threads goroutines. An empty text, a text above MaxTokens and an id beyond the table of
// words are errors. A text's vector does not depend on what else is in the batch.
func (e *Encoder) Encode(ctx context.Context, batch [][]int32) ([][]float32, error) {
	for i, ids := range batch {
		if err := e.check(ids); err != nil {
			return nil, fmt.Errorf("bert: text %d of %d: %w", i, len(batch), err)
		}
	}
	out := make([][]float32, len(batch))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(e.cfg.Threads)
	for _, chunk := range e.chunks(batch) {
		g.Go(func() error {
			texts := make([][]int32, len(chunk))
			for i, at := range chunk {
				texts[i] = batch[at]
			}
			return e.with(ctx, texts, func(s *scratch) {
				row := 0
				for i, at := range chunk {
					out[at] = e.pool(s.x[row*e.cfg.Hidden : (row+len(texts[i]))*e.cfg.Hidden])
					row += len(texts[i])
				}
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// Tokens gives every token of one text its vector of Dimensions values, as the last layer leaves it: not normalised. Means over
// parts of them are vectors of the parts that know the whole text (late chunking).
func (e *Encoder) Tokens(ctx context.Context, ids []int32) ([][]float32, error) {
	if err := e.check(ids); err != nil {
		return nil, fmt.Errorf("bert: %w", err)
	}
	out := make([][]float32, len(ids))
	err := e.with(ctx, [][]int32{ids}, func(s *scratch) {
		all := slices.Clone(s.x[:len(ids)*e.cfg.Hidden])
		for i := range out {
			out[i] = all[i*e.cfg.Hidden : (i+1)*e.cfg.Hidden : (i+1)*e.cfg.Hidden]
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Pool makes one vector of the vectors of tokens, as Encode does for a whole text.
func (e *Encoder) Pool(tokens [][]float32) []float32 {
	all := make([]float32, 0, len(tokens)*e.cfg.Hidden)
	for _, t := range tokens {
		all = append(all, t[:e.cfg.Hidden]...)
	}
	return e.pool(all)
}

func (e *Encoder) check(ids []int32) error {
	if len(ids) == 0 {
		return fmt.Errorf("it has no tokens")
	}
	if len(ids) > e.MaxTokens() {
		return fmt.Errorf("it has %d tokens, the model takes %d: cut it", len(ids), e.MaxTokens())
	}
	for _, id := range ids {
		if id < 0 || int(id) >= e.words.Len() {
			return fmt.Errorf("token %d is not one of the %d of the vocabulary: is the tokenizer another model's?", id, e.words.Len())
		}
	}
	return nil
}

// chunks parts a batch into lists of texts that are computed together: of similar length, and enough lists for all threads.
func (e *Encoder) chunks(batch [][]int32) [][]int {
	order, total := make([]int, len(batch)), 0
	for i := range order {
		order[i] = i
		total += len(batch[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(batch[b]) - len(batch[a]) })
	limit := min(chunkTokens, (total+e.cfg.Threads-1)/e.cfg.Threads)
	var all [][]int
	for from := 0; from < len(order); {
		to, n := from, 0
		for to < len(order) && (to == from || n+len(batch[order[to]]) <= limit) {
			n += len(batch[order[to]])
			to++
		}
		all = append(all, order[from:to])
		from = to
	}
	return all
}

// with computes texts in a scratch of its own, and lends it to use.
func (e *Encoder) with(ctx context.Context, texts [][]int32, use func(*scratch)) error {
	var s *scratch
	select {
	case s = <-e.scratch:
	case <-ctx.Done():
		return fmt.Errorf("bert: %w", context.Cause(ctx))
	}
	defer func() { e.scratch <- s }()
	if err := e.forward(ctx, s, texts); err != nil {
		return err
	}
	use(s)
	return nil
}

// pool makes one vector of rows of tokens.
func (e *Encoder) pool(rows []float32) []float32 {
	h := e.cfg.Hidden
	out := make([]float32, h)
	if e.cfg.FirstToken {
		copy(out, rows)
	} else {
		n := len(rows) / h
		for ; len(rows) >= h; rows = rows[h:] {
			for i, v := range rows[:h] {
				out[i] += v
			}
		}
		for i := range out {
			out[i] /= float32(n)
		}
	}
	if !e.cfg.Normalize {
		return out
	}
	sum := 0.
	for _, v := range out {
		sum += float64(v) * float64(v)
	}
	if sum > 0 {
		for i := range out {
			out[i] = float32(float64(out[i]) / math.Sqrt(sum))
		}
	}
	return out
}
