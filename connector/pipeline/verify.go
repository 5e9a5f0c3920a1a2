package pipeline

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
)

// Drift is a difference between ledger and sink.
type Drift struct {
	Kind    string `json:"kind"` // "missing", "orphan", "drifted", "unfinished"
	ChunkID string `json:"chunk_id"`
	Source  string `json:"source,omitempty"`
	Path    string `json:"path,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// Verified is the report of Verify.
type Verified struct {
	Checked int `json:"checked"`
	Missing int `json:"missing"`
	Orphan  int `json:"orphan"`
	Drifted int `json:"drifted"`
	Foreign int `json:"foreign"` // points of other pipelines or programs: left alone
	// Unfinished chunks are left from a run that was cut short; the next sync settles them.
	Unfinished int `json:"unfinished"`
	// OrphansUnchecked: the sink cannot list what it holds.
	OrphansUnchecked bool    `json:"orphans_unchecked"`
	Drifts           []Drift `json:"drifts"` // the first ten thousand
	Repaired         bool    `json:"repaired"`
}

// DriftError says that verify found differences.
type DriftError struct{ Report *Verified }

// Error counts them.
func (e *DriftError) Error() string {
	r := e.Report
	return fmt.Sprintf("the sink differs from the ledger: %d missing, %d orphan, %d drifted, %d unfinished: run kbsync verify --repair",
		r.Missing, r.Orphan, r.Drifted, r.Unfinished)
}

// Verify reads ids and texts back from the sink, hashes them again and compares them with the ledger. With repair, orphans are
// deleted and whatever else differs is written again by a sync that follows.
func (p *Pipeline) Verify(ctx context.Context, repair bool) (*Verified, error) {
	v := &verifier{p: p, dirty: map[int64][][16]byte{}, report: &Verified{Drifts: []Drift{}}}
	err := p.locked(ctx, "", "kbsync verify", func(l *ledger.Ledger) error {
		o, err := p.openTarget(ctx, l, false, true)
		if err != nil {
			return err
		}
		if o.coll == nil {
			return connector.ErrNoCollection
		}
		v.o = o
		if err := p.retry(ctx, "flush the sink", func() error { return o.coll.Flush(ctx) }); err != nil {
			return err
		}
		if err := v.compare(ctx); err != nil || !repair {
			return err
		}
		return v.mark(ctx)
	})
	r := v.report
	if err != nil {
		return r, err
	}
	if r.Missing+r.Orphan+r.Drifted+r.Unfinished == 0 {
		return r, nil
	}
	if !repair {
		return r, &DriftError{r}
	}
	_, err = p.Sync(ctx, SyncOptions{Command: "kbsync verify --repair"})
	r.Repaired = err == nil
	return r, err
}

type verifier struct {
	p      *Pipeline
	o      *opened
	report *Verified
	dirty  map[int64][][16]byte // chunks to be written again, by document
	orphan []string
}

func (v *verifier) note(kind string, count *int, d Drift) {
	*count++
	if d.Kind = kind; len(v.report.Drifts) < maxRows {
		v.report.Drifts = append(v.report.Drifts, d)
	}
}

// compare merges the ledger's chunks with the sink's, both in order of id.
func (v *verifier) compare(ctx context.Context) error {
	if !v.p.sink.Capabilities().Scan {
		return v.fetch(ctx)
	}
	next, stop := iter.Pull2(v.o.target.Known(ctx))
	defer stop()
	known, kerr, more := next()
	last := ""
	for pt, err := range v.o.coll.Scan(ctx, false) {
		if err == nil {
			err = kerr
		}
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		if pt.ChunkID <= last {
			return fmt.Errorf("verify: the sink lists %s after %s, out of order", pt.ChunkID, last)
		}
		last = pt.ChunkID
		for more && known.ID.String() < pt.ChunkID {
			v.missing(&known)
			if known, kerr, more = next(); kerr != nil {
				return kerr
			}
		}
		switch {
		case more && known.ID.String() == pt.ChunkID:
			v.check(&known, &pt.Record)
			known, kerr, more = next()
		case text(pt.Metadata["pipeline"]) != v.p.file.Name:
			v.report.Foreign++
		default:
			v.orphan = append(v.orphan, pt.ChunkID)
			v.note("orphan", &v.report.Orphan, Drift{ChunkID: pt.ChunkID, Source: pt.Source, Path: pt.Path})
		}
	}
	for ; more && kerr == nil; known, kerr, more = next() {
		v.missing(&known)
	}
	return kerr
}

// fetch checks the known ids where the sink cannot list.
func (v *verifier) fetch(ctx context.Context) error {
	v.report.OrphansUnchecked = true
	var page []ledger.Known
	flush := func() error {
		ids := make([]string, len(page))
		for i := range page {
			ids[i] = page[i].ID.String()
		}
		points, err := v.o.coll.Fetch(ctx, ids, false)
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		have := map[string]*connector.Record{}
		for i := range points {
			have[points[i].ChunkID] = &points[i].Record
		}
		for i := range page {
			if r := have[ids[i]]; r != nil {
				v.check(&page[i], r)
			} else {
				v.missing(&page[i])
			}
		}
		page = page[:0]
		return nil
	}
	for k, err := range v.o.target.Known(ctx) {
		if err != nil {
			return err
		}
		if page = append(page, k); len(page) >= deleteItems {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func (v *verifier) missing(k *ledger.Known) {
	v.report.Checked++
	v.dirty[k.Doc] = append(v.dirty[k.Doc], k.ID)
	d := Drift{ChunkID: k.ID.String(), Source: k.Source, Path: k.Path}
	if k.State == ledger.ChunkWriting {
		v.note("unfinished", &v.report.Unfinished, d)
		return
	}
	v.note("missing", &v.report.Missing, d)
}

func (v *verifier) check(k *ledger.Known, r *connector.Record) {
	v.report.Checked++
	d := Drift{ChunkID: k.ID.String(), Source: k.Source, Path: k.Path}
	switch {
	case k.State == ledger.ChunkWriting:
		v.note("unfinished", &v.report.Unfinished, d)
	case hashOf(r) != hex.EncodeToString(k.Hash):
		d.Detail = "the text differs"
		v.note("drifted", &v.report.Drifted, d)
	case payloadHash(r) != k.Payload:
		d.Detail = "the metadata differ"
		v.note("drifted", &v.report.Drifted, d)
	default:
		return
	}
	v.dirty[k.Doc] = append(v.dirty[k.Doc], k.ID)
}

// mark deletes orphans and makes the next sync write the rest again.
func (v *verifier) mark(ctx context.Context) error {
	w := &writer{p: v.p, coll: v.o.coll, stamp: v.o.stamp}
	ids := make([]connector.UUID, 0, len(v.orphan))
	var errs []error
	for _, name := range v.orphan {
		id, err := connector.ParseUUID(name)
		errs = append(errs, err)
		ids = append(ids, id)
	}
	errs = append(errs, w.delete(ctx, ids), v.o.target.MarkDirty(ctx, v.dirty))
	return errors.Join(errs...)
}
