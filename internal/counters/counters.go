// Package counters names the units that chunks are measured in: characters and OpenAI's tokens.
package counters

import (
	"fmt"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/tokens"
)

// Named gives the counter "chars", "cl100k" or "o200k". Loading an encoding for the first time takes a moment; it stays in memory.
func Named(name string) (connector.Counter, error) {
	switch name {
	case "chars":
		return Chars{}, nil
	case "cl100k", "o200k":
		e, err := tokens.Get(name)
		if err != nil {
			return nil, fmt.Errorf("counters: %w", err)
		}
		return encoding{e}, nil
	}
	return nil, fmt.Errorf("counters: no unit %q: choose chars, cl100k or o200k", name)
}

// encoding adapts an encoding to the contract.
type encoding struct{ *tokens.Encoding }

// Ruler counts by the token sums of one pass.
func (e encoding) Ruler(text string) connector.Ruler { return e.Encoding.Ruler(text) }
