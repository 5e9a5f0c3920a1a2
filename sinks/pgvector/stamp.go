package pgvector

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

var _ connector.Stamper = (*Collection)(nil)

// comment is what the comment on a table says: what every collection says of itself, and the stamp.
type comment struct {
	remote.Meta
	Stamp string `json:"stamp,omitempty"`
}

// comment reads the table's own.
func (c *Collection) comment(ctx context.Context, conn *pgx.Conn) (out comment, err error) {
	var text *string
	if err := conn.QueryRow(ctx, "SELECT obj_description($1, 'pg_class')", c.oid).Scan(&text); err != nil {
		return out, err
	}
	if text != nil {
		if _, ok := remote.ParseMeta(*text); ok {
			return out, json.Unmarshal([]byte(*text), &out)
		}
	}
	return out, connector.Errorf(connector.ClassConflict, "the comment that kbsync wrote on the table is gone")
}

// Marker implements [connector.Collection].
func (c *Collection) Marker(ctx context.Context) (marker string, err error) {
	err = c.read(ctx, func(ctx context.Context, conn *pgx.Conn, _ string) error {
		text, err := c.comment(ctx, conn)
		marker = text.Marker
		return err
	})
	return marker, c.fail(ctx, "marker", err)
}

// Stamp implements [connector.Stamper].
func (c *Collection) Stamp(ctx context.Context) (stamp string, err error) {
	err = c.read(ctx, func(ctx context.Context, conn *pgx.Conn, _ string) error {
		text, err := c.comment(ctx, conn)
		stamp = text.Stamp
		return err
	})
	return stamp, c.fail(ctx, "stamp", err)
}

// SetStamp implements [connector.Stamper].
func (c *Collection) SetStamp(ctx context.Context, stamp string) error {
	err := c.locked(ctx, []string{"BEGIN"}, "SHARE UPDATE EXCLUSIVE", func(ctx context.Context, conn *pgx.Conn, table string) error {
		text, err := c.comment(ctx, conn)
		if err != nil {
			return err
		}
		text.Stamp = stamp
		raw, err := json.Marshal(text)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, fmt.Sprintf("COMMENT ON TABLE %s IS %s", table, literal(string(raw))))
		return err
	})
	return c.fail(ctx, "set the stamp", err)
}
