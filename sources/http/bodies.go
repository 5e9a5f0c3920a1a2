package httpsource

import (
	"container/list"
	"sync"
)

const (
	cachedBodies = 32 << 20 // bytes that a crawl keeps for the readings that follow
	cachedBody   = 4 << 20  // the largest that is kept
)

// kept is a page as a crawl read it.
type kept struct {
	path  string
	data  []byte
	facts facts
}

// bodies keeps the pages that a crawl fetched last, so that reading them does not fetch them again.
type bodies struct {
	limit int

	mu     sync.Mutex
	held   int
	order  *list.List // oldest first
	byPath map[string]*list.Element
}

func newBodies(limit int) *bodies {
	return &bodies{limit: limit, order: list.New(), byPath: map[string]*list.Element{}}
}

func (b *bodies) put(k *kept) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(b.byPath[k.path])
	b.byPath[k.path] = b.order.PushBack(k)
	b.held += cap(k.data)
	for b.held > b.limit {
		b.drop(b.order.Front())
	}
}

// take gives a page to its first reader.
func (b *bodies) take(path string) (*kept, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.byPath[path]
	if !ok {
		return nil, false
	}
	k := e.Value.(*kept)
	b.drop(e)
	return k, true
}

func (b *bodies) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.order.Init()
	clear(b.byPath)
	b.held = 0
}

func (b *bodies) drop(e *list.Element) {
	if e == nil {
		return
	}
	k := b.order.Remove(e).(*kept)
	delete(b.byPath, k.path)
	b.held -= cap(k.data)
}
