package llmcall

import (
	"context"
	"sync"
)

// Missing counts requests that would have been sent. The zero value is empty; it is safe for concurrent use.
type Missing struct {
	mu   sync.Mutex
	keys map[Key]bool
}

type missingKey struct{}

// WithoutAsking makes a context in which nothing is sent: a request whose answer is not kept is noted in m and has, as its answer, that
// the model refused, so that strategies go on to the next one.
func WithoutAsking(ctx context.Context, m *Missing) context.Context {
	return context.WithValue(ctx, missingKey{}, m)
}

// without gives what notes the requests in a context in which nothing is sent; nil in any other.
func without(ctx context.Context) *Missing {
	m, _ := ctx.Value(missingKey{}).(*Missing)
	return m
}

func (m *Missing) add(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys == nil {
		m.keys = map[Key]bool{}
	}
	m.keys[key] = true
}

// Calls is how many requests there may be: each that was noted, and once more where its answer cannot be used.
func (m *Missing) Calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return 2 * len(m.keys)
}
