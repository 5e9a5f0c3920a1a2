package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kbsync/kbsync/connector/pipeline"
)

// maxWait bounds a wait, so that a clock that was set, or a machine that slept, is noticed.
const maxWait = time.Minute

// step is what follows a wait.
type step int

const (
	stepRun step = iota
	stepReload
	stepDrained
	stepCancelled
)

func (s *Service) loop(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	w := s.startWatching(ctx)
	defer func() { w.stop() }()
	for first := true; ; {
		if !w.await(ctx, s.opts.Drain) { // nothing may change unseen between a watch's beginning and the first run's listing
			return context.Cause(ctx)
		}
		why, next := s.wait(ctx)
		switch next {
		case stepDrained:
			return nil
		case stepCancelled:
			return context.Cause(ctx)
		case stepReload:
			if s.reload() {
				w.stop()
				w = s.startWatching(ctx)
			}
			continue
		case stepRun:
		}
		err := s.run(ctx, why)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case first && pipeline.ExitCode(err) == pipeline.ExitUsage:
			return err
		}
		first = false
	}
}

// begin decides about the first run: at once if the last one is older than the last tick, did not end or did not end well, else
// at the next tick. Then a configuration that cannot be run is found out by opening it.
func (s *Service) begin(ctx context.Context) error {
	last, found, err := s.engine.last(ctx, s.file)
	if err != nil {
		s.log.Warn("the ledger does not tell when the last run was", "error", err)
	}
	now := wall()
	owed, tick, missed := "", time.Time{}, 0
	switch {
	case !found || s.opts.Watch:
		owed = "start"
	case last.Ended.IsZero():
		owed = "the last run did not end"
	case last.Outcome != outcomeOK:
		owed = "the last run failed"
	}
	if s.times != nil {
		tick = s.times.next(now)
		if found {
			if missed, tick = s.times.pass(s.times.next(last.Started.Round(0)), now); missed > 0 && owed == "" {
				owed = "missed"
			}
		}
	}
	s.update(func(st *state) {
		st.owed = owed
		st.missed += int64(missed)
		if found && !last.Ended.IsZero() {
			st.last = &ended{Started: last.Started, Ended: last.Ended, Reason: "before this service", Outcome: outcomeOK}
			if last.Outcome == outcomeOK {
				st.success = last.Ended
			} else {
				st.last.Outcome, st.last.Error = outcomeError, last.Outcome
			}
		}
		s.plan(st, tick)
	})
	s.log.Info("serving", "schedule", s.times.String(), "watch", s.opts.Watch, "next", s.nextRun())
	if owed != "" {
		return nil // the run itself opens the pipeline
	}
	status, err := s.engine.check(ctx, s.file)
	if pipeline.ExitCode(err) == pipeline.ExitUsage && !errors.Is(err, context.Canceled) {
		return err
	}
	s.update(func(st *state) { st.status, st.statusAt = status, wall() })
	if err != nil {
		s.log.Warn("the pipeline cannot be opened now", "error", err)
	}
	return nil
}

// plan sets the next tick.
func (s *Service) plan(st *state, tick time.Time) {
	st.tick, st.due = tick, time.Time{}
	if s.times != nil && !tick.IsZero() {
		st.due = s.times.due(tick)
	}
}

// upcoming is the run that is due first.
func (s *Service) upcoming(now time.Time) (why string, due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.next(s.file.Sync.Debounce, s.file.Sync.Poll, now)
}

// nextRun is when that will be; zero if nothing is planned.
func (s *Service) nextRun() time.Time {
	_, due := s.upcoming(wall())
	return due
}

// wait returns when something is to be done.
func (s *Service) wait(ctx context.Context) (why string, next step) {
	for {
		select { // to stop comes before all else
		case <-ctx.Done():
			return "", stepCancelled
		case <-s.opts.Drain:
			return "", stepDrained
		default:
		}
		now := wall()
		why, due := s.upcoming(now)
		if why != "" && !due.After(now) {
			return why, stepRun
		}
		d := maxWait
		if why != "" {
			d = min(d, due.Sub(now))
		}
		timer := time.NewTimer(d)
		select {
		case <-ctx.Done():
		case <-s.opts.Drain:
		case <-s.wake:
		case <-timer.C:
		case <-s.opts.Reload:
			timer.Stop()
			return "", stepReload
		}
		timer.Stop()
	}
}

// reload loads the configuration again; what is broken, or belongs to another pipeline, changes nothing.
func (s *Service) reload() bool {
	file, err := s.opts.Load()
	var times *timetable
	if err == nil {
		times, err = s.timesOf(file)
	}
	if err == nil && file.Name != s.file.Name {
		err = fmt.Errorf("its name is %q now: start a service of its own for it", file.Name)
	}
	if err != nil {
		s.log.Error("the configuration is broken; the old one stays", "error", err)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	same := times.String() == s.times.String()
	s.file, s.times = file, times
	if !same || times == nil {
		tick := time.Time{}
		if times != nil {
			tick = times.next(wall())
		}
		s.plan(&s.state, tick)
	}
	s.log.Info("the configuration was loaded again", "schedule", times.String())
	return true
}

// String is the schedule as it was written.
func (t *timetable) String() string {
	if t == nil {
		return ""
	}
	return t.text
}
