package ledger

import (
	"context"
	"database/sql"
	"strings"
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

// Add adds paths, at most some thousands at a time.
func (s *Seen) Add(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := s.conn.ExecContext(ctx, "INSERT INTO temp.seen VALUES"+strings.Repeat(",(?)", len(paths))[1:]+" ON CONFLICT DO NOTHING", blobs(paths)...)
	return wrap(s.l.path, "seen", err)
}

// Has says which of some paths, at most some thousands, were added.
func (s *Seen) Has(ctx context.Context, paths []string) (map[string]bool, error) {
	out := make(map[string]bool, len(paths))
	if len(paths) == 0 {
		return out, nil
	}
	rows, err := s.conn.QueryContext(ctx, "SELECT path FROM temp.seen WHERE path IN ("+marks(len(paths))+")", blobs(paths)...)
	if err != nil {
		return nil, wrap(s.l.path, "seen", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var path []byte
		if err := rows.Scan(&path); err != nil {
			return nil, wrap(s.l.path, "seen", err)
		}
		out[string(path)] = true
	}
	return out, wrap(s.l.path, "seen", rows.Err())
}

// marks is "?,?,?".
func marks(n int) string { return strings.Repeat(",?", n)[1:] }

func blobs(paths []string) []any {
	out := make([]any, len(paths))
	for i, p := range paths {
		out[i] = []byte(p)
	}
	return out
}

// Close gives the connection back.
func (s *Seen) Close() error { return s.conn.Close() }
