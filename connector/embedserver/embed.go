package embedserver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/kbsync/kbsync/connector"
)

// defaultItems bounds a call where the model names no limit: other requests get their turn in between.
const defaultItems = 64

// job is the texts of one request on their way.
type job struct {
	s      *Server
	texts  []string
	tokens []int
	out    [][]float32

	mu      sync.Mutex
	refused map[int]error
}

// embed gives texts their vectors. The error of texts that the embedder refuses names every one of them.
func (s *Server) embed(ctx context.Context, role Role, texts []string, tokens []int) ([][]float32, error) {
	j := &job{s: s, texts: texts, tokens: tokens, out: make([][]float32, len(texts)), refused: map[int]error{}}
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(s.opts.Concurrency)
	if role == Query && s.model.QueryPrefix != s.model.DocumentPrefix {
		for i := range texts {
			g.Go(func() error { return j.question(inner, i) })
		}
	} else { // where the model does not tell questions apart, they are passages
		for from, to := range s.batches(texts, tokens) {
			g.Go(func() error { return j.batch(inner, from, to) })
		}
	}
	if err := g.Wait(); err != nil {
		return nil, cause(ctx, err)
	}
	if len(j.refused) > 0 {
		return nil, j.refusal()
	}
	return j.out, nil
}

// batches cuts texts into ranges within the model's limits.
func (s *Server) batches(texts []string, tokens []int) func(yield func(from, to int) bool) {
	m := s.model
	most := m.MaxItems
	if most <= 0 {
		most = defaultItems
	}
	return func(yield func(from, to int) bool) {
		from, sum, size := 0, 0, 0
		for i := range texts {
			full := i-from >= most || m.MaxTokens > 0 && sum+tokens[i] > m.MaxTokens || m.MaxBytes > 0 && size+len(texts[i]) > m.MaxBytes
			if full && i > from {
				if !yield(from, i) {
					return
				}
				from, sum, size = i, 0, 0
			}
			sum, size = sum+tokens[i], size+len(texts[i])
		}
		if from < len(texts) {
			yield(from, len(texts))
		}
	}
}

// batch embeds a range of the texts in one call. One that is refused as invalid or too large is halved until the text at fault
// stands alone.
func (j *job) batch(ctx context.Context, from, to int) error {
	var got [][]float32
	err := j.s.call(ctx, sum(j.tokens[from:to]), func() (err error) {
		got, err = j.s.embedder.Embed(ctx, slices.Clone(j.texts[from:to]))
		return err
	})
	var be *connector.BatchError
	if err != nil && !errors.As(err, &be) {
		if class := connector.ClassOf(err); class != connector.ClassInvalid && class != connector.ClassTooLarge {
			return err
		}
		if to-from == 1 {
			j.refuse(from, err)
			return nil
		}
		half := from + (to-from)/2
		if err := j.batch(ctx, from, half); err != nil {
			return err
		}
		return j.batch(ctx, half, to)
	}
	if len(got) != to-from {
		return fmt.Errorf("the embedder %s returned %d vectors for %d texts", j.s.model.Provider, len(got), to-from)
	}
	for i, v := range got {
		if be != nil && be.Items[i] != nil {
			j.refuse(from+i, be.Items[i])
			continue
		}
		if err := j.take(from+i, v); err != nil {
			return err
		}
	}
	return nil
}

// question embeds one text as a question.
func (j *job) question(ctx context.Context, i int) error {
	var v []float32
	err := j.s.call(ctx, j.tokens[i], func() (err error) {
		v, err = j.s.embedder.EmbedQuery(ctx, j.texts[i])
		return err
	})
	switch class := connector.ClassOf(err); {
	case err == nil:
		return j.take(i, v)
	case class == connector.ClassInvalid || class == connector.ClassTooLarge || isBatch(err):
		j.refuse(i, err)
		return nil
	}
	return err
}

func isBatch(err error) bool {
	var be *connector.BatchError
	return errors.As(err, &be)
}

// take accepts a vector. One that would poison a search is the fault of its text; one of another size spoils everything.
func (j *job) take(i int, v []float32) error {
	if len(v) != j.s.model.Dimensions {
		return fmt.Errorf("the embedder %s returned a vector of %d dimensions, want %d", j.s.model.Provider, len(v), j.s.model.Dimensions)
	}
	zero := true
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			j.refuse(i, errors.New("its vector is not finite"))
			return nil
		}
		zero = zero && x == 0
	}
	if zero {
		j.refuse(i, errors.New("its vector is zero"))
		return nil
	}
	j.out[i] = v
	return nil
}

func (j *job) refuse(i int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.refused[i] = err
}

// refusal names the texts that have no vector, the first few of them with the reason.
func (j *job) refusal() *failure {
	be := &connector.BatchError{Items: j.refused}
	all := be.Indexes()
	var b strings.Builder
	fmt.Fprintf(&b, "the model refuses %d of %d inputs:", len(all), len(j.texts))
	for n, i := range all {
		switch {
		case n < 5:
			fmt.Fprintf(&b, " input[%d]: %v;", i, j.refused[i])
		case n < 100:
			fmt.Fprintf(&b, " input[%d];", i)
		}
	}
	if len(all) > 100 {
		b.WriteString(" …")
	}
	return coded(place(all[0]), "input_refused", "%s", strings.TrimSuffix(b.String(), ";"))
}

// call calls the embedder when it is this call's turn. A panic becomes an error.
func (s *Server) call(ctx context.Context, tokens int, fn func() error) (err error) {
	if err := s.pace.pay(tokens); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case s.slots <- struct{}{}:
	}
	defer func() { <-s.slots }()
	if err := s.pace.wait(ctx, tokens); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("the embedder panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the embedder %s failed within; the log of the server tells where", s.model.Provider)
		}
	}()
	return fn()
}

func sum(numbers []int) (n int) {
	for _, x := range numbers {
		n += x
	}
	return n
}
