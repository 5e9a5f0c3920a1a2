package pipeline

import (
	"context"
	"sync"
	"time"
)

// docClock ends the time of one document. It stands while the document waits for a model, whose requests have limits of their own:
// a document is not at fault for a provider's pace.
type docClock struct {
	mu      sync.Mutex
	left    time.Duration
	since   time.Time
	waiting int
	timer   *time.Timer
}

type docClockKey struct{}

// withClock is ctx with so much time, after which it ends for that cause.
func withClock(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &docClock{left: d, since: time.Now()}
	c.timer = time.AfterFunc(d, func() {
		c.mu.Lock()
		out := c.waiting == 0 && time.Since(c.since) >= c.left
		c.mu.Unlock()
		if out {
			cancel(cause)
		}
	})
	if time.Since(c.since) >= d { // no time at all
		cancel(cause)
	}
	return context.WithValue(ctx, docClockKey{}, c), func() {
		c.timer.Stop()
		cancel(nil)
	}
}

// stopClock lets the clock of ctx stand, if it has one, until resume is called.
func stopClock(ctx context.Context) (resume func()) {
	c, ok := ctx.Value(docClockKey{}).(*docClock)
	if !ok {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting == 1 {
		c.timer.Stop()
		c.left -= time.Since(c.since)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.waiting--; c.waiting == 0 {
			c.since = time.Now()
			c.timer.Reset(max(c.left, 0))
		}
	}
}
