// Package embedtest is the conformance suite of embedders. It is proved by its own tests: for each rule there is a
// broken embedder that it must catch.
//
// For contextual models, whose texts get other vectors among other neighbours, the rules about order and about texts alone are others.
// [Contextual] is such a model, for tests.
package embedtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kbsync/kbsync/connector"
)

// Options adapt the suite to an embedder.
type Options struct {
	// Tolerance of a component between two answers for one text; 0 asks for the very same vector. Models that sum in
	// another order in larger batches need some.
	Tolerance float64
	// Batch is how many texts the largest request holds; default 20, or the model's own limit if that is lower.
	Batch int
}

// Run checks the embedder that open gives; Run closes it.
func Run(t *testing.T, open func(t *testing.T) connector.Embedder, opts Options) {
	t.Helper()
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			check(t.Context(), t, r, open(t), opts)
			goleak.VerifyNone(t, before)
		})
	}
}

// reporter is what a rule needs of testing.T; the suite's own tests record failures through it.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

type rule struct {
	name  string
	check func(*env)
}

type env struct {
	reporter
	ctx   context.Context //nolint:containedctx // lives as long as the rule
	e     connector.Embedder
	model connector.Model
	opts  Options
}

func rules() []rule {
	return []rule{{"model", model}, {"vectors", vectors}, {"order", order}, {"batch", batch}, {"context", inContext}, {"deterministic", deterministic}, {"distinct", distinct},
		{"query", query}, {"concurrency", concurrency}, {"cancel", cancelled}, {"inputs", inputs}}
}

func check(ctx context.Context, t reporter, r rule, e connector.Embedder, opts Options) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	v := &env{reporter: t, ctx: ctx, e: e, model: e.Model(), opts: opts}
	if v.opts.Batch == 0 {
		v.opts.Batch = 20
	}
	if v.model.MaxItems > 0 {
		v.opts.Batch = min(v.opts.Batch, v.model.MaxItems)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	r.check(v)
}

// texts of several languages and shapes.
func (v *env) texts() []string {
	out := []string{
		"The quick brown fox jumps over the lazy dog.", "敏捷的棕色狐狸跳过了懒狗。", "素早い茶色の狐がのろまな犬を飛び越える。", "날쌘 갈색 여우", "Быстрая лиса",
		"func main() { fmt.Println(\"你好\") }", "a", "猫", "42", "1.5e-3 ± 2", "e\u0301 🦊 👩‍👩‍👧‍👦", "line one\nline two\r\n\ttabbed",
		"| a | b |\n|---|---|\n| 1 | 2 |", "https://example.com/a?b=c#d", strings.Repeat("long text 长文本 ", 40),
	}
	for i := len(out); i < v.opts.Batch; i++ {
		out = append(out, fmt.Sprintf("Passage %d of the handbook, 手册第%d段。", i, i))
	}
	return out[:v.opts.Batch]
}

func (v *env) embed(texts ...string) [][]float32 {
	v.Helper()
	out, err := v.e.Embed(v.ctx, texts)
	if err != nil {
		v.Fatalf("Embed of %d texts: %v", len(texts), err)
	}
	if len(out) != len(texts) {
		v.Fatalf("%d vectors for %d texts", len(out), len(texts))
	}
	return out
}

func (v *env) same(what string, got, want []float32) {
	v.Helper()
	if len(got) != len(want) {
		v.Fatalf("%s: %d dimensions, want %d", what, len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= v.opts.Tolerance) {
			v.Errorf("%s: component %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// sound: right length, finite, not zero, and of length 1 if the model says so.
func (v *env) sound(what string, vec []float32) {
	v.Helper()
	if len(vec) != v.model.Dimensions {
		v.Errorf("%s: %d dimensions, the model says %d", what, len(vec), v.model.Dimensions)
		return
	}
	square := 0.0
	for i, x := range vec {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			v.Errorf("%s: component %d is %v", what, i, x)
			return
		}
		square += float64(x) * float64(x)
	}
	if square == 0 {
		v.Errorf("%s: a zero vector", what)
	} else if v.model.Normalized && math.Abs(square-1) > 1e-3 {
		v.Errorf("%s: the length is %v, the model says normalized", what, math.Sqrt(square))
	}
}

func model(v *env) {
	m := v.model
	if m.Provider == "" || m.Name == "" || m.Version == "" {
		v.Errorf("the model has no provider, name or version: %+v", m)
	}
	if m.Dimensions < 1 {
		v.Errorf("the model has %d dimensions", m.Dimensions)
	}
	if m.MaxItems < 0 || m.MaxTokens < 0 || m.MaxBytes < 0 || m.MaxInputTokens < 0 {
		v.Errorf("a limit is negative: %+v", m)
	}
	if again := v.e.Model(); again.Identity() != m.Identity() {
		v.Errorf("the identity changed from %s to %s", m.Identity(), again.Identity())
	}
	v.embed("a text")
	if after := v.e.Model(); after.Identity() != m.Identity() || after.Dimensions != m.Dimensions {
		v.Errorf("the model changed when it was used, from %s to %s", m.Identity(), after.Identity())
	}
	if m.Counter != nil && (m.Counter.Name() == "" || m.Counter.Count("one two") < 1) {
		v.Errorf("the counter has no name or counts nothing")
	}
	if out, err := v.e.Embed(v.ctx, nil); err != nil || len(out) != 0 {
		v.Errorf("Embed of no texts: %d vectors, %v", len(out), err)
	}
}

func vectors(v *env) {
	texts := v.texts()
	for i, vec := range v.embed(texts...) {
		v.sound(fmt.Sprintf("%.30q", texts[i]), vec)
	}
	q, err := v.e.EmbedQuery(v.ctx, "Where is the fox? 狐狸在哪里？")
	if err != nil {
		v.Fatalf("EmbedQuery: %v", err)
	}
	v.sound("the query", q)
}

func order(v *env) {
	if v.model.Contextual {
		orderInContext(v)
		return
	}
	texts := v.texts()
	forward := v.embed(texts...)
	backward := make([]string, len(texts))
	for i := range texts {
		backward[len(texts)-1-i] = texts[i]
	}
	for i, vec := range v.embed(backward...) {
		v.same(fmt.Sprintf("%.30q in a batch in reverse", backward[i]), vec, forward[len(texts)-1-i])
	}
}

func batch(v *env) {
	if v.model.Contextual {
		return
	}
	texts := v.texts()
	for i, vec := range v.embed(texts...) {
		v.same(fmt.Sprintf("%.30q in a batch and alone", texts[i]), vec, v.embed(texts[i])[0])
	}
	if v.opts.Batch < 2 {
		return // the model takes one text at a time
	}
	twice := v.embed(texts[0], texts[0])
	v.same("the same text twice in a batch", twice[1], twice[0])
	twice[0][0] += 7
	v.same("a vector whose twin was changed by the caller", twice[1], v.embed(texts[0])[0])
}

func deterministic(v *env) {
	texts := v.texts()
	first := v.embed(texts...)
	for range 3 {
		for i, vec := range v.embed(texts...) {
			v.same(fmt.Sprintf("%.30q again", texts[i]), vec, first[i])
		}
	}
}

func distinct(v *env) {
	texts := v.texts()
	all := v.embed(texts...)
	for i := range all {
		for j := range i {
			equal := true
			for k := range all[i] {
				equal = equal && all[i][k] == all[j][k]
			}
			if equal {
				v.Errorf("%.30q and %.30q have the same vector", texts[i], texts[j])
			}
		}
	}
}

// query: with equal prefixes (or none) a question has the vector of a passage of the same text. With different ones the
// prefixes are applied: the vectors differ.
func query(v *env) {
	for _, text := range []string{"Where is the fox?", "狐狸在哪里？"} {
		q, err := v.e.EmbedQuery(v.ctx, text)
		if err != nil {
			v.Fatalf("EmbedQuery: %v", err)
		}
		again, err := v.e.EmbedQuery(v.ctx, text)
		if err != nil {
			v.Fatalf("EmbedQuery: %v", err)
		}
		v.same("the same question again", again, q)
		passage := v.embed(text)[0]
		if v.model.QueryPrefix == v.model.DocumentPrefix {
			v.same("a question and a passage of the same text", q, passage)
			continue
		}
		difference := 0.0
		for i := range q {
			difference = max(difference, math.Abs(float64(q[i])-float64(passage[i])))
		}
		if difference <= v.opts.Tolerance {
			v.Errorf("the model's prefixes for passages (%q) and questions (%q) differ, the vectors do not", v.model.DocumentPrefix, v.model.QueryPrefix)
		}
	}
}

func concurrency(v *env) {
	texts := v.texts()
	want := v.embed(texts...)
	var wg sync.WaitGroup
	results := make([][][]float32, 8)
	failures := make([]error, len(results))
	for i := range results {
		wg.Go(func() {
			for range 5 {
				if results[i], failures[i] = v.e.Embed(v.ctx, texts); failures[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for i, got := range results {
		if failures[i] != nil || len(got) != len(want) {
			v.Fatalf("concurrent Embed: %d vectors, %v", len(got), failures[i])
		}
		for j := range want {
			v.same(fmt.Sprintf("%.30q, embedded concurrently", texts[j]), got[j], want[j])
		}
	}
}

func cancelled(v *env) {
	ctx, cancel := context.WithCancel(v.ctx)
	cancel()
	if _, err := v.e.Embed(ctx, []string{"a text"}); !errors.Is(err, context.Canceled) {
		v.Errorf("Embed with a cancelled context: %v, want context.Canceled", err)
	}
	if _, err := v.e.EmbedQuery(ctx, "a text"); !errors.Is(err, context.Canceled) {
		v.Errorf("EmbedQuery with a cancelled context: %v, want context.Canceled", err)
	}
	v.embed("and it still works")
}

// inputs: the caller's slice is its own.
func inputs(v *env) {
	texts := v.texts()
	before := append([]string(nil), texts...)
	v.embed(texts...)
	for i := range texts {
		if texts[i] != before[i] {
			v.Fatalf("Embed changed text %d of its argument", i)
		}
	}
	for _, text := range []string{"!!!", "。", "—", "🦊", "\u200d\u200d x", "0"} {
		v.sound(fmt.Sprintf("%q", text), v.embed(text)[0])
	}
}
