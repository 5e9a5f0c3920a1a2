// Package service keeps one pipeline in step with its sources for as long as it runs: on a schedule, after changes, or when it is
// asked to over HTTP. It runs one sync after another, never two at once.
//
// Each run opens the pipeline anew, so that a connection that was lost heals by itself, and closes it. A run that fails is
// tried again with a growing wait; since a sync is incremental, it goes on where it was. What was missed, because a run took
// long, the service was down or the machine slept, is made up for by one run.
//
// # Limits
//
// A panic in the goroutine that runs a sync becomes that run's error; one in a goroutine that the engine or a plugin starts
// ends the process, and the next one catches up. Wake-ups follow the wall clock, at most a minute late after a sleep of the machine.
package service

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// Options of a [Service].
type Options struct {
	// Load reads the configuration: once in New, and again at each Reload.
	Load func() (*config.File, error)
	// Registry holds the plugins.
	Registry *connector.Registry
	// Pipeline are the options with which each run opens the pipeline; its Progress is the service's own.
	Pipeline pipeline.Options
	// Command is how the lock names the runs.
	Command string

	// Every, if set, takes the place of sync.schedule.
	Every time.Duration
	// Unscheduled leaves sync.schedule alone: runs follow changes and requests.
	Unscheduled bool
	// Watch runs a sync at the start and after changes of the sources.
	Watch bool

	// Listen is the address of the HTTP server; empty: none.
	Listen string
	// Token, if set, is what POST /sync and POST /notify ask for. Without one they answer only where Listen is a loopback address.
	Token connector.Secret
	// StuckAfter is how long a run may take before /healthz fails; 0: for ever.
	StuckAfter time.Duration
	// Version is told by the metric kbsync_build_info.
	Version string

	// Drain, when closed, ends the service after what the run under way began.
	Drain <-chan struct{}
	// Reload, as signal.Notify fills it, has the configuration loaded again. One that is broken changes nothing.
	Reload <-chan os.Signal
	// Log is told of every run.
	Log *slog.Logger
	// Ended, if set, is called after each run, from the goroutine of Run.
	Ended func(pipeline.Result, error)
	// Started, if set, is called with the address of the HTTP server once it listens.
	Started func(address string)
}

// Service is one pipeline that is kept in step.
type Service struct {
	opts    Options
	log     *slog.Logger
	engine  engine
	metrics *metrics
	wake    chan struct{} // something was asked for, or changed

	mu    sync.Mutex
	file  *config.File
	times *timetable // nil: no schedule
	state state
}

// New loads the configuration. Its faults, and that there would be nothing to wait for, are errors of usage.
func New(opts Options) (*Service, error) {
	return create(opts, &syncer{opts.Registry, opts.Pipeline, pipeline.SyncOptions{Drain: opts.Drain, Command: opts.Command}})
}

func create(opts Options, e engine) (*Service, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	file, err := opts.Load()
	if err != nil {
		return nil, err
	}
	s := &Service{opts: opts, engine: e, wake: make(chan struct{}, 1)}
	if s.times, err = s.timesOf(file); err != nil {
		return nil, err
	}
	s.file, s.log = file, opts.Log.With("pipeline", file.Name)
	s.metrics = newMetrics(s, file.Name, opts.Version)
	return s, nil
}

// timesOf is the timetable that a configuration and the options give.
func (s *Service) timesOf(file *config.File) (*timetable, error) {
	if s.opts.Unscheduled {
		return nil, nil
	}
	times, err := newTimetable(&file.Sync, s.opts.Every)
	if err == nil && times == nil && !s.opts.Watch {
		err = errors.New("there is no sync.schedule in the configuration: set it, or name --every DURATION or --watch")
	}
	if err != nil {
		return nil, &pipeline.UsageError{Err: err}
	}
	return times, nil
}

// Run keeps the pipeline in step until Drain is closed, which is a clean end, or ctx ends. A configuration that cannot be run at
// all is an error of the first run. It is called once.
func (s *Service) Run(ctx context.Context) (err error) {
	stop, err := s.listen(ctx)
	if err != nil {
		return err
	}
	s.update(func(st *state) { st.alive, st.started = true, wall() })
	err = s.loop(ctx)
	s.update(func(st *state) { st.alive, st.stopping = false, true })
	return errors.Join(err, stop())
}

// update changes the state.
func (s *Service) update(fn func(*state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(&s.state)
}

// nudge makes the loop look at the state again.
func (s *Service) nudge() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Trigger has a sync run now, or right after the one under way. Several before it starts are one.
func (s *Service) Trigger() {
	s.update(func(st *state) { st.asked = true })
	s.nudge()
}

// Notify says that something changed: a sync runs when it has been quiet for sync.debounce.
func (s *Service) Notify() {
	s.update(func(st *state) { st.changed(wall(), s.file.Sync.Poll) })
	s.nudge()
}

// wall is the time that clocks show, so that comparisons hold also after the machine slept.
func wall() time.Time { return time.Now().Round(0) }
