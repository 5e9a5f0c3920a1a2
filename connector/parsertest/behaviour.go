package parsertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing/iotest"

	"github.com/kbsync/kbsync/connector"
)

// CheckBehaviour applies every rule about how a parser behaves. input is a document that it can read.
func CheckBehaviour(p connector.Parser, path, input string) error {
	return errors.Join(CheckDeterminism(p, path, input), CheckCancel(p, path, input), CheckReadErrors(p, path, input), CheckBreak(p, path, input))
}

// CheckDeterminism checks this: parsing twice, concurrently, and from a reader that gives a few bytes at a time gives equal elements.
func CheckDeterminism(p connector.Parser, path, input string) error {
	want, err := Collect(context.Background(), p, path, strings.NewReader(input))
	if err != nil {
		return err
	}
	times := 4
	if len(input) > largeInput {
		times = 2
	}
	var wg sync.WaitGroup
	errs := make([]error, times)
	for i := range times {
		wg.Go(func() {
			var r io.Reader = strings.NewReader(input)
			if i%2 == 1 {
				r = iotest.HalfReader(iotest.DataErrReader(r))
			}
			got, err := Collect(context.Background(), p, path, r)
			switch {
			case err != nil:
				errs[i] = err
			case !reflect.DeepEqual(got, want):
				errs[i] = fmt.Errorf("the same bytes gave other elements: %s", firstDifference(got, want))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func firstDifference(got, want []connector.Element) string {
	for i := range min(len(got), len(want)) {
		if !reflect.DeepEqual(got[i], want[i]) {
			return fmt.Sprintf("element %d is %s %v, was %s %v", i, got[i].Kind, got[i].Span, want[i].Kind, want[i].Span)
		}
	}
	return fmt.Sprintf("%d elements, were %d", len(got), len(want))
}

// CheckCancel checks this: after a cancellation at any element no further element comes, and the sequence ends with the
// context's error unless it had come to its end.
func CheckCancel(p connector.Parser, path, input string) error {
	all, err := Collect(context.Background(), p, path, strings.NewReader(input))
	if err != nil {
		return err
	}
	for at := range stops(len(all), len(input)) {
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		var end error
		for el, err := range p.Parse(ctx, Document(path, len(input)), strings.NewReader(input)) {
			if err != nil {
				end = err
				break
			}
			if n++; n > at+1 && el.Kind != connector.KindDropped {
				cancel()
				return fmt.Errorf("cancelled at element %d of %d, and element %d came", at, len(all), n-1)
			}
			if n == at+1 {
				cancel()
			}
		}
		cancel()
		if rest := onlyDropped(all[min(at+1, len(all)):]); end == nil && !rest || end != nil && !errors.Is(end, context.Canceled) {
			return fmt.Errorf("cancelled at element %d of %d: ended with %v", at, len(all), end)
		}
	}
	return nil
}

func onlyDropped(els []connector.Element) bool {
	for _, el := range els {
		if el.Kind != connector.KindDropped {
			return false
		}
	}
	return true
}

// largeInput is the size from which on the checks are made less often.
const largeInput = 1 << 20

// stops are some of the numbers below n: all if they are few, fewer if the input is large.
func stops(n, size int) func(func(int) bool) {
	count := 16
	if size > largeInput {
		count = 1
	}
	return func(yield func(int) bool) {
		for i := 0; i < n; i += max(1, n/count) {
			if !yield(i) {
				return
			}
		}
	}
}

// CheckReadErrors checks this: a source that breaks, at its start, in its midst or instead of its end, gives an error that wraps the
// source's own.
func CheckReadErrors(p connector.Parser, path, input string) error {
	for _, at := range []int{0, len(input) / 2, len(input)} {
		broken := errors.New("broken pipe of the test")
		els, err := Collect(context.Background(), p, path, io.MultiReader(strings.NewReader(input[:at]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			return fmt.Errorf("the source broke after %d of %d bytes: got %d elements and error %v", at, len(input), len(els), err)
		}
	}
	return nil
}

// CheckBreak checks this: a consumer may stop at any element.
func CheckBreak(p connector.Parser, path, input string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a consumer that stops: %w: %v", ErrPanic, v)
		}
	}()
	all, err := Collect(context.Background(), p, path, strings.NewReader(input))
	if err != nil {
		return err
	}
	for at := range stops(len(all), len(input)) {
		n := 0
		for range p.Parse(context.Background(), Document(path, len(input)), strings.NewReader(input)) {
			if n++; n > at {
				break
			}
		}
	}
	return nil
}
