package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

var errInterrupted = errors.New("interrupted")

// grace is how long a cancelled run may take to end before the process exits anyway. Killing a run is safe: the next one
// settles what it left.
const grace = 2 * time.Second

// exitInterrupted is what shells expect of a process that ended by SIGINT.
const exitInterrupted = 130

// signals makes a context that ends by interrupt. Where a command drains, the first interrupt closes a.drain and
// the second one ends the context.
func (a *app) signals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 3)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		a.await(ch, quit, cancel)
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(quit)
		<-done
		cancel(nil)
	}
}

func (a *app) await(ch <-chan os.Signal, quit <-chan struct{}, cancel context.CancelCauseFunc) {
	next := func() bool {
		select {
		case <-ch:
			return true
		case <-quit:
			return false
		}
	}
	if !next() {
		return
	}
	if a.drops.Load() {
		close(a.drain)
		a.stopping("stopping: finishing what was begun; interrupt again to stop at once")
		if !next() {
			return
		}
	}
	cancel(errInterrupted)
	select {
	case <-quit:
		return
	case <-ch:
	case <-time.After(grace):
	}
	os.Exit(exitInterrupted)
}

// stopping tells of an interrupt where the command tells the rest.
func (a *app) stopping(what string) {
	if a.events != nil {
		a.events.Info(what)
		return
	}
	a.remark("%s", what)
}

// draining makes the first interrupt drain.
func (a *app) draining() <-chan struct{} {
	a.drops.Store(true)
	return a.drain
}
