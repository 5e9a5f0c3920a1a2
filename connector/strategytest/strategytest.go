// Package strategytest is the conformance suite of chunking strategies: laws 1 to 5 of the specification, as checks of the chunks that
// a strategy makes of given elements. Run applies it to the suite's own inputs, many of them hostile; Check applies it to any
// input, a parsed file for instance.
//
// What a word is, the suite decides by Unicode (UAX #29), apart from what the strategies do.
package strategytest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// Input is the elements of one document.
type Input struct {
	Name     string
	Document connector.Document
	Elements []connector.Element
}

// Text is the parsed text: what all elements but the dropped ones add up to.
func (in Input) Text() string {
	var b strings.Builder
	for _, el := range in.Elements {
		if el.Kind != connector.KindDropped {
			b.WriteString(el.Text)
		}
	}
	return b.String()
}

// Sequence yields the elements.
func (in Input) Sequence() iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		for _, el := range in.Elements {
			if !yield(el, nil) {
				return
			}
		}
	}
}

// Run applies the suite: every law over the built-in inputs and the given ones, and what the contract says of errors and
// of consumers that stop.
func Run(t *testing.T, s connector.Strategy, more ...Input) {
	t.Helper()
	for _, in := range append(Inputs(), more...) {
		t.Run(in.Name, func(t *testing.T) {
			for _, err := range Check(s, in) {
				t.Error(err)
			}
		})
	}
	t.Run("contract", func(t *testing.T) {
		for _, err := range Contract(s) {
			t.Error(err)
		}
	})
}

// Check cuts the input, several times and at once, and returns every breach of a law, at most a few of each kind.
func Check(s connector.Strategy, in Input) []error {
	chunks, err := Collect(s, in)
	if err != nil {
		return []error{fmt.Errorf("%s: %w", in.Name, err)}
	}
	faults := Laws(s.Info(), in, chunks)
	return append(faults, deterministic(s, in, chunks)...)
}

// Collect cuts the input.
func Collect(s connector.Strategy, in Input) ([]connector.Chunk, error) {
	var chunks []connector.Chunk
	for c, err := range s.Chunks(context.Background(), &in.Document, in.Sequence()) {
		if err != nil {
			return nil, fmt.Errorf("strategytest: %s: %w", s.Info().Name, err)
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

// manyChunks is the number of chunks above which they are made twice at once, not three times.
const manyChunks = 200

// deterministic is law 5: the same elements give the same chunks, also while others are cut.
func deterministic(s connector.Strategy, in Input, want []connector.Chunk) []error {
	runs := 3
	if len(want) > manyChunks {
		runs = 2
	}
	got := make([][]connector.Chunk, runs)
	errs := make([]error, runs)
	var wg sync.WaitGroup
	for k := range runs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			got[k], errs[k] = Collect(s, in)
		}()
	}
	wg.Wait()
	for k := range runs {
		if errs[k] != nil {
			return []error{fmt.Errorf("law 5: run %d failed: %w", k+2, errs[k])}
		}
		if len(got[k]) != len(want) {
			return []error{fmt.Errorf("law 5: %d chunks, then %d", len(want), len(got[k]))}
		}
		for i := range want {
			if !reflect.DeepEqual(got[k][i], want[i]) {
				return []error{fmt.Errorf("law 5: chunk %d differs from run to run: %q, then %q", i, clip(want[i].Text), clip(got[k][i].Text))}
			}
		}
	}
	return nil
}

var errPlanted = errors.New("planted")

// Contract checks what holds apart from the laws: an error of the elements ends the chunks with that error, once; a consumer
// may stop; a cancelled context ends the work.
func Contract(s connector.Strategy) []error {
	var faults []error
	in := Input{Name: "contract", Elements: Prose(strings.Repeat("One sentence stands here. 另一句在这里。\n\n", 2000))}
	doc := &connector.Document{Path: "contract"}
	broken := func(yield func(connector.Element, error) bool) {
		for k, el := range in.Elements {
			if k == len(in.Elements)/2 {
				break
			}
			if !yield(el, nil) {
				return
			}
		}
		yield(connector.Element{}, errPlanted)
	}
	seen := 0
	for _, err := range s.Chunks(context.Background(), doc, broken) {
		if seen > 0 {
			faults = append(faults, errors.New("contract: something follows the error of the elements"))
			break
		}
		if err != nil {
			seen++
			if !errors.Is(err, errPlanted) {
				faults = append(faults, fmt.Errorf("contract: the elements' error came out as %w", err))
			}
		}
	}
	if seen == 0 {
		faults = append(faults, errors.New("contract: the elements failed, and the chunks ended as if they were complete"))
	}
	for range s.Chunks(context.Background(), doc, in.Sequence()) {
		break // a strategy that goes on yielding panics here
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var last error
	for _, err := range s.Chunks(ctx, doc, in.Sequence()) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		faults = append(faults, fmt.Errorf("contract: a cancelled context ended in %v", last))
	}
	return faults
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:40] + "…" + s[len(s)-16:]
	}
	return s
}
