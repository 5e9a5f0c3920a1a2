package llmcall

import (
	"context"
	"sync"

	"github.com/kbsync/kbsync/connector"
)

// Memory keeps answers as long as the program runs. The zero value is empty.
type Memory struct {
	mu      sync.Mutex
	answers map[Key]connector.LLMAnswer
}

var _ Store = (*Memory)(nil)

// Answer implements [Store].
func (m *Memory) Answer(_ context.Context, key Key) (connector.LLMAnswer, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.answers[key]
	return a, ok, nil
}

// Keep implements [Store].
func (m *Memory) Keep(_ context.Context, key Key, a connector.LLMAnswer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers == nil {
		m.answers = map[Key]connector.LLMAnswer{}
	}
	m.answers[key] = a
	return nil
}

// Len is how many answers are kept.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.answers)
}
