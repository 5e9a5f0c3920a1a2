package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"sync/atomic"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// engine is what the service drives.
type engine interface {
	// last is the last run that the ledger knows; false if there was none.
	last(ctx context.Context, file *config.File) (ledger.Run, bool, error)
	// check opens and closes the pipeline.
	check(ctx context.Context, file *config.File) (*pipeline.Status, error)
	// sync is one run. The status is that after it, nil if it cannot be told.
	sync(ctx context.Context, file *config.File, p pipeline.Progress) (pipeline.Result, *pipeline.Status, error)
}

// syncer drives the real engine.
type syncer struct {
	reg      *connector.Registry
	opts     pipeline.Options
	syncOpts pipeline.SyncOptions
}

func (y *syncer) last(ctx context.Context, file *config.File) (run ledger.Run, found bool, err error) {
	l, err := ledger.Open(ctx, pipeline.LedgerPath(file), ledger.Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return run, false, nil
	}
	if err != nil {
		return run, false, err
	}
	runs, err := l.Runs(ctx, 1)
	if err = errors.Join(err, l.Close()); err != nil || len(runs) == 0 {
		return run, false, err
	}
	return runs[0], true, nil
}

func (y *syncer) check(ctx context.Context, file *config.File) (*pipeline.Status, error) {
	p, err := pipeline.Open(ctx, file, y.reg, y.opts)
	if err != nil {
		return nil, err
	}
	status, err := p.Status(ctx)
	return status, errors.Join(err, p.Close())
}

func (y *syncer) sync(ctx context.Context, file *config.File, progress pipeline.Progress) (result pipeline.Result, status *pipeline.Status, err error) {
	opts := y.opts
	opts.Progress = progress
	p, err := pipeline.Open(ctx, file, y.reg, opts)
	if err != nil {
		return result, nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }() // also after a panic, which is the run's error
	result, err = p.Sync(ctx, y.syncOpts)
	// The status is for people and metrics: that it cannot be told is no failure of the run.
	status, serr := p.Status(ctx)
	if serr != nil {
		status = nil
	}
	return result, status, err
}

// guarded makes a panic an error.
func guarded(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return fn()
}

// progress counts what the run under way does.
type progress struct{ listed, settled, failed, embedded atomic.Int64 }

var _ pipeline.Progress = (*progress)(nil)

// Listed counts a document.
func (p *progress) Listed(string) { p.listed.Add(1) }

// Settled counts a document that is done with.
func (p *progress) Settled(o pipeline.Outcome, _ string, _ int) {
	switch o {
	case pipeline.Deleted:
	case pipeline.Failed:
		p.failed.Add(1)
		p.settled.Add(1)
	default:
		p.settled.Add(1)
	}
}

// Embedded counts vectors.
func (p *progress) Embedded(computed, _ int) { p.embedded.Add(int64(computed)) }

// Stage is not counted.
func (p *progress) Stage(string) {}
