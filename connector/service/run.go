package service

import (
	"context"
	"fmt"
	"time"

	"github.com/kbsync/kbsync/connector/pipeline"
)

// run is one sync and what follows from how it ended.
func (s *Service) run(ctx context.Context, why string) error {
	p := new(progress)
	start := wall()
	s.update(func(st *state) {
		// Everything that was waited for up to now is in this run.
		st.running, st.reason, st.progress = start, why, p
		st.owed, st.asked, st.retryAt = "", false, time.Time{}
		st.firstChange, st.lastChange = time.Time{}, time.Time{}
		if s.times != nil && !st.due.IsZero() && !st.due.After(start) {
			passed, tick := s.times.pass(st.tick, start)
			st.missed += int64(passed - 1) // one of them has its run
			s.plan(st, tick)
		}
	})
	s.log.Debug("run begins", "reason", why)
	var result pipeline.Result
	var status *pipeline.Status
	err := guarded(func() (err error) {
		result, status, err = s.drive(ctx, p)
		return err
	})
	s.settle(why, start, &result, status, err)
	if s.opts.Ended != nil {
		s.opts.Ended(result, err)
	}
	return err
}

// sayEvery is how often a run under way is reported.
const sayEvery = 30 * time.Second

// drive runs the engine and tells the log how far it is.
func (s *Service) drive(ctx context.Context, p *progress) (pipeline.Result, *pipeline.Status, error) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(sayEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				s.log.Info("run under way", "listed", p.listed.Load(), "settled", p.settled.Load(), "embedded", p.embedded.Load(), "failed", p.failed.Load())
			}
		}
	}()
	defer func() {
		close(stop)
		<-done
	}()
	return s.engine.sync(ctx, s.file, p)
}

// settle notes how a run ended and what comes next.
func (s *Service) settle(why string, start time.Time, result *pipeline.Result, status *pipeline.Status, err error) {
	now, outcome := wall(), outcomeOf(err)
	kept := *result
	kept.Errors = kept.Errors[:min(len(kept.Errors), maxKept)]
	e := &ended{Started: start, Ended: now, Reason: why, Outcome: outcome, Result: &kept}
	if err != nil {
		e.Error = err.Error()
	}
	d := &result.Documents
	idle := d.Added+d.Updated+d.Moved+d.Deleted == 0
	s.update(func(st *state) {
		st.running, st.reason, st.progress, st.last = time.Time{}, "", nil, e
		st.runs++
		if status != nil {
			st.status, st.statusAt = status, now
		}
		if s.times != nil && !st.tick.IsZero() {
			// Ticks that passed while the run was under way are made up for by one run, right after it.
			if passed, tick := s.times.pass(st.tick, now); passed > 0 {
				st.missed += int64(passed)
				st.owed = "missed"
				s.plan(st, tick)
			}
		}
		switch {
		case !idle:
			st.idle = 0
		case why == "change":
			st.idle++
		}
		switch outcome {
		case outcomeOK:
			st.failures, st.success = 0, now
		case outcomeRefused, outcomeDrained: // a person must look; waiting does not help
			st.failures = 0
		default:
			st.failures++
			st.owed = "" // the next try makes up for that too
			st.retryAt = now.Add(backoff(st.failures))
			if !st.due.IsZero() && st.due.Before(st.retryAt) {
				st.retryAt = st.due // the next tick comes first
			}
		}
	})
	s.metrics.ended(outcome, now.Sub(start), result)
	s.report(e, result.Errors)
}

// maxKept bounds the failed documents of the last run that /status names.
const maxKept = 100

// report tells the log of a run.
func (s *Service) report(e *ended, failures []pipeline.ErrorRow) {
	d, c := &e.Result.Documents, &e.Result.Chunks
	attrs := []any{
		"outcome", e.Outcome, "reason", e.Reason, "took", e.Ended.Sub(e.Started).Round(time.Millisecond).String(),
		"added", d.Added, "updated", d.Updated, "moved", d.Moved, "deleted", d.Deleted, "unchanged", d.Unchanged, "skipped", d.Skipped, "failed", d.Failed,
		"chunks_written", c.Upserted, "chunks_deleted", c.Deleted, "embedded", e.Result.Embeddings.Computed,
	}
	if next := s.nextRun(); !next.IsZero() {
		attrs = append(attrs, "next", next)
	}
	for i, row := range failures {
		if i == maxSaid {
			s.log.Warn(fmt.Sprintf("%d more documents failed: kbsync status names them", len(failures)-i))
			break
		}
		s.log.Warn("failed", "source", row.Source, "path", row.Path, "stage", row.Stage, "error", row.Error)
	}
	switch e.Outcome {
	case outcomeOK, outcomeDrained:
		s.log.Info("run ended", attrs...)
	default:
		s.log.Error("run ended", append(attrs, "error", e.Error)...)
	}
}

// maxSaid bounds the failed documents of one run that the log names.
const maxSaid = 20
