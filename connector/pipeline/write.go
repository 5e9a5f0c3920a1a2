package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
)

// A batch is handed on when it has this many chunks or bytes of text, or when it has waited this long.
const (
	batchPieces = 1024
	batchBytes  = 4 << 20
	batchWait   = 100 * time.Millisecond
	windowSize  = 512 // pieces of one document that go through together
)

// writer brings staged documents into the sink.
type writer struct {
	p        *Pipeline
	l        *ledger.Ledger
	t        *ledger.Target
	coll     connector.Collection
	caps     connector.SinkCapabilities
	tally    *tally
	identity string // of the model
	run      int64
	noted    map[string]bool // parsers whose backend is in the ledger
	stamp    *stamp
	pace     *pace // of the embedder
	proof    proof
	flights  flights
	alone    sync.Once // said that late chunks are embedded alone
}

// docWrite is one document being written, over one or more windows.
type docWrite struct {
	s        *staged
	doc      ledger.Doc
	isNew    bool
	existing map[connector.UUID]*ledger.Chunk // what the ledger knows
	kept     map[connector.UUID]bool          // ids of the new version that existed
	fresh    []connector.UUID                 // ids that this run wrote and that were not there before
	intended bool

	mu    sync.Mutex // guards the two below: windows of one document are prepared while others are written
	err   error      // the document failed
	stage string

	upserted, repositioned, unchanged, deleted int
}

// window is a run of a document's pieces.
type window struct {
	d      *docWrite
	writes []*write
	moves  []*write // payload alone
	group  *group   // the latest that a write or move is in
	bytes  int      // of those groups' texts
	last   bool
	same   bool // nothing to compare: the content is known to be stored
}

// write is one point to be written.
type write struct {
	record  connector.Record
	id      connector.UUID
	index   int
	payload [16]byte
	want    *want
	vector  ledger.Hash // the address of its vector where the model is contextual, else zero
	noVec   bool
}

func (x *write) chunk(state ledger.ChunkState) ledger.Chunk {
	return ledger.Chunk{ID: x.id, Index: x.index, Text: x.want.number, Payload: x.payload, State: state, Vector: x.vector}
}

// begin reads what the ledger knows of a staged document.
func (w *writer) begin(ctx context.Context, s *staged) (*docWrite, error) {
	d := &docWrite{s: s, kept: map[connector.UUID]bool{}, existing: map[connector.UUID]*ledger.Chunk{}}
	doc := &s.job.doc
	if s.job.old != nil {
		d.doc = *s.job.old
		if !s.same {
			chunks, err := w.t.Chunks(ctx, d.doc.N)
			if err != nil {
				return nil, err
			}
			for i := range chunks {
				d.existing[chunks[i].ID] = &chunks[i]
			}
		}
	} else {
		d.isNew = true
		d.doc = ledger.Doc{N: w.l.NextDoc(), Source: s.job.src.name, Path: doc.Path, Run: w.run,
			ID: connector.DocID(w.p.file.Name, s.job.src.name, doc.Path)}
	}
	return d, nil
}

// finished is the document's row after success.
func (d *docWrite) finished(epoch int64) ledger.Doc {
	s, doc := d.s, d.doc
	doc.Version, doc.Epoch, doc.Fingerprint, doc.State, doc.Note = s.job.doc.Version, epoch, s.finger, ledger.DocOK, ""
	doc.Facts, doc.Modified, doc.Chunks = s.facts.encode(), s.job.modified.UnixNano(), s.count
	doc.Raw = s.raw[:]
	if len(s.facts.Inputs) > 0 {
		doc.Version = takesIn + doc.Version
	}
	if s.job.doc.Unsettled {
		doc.Version = "~" + doc.Version // never equal to a listed version: read again next time
	}
	if s.same {
		doc.Chunks = d.doc.Chunks
	}
	if s.skip != "" {
		doc.State, doc.Note, doc.Raw, doc.Chunks, doc.Modified = ledger.DocSkipped, s.skip, nil, 0, 0
	}
	return doc
}

// windows yields the document's pieces, compared with what is stored, in runs that fit in memory.
func (w *writer) windows(ctx context.Context, s *staged, yield func(*window) error) error {
	d, err := w.begin(ctx, s)
	if err != nil {
		return err
	}
	if s.same || s.skip != "" {
		return yield(&window{d: d, last: true, same: s.same})
	}
	win := &window{d: d}
	inWindow := 0
	var last *group
	for x, err := range placed(w.gathered(s.each(ctx))) {
		if err != nil {
			return err
		}
		if inWindow >= windowSize && (x.group == nil || x.group != last) {
			if err := yield(win); err != nil {
				return err
			}
			win, inWindow = &window{d: d}, 0
		}
		w.compare(win, x)
		inWindow, last = inWindow+1, x.group
	}
	win.last = true
	return yield(win)
}

// compare decides what has to be done for one piece.
func (w *writer) compare(win *window, at *placedPiece) {
	d, pc := win.d, at.piece
	x := &write{record: d.s.base.record(pc, at.place), id: pc.ID, index: at.number, noVec: pc.StoreOnly}
	x.want = &want{hash: [32]byte(pc.Hash), content: [32]byte(pc.Hash), text: pc.embedText(), tokens: pc.Tokens, vector: pc.Vector, plain: pc.StoreOnly}
	x.inContext(pc, w.p.model.Contextual)
	x.payload = payloadHash(&x.record)
	old := d.existing[pc.ID]
	if old != nil {
		d.kept[pc.ID] = true
	}
	switch {
	case old != nil && old.State == ledger.ChunkLive && old.Payload == x.payload && old.Vector == x.vector:
		d.unchanged++
		return
	case old != nil && old.State == ledger.ChunkLive && w.caps.Payload && w.p.file.IDs != "position" && old.Vector == x.vector:
		// Under content ids an equal id means an equal text: only the payload moved.
		x.want.plain = true
		win.moves = append(win.moves, x)
	default:
		win.writes = append(win.writes, x)
	}
	if g := x.want.group; g != nil && g != win.group {
		win.group = g
		win.bytes += g.bytes
	}
}

// prepare gives every text its vector; a text that is refused fails its document.
func (w *writer) prepare(ctx context.Context, wins []*window) error {
	var set wantSet
	each := func(fn func(d *docWrite, x *write)) {
		for _, win := range wins {
			for _, list := range [][]*write{win.writes, win.moves} {
				for _, x := range list {
					fn(win.d, x)
				}
			}
		}
	}
	each(func(d *docWrite, x *write) {
		if d.failure() == nil {
			x.want = set.add(x.want)
		}
	})
	if err := w.vectors(ctx, set.list); err != nil {
		return err
	}
	each(func(d *docWrite, x *write) {
		if x.want.err != nil {
			d.fail("embed", x.want.err)
		}
	})
	return nil
}

// fail sets the document aside; the first reason stays.
func (d *docWrite) fail(stage string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err, d.stage = err, stage
	}
}

// failure is why the document failed; nil if it did not.
func (d *docWrite) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// intend commits the ids that are about to be written.
func (w *writer) intend(ctx context.Context, wins []*window) error {
	var intents []ledger.Intent
	for _, win := range wins {
		d := win.d
		if d.failure() != nil || win.same {
			continue
		}
		if d.s.skip == "" {
			if err := w.noteBackend(ctx, w.p.router.parserOf(d.s.route, d.s.facts)); err != nil {
				return err
			}
		}
		stale := win.last && len(d.kept) < len(d.existing)
		if len(win.writes)+len(win.moves) == 0 && !stale {
			continue
		}
		in := ledger.Intent{Doc: d.doc, New: d.isNew && !d.intended}
		for _, x := range win.writes {
			in.Writing = append(in.Writing, x.chunk(ledger.ChunkWriting))
			if d.existing[x.id] == nil {
				d.fresh = append(d.fresh, x.id)
			}
		}
		for _, x := range win.moves {
			in.Unsure = append(in.Unsure, x.id)
		}
		if stale {
			for _, id := range d.stale() {
				in.Unsure = append(in.Unsure, id)
			}
		}
		d.intended = true
		intents = append(intents, in)
	}
	if len(intents) == 0 {
		return nil
	}
	return w.t.Intend(ctx, intents)
}

// write brings the points into the sink and removes what the finished documents no longer have.
func (w *writer) write(ctx context.Context, wins []*window) error {
	var points, moves []item
	for _, win := range wins {
		if win.d.failure() != nil {
			continue
		}
		for _, x := range win.writes {
			pt := connector.Point{Record: x.record}
			if !x.noVec {
				pt.Vector = x.want.vector
			}
			points = append(points, item{pt, x, win.d})
		}
		for _, x := range win.moves {
			moves = append(moves, item{connector.Point{Record: x.record}, x, win.d})
		}
	}
	if err := w.upsert(ctx, points); err != nil {
		return err
	}
	if err := w.move(ctx, moves); err != nil {
		return err
	}
	var stale []connector.UUID
	for _, win := range wins {
		if win.d.failure() == nil && win.last && !win.same {
			ids := win.d.stale()
			win.d.deleted += len(ids)
			stale = append(stale, ids...)
		}
	}
	return w.delete(ctx, stale)
}

// stale are the ids of the old version that the new one does not have.
func (d *docWrite) stale() []connector.UUID {
	var ids []connector.UUID
	for id := range d.existing {
		if !d.kept[id] {
			ids = append(ids, id)
		}
	}
	sortUUIDs(ids)
	return ids
}

// finish commits how the documents ended and counts them.
func (w *writer) finish(ctx context.Context, wins []*window) error {
	var outcomes []ledger.Outcome
	for _, win := range wins {
		d := win.d
		if d.failure() != nil {
			if !win.last {
				continue
			}
			o, err := w.rollback(ctx, d)
			if err != nil {
				return err
			}
			outcomes = append(outcomes, o)
			continue
		}
		o := ledger.Outcome{Doc: d.doc, Keywords: w.p.router.words.of(win)}
		for _, list := range [][]*write{win.writes, win.moves} {
			for _, x := range list {
				o.Changed = append(o.Changed, x.chunk(ledger.ChunkLive))
			}
		}
		d.upserted, d.repositioned = d.upserted+len(win.writes), d.repositioned+len(win.moves)
		if win.last {
			for _, id := range d.stale() {
				o.Deleted = append(o.Deleted, id)
			}
			o.Doc = d.finished(w.p.router.epoch)
		} else if len(o.Changed) == 0 {
			continue
		} else {
			o.Doc.State, o.Doc.Version = ledger.DocDirty, ""
		}
		outcomes = append(outcomes, o)
	}
	if len(outcomes) > 0 {
		if err := w.t.Finish(ctx, outcomes); err != nil {
			return err
		}
	}
	return w.settle(ctx, wins)
}

// settle counts documents that ended and drops their spools.
func (w *writer) settle(ctx context.Context, wins []*window) error {
	var errs []error
	for _, win := range wins {
		d := win.d
		if !win.last {
			continue
		}
		if d.s.spool != nil {
			errs = append(errs, d.s.spool.Drop(ctx))
		}
		if win.same {
			d.unchanged = d.doc.Chunks
		}
		w.tally.do(func(r *Result) {
			r.BytesRead += d.s.read
			if d.failure() == nil {
				r.Chunks.Upserted += d.upserted
				r.Chunks.Repositioned += d.repositioned
				r.Chunks.Deleted += d.deleted
				r.Chunks.Unchanged += d.unchanged
				r.Chunks.LeftOut += d.s.dedup.leftOut()
			}
		})
		path := d.doc.Path
		switch {
		case d.failure() != nil:
			w.tally.fail(ErrorRow{d.doc.Source, path, d.stage, d.err.Error()})
		case d.s.skip != "":
			w.tally.skip(d.doc.Source, path, d.s.skip)
		case d.isNew, d.doc.State == ledger.DocFailed && d.doc.Fingerprint == "":
			w.tally.settle(Added, path, d.s.count)
		case d.upserted+d.repositioned+d.deleted == 0:
			w.tally.settle(Unchanged, path, d.s.count)
		default:
			w.tally.settle(Updated, path, d.s.count)
		}
	}
	return errors.Join(errs...)
}

// rollback removes what a failed document left of its new version: the old chunks stay until it can be replaced. If the sink
// does not let go of them either, the ledger keeps them and the next run tries again.
func (w *writer) rollback(ctx context.Context, d *docWrite) (ledger.Outcome, error) {
	o := ledger.Outcome{Doc: d.doc}
	o.Doc.State, o.Doc.Note, o.Doc.Version = ledger.DocFailed, d.stage+": "+d.err.Error(), ""
	if len(d.fresh) > 0 {
		if err := w.delete(ctx, d.fresh); err != nil {
			return o, err
		}
		for _, id := range d.fresh {
			o.Deleted = append(o.Deleted, id)
		}
	}
	return o, nil
}

// failed records a document that could not be read or cut.
func (w *writer) failed(ctx context.Context, s *staged, err error) error {
	d := ledger.Doc{Source: s.job.src.name, Path: s.job.doc.Path}
	if s.job.old != nil {
		d = *s.job.old
	} else {
		d.N, d.Run, d.ID = w.l.NextDoc(), w.run, connector.DocID(w.p.file.Name, d.Source, d.Path)
	}
	d.State, d.Note, d.Version = ledger.DocFailed, stageOf(err, "cut")+": "+err.Error(), ""
	if err := w.t.Finish(ctx, []ledger.Outcome{{Doc: d}}); err != nil {
		return err
	}
	w.tally.fail(ErrorRow{d.Source, d.Path, stageOf(err, "cut"), err.Error()})
	return nil
}
