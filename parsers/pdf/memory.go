package pdf

import (
	"context"
	"sync"
)

// Bounds of the sandboxes' memory, in bytes: each has its share, and one at a time may take all that is left of 512 MiB.
const (
	shareMemory = 64 << 20
	maxMemory   = 512<<20 - (maxSandboxes-1)*shareMemory
)

// memory is the memory of one sandbox. It grows in place where the system can reserve addresses.
type memory struct {
	big    chan struct{}
	holds  bool // the token of big
	denied bool // it asked for more than there may be
	size   uint64
	mapped bool

	mu      sync.Mutex // guards buf against stop
	buf     []byte
	stopped context.Context
	cancel  context.CancelFunc
}

func newMemory(big chan struct{}) *memory {
	m := &memory{big: big}
	m.stopped, m.cancel = context.WithCancel(context.Background())
	return m
}

// Reallocate grows the memory. It waits where another sandbox has more than its share.
func (m *memory) Reallocate(size uint64) []byte {
	if size > maxMemory {
		m.denied = true
		return nil
	}
	if size > shareMemory && !m.holds {
		select {
		case m.big <- struct{}{}:
			m.holds = true
		case <-m.stopped.Done():
			return nil
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.buf == nil {
		m.buf, m.mapped = reserve(maxMemory)
	}
	if uint64(len(m.buf)) < size {
		grown := make([]byte, min(max(size, uint64(len(m.buf))*3/2), maxMemory))
		copy(grown, m.buf[:m.size])
		m.buf = grown
	}
	m.size = size
	return m.buf[:size:size]
}

// Free does nothing: release does, when no call can be on its way.
func (m *memory) Free() {}

// stop makes what runs in the sandbox end soon. It may be called at any time.
func (m *memory) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cancel()
	if len(m.buf) > stopAt {
		m.buf[stopAt] = 1
	}
}

// release gives the memory back. Nothing may run in the sandbox any more.
func (m *memory) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cancel()
	if m.mapped {
		unreserve(m.buf)
	}
	m.buf, m.size, m.mapped = nil, 0, false
	if m.holds {
		<-m.big
		m.holds = false
	}
}
