package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
)

// opened is the collection that a run writes to, with its part of the ledger.
type opened struct {
	coll    connector.Collection
	target  *ledger.Target
	schema  connector.Schema
	live    *connector.Schema // the generation that is live; nil before the first sync
	rebuild bool              // a new generation is being built beside the live one
	others  int               // generations beside the live one
	stamp   *stamp
}

// openTarget finds or makes the collection and brings the ledger in step with it. With dry nothing is made in the sink: the
// collection is nil if it does not exist.
func (p *Pipeline) openTarget(ctx context.Context, l *ledger.Ledger, allowRebuild, dry bool) (*opened, error) {
	o := &opened{schema: p.schema()}
	gens, err := p.generations(ctx)
	if err != nil {
		return nil, err
	}
	exists := slices.ContainsFunc(gens, func(g connector.Schema) bool { return g.Generation == o.schema.Generation })
	if len(gens) > 0 {
		o.live, o.others = &gens[0], len(gens)-1
		o.rebuild = o.live.Generation != o.schema.Generation
	}
	if err := p.consent(ctx, l, o, allowRebuild); err != nil {
		return nil, err
	}
	if dry && !exists {
		o.target, _, err = l.OpenTarget(ctx, p.sink.Target(), o.schema.Generation, "not made yet")
		return o, err
	}
	if err := p.makeRoom(ctx, l, o, dry); err != nil {
		return nil, err
	}
	return o, p.attach(ctx, l, o)
}

// attach opens the collection of o.schema and the ledger's part for it, which is rebuilt where it does not tell of what is there.
func (p *Pipeline) attach(ctx context.Context, l *ledger.Ledger, o *opened) error {
	var marker string
	err := p.retry(ctx, "open the collection", func() (err error) {
		if o.coll, err = p.sink.Create(ctx, o.schema); err == nil {
			marker, err = o.coll.Marker(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := l.KeepKeywords(ctx, p.router.words != nil); err != nil {
		return err
	}
	var known bool
	if o.target, known, err = l.OpenTarget(ctx, p.sink.Target(), o.schema.Generation, marker); err != nil {
		return err
	}
	o.stamp = &stamp{p: p, l: l, o: o}
	stale, err := o.stamp.stale(ctx)
	if err != nil {
		return err
	}
	if known && !stale {
		return p.fillKeywords(ctx, o)
	}
	if known { // what the ledger says was true of an earlier run: begin anew
		if err := o.target.Forget(ctx); err != nil {
			return err
		}
		if o.target, _, err = l.OpenTarget(ctx, p.sink.Target(), o.schema.Generation, marker); err != nil {
			return err
		}
		p.log.Warn("the ledger is older than the collection: it is rebuilt from what the sink holds")
	}
	if err := p.rebuildLedger(ctx, l, o); err != nil {
		return err
	}
	if p.router.words != nil {
		if err := o.target.KeywordsComplete(ctx); err != nil {
			return err
		}
	}
	return o.stamp.adopt(ctx)
}

func describe(s *connector.Schema) string {
	if s.Layout != "" {
		return fmt.Sprintf("%s (%d dimensions, %s, layout %s)", s.Model, s.Dimensions, s.Distance, s.Layout)
	}
	return fmt.Sprintf("%s (%d dimensions, %s)", s.Model, s.Dimensions, s.Distance)
}

// rebuildLedger reads back what the collection holds: ids, texts, vectors. It costs reads and no embedding.
func (p *Pipeline) rebuildLedger(ctx context.Context, l *ledger.Ledger, o *opened) error {
	if err := p.retry(ctx, "flush the sink", func() error { return o.coll.Flush(ctx) }); err != nil {
		return err
	}
	r := &rebuilder{p: p, l: l, o: o, docs: map[[2]string]ledger.Doc{}}
	n := 0
	for pt, err := range o.coll.Scan(ctx, true) {
		if err != nil {
			if errors.Is(err, connector.ErrUnsupported) {
				return fmt.Errorf("the ledger %s knows nothing of this collection, and the sink cannot list what it holds: %w", l.Path(), err)
			}
			if n == 0 || connector.ClassOf(err) == connector.ClassUnknown {
				return fmt.Errorf("read the collection back: %w", err)
			}
			return &UnreachableError{fmt.Errorf("read the collection back: %w", err)}
		}
		if n == 0 {
			p.opts.Progress.Stage("reading the collection back")
		}
		n++
		if owner, _ := pt.Metadata["pipeline"].(string); owner != p.file.Name {
			continue // another pipeline shares the collection
		}
		r.points = append(r.points, pt)
		if len(r.points) >= batchPieces {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	if n > 0 {
		p.log.Info("rebuilt the ledger from the sink", "chunks", n)
	}
	return o.target.Complete(ctx)
}

// rebuilder adopts points in batches.
type rebuilder struct {
	p      *Pipeline
	l      *ledger.Ledger
	o      *opened
	points []connector.Point
	docs   map[[2]string]ledger.Doc // some of the documents seen, by source and path
}

// rebuildCache bounds the documents that are remembered between points.
const rebuildCache = 100_000

func (r *rebuilder) flush(ctx context.Context) error {
	if len(r.points) == 0 {
		return nil
	}
	entries := make([]ledger.Entry, len(r.points))
	for i := range r.points {
		pt := &r.points[i]
		// The hash is computed from what is there: a drifted text must not pass for the true one.
		entries[i] = ledger.Entry{Hash: sha256.Sum256([]byte(pt.EmbedText)), Text: pt.EmbedText}
		if len(pt.Vector) != r.o.schema.Dimensions || checkVector(pt.Vector, r.o.schema.Dimensions) != nil {
			continue
		}
		if address, ok := contextOf(&pt.Record); ok {
			entries = append(entries, ledger.Entry{Hash: address, Vector: pt.Vector}) //nolint:makezero // behind the texts
		} else if !r.p.model.Contextual {
			entries[i].Vector = pt.Vector
		}
	}
	numbers, err := r.l.Put(ctx, r.o.schema.Model, entries)
	if err != nil {
		return err
	}
	adopted := make([]ledger.Adopted, 0, len(r.points))
	for i := range r.points {
		pt := &r.points[i]
		id, err := connector.ParseUUID(pt.ChunkID)
		if err != nil {
			continue // not written by kbsync
		}
		a := ledger.Adopted{Chunk: ledger.Chunk{ID: id, Text: numbers[i], Payload: payloadHash(&pt.Record)}}
		if r.p.router.words != nil {
			a.Keywords = indexed(&pt.Record)
		}
		if pt.Vector != nil {
			a.Chunk.Vector, _ = contextOf(&pt.Record)
		}
		if a.Doc, a.New, err = r.doc(ctx, pt); err != nil {
			return err
		}
		adopted = append(adopted, a)
	}
	r.points = r.points[:0]
	return r.o.target.Adopt(ctx, adopted)
}

// doc finds or makes the row of a point's document.
func (r *rebuilder) doc(ctx context.Context, pt *connector.Point) (d ledger.Doc, isNew bool, err error) {
	key := [2]string{pt.Source, pt.Path}
	if d, ok := r.docs[key]; ok {
		return d, false, nil
	}
	if len(r.docs) >= rebuildCache {
		clear(r.docs)
	}
	d, ok, err := r.o.target.Doc(ctx, pt.Source, pt.Path)
	if err != nil {
		return d, false, err
	}
	if !ok {
		d = ledger.Doc{N: r.l.NextDoc(), Source: pt.Source, Path: pt.Path, ID: connector.DocID(r.p.file.Name, pt.Source, pt.Path)}
		isNew = true
	}
	r.docs[key] = d
	return d, isNew, nil
}

// backendsKey is where the ledger notes which backend cut the documents of each parser that has several.
const backendsKey = "backends"

// checkBackends refuses to cut again, with a parser that this build lacks, what another build cut.
func (p *Pipeline) checkBackends(ctx context.Context, l *ledger.Ledger, o *opened, allow bool) error {
	now := p.router.backends()
	before, err := storedBackends(ctx, l)
	if err != nil {
		return err
	}
	for kind, was := range before {
		is, ok := now[kind]
		if !ok || is == was {
			continue
		}
		if allow { // forgotten, and noted anew with the first document that is cut
			delete(before, kind)
			b, err := json.Marshal(before)
			if err == nil {
				err = l.SetMeta(ctx, backendsKey, string(b))
			}
			if err != nil {
				return err
			}
			continue
		}
		return &GuardError{fmt.Sprintf("%s files were cut with %s and this build has %s: cutting them again would change every chunk. "+
			"Use a build with %s, or run with --allow-rebuild", kind, was, is, was)}
	}
	return nil
}

func storedBackends(ctx context.Context, l *ledger.Ledger) (map[string]string, error) {
	m := map[string]string{}
	stored, err := l.Meta(ctx, backendsKey)
	if err == nil && stored != "" {
		err = json.Unmarshal([]byte(stored), &m)
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %s: %w", backendsKey, err)
	}
	return m, nil
}

// noteBackend records, before the first document of a parser is written, which backend of it cuts here.
func (w *writer) noteBackend(ctx context.Context, parser string) error {
	now := w.p.router.backends()[parser]
	if now == "" || w.noted[parser] {
		return nil
	}
	m, err := storedBackends(ctx, w.l)
	if err != nil {
		return err
	}
	if w.noted == nil {
		w.noted = map[string]bool{}
	}
	w.noted[parser] = true
	if m[parser] == now {
		return nil
	}
	m[parser] = now
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return w.l.SetMeta(ctx, backendsKey, string(b))
}
