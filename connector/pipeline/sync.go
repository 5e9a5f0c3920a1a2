package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// SyncOptions are the choices of one run.
type SyncOptions struct {
	AllowDelete  bool // a person looked: the guard against mass deletion is off
	AllowRebuild bool // another model or payload schema: build the collection anew
	Checksum     bool // read every document, whatever its version says
	// Plan, if set, must be what would be done now, or nothing is done.
	Plan *Plan
	// Drain, when closed, ends the run after what was begun; nothing is deleted then.
	Drain <-chan struct{}
	// Command is how the lock names this run.
	Command string
}

// Sync makes the sink hold exactly the chunks of the live documents. The result is valid, as far as the run got, also with
// an error. Failed documents are in the result and in an error whose exit code is ExitFailed.
func (p *Pipeline) Sync(ctx context.Context, opts SyncOptions) (Result, error) {
	start := time.Now()
	t := &tally{progress: p.opts.Progress}
	p.beginLLM(t)
	err := p.locked(ctx, opts.Command, "kbsync sync", func(l *ledger.Ledger) error {
		if err := p.noteEmbedder(ctx, l); err != nil {
			return err
		}
		id, err := l.BeginRun(ctx)
		if err != nil {
			return err
		}
		err = p.sync(ctx, l, opts, t, id)
		p.countLLM(t)
		r := t.result()
		r.ElapsedMS = time.Since(start).Milliseconds()
		b, jerr := json.Marshal(r)
		if jerr != nil {
			return errors.Join(err, jerr)
		}
		outcome := "ok"
		if err != nil {
			outcome = err.Error()
		}
		// The end of the run is noted also when ctx was cancelled.
		return errors.Join(err, l.EndRun(context.WithoutCancel(ctx), id, outcome, string(b)))
	})
	r := t.result()
	r.ElapsedMS = time.Since(start).Milliseconds()
	return r, err
}

// locked runs fn with the pipeline's ledger, alone.
func (p *Pipeline) locked(ctx context.Context, command, fallback string, fn func(*ledger.Ledger) error) (err error) {
	if command == "" {
		command = fallback
	}
	lock, err := ledger.Acquire(LedgerPath(p.file), command)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }() // also where fn panics: a service goes on after it
	l, err := p.openLedger(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if p.shared, err = p.openShared(); err != nil {
		return err
	}
	defer func() {
		p.shared.close()
		p.shared = nil
	}()
	p.llm.answers.use(l)
	defer p.llm.answers.use(nil)
	return fn(l)
}

// FailedError says that the run went on to its end but left documents behind.
type FailedError struct{ Failed int }

// Error says how many.
func (e *FailedError) Error() string {
	if e.Failed == 1 {
		return "1 document failed; its old chunks stay until it can be replaced"
	}
	return fmt.Sprintf("%d documents failed; their old chunks stay until they can be replaced", e.Failed)
}

func (p *Pipeline) sync(ctx context.Context, l *ledger.Ledger, opts SyncOptions, t *tally, run int64) error {
	p.opts.Progress.Stage("opening the collection")
	o, err := p.openTarget(ctx, l, opts.AllowRebuild, false)
	if err != nil {
		return err
	}
	if err := p.checkBackends(ctx, l, o, opts.AllowRebuild); err != nil {
		return err
	}
	tokens, err := p.counter("model")
	if err != nil {
		return err
	}
	w := &writer{p: p, l: l, t: o.target, coll: o.coll, caps: p.sink.Capabilities(), tally: t, identity: o.schema.Model, run: run, stamp: o.stamp,
		pace: newPace(p.model, p.concurrency())}
	defer p.vectors.serve(&syncVectors{w: w, tokens: tokens})()
	f := &flow{p: p, w: w, cutter: &cutter{p: p, tokens: tokens, ledger: l}, memory: newBudget(p.file.Sync.Memory)}
	ls := &lister{p: p, l: l, t: o.target, tally: t, checksum: opts.Checksum, drain: opts.Drain, own: p.ownFiles(), contents: &contents{p: p}}
	defer ls.contents.close()
	p.opts.Progress.Stage("syncing")
	listings, err := f.run(ctx, ls, opts.Plan)
	if err != nil {
		return err
	}
	if f.waits != nil { // what a document that waits is replaced by is not there yet, so nothing is removed
		return errors.Join(p.retry(ctx, "flush the sink", func() error { return o.coll.Flush(ctx) }), f.waits)
	}
	s := &sweeper{p: p, w: w, l: l, allow: opts.AllowDelete}
	p.opts.Progress.Stage("removing what vanished")
	guard, err := s.sweep(ctx, listings)
	if err != nil {
		return err
	}
	if err := p.retry(ctx, "flush the sink", func() error { return o.coll.Flush(ctx) }); err != nil {
		return err
	}
	failed := t.result().Documents.Failed
	switch {
	case guard != nil || failed > 0:
	case o.rebuild:
		if err := p.promote(ctx, l, o); err != nil {
			return err
		}
	case o.others > 0: // left by a run that was killed, or by a build that was given up
		if err := p.settleGenerations(ctx, l, o.schema.Generation); err != nil {
			return err
		}
	}
	if guard == nil && failed > 0 {
		return &FailedError{failed}
	}
	return guard
}

// flow moves documents from listing to sink through bounded queues.
type flow struct {
	p      *Pipeline
	w      *writer
	cutter *cutter
	memory *budget

	sources []*openSource
	waits   error // why documents wait for the next run; nil: none does
}

// budget bounds the bytes of documents that are in the works.
type budget struct {
	sem *semaphore.Weighted
	max int64
}

func newBudget(memory int64) *budget {
	n := max(memory/8, 8<<20)
	return &budget{semaphore.NewWeighted(n), n}
}

// weight is what a document counts for: its size, and something for the work itself.
func (b *budget) weight(size int64) int64 {
	return min(max(size, 0)+64<<10, b.max)
}

// cutResult is a document that was staged, or failed to be.
type cutResult struct {
	s   *staged
	err error
}

// run lists every source, stages what may have changed on several goroutines and writes it on one.
func (f *flow) run(ctx context.Context, ls *lister, plan *Plan) ([]*listing, error) {
	g, ctx := errgroup.WithContext(ctx)
	jobs := make(chan job)
	results := make(chan cutResult, 4*f.p.concurrency())
	var listings []*listing
	g.Go(func() error {
		defer close(jobs)
		var err error
		listings, err = f.listAll(ctx, ls, func(j job) error {
			weight := f.memory.weight(j.doc.Size)
			if err := f.memory.sem.Acquire(ctx, weight); err != nil {
				return context.Cause(ctx)
			}
			select {
			case jobs <- j:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		return err
	})
	cutters, cutCtx := errgroup.WithContext(ctx)
	for range f.p.concurrency() {
		cutters.Go(func() error {
			for j := range jobs {
				s, err := f.cutter.stage(cutCtx, j)
				// What turns out unchanged (it was written a moment before the last run, say) is in no plan.
				if want, ok := plan.version(j.src.name, j.doc.Path); plan != nil && !s.same && (!ok || want != s.job.doc.Version) {
					return &GuardError{fmt.Sprintf("%s changed after the plan was made: plan again", j.doc.Path)}
				}
				select {
				case results <- cutResult{s, err}:
				case <-cutCtx.Done():
					return context.Cause(cutCtx)
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		defer close(results)
		return cutters.Wait()
	})
	ready := make(chan []*window, 1)
	g.Go(func() error {
		defer close(ready)
		return f.batches(ctx, results, ready)
	})
	g.Go(func() error {
		for wins := range ready {
			if err := f.writeBatch(ctx, wins); err != nil {
				return err
			}
		}
		return nil
	})
	err := g.Wait()
	return listings, errors.Join(err, f.close(listings))
}

// close closes the sources. A listing that came to its end counts as broken if its documents could not be read.
func (f *flow) close(listings []*listing) error {
	var errs []error
	for _, src := range f.sources {
		for _, lst := range listings {
			if dead := src.gone(); dead != nil && lst.source == src.name && !errors.Is(lst.err, ErrDrained) {
				lst.err = dead
			}
		}
		errs = append(errs, src.source.Close())
	}
	return errors.Join(errs...)
}

// writeBatch finishes a batch whose vectors are there and gives the memory of its documents back.
func (f *flow) writeBatch(ctx context.Context, wins []*window) error {
	if err := f.w.intend(ctx, wins); err != nil {
		return err
	}
	if err := f.w.write(ctx, wins); err != nil {
		return err
	}
	if err := f.w.finish(ctx, wins); err != nil {
		return err
	}
	for _, win := range wins {
		if win.last {
			f.memory.sem.Release(f.memory.weight(win.d.s.job.doc.Size))
		}
	}
	return nil
}

// batches collects windows of documents, gives them their vectors and hands them on.
func (f *flow) batches(ctx context.Context, results <-chan cutResult, ready chan<- []*window) error {
	b := &batcher{f: f, ready: ready}
	timer := time.NewTimer(batchWait)
	defer timer.Stop()
	for {
		select {
		case res, ok := <-results:
			if !ok {
				return b.flush(ctx)
			}
			if len(b.wins) == 0 {
				timer.Reset(batchWait)
			}
			if err := b.take(ctx, res); err != nil {
				return err
			}
		case <-timer.C:
			if err := b.flush(ctx); err != nil {
				return err
			}
			timer.Reset(batchWait)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

type batcher struct {
	f      *flow
	ready  chan<- []*window
	wins   []*window
	pieces int
	bytes  int
}

// take adds one document.
func (b *batcher) take(ctx context.Context, res cutResult) error {
	f := b.f
	if res.err != nil {
		f.memory.sem.Release(f.memory.weight(res.s.job.doc.Size))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var run *runError
		switch {
		case errors.As(res.err, &run) && run.waits: // said once; the document is looked at again next time
			f.waits = run
			f.w.tally.do(func(r *Result) { r.LLM.Waiting++ })
			return nil
		case fatal(res.err):
			return res.err
		}
		if errors.As(res.err, new(*sourceError)) {
			return nil // reported once, for the source; the document is looked at again next time
		}
		if err := f.w.failed(ctx, res.s, res.err); err != nil {
			return err
		}
		if f.p.file.Sync.OnError == "stop" {
			return &FailedError{1}
		}
		return nil
	}
	return f.w.windows(ctx, res.s, func(win *window) error {
		b.wins = append(b.wins, win)
		b.pieces += len(win.writes) + len(win.moves) + 1
		for _, x := range win.writes {
			b.bytes += len(x.want.text)
		}
		b.bytes += win.bytes
		if b.pieces >= batchPieces || b.bytes >= batchBytes {
			return b.flush(ctx)
		}
		return nil
	})
}

// fatal says whether a document's error is really one of the run: no space left for a spool, or a model that takes nothing.
func fatal(err error) bool {
	return errors.As(err, new(*runError)) || connector.ClassOf(err) == connector.ClassFull
}

func (b *batcher) flush(ctx context.Context) error {
	if len(b.wins) == 0 {
		return nil
	}
	wins := b.wins
	b.wins, b.pieces, b.bytes = nil, 0, 0
	if err := b.f.w.prepare(ctx, wins); err != nil {
		return err
	}
	select {
	case b.ready <- wins:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// listAll lists the configured sources one after another, and the ones that are configured no more.
func (f *flow) listAll(ctx context.Context, ls *lister, do func(job) error) ([]*listing, error) {
	var out []*listing
	for _, conf := range f.p.file.Sources {
		src, err := f.p.openSource(ctx, conf)
		if err != nil {
			var usage *UsageError
			if errors.As(err, &usage) {
				return out, fmt.Errorf("source %s: %w", conf.Name, err)
			}
			out = append(out, &listing{source: conf.Name, err: err})
			continue
		}
		f.sources = append(f.sources, src) // documents are opened after the listing: closed when the run ends
		lst, err := ls.list(ctx, src, do)
		if lst != nil {
			out = append(out, lst)
		}
		if err != nil {
			return out, err
		}
		if errors.Is(lst.err, ErrDrained) {
			return out, nil
		}
	}
	return f.retired(ctx, ls, out)
}

// retired lists, as vanished, the documents of sources that were taken out of the configuration.
func (f *flow) retired(ctx context.Context, ls *lister, out []*listing) ([]*listing, error) {
	names, err := ls.t.SourceNames(ctx)
	if err != nil {
		return out, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(out, func(l *listing) bool { return l.source == name })
	})
	slices.Sort(names)
	for _, name := range names {
		m := &merge{ls: ls, src: &openSource{name: name}, out: &listing{source: name, gone: ls.l.NewSpool()}}
		for row, err := range ls.t.List(ctx, name) {
			if err == nil {
				err = m.vanished(ctx, row)
			}
			if err != nil {
				return out, err
			}
		}
		if err := m.flushGone(ctx, 0); err != nil {
			return out, err
		}
		out = append(out, m.out)
	}
	return out, nil
}
