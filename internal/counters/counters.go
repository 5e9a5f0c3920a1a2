// Package counters names the units that chunks are measured in: characters and OpenAI's tokens.
package counters

import (
	"fmt"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/tokens"
)

// Named gives the counter "chars", "cl100k" or "o200k". An encoding is loaded when something is first counted in it, which takes a moment; it
// stays in memory.
func Named(name string) (connector.Counter, error) {
	switch name {
	case "chars":
		return Chars{}, nil
	case "cl100k", "o200k":
		return encoding(name), nil
	}
	return nil, fmt.Errorf("counters: no unit %q: choose chars, cl100k or o200k", name)
}

// encoding adapts an encoding, by its name, to the contract.
type encoding string

var _ connector.Counter = encoding("")

// Name is "cl100k" or "o200k".
func (e encoding) Name() string { return string(e) }

// Count is the number of tokens of text.
func (e encoding) Count(text string) int { return e.load().Count(text) }

// Ruler counts by the token sums of one pass.
func (e encoding) Ruler(text string) connector.Ruler { return e.load().Ruler(text) }

// Offsets is where each token of text ends.
func (e encoding) Offsets(text string) []int32 { return e.load().Offsets(text) }

// load gives the encoding. Its vocabulary is part of the program, so it fails only where the program is broken.
func (e encoding) load() *tokens.Encoding {
	enc, err := tokens.Get(string(e))
	if err != nil {
		panic(fmt.Sprintf("counters: %v", err))
	}
	return enc
}
