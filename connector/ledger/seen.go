package ledger

import (
	"context"
	"database/sql"
	"errors"
)

// Seen is a set of paths on disk, for sources that list in no order.
type Seen struct {
	l    *Ledger
	conn *sql.Conn
}

// NewSeen makes an empty set. It lives in a temporary table of a connection of its own.
func (l *Ledger) NewSeen(ctx context.Context) (*Seen, error) {
	conn, err := l.read.Conn(ctx)
	if err == nil {
		_, err = conn.ExecContext(ctx, "CREATE TEMP TABLE IF NOT EXISTS seen(path BLOB PRIMARY KEY) WITHOUT ROWID; DELETE FROM temp.seen")
	}
	if err != nil {
		return nil, wrap(l.path, "seen", err)
	}
	return &Seen{l, conn}, nil
}

// Add adds a path.
func (s *Seen) Add(ctx context.Context, path string) error {
	_, err := s.conn.ExecContext(ctx, "INSERT INTO temp.seen VALUES(?) ON CONFLICT DO NOTHING", []byte(path))
	return wrap(s.l.path, "seen", err)
}

// Has says whether a path was added.
func (s *Seen) Has(ctx context.Context, path string) (bool, error) {
	var one int
	err := s.conn.QueryRowContext(ctx, "SELECT 1 FROM temp.seen WHERE path=?", []byte(path)).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, wrap(s.l.path, "seen", err)
}

// Close gives the connection back.
func (s *Seen) Close() error { return s.conn.Close() }
