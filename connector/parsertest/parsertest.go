// Package parsertest is the conformance suite of parsers: what the contract of [connector.Parser] promises, as
// checks that hold for every parser on every input. [Run] applies them in a test; the Check functions
// apply one rule each.
package parsertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// Case is one document that the parser can read.
type Case struct {
	Name string
	// Path of the document; "document" if empty.
	Path  string
	Input string
	// Sentinels are words of the input, each of which must occur in the text or in a dropped element.
	Sentinels []string
}

// Run tests the parser that open gives against all rules on each case, and on damaged and random input.
func Run(t *testing.T, open func() connector.Parser, cases []Case) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			els, err := Collect(context.Background(), open(), c.Path, strings.NewReader(c.Input))
			if err != nil {
				t.Fatalf("parse: %v", err)
			}
			report(t, CheckElements(els))
			report(t, CheckSentinels(els, c.Sentinels))
			report(t, CheckBehaviour(open(), c.Path, c.Input))
			for _, input := range damaged(c.Input) {
				report(t, CheckSound(open(), c.Path, input))
			}
		})
	}
	t.Run("random bytes", func(t *testing.T) {
		rng := rand.New(rand.NewSource(1))
		for size := range 200 {
			b := make([]byte, size)
			_, _ = rng.Read(b)
			report(t, CheckSound(open(), "document", string(b)))
		}
	})
}

func report(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// damaged are a few variations of input: cut short, with a byte changed, doubled.
func damaged(input string) []string {
	out := []string{"", input + input}
	if len(input) == 0 {
		return out
	}
	rng := rand.New(rand.NewSource(int64(len(input))))
	for range 8 {
		cut := rng.Intn(len(input))
		b := []byte(input)
		b[rng.Intn(len(b))] = byte(rng.Intn(256))
		out = append(out, input[:cut], input[cut:], string(b))
	}
	return out
}

// Document is a document at path as a source would list it, "document" if path is empty.
func Document(path string, size int) *connector.Document {
	if path == "" {
		path = "document"
	}
	return &connector.Document{Path: path, URI: "test:///" + path, Size: int64(size)}
}

// Collect parses r to the end. A panic of the parser is returned as an error that wraps [ErrPanic].
func Collect(ctx context.Context, p connector.Parser, path string, r io.Reader) (els []connector.Element, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrPanic, v)
		}
	}()
	for el, err := range p.Parse(ctx, Document(path, -1), r) {
		if err != nil {
			return els, err
		}
		els = append(els, el)
	}
	return els, nil
}

// ErrPanic marks an error of Collect that was a panic.
var ErrPanic = errors.New("the parser panicked")

// Text is the parsed text: the concatenation of the elements that are not dropped.
func Text(els []connector.Element) string {
	var b strings.Builder
	for _, el := range els {
		if el.Kind != connector.KindDropped {
			b.WriteString(el.Text)
		}
	}
	return b.String()
}

// CheckAll applies every rule to a parser and one document that it can read.
func CheckAll(p connector.Parser, path, input string) error {
	els, err := Collect(context.Background(), p, path, strings.NewReader(input))
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	return errors.Join(CheckElements(els), CheckBehaviour(p, path, input))
}

// CheckSound parses any bytes: an error is allowed, a panic or unsound elements are not.
func CheckSound(p connector.Parser, path, input string) error {
	els, err := Collect(context.Background(), p, path, strings.NewReader(input))
	if errors.Is(err, ErrPanic) {
		return fmt.Errorf("on %.60q: %w", input, err)
	}
	if err := CheckElements(els); err != nil {
		return fmt.Errorf("on %.60q: %w", input, err)
	}
	return nil
}
