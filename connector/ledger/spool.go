package ledger

import (
	"context"
	"database/sql"
	"errors"
	"iter"
)

// Spool is a list on disk, for documents whose chunks do not fit in memory. What is in it does not outlive the ledger's being opened
// for writing again.
type Spool struct {
	l      *Ledger
	stream int64
}

// NewSpool begins an empty list.
func (l *Ledger) NewSpool() *Spool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream++
	return &Spool{l, l.stream}
}

// Append adds items at the end.
func (s *Spool) Append(ctx context.Context, items [][]byte) error {
	return s.l.tx(ctx, "spool", func(tx *sql.Tx) error {
		for _, it := range items {
			if err := s.l.exec(ctx, tx, sqlSpool, s.stream, it); err != nil {
				return err
			}
		}
		return nil
	})
}

// Items yields the items in the order in which they were added. It reads in pages and may be used again.
func (s *Spool) Items(ctx context.Context) iter.Seq2[[]byte, error] {
	const page = 256
	return func(yield func([]byte, error) bool) {
		var last int64
		for {
			rows, err := s.l.read.QueryContext(ctx, "SELECT seq, item FROM spool WHERE stream=? AND seq>? ORDER BY seq LIMIT ?", s.stream, last, page)
			if err != nil {
				yield(nil, wrap(s.l.path, "spool", err))
				return
			}
			var items [][]byte
			for rows.Next() {
				var it []byte
				if err = rows.Scan(&last, &it); err != nil {
					break
				}
				items = append(items, it)
			}
			if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
				yield(nil, wrap(s.l.path, "spool", err))
				return
			}
			for _, it := range items {
				if !yield(it, nil) {
					return
				}
			}
			if len(items) < page {
				return
			}
		}
	}
}

// Drop removes the list.
func (s *Spool) Drop(ctx context.Context) error {
	return s.l.tx(ctx, "spool-drop", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM spool WHERE stream=?", s.stream)
		return err
	})
}
