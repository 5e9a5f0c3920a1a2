package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/kbsync/kbsync/connector/pipeline"
)

// How often the bar and, where there is no terminal, the log lines are brought up to date.
const (
	barEvery  = 150 * time.Millisecond
	lineEvery = 5 * time.Second
)

// meter counts what a run does. Its methods are called for every document: they only count.
type meter struct {
	listed, settled, failed, computed, cached, answered atomic.Int64

	stage atomic.Pointer[string]
}

var (
	_ pipeline.Progress       = (*meter)(nil)
	_ pipeline.AnswerProgress = (*meter)(nil)
)

// Listed counts a document that was seen.
func (m *meter) Listed(string) { m.listed.Add(1) }

// Settled counts a document that is done with; deleted ones were never listed.
func (m *meter) Settled(o pipeline.Outcome, _ string, _ int) {
	switch o {
	case pipeline.Deleted:
		return
	case pipeline.Failed:
		m.failed.Add(1)
	}
	m.settled.Add(1)
}

// Embedded counts texts that got a vector.
func (m *meter) Embedded(computed, cached int) {
	m.computed.Add(int64(computed))
	m.cached.Add(int64(cached))
}

// Answered counts answers of a language model.
func (m *meter) Answered(n int) { m.answered.Add(int64(n)) }

// Stage remembers what the run is at.
func (m *meter) Stage(name string) { m.stage.Store(&name) }

func (m *meter) at() string {
	if s := m.stage.Load(); s != nil {
		return *s
	}
	return "starting"
}

// progress shows a meter until the function it returns is called: as a bar on a terminal, as log lines with -v elsewhere.
func (a *app) progress() (*meter, func()) {
	m := new(meter)
	stop := make(chan struct{})
	var show func()
	switch {
	case a.quiet || a.noProgress:
		return m, func() {}
	case term.IsTerminal(int(os.Stderr.Fd())):
		show = func() { a.bar(m, stop) }
	case a.verbose > 0:
		show = func() { logLines(m, a.logger(), stop) }
	default:
		return m, func() {}
	}
	var wg sync.WaitGroup
	wg.Go(show)
	return m, sync.OnceFunc(func() {
		close(stop)
		wg.Wait()
	})
}

// bar draws m on the terminal until stop is closed, then takes it away.
func (a *app) bar(m *meter, stop <-chan struct{}) {
	p := mpb.New(mpb.WithOutput(os.Stderr), mpb.WithWidth(24), mpb.WithRefreshRate(barEvery))
	b := p.AddBar(0,
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return m.at() + " " })),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return m.counts() })),
		mpb.BarRemoveOnComplete(),
	)
	a.err.redirect(p)
	tick := time.NewTicker(barEvery)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-tick.C:
		case <-stop:
			running = false
		}
		listed := m.listed.Load()
		b.SetTotal(listed, false)
		b.SetCurrent(min(m.settled.Load(), max(listed-1, 0)))
	}
	a.err.redirect(io.Writer(os.Stderr))
	b.Abort(true)
	p.Wait()
}

func (m *meter) counts() string {
	s := fmt.Sprintf(" %d/%d documents", m.settled.Load(), m.listed.Load())
	if n := m.computed.Load(); n > 0 {
		s += fmt.Sprintf(", %d embedded", n)
	}
	if n := m.answered.Load(); n > 0 {
		s += fmt.Sprintf(", %d answered", n)
	}
	if n := m.failed.Load(); n > 0 {
		s += fmt.Sprintf(", %d failed", n)
	}
	return s
}

// logLines writes a line every few seconds.
func logLines(m *meter, log *slog.Logger, stop <-chan struct{}) {
	tick := time.NewTicker(lineEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			log.Info(m.at(), "listed", m.listed.Load(), "settled", m.settled.Load(), "embedded", m.computed.Load(),
				"cached", m.cached.Load(), "failed", m.failed.Load())
		}
	}
}
