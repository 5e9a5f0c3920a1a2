package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kbsync/kbsync/connector"
)

var _ connector.Stamper = (*Collection)(nil)

// Stamp implements [connector.Stamper].
func (c *Collection) Stamp(ctx context.Context) (string, error) {
	marker, err := c.Marker(ctx)
	if err != nil {
		return "", err
	}
	var n int
	if err := c.files.read.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'kbsync_stamps'`).Scan(&n); err != nil || n == 0 {
		return "", c.wrap("stamp", err)
	}
	var stamp string
	err = c.files.read.QueryRowContext(ctx, `SELECT stamp FROM kbsync_stamps WHERE marker = ?`, marker).Scan(&stamp)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return stamp, c.wrap("stamp", err)
}

// SetStamp implements [connector.Stamper]. Stamps of collections that are gone go with it.
func (c *Collection) SetStamp(ctx context.Context, stamp string) error {
	marker, err := c.Marker(ctx)
	if err != nil {
		return err
	}
	return c.wrap("stamp", inTx(ctx, c.files.write, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS kbsync_stamps(marker TEXT PRIMARY KEY, stamp TEXT NOT NULL)`); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM kbsync_stamps WHERE marker NOT IN (SELECT marker FROM kbsync_collections)`); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO kbsync_stamps VALUES(?, ?) ON CONFLICT(marker) DO UPDATE SET stamp = excluded.stamp`, marker, stamp)
		return err
	}))
}
