package pdf

import "context"

// Bounds of the sandboxes' memory, in bytes: each has its share, and one at a time may take all that is left of 512 MiB.
const (
	wasmPage    = 64 << 10
	shareMemory = 64 << 20
	maxMemory   = 512<<20 - (maxSandboxes-1)*shareMemory
)

// memory is the memory of one sandbox. It grows in place where the system can reserve addresses.
type memory struct {
	ctx    context.Context // of the document that is being read
	big    chan struct{}
	holds  bool // the token of big
	denied bool // it asked for more than there may be
	buf    []byte
	size   uint64
	mapped bool
}

func newMemory(big chan struct{}) *memory { return &memory{big: big, ctx: context.Background()} }

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
		case <-m.ctx.Done():
			return nil
		}
	}
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

// release gives the memory back. Nothing may run in the sandbox any more.
func (m *memory) release() {
	if m.mapped {
		unreserve(m.buf)
	}
	m.buf, m.size, m.mapped = nil, 0, false
	if m.holds {
		<-m.big
		m.holds = false
	}
}
