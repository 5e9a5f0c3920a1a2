package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/internal/llmcall"
)

// Action is what a sync would do with a document.
type Action string

// The actions.
const (
	ActionAdd    Action = "add"
	ActionUpdate Action = "update"
	ActionKeep   Action = "keep"
	ActionMove   Action = "move"
	ActionDelete Action = "delete"
	ActionSkip   Action = "skip"
	ActionFail   Action = "fail"
)

// Step is one document of a plan.
type Step struct {
	Source  string `json:"source"`
	Path    string `json:"path"`
	Action  Action `json:"action"`
	Version string `json:"version,omitempty"`
	Chunks  int    `json:"chunks"`
	Tokens  int    `json:"tokens"`
	// Embeddings is how many texts would be embedded, Cached how many the store has.
	Embeddings int `json:"embeddings"`
	Cached     int `json:"cached"`
	// Calls is how many requests to the language model it may take, at most, to cut the document. Where there are any it is not cut: its chunks
	// and embeddings are not known.
	Calls  int    `json:"calls,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Plan is what a sync would do. Kept documents are counted, not listed.
type Plan struct {
	Pipeline   string  `json:"pipeline"`
	Target     string  `json:"target"`
	Generation string  `json:"generation"`
	Rebuild    bool    `json:"rebuild"`
	Epoch      int64   `json:"epoch"`
	Steps      []Step  `json:"steps"`
	Keep       int     `json:"keep"`
	Chunks     int     `json:"chunks"`
	Tokens     int     `json:"tokens"`
	Embeddings int     `json:"embeddings"`
	Cached     int     `json:"cached"`
	Calls      int     `json:"calls,omitempty"`
	Price      float64 `json:"price,omitempty"`
	Currency   string  `json:"currency,omitempty"`
	// Findings say what the sink would rename, turn into strings, clip or refuse.
	Findings []Finding `json:"findings,omitempty"`
	// Refused says why nothing would be deleted.
	Refused []string `json:"refused,omitempty"`
}

// ReadPlan reads a plan that was written as JSON.
func ReadPlan(path string) (*Plan, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, &UsageError{err}
	}
	pl := new(Plan)
	if err := json.Unmarshal(b, pl); err != nil {
		return nil, UsageErrorf("%s is no plan: %w", path, err)
	}
	return pl, nil
}

// version is the version of a document that the plan was made for; ok is false for documents that it does not touch.
func (pl *Plan) version(source, path string) (version string, ok bool) {
	if pl == nil {
		return "", false
	}
	i, ok := slices.BinarySearchFunc(pl.Steps, Step{Source: source, Path: path}, compareSteps)
	if !ok {
		return "", false
	}
	return pl.Steps[i].Version, true
}

func compareSteps(a, b Step) int {
	switch {
	case a.Source != b.Source:
		if a.Source < b.Source {
			return -1
		}
		return 1
	case a.Path < b.Path:
		return -1
	case a.Path > b.Path:
		return 1
	}
	return 0
}

// Differs says, in words, how another plan differs from this one; empty if it does not.
func (pl *Plan) Differs(now *Plan) string {
	switch {
	case pl.Pipeline != now.Pipeline || pl.Target != now.Target || pl.Generation != now.Generation:
		return "it was made for another pipeline, sink or model"
	case pl.Epoch != now.Epoch:
		return "the configuration changed since"
	}
	was, is := pl.Steps, now.Steps
	for i := range max(len(was), len(is)) {
		switch {
		case i >= len(is), i < len(was) && compareSteps(was[i], is[i]) < 0:
			return fmt.Sprintf("%s would no longer be touched", was[i].Path)
		case i >= len(was), compareSteps(was[i], is[i]) > 0:
			return fmt.Sprintf("%s (%s) is not in it", is[i].Path, is[i].Action)
		case was[i].Action != is[i].Action || was[i].Version != is[i].Version:
			return fmt.Sprintf("%s changed since", is[i].Path)
		}
	}
	return ""
}

// Plan finds out what Sync would do, by reading and cutting what changed. Nothing is embedded, and nothing is written but the
// ledger, where it has to be rebuilt from the sink.
func (p *Pipeline) Plan(ctx context.Context, opts SyncOptions) (*Plan, error) {
	var pl *Plan
	err := p.locked(ctx, opts.Command, "kbsync plan", func(l *ledger.Ledger) (err error) {
		pl, err = p.plan(ctx, l, opts)
		return err
	})
	return pl, err
}

func (p *Pipeline) plan(ctx context.Context, l *ledger.Ledger, opts SyncOptions) (*Plan, error) {
	o, err := p.openTarget(ctx, l, opts.AllowRebuild, true)
	if err != nil {
		return nil, err
	}
	if !opts.AllowRebuild {
		if err := p.checkBackends(ctx, l, o, false); err != nil {
			return nil, err
		}
	}
	tokens, err := p.counter("model")
	if err != nil {
		return nil, err
	}
	pl := &Plan{Pipeline: p.file.Name, Target: p.sink.Target().String(), Generation: o.schema.Generation, Rebuild: o.rebuild, Epoch: p.router.epoch, Steps: []Step{}}
	t := &tally{progress: p.opts.Progress}
	w := &writer{p: p, l: l, t: o.target, caps: p.sink.Capabilities(), tally: t, identity: o.schema.Model}
	vectors := &planVectors{w: w, tokens: tokens}
	vectors.take()
	defer p.vectors.serve(vectors)()
	pr := &planner{p: p, w: w, plan: pl, vectors: vectors, cutter: &cutter{p: p, tokens: tokens, ledger: l}, raws: map[string]int{}, found: findings{mapping: w.caps.Mapping}}
	ls := &lister{p: p, l: l, t: o.target, tally: t, checksum: opts.Checksum, dry: true, drain: opts.Drain, own: p.ownFiles(), contents: &contents{p: p}}
	defer ls.contents.close()
	f := &flow{p: p, w: w}
	listings, err := f.listAll(ctx, ls, func(j job) error { return pr.step(ctx, j) })
	if err := errors.Join(err, f.close(listings)); err != nil {
		return nil, err
	}
	r := t.result()
	pl.Keep = r.Documents.Unchanged
	for _, e := range r.Errors {
		pl.Steps = append(pl.Steps, Step{Source: e.Source, Path: e.Path, Action: ActionFail, Reason: e.Error})
	}
	if err := pr.vanished(ctx, listings, opts.AllowDelete); err != nil {
		return nil, err
	}
	pl.Findings = pr.found.list()
	slices.SortStableFunc(pl.Steps, compareSteps)
	pl.Price, pl.Currency = float64(pr.embedTokens)/1e6*p.model.PricePerMillion, p.model.Currency
	return pl, nil
}

// planner turns jobs into steps.
type planner struct {
	p           *Pipeline
	w           *writer
	cutter      *cutter
	plan        *Plan
	found       findings
	raws        map[string]int // content of added documents, for moves: index of the step
	embedTokens int
	vectors     *planVectors
}

func (pr *planner) step(ctx context.Context, j job) error {
	step := Step{Source: j.src.name, Path: j.doc.Path, Version: j.doc.Version, Action: ActionUpdate}
	var missing llmcall.Missing
	s, err := pr.cutter.stage(llmcall.WithoutAsking(ctx, &missing), j)
	step.Version = s.job.doc.Version
	lacking, lackingTokens, cached := pr.vectors.take()
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, new(*sourceError)):
		return nil // said once, for the source
	case err != nil:
		step.Action, step.Reason = ActionFail, err.Error()
		pr.plan.Steps = append(pr.plan.Steps, step)
		return nil //nolint:nilerr // the document's fault is in its step
	case s.same:
		pr.plan.Keep++
		return nil
	case s.skip != "":
		step.Action, step.Reason = ActionSkip, s.skip
	case j.old == nil:
		step.Action = ActionAdd
		pr.raws[string(s.raw[:])] = len(pr.plan.Steps)
	}
	if step.Calls = missing.Calls(); step.Calls > 0 {
		step.Reason = fmt.Sprintf("needs up to %d calls of the language model: how it is cut is known after them", step.Calls)
		pr.plan.Steps, pr.plan.Calls = append(pr.plan.Steps, step), pr.plan.Calls+step.Calls
		if s.spool != nil {
			return s.spool.Drop(ctx)
		}
		return nil
	}
	step.Chunks, step.Tokens = s.count, s.tokens
	step.Embeddings, step.Cached, pr.embedTokens = len(lacking), cached, pr.embedTokens+lackingTokens
	if len(lacking) > 0 {
		step.Reason = fmt.Sprintf("its chunks are estimated: %d texts that decide where it is cut have no vectors yet, and a plan embeds nothing", len(lacking))
	}
	err = pr.w.windows(ctx, s, func(win *window) error {
		var set wantSet
		for _, x := range win.writes {
			if reason := pr.found.add(&x.record); reason != "" && step.Action != ActionFail {
				step.Action, step.Reason = ActionFail, reason
			}
			set.add(x.want)
		}
		hashes := make([]ledger.Hash, len(set.list))
		for i, x := range set.list {
			hashes[i] = x.hash
		}
		found, err := pr.w.l.Lookup(ctx, pr.w.identity, hashes)
		elsewhere := pr.w.peekShared(ctx, set.list, found)
		var missing []*want
		for i, x := range set.list {
			switch {
			case err != nil || x.plain || x.vector != nil || lacking[x.hash]:
			case found[i].Vector != nil || elsewhere[x.hash]:
				step.Cached++
			default:
				missing = append(missing, x)
			}
		}
		n, tokens := pr.w.toEmbed(missing)
		step.Embeddings, pr.embedTokens = step.Embeddings+n, pr.embedTokens+tokens
		return err
	})
	if s.spool != nil {
		if derr := s.spool.Drop(ctx); err == nil {
			err = derr
		}
	}
	pl := pr.plan
	pl.Steps = append(pl.Steps, step)
	pl.Chunks, pl.Tokens, pl.Embeddings, pl.Cached = pl.Chunks+step.Chunks, pl.Tokens+step.Tokens, pl.Embeddings+step.Embeddings, pl.Cached+step.Cached
	return err
}

// vanished adds the deletions, or why there are none.
func (pr *planner) vanished(ctx context.Context, listings []*listing, allow bool) error {
	sw := &sweeper{p: pr.p, w: pr.w, l: pr.w.l, allow: allow}
	for _, lst := range listings {
		if lst.err != nil {
			pr.plan.Refused = append(pr.plan.Refused, fmt.Sprintf("source %s: it could not be listed and read to the end: %v", lst.source, lst.err))
			continue
		}
		var steps []Step
		moved := 0
		for item, err := range lst.gone.Items(ctx) {
			if err != nil {
				return err
			}
			d, ok, err := pr.w.t.Doc(ctx, lst.source, string(item))
			if err != nil {
				return err
			}
			if !ok || d.State == ledger.DocSkipped {
				continue
			}
			if at, ok := pr.raws[string(d.Raw)]; ok && pr.plan.Steps[at].Action == ActionAdd {
				pr.plan.Steps[at].Action, pr.plan.Steps[at].Reason = ActionMove, "from "+d.Path
				moved++
			}
			steps = append(steps, Step{Source: lst.source, Path: d.Path, Action: ActionDelete, Version: d.Version, Chunks: d.Chunks})
		}
		if err := sw.guard(lst, moved); lst.goneN > 0 && err != nil {
			pr.plan.Refused = append(pr.plan.Refused, err.Error())
			continue
		}
		pr.plan.Steps = append(pr.plan.Steps, steps...)
	}
	return nil
}
