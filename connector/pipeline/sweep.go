package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
)

// sweeper removes the documents that clean listings no longer hold.
type sweeper struct {
	p     *Pipeline
	w     *writer
	l     *ledger.Ledger
	allow bool
}

// sweep deletes what vanished. The first error is what kept it from deleting (a listing that broke, a guard that refused), the
// second one ends the run.
func (s *sweeper) sweep(ctx context.Context, listings []*listing) (guard, err error) {
	var refused []error
	for _, lst := range listings {
		if lst.err != nil {
			refused = append(refused, s.broken(lst))
			continue
		}
		if lst.goneN == 0 {
			continue
		}
		moved, err := s.moved(ctx, lst)
		if err != nil {
			return nil, err
		}
		if g := s.guard(lst, len(moved)); g != nil {
			refused = append(refused, g)
			continue
		}
		if err := s.remove(ctx, lst, moved); err != nil {
			return nil, err
		}
	}
	return errors.Join(refused...), nil
}

// broken reports a listing that did not come to its end.
func (s *sweeper) broken(lst *listing) error {
	if errors.Is(lst.err, ErrDrained) {
		return lst.err
	}
	s.w.tally.row(ErrorRow{Source: lst.source, Stage: "list", Error: lst.err.Error()})
	if connector.ClassOf(lst.err) == connector.ClassCredentials {
		return &UnreachableError{fmt.Errorf("source %s: its credentials were refused or ran out; nothing of it was deleted, and the next run goes on from here: %w", lst.source, lst.err)}
	}
	return &UnreachableError{fmt.Errorf("source %s: it could not be listed and read to the end, so nothing of it was deleted: %w", lst.source, lst.err)}
}

// guard refuses to delete what looks like an accident: an empty listing, or too large a loss.
func (s *sweeper) guard(lst *listing, moved int) error {
	if s.allow {
		return nil
	}
	lost, had := lst.lost-moved, lst.had+lst.lost
	switch {
	case lst.listed == 0 && lost > 0:
		return &GuardError{fmt.Sprintf("source %s lists nothing where there were %d documents: nothing was deleted. "+
			"If it is really empty, run with --allow-delete", lst.source, had)}
	case s.p.file.Sync.MaxDelete.Exceeded(lost, had):
		return &GuardError{fmt.Sprintf("source %s lost %d of %d documents, more than sync.max_delete (%s): nothing was deleted. "+
			"If that is right, run with --allow-delete", lst.source, lost, had, s.p.file.Sync.MaxDelete)}
	}
	return nil
}

// moved finds the vanished documents whose content this run added elsewhere, by path.
func (s *sweeper) moved(ctx context.Context, lst *listing) (map[string]bool, error) {
	gone := map[string][]string{} // paths by content
	for item, err := range lst.gone.Items(ctx) {
		if err != nil {
			return nil, err
		}
		d, ok, err := s.w.t.Doc(ctx, lst.source, string(item))
		if err != nil {
			return nil, err
		}
		if ok && len(d.Raw) > 0 {
			gone[string(d.Raw)] = append(gone[string(d.Raw)], d.Path)
		}
	}
	moved := map[string]bool{}
	if len(gone) == 0 {
		return moved, nil
	}
	err := s.w.t.AddedIn(ctx, s.w.run, func(raw []byte) {
		if paths := gone[string(raw)]; len(paths) > 0 {
			moved[paths[0]] = true
			gone[string(raw)] = paths[1:]
		}
	})
	return moved, err
}

// remove deletes the vanished documents' chunks, then forgets them.
func (s *sweeper) remove(ctx context.Context, lst *listing, moved map[string]bool) error {
	var docs []ledger.Doc
	var ids []connector.UUID
	unsure := map[int64][][16]byte{}
	flush := func() error {
		// A document that comes back after this run was killed must not pass for one whose chunks are all there.
		if err := s.w.t.MarkDirty(ctx, unsure); err != nil {
			return err
		}
		clear(unsure)
		if err := s.w.delete(ctx, ids); err != nil {
			return err
		}
		if err := s.w.t.Remove(ctx, docs); err != nil {
			return err
		}
		s.count(docs, len(ids), moved)
		docs, ids = docs[:0], ids[:0]
		return nil
	}
	for item, err := range lst.gone.Items(ctx) {
		if err != nil {
			return err
		}
		d, ok, err := s.w.t.Doc(ctx, lst.source, string(item))
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		chunks, err := s.w.t.Chunks(ctx, d.N)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			ids = append(ids, c.ID)
			unsure[d.N] = append(unsure[d.N], c.ID)
		}
		docs = append(docs, d)
		if len(ids) >= deleteItems || len(docs) >= deleteItems {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(docs) == 0 {
		return nil
	}
	return flush()
}

// count adds removed documents to the report: a moved one was counted as added before.
func (s *sweeper) count(docs []ledger.Doc, chunks int, moved map[string]bool) {
	for _, d := range docs {
		switch {
		case moved[d.Path]:
			s.w.tally.do(func(r *Result) { r.Documents.Moved++; r.Documents.Added-- })
		case d.State != ledger.DocSkipped:
			s.w.tally.settle(Deleted, d.Path, d.Chunks)
		}
	}
	s.w.tally.do(func(r *Result) { r.Chunks.Deleted += chunks })
}
