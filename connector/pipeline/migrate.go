package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/ledger"
)

// MigrateOptions are the choices of Migrate.
type MigrateOptions struct {
	// AllowRebuild is consent to replace, in the other sink, a collection of another model or layout.
	AllowRebuild bool
	// NoVerify leaves out the comparison that follows.
	NoVerify bool
}

// Migrated is the report of Migrate.
type Migrated struct {
	From      string    `json:"from"`
	To        string    `json:"to"`
	Documents int       `json:"documents"`
	Chunks    int       `json:"chunks"`    // of this pipeline, in the sink that is read
	Written   int       `json:"written"`   // now
	Unchanged int       `json:"unchanged"` // held by the other sink before
	Deleted   int       `json:"deleted"`   // of the other sink, which the first one does not hold
	Failed    int       `json:"failed"`
	Verified  *Verified `json:"verified,omitempty"`
	// Errors are the first of the chunks that were refused.
	Errors []ErrorRow `json:"errors"`
}

// Migrate fills the sink of another configuration, whose other parts are not looked at, with what the live collection holds: texts,
// metadata and vectors, with no embedding and no source read. The ledger then knows the other sink as it knows this one, so a
// sync to it finds everything unchanged. What an interrupted migration wrote is not written again. Chunks of this sink that are
// not what kbsync wrote end the migration: verify --repair first.
func (p *Pipeline) Migrate(ctx context.Context, to *config.File, opts MigrateOptions) (r Migrated, err error) {
	if to.Sink == nil {
		return r, UsageErrorf("the file of --to names no sink")
	}
	dest := *p.file
	dest.Sink = to.Sink
	q := &Pipeline{file: &dest, reg: p.reg, opts: p.opts, log: p.log, embedder: p.embedder, model: p.model, router: p.router}
	if err := q.openSink(ctx); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, q.sink.Close()) }()
	if err := q.checkFit(); err != nil {
		return r, err
	}
	if p.sink.Target() == q.sink.Target() {
		return r, UsageErrorf("the sink of --to is the configured one: %s", q.sink.Target())
	}
	r.From, r.To, r.Errors = p.sink.Target().String(), q.sink.Target().String(), []ErrorRow{}
	err = p.locked(ctx, "", "kbsync migrate", func(l *ledger.Ledger) error { return p.migrate(ctx, l, q, opts, &r) })
	if err != nil || opts.NoVerify {
		return r, err
	}
	p.opts.Progress.Stage("verifying")
	r.Verified, err = q.Verify(ctx, false)
	return r, err
}

func (p *Pipeline) migrate(ctx context.Context, l *ledger.Ledger, q *Pipeline, opts MigrateOptions, r *Migrated) error {
	from, err := p.openTarget(ctx, l, false, true)
	if err != nil {
		return err
	}
	if from.coll == nil {
		return connector.ErrNoCollection
	}
	into, err := q.openTarget(ctx, l, opts.AllowRebuild, false)
	if err != nil {
		return err
	}
	if err := p.retry(ctx, "flush the sink", func() error { return from.coll.Flush(ctx) }); err != nil {
		return err
	}
	if err := into.target.CopyFrom(ctx, from.target); err != nil {
		return err
	}
	counts, err := from.target.Counts(ctx)
	if err != nil {
		return err
	}
	r.Documents = counts.Documents
	m := &mover{p: p, q: q, l: l, from: from, into: into, report: r, docs: map[[2]string]int64{},
		w: &writer{p: q, l: l, t: into.target, coll: into.coll, caps: q.sink.Capabilities(), identity: into.schema.Model, stamp: into.stamp}}
	p.opts.Progress.Stage(fmt.Sprintf("copying %d chunks", counts.Chunks))
	if err := m.run(ctx); err != nil {
		return err
	}
	if err := q.retry(ctx, "flush the other sink", func() error { return into.coll.Flush(ctx) }); err != nil {
		return err
	}
	if err := into.target.SettleFrom(ctx, from.target); err != nil {
		return err
	}
	switch {
	case r.Failed > 0:
		return fmt.Errorf("the other sink refused %d chunks, the first: %s", r.Failed, r.Errors[0].Error)
	case into.rebuild:
		return q.promote(ctx, l, into)
	}
	return nil
}

// mover copies points from one collection to another.
type mover struct {
	p, q       *Pipeline
	l          *ledger.Ledger
	from, into *opened
	w          *writer
	report     *Migrated
	points     []connector.Point
	bytes      int
	docs       map[[2]string]int64 // numbers of documents in the ledger's part for into
}

func (m *mover) run(ctx context.Context) error {
	for pt, err := range m.scan(ctx) {
		if err != nil {
			return fmt.Errorf("read the collection: %w", err)
		}
		m.points = append(m.points, pt)
		m.bytes += pointBytes(&m.points[len(m.points)-1])
		if len(m.points) >= batchPieces || m.bytes >= batchBytes {
			if err := m.flush(ctx); err != nil {
				return err
			}
		}
	}
	if err := m.flush(ctx); err != nil {
		return err
	}
	known, err := m.from.target.ChunkCount(ctx)
	if err != nil {
		return err
	}
	if m.report.Chunks < known {
		return fmt.Errorf("the collection lacks %d chunks that the ledger knows: run kbsync verify --repair first", known-m.report.Chunks)
	}
	return m.sweep(ctx)
}

// scan yields this pipeline's points, or the known ones where the sink cannot list.
func (m *mover) scan(ctx context.Context) func(func(connector.Point, error) bool) {
	return func(yield func(connector.Point, error) bool) {
		if m.p.sink.Capabilities().Scan {
			for pt, err := range m.from.coll.Scan(ctx, true) {
				if err == nil && text(pt.Metadata["pipeline"]) != m.p.file.Name {
					continue
				}
				if !yield(pt, err) || err != nil {
					return
				}
			}
			return
		}
		var ids []string
		fetch := func() bool {
			points, err := m.from.coll.Fetch(ctx, ids, true)
			if ids = ids[:0]; err != nil {
				yield(connector.Point{}, err)
				return false
			}
			for i := range points {
				if !yield(points[i], nil) {
					return false
				}
			}
			return true
		}
		for k, err := range m.from.target.Known(ctx) {
			if err != nil {
				yield(connector.Point{}, err)
				return
			}
			if ids = append(ids, k.ID.String()); len(ids) >= batchPieces && !fetch() {
				return
			}
		}
		if len(ids) > 0 {
			fetch()
		}
	}
}

// flush writes the points that the other sink is not known to hold.
func (m *mover) flush(ctx context.Context) error {
	if len(m.points) == 0 {
		return nil
	}
	var items []item
	var refs []ledger.Ref
	for i := range m.points {
		pt := &m.points[i]
		ref, c, err := m.expected(ctx, pt)
		if err != nil {
			return err
		}
		m.report.Chunks++
		if c.State == ledger.ChunkLive {
			m.report.Unchanged++
			continue
		}
		d := &docWrite{doc: ledger.Doc{Source: pt.Source, Path: pt.Path}}
		items = append(items, item{*pt, &write{record: pt.Record, id: ref.ID, index: c.Index}, d})
		refs = append(refs, ref)
	}
	m.points, m.bytes = m.points[:0], 0
	if err := m.vectors(ctx, items); err != nil {
		return err
	}
	if err := m.w.upsert(ctx, items); err != nil {
		return err
	}
	stored := refs[:0]
	for i := range items {
		if err := items[i].doc.failure(); err != nil {
			m.report.Failed++
			if len(m.report.Errors) < maxRows {
				m.report.Errors = append(m.report.Errors, ErrorRow{items[i].point.Source, items[i].point.Path, "sink", err.Error()})
			}
			continue
		}
		stored = append(stored, refs[i])
	}
	m.report.Written += len(stored)
	return m.into.target.Stored(ctx, stored)
}

// vectors puts the store's vectors, which are the model's own, in place of those that the collection gave back, which a database may have
// normalised. A point without a vector is stored only, and stays so.
func (m *mover) vectors(ctx context.Context, items []item) error {
	hashes := make([]ledger.Hash, len(items))
	for i := range items {
		hashes[i] = textHash(items[i].point.EmbedText)
		if address, ok := contextOf(&items[i].point.Record); ok {
			hashes[i] = address
		}
	}
	found, err := m.l.Lookup(ctx, m.from.schema.Model, hashes)
	for i := range found {
		if found[i].Vector != nil && items[i].point.Vector != nil {
			items[i].point.Vector = found[i].Vector
		}
	}
	return err
}

// expected finds what the ledger expects the other sink to hold of a point, and checks that the point is what was written.
func (m *mover) expected(ctx context.Context, pt *connector.Point) (ref ledger.Ref, c ledger.Chunk, err error) {
	drifted := func(what string) error {
		return fmt.Errorf("chunk %s of %s %s: run kbsync verify --repair first", pt.ChunkID, pt.Path, what)
	}
	if ref.ID, err = connector.ParseUUID(pt.ChunkID); err != nil {
		return ref, c, drifted("has an id that kbsync did not make")
	}
	key := [2]string{pt.Source, pt.Path}
	n, ok := m.docs[key]
	if !ok {
		d, found, err := m.into.target.Doc(ctx, pt.Source, pt.Path)
		if err != nil {
			return ref, c, err
		}
		if !found {
			return ref, c, drifted("is not in the ledger")
		}
		if len(m.docs) >= rebuildCache {
			clear(m.docs)
		}
		n = d.N
		m.docs[key] = n
	}
	ref.Doc = n
	c, ok, err = m.into.target.Chunk(ctx, ref)
	switch {
	case err != nil:
		return ref, c, err
	case !ok:
		return ref, c, drifted("is not in the ledger, or was left by a run that was cut short")
	case c.Payload != payloadHash(&pt.Record) || hashOf(&pt.Record) != pt.ContentHash:
		return ref, c, drifted("is not what kbsync wrote")
	}
	return ref, c, nil
}

// sweep deletes from the other sink what the first one does not hold.
func (m *mover) sweep(ctx context.Context) error {
	for {
		refs, err := m.into.target.NotIn(ctx, m.from.target, deleteItems)
		if err != nil {
			return err
		}
		ids, unsure := make([]connector.UUID, len(refs)), map[int64][][16]byte{}
		for i, ref := range refs {
			ids[i] = ref.ID
			unsure[ref.Doc] = append(unsure[ref.Doc], ref.ID)
		}
		if err := m.into.target.MarkDirty(ctx, unsure); err != nil {
			return err
		}
		if err := m.w.delete(ctx, ids); err != nil {
			return err
		}
		if err := m.into.target.ForgetChunks(ctx, m.from.target, refs); err != nil {
			return err
		}
		m.report.Deleted += len(refs)
		if len(refs) < deleteItems {
			return nil
		}
	}
}
