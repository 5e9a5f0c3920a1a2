package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
)

// generations asks the sink for its collections, the live one first.
func (p *Pipeline) generations(ctx context.Context) (gens []connector.Schema, err error) {
	err = p.retry(ctx, "ask the sink for its collections", func() (err error) {
		gens, err = p.sink.Generations(ctx)
		return err
	})
	return gens, err
}

// consent refuses to replace the live generation unless somebody agreed, now or in the configuration, and whatever they agreed to
// if that would take away what others keep in the collection.
func (p *Pipeline) consent(ctx context.Context, l *ledger.Ledger, o *opened, allow bool) error {
	if !o.rebuild {
		return nil
	}
	held, err := l.Meta(ctx, p.heldKey())
	if err != nil {
		return err
	}
	if !allow && (held == o.schema.Generation || !p.sink.Capabilities().Policy.Auto) {
		return &GuardError{fmt.Sprintf("the collection %q was made by %s and the configuration names %s: vectors of two models are never mixed, nor are two layouts. "+
			"Run with --allow-rebuild to build it anew beside the old one and switch when it is complete, or restore the configuration",
			p.sink.Target().Collection, describe(o.live), describe(&o.schema))}
	}
	foreign, err := p.foreign(ctx, l, o.live)
	if err != nil || foreign == 0 {
		return err
	}
	return &GuardError{fmt.Sprintf("the collection %q holds %d points that this pipeline did not write; a rebuild would leave them behind. "+
		"Give the pipeline a collection of its own, or remove them (kbsync verify counts them)", p.sink.Target().Collection, foreign)}
}

// foreign counts, as far as the ledger knows, the points of the live generation that are not this pipeline's.
func (p *Pipeline) foreign(ctx context.Context, l *ledger.Ledger, live *connector.Schema) (int, error) {
	t, ok, err := l.FindTarget(ctx, p.sink.Target(), live.Generation)
	if err != nil || !ok {
		return 0, err
	}
	known, err := t.ChunkCount(ctx)
	if err != nil {
		return 0, err
	}
	coll, err := p.live(ctx)
	if err != nil {
		return 0, err
	}
	s := &stamp{p: p, l: l, o: &opened{coll: coll, schema: *live}}
	if stale, err := s.stale(ctx); err != nil || stale {
		return 0, err
	}
	var have int
	err = p.retry(ctx, "count the live collection", func() (err error) {
		have, err = coll.Count(ctx)
		return err
	})
	return max(0, have-known), err
}

// heldKey is where the ledger notes the generation that a rollback left: consent in advance does not return to it.
func (p *Pipeline) heldKey() string { return "held:" + p.sink.Target().String() }

// makeRoom drops, under in_place, the collection that another generation left under the same name.
func (p *Pipeline) makeRoom(ctx context.Context, l *ledger.Ledger, o *opened, dry bool) error {
	if !o.rebuild || dry || !p.sink.Capabilities().Policy.InPlace {
		return nil
	}
	if err := p.drop(ctx, l, o.live.Generation); err != nil {
		return err
	}
	o.live, o.rebuild = nil, false
	return nil
}

// drop removes a generation from sink and ledger.
func (p *Pipeline) drop(ctx context.Context, l *ledger.Ledger, generation string) error {
	if err := p.retry(ctx, "drop an old collection", func() error { return p.sink.Drop(ctx, generation) }); err != nil {
		return err
	}
	t, ok, err := l.FindTarget(ctx, p.sink.Target(), generation)
	if err != nil || !ok {
		return err
	}
	return t.Forget(ctx)
}

// history is the generations that were live before, the latest first, as the ledger notes them.
func (p *Pipeline) history(ctx context.Context, l *ledger.Ledger) (gens []string, err error) {
	raw, err := l.Meta(ctx, p.historyKey())
	if err == nil && raw != "" {
		err = json.Unmarshal([]byte(raw), &gens)
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: history of generations: %w", err)
	}
	return gens, nil
}

func (p *Pipeline) historyKey() string { return "history:" + p.sink.Target().String() }

func (p *Pipeline) setHistory(ctx context.Context, l *ledger.Ledger, gens []string) error {
	b, err := json.Marshal(gens)
	if err != nil {
		return err
	}
	return l.SetMeta(ctx, p.historyKey(), string(b))
}

// promote checks the generation that was built, makes it live, and drops what the policy does not keep. A crash between the steps
// is settled by the next run: the history is noted before the switch, and settleGenerations drops again.
func (p *Pipeline) promote(ctx context.Context, l *ledger.Ledger, o *opened) error {
	p.opts.Progress.Stage("checking the new collection")
	if err := p.checkBuilt(ctx, o); err != nil {
		return err
	}
	p.opts.Progress.Stage("switching to the new collection")
	if err := p.flip(ctx, l, o.live.Generation, o.schema.Generation); err != nil {
		return err
	}
	if err := l.SetMeta(ctx, p.heldKey(), ""); err != nil {
		return err
	}
	return p.settleGenerations(ctx, l, o.schema.Generation)
}

// flip makes another generation live and notes the one before.
func (p *Pipeline) flip(ctx context.Context, l *ledger.Ledger, from, to string) error {
	gens, err := p.history(ctx, l)
	if err != nil {
		return err
	}
	gens = slices.DeleteFunc(gens, func(g string) bool { return g == from || g == to })
	if err := p.setHistory(ctx, l, append([]string{from}, gens...)); err != nil {
		return err
	}
	return p.retry(ctx, "switch to another collection", func() error { return p.sink.Promote(ctx, to) })
}

// settleGenerations drops the generations beyond what the policy keeps: the oldest of those that were live, and those that never
// were (left by a build that was given up).
func (p *Pipeline) settleGenerations(ctx context.Context, l *ledger.Ledger, live string) error {
	gens, err := p.generations(ctx)
	if err != nil || len(gens) < 2 || gens[0].Generation != live {
		return err
	}
	past, err := p.history(ctx, l)
	if err != nil {
		return err
	}
	past = slices.DeleteFunc(past, func(g string) bool {
		return g == live || !slices.ContainsFunc(gens, func(s connector.Schema) bool { return s.Generation == g })
	})
	kept := past[:min(len(past), p.sink.Capabilities().Policy.Keep)]
	for _, g := range gens[1:] {
		if slices.Contains(kept, g.Generation) {
			continue
		}
		if err := p.drop(ctx, l, g.Generation); err != nil {
			return err
		}
	}
	return p.setHistory(ctx, l, kept)
}

// sampleSize is how many points of a new generation are read back before it goes live.
const sampleSize = 64

// checkBuilt compares the count of what was built with the ledger's, and a sample of points with what was written.
func (p *Pipeline) checkBuilt(ctx context.Context, o *opened) error {
	want, err := o.target.ChunkCount(ctx)
	if err != nil {
		return err
	}
	var have int
	err = p.retry(ctx, "count the new collection", func() (err error) {
		if err = o.coll.Flush(ctx); err == nil {
			have, err = o.coll.Count(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	if have != want {
		return fmt.Errorf("the new collection holds %d points and should hold %d: the old one stays live; kbsync verify --repair finds the difference, then sync again", have, want)
	}
	sample, err := o.target.Sample(ctx, sampleSize)
	if err != nil {
		return err
	}
	ids := make([]string, len(sample))
	for i := range sample {
		ids[i] = sample[i].ID.String()
	}
	var points []connector.Point
	err = p.retry(ctx, "read a sample back", func() (err error) {
		points, err = o.coll.Fetch(ctx, ids, true)
		return err
	})
	if err != nil {
		return err
	}
	got := map[string]*connector.Point{}
	for i := range points {
		got[points[i].ChunkID] = &points[i]
	}
	for i := range sample {
		switch pt := got[ids[i]]; {
		case pt == nil:
			return fmt.Errorf("the new collection lacks chunk %s of %s: the old one stays live", ids[i], sample[i].Path)
		case [32]byte(sample[i].Hash) != textHash(pt.EmbedText), pt.Vector != nil && len(pt.Vector) != o.schema.Dimensions, payloadHash(&pt.Record) != sample[i].Payload:
			return fmt.Errorf("chunk %s of %s came back from the new collection changed: the old one stays live", ids[i], sample[i].Path)
		}
	}
	return nil
}

// RolledBack is the report of Rollback.
type RolledBack struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Model string `json:"model"`
}

// Rollback makes the generation that was live before live again, or the named one. Nothing is copied or dropped; the generation
// that it leaves can be returned to in the same way, and is what the next sync with the unchanged configuration asks consent for.
func (p *Pipeline) Rollback(ctx context.Context, to string) (r RolledBack, err error) {
	err = p.locked(ctx, "", "kbsync rollback", func(l *ledger.Ledger) error {
		gens, err := p.generations(ctx)
		if err != nil {
			return err
		}
		if len(gens) == 0 {
			return connector.ErrNoCollection
		}
		past, err := p.history(ctx, l)
		if err != nil {
			return err
		}
		target, err := choose(gens, past, to)
		if err != nil {
			return err
		}
		r = RolledBack{From: gens[0].Generation, To: target.Generation, Model: target.Model}
		if err := l.SetMeta(ctx, p.heldKey(), r.From); err != nil {
			return err
		}
		return p.flip(ctx, l, r.From, r.To)
	})
	return r, err
}

// choose finds the generation to go back to: the named one, the latest that was live, or the only other one.
func choose(gens []connector.Schema, past []string, to string) (*connector.Schema, error) {
	others := gens[1:]
	find := func(name string) *connector.Schema {
		for i := range others {
			if others[i].Generation == name {
				return &others[i]
			}
		}
		return nil
	}
	if to != "" {
		if s := find(to); s != nil {
			return s, nil
		}
		return nil, UsageErrorf("there is no generation %q to go back to: there are %s", to, names(others))
	}
	for _, name := range past {
		if s := find(name); s != nil {
			return s, nil
		}
	}
	switch len(others) {
	case 0:
		return nil, UsageErrorf("there is no generation before %s: the sink's key keep says how many are kept (in_place keeps none)", gens[0].Generation)
	case 1:
		return &others[0], nil
	}
	return nil, UsageErrorf("the ledger does not know which generation was live before: name one with --to, of %s", names(others))
}

func names(gens []connector.Schema) string {
	out := "none"
	for i := range gens {
		one := fmt.Sprintf("%s (%s)", gens[i].Generation, gens[i].Model)
		if i == 0 {
			out = one
		} else {
			out += ", " + one
		}
	}
	return out
}
