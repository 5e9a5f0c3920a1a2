package pipeline

import (
	"context"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
)

// Forgotten is the report of Forget.
type Forgotten struct {
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`
}

// Forget removes documents from sink and ledger: those of a source, or those at or below a path (of that source, or of every one). The next
// sync brings back what the configuration still names.
func (p *Pipeline) Forget(ctx context.Context, source, path string) (f Forgotten, err error) {
	if source == "" && path == "" {
		return f, UsageErrorf("name what to forget: a path, or --source NAME")
	}
	path = strings.Trim(path, "/")
	err = p.locked(ctx, "", "kbsync forget", func(l *ledger.Ledger) error {
		o, err := p.openTarget(ctx, l, false, true)
		if err != nil {
			return err
		}
		if o.coll == nil {
			return connector.ErrNoCollection
		}
		w := &writer{p: p, l: l, t: o.target, coll: o.coll, stamp: o.stamp}
		for d, err := range o.target.Docs(ctx, source) {
			if err != nil {
				return err
			}
			if path != "" && d.Path != path && !strings.HasPrefix(d.Path, path+"/") {
				continue
			}
			chunks, err := o.target.Chunks(ctx, d.N)
			if err != nil {
				return err
			}
			ids, unsure := make([]connector.UUID, len(chunks)), make([][16]byte, len(chunks))
			for i := range chunks {
				ids[i], unsure[i] = chunks[i].ID, chunks[i].ID
			}
			if err := o.target.MarkDirty(ctx, map[int64][][16]byte{d.N: unsure}); err != nil {
				return err
			}
			if err := w.delete(ctx, ids); err != nil {
				return err
			}
			if err := o.target.Remove(ctx, []ledger.Doc{d}); err != nil {
				return err
			}
			f.Documents, f.Chunks = f.Documents+1, f.Chunks+len(ids)
		}
		return nil
	})
	if err == nil && f.Documents == 0 {
		return f, UsageErrorf("nothing stored matches source %q and path %q: kbsync status --format json names the sources", source, path)
	}
	return f, err
}

// Status is the state of a pipeline.
type Status struct {
	Documents int            `json:"documents"`
	Chunks    int            `json:"chunks"`
	Failed    int            `json:"failed"`
	Skipped   int            `json:"skipped"`
	Pending   int            `json:"pending"` // documents that an interrupted run left to do again
	Sources   map[string]int `json:"sources"`
	Target    string         `json:"target"`
	Live      string         `json:"generation"`
	// Kept are generations that were live before, the latest first: kbsync rollback returns to them.
	Kept []string `json:"kept"`
	// Building is a generation that is not complete.
	Building string       `json:"building,omitempty"`
	Model    string       `json:"model"`
	Failures []ErrorRow   `json:"failures"`
	Runs     []ledger.Run `json:"runs"`
}

// Status reads the ledger; the sink is only asked for its generations.
func (p *Pipeline) Status(ctx context.Context) (*Status, error) {
	s := &Status{Sources: map[string]int{}, Kept: []string{}, Failures: []ErrorRow{}, Runs: []ledger.Run{}, Model: p.model.Identity(), Target: p.sink.Target().String()}
	gens, err := p.sink.Generations(ctx)
	if err != nil {
		return nil, err
	}
	if len(gens) > 0 {
		s.Live, s.Model = gens[0].Generation, gens[0].Model
	}
	l, err := p.openLedger(ctx, true)
	if err != nil {
		return s, missingLedger(err)
	}
	defer func() { _ = l.Close() }()
	past, err := p.history(ctx, l)
	if err != nil {
		return nil, err
	}
	s.others(gens, past)
	if s.Runs, err = l.Runs(ctx, 10); err != nil {
		return nil, err
	}
	t, ok, err := l.FindTarget(ctx, p.sink.Target(), s.Live)
	if err != nil || !ok {
		return s, err
	}
	c, err := t.Counts(ctx)
	if err != nil {
		return nil, err
	}
	s.Documents, s.Chunks, s.Failed, s.Skipped, s.Pending = c.Documents, c.Chunks, c.Failed, c.Skipped, c.Dirty
	if s.Sources, err = t.Sources(ctx); err != nil || c.Failed == 0 {
		return s, err
	}
	for d, err := range t.Docs(ctx, "") {
		if err != nil {
			return nil, err
		}
		if d.State == ledger.DocFailed && len(s.Failures) < maxRows {
			stage, reason, _ := strings.Cut(d.Note, ": ")
			s.Failures = append(s.Failures, ErrorRow{d.Source, d.Path, stage, reason})
		}
	}
	return s, nil
}

// others tells the generations that are kept from one that is being built.
func (s *Status) others(gens []connector.Schema, past []string) {
	for i, g := range gens {
		switch {
		case i == 0:
		case slices.Contains(past, g.Generation):
			s.Kept = append(s.Kept, g.Generation)
		default:
			s.Building = g.Generation
		}
	}
	slices.SortFunc(s.Kept, func(a, b string) int { return slices.Index(past, a) - slices.Index(past, b) })
}
