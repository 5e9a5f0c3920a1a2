package pgvector

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
	"github.com/kbsync/kbsync/internal/remote"
)

// Collection is one generation's table, whatever its name is at the moment.
type Collection struct {
	sink   *Sink
	layout *layout
	oid    uint32
	meta   remote.Meta
	name   atomic.Pointer[string]
}

var _ connector.Collection = (*Collection)(nil)

func (s *Sink) collection(m made) (*Collection, error) {
	l, err := s.layoutFor(m.meta.Schema)
	if err != nil {
		return nil, err
	}
	c := &Collection{sink: s, layout: l, oid: m.oid, meta: m.meta}
	c.name.Store(&m.name)
	return c, nil
}

// layoutFor is the shape of a table of a schema: the configuration's, or another one that the table was made with.
func (s *Sink) layoutFor(schema connector.Schema) (*layout, error) {
	if schema.Layout == "" || schema.Layout == s.config.Layout(s.layout.version, s.layout.names) {
		return s.layout, nil
	}
	return layoutOf(schema.Layout)
}

// Schema implements [connector.Collection].
func (c *Collection) Schema() connector.Schema { return c.meta.Schema }

func (c *Collection) fail(ctx context.Context, what string, err error) error {
	return c.sink.fail(ctx, quote(c.sink.config.Schema, *c.name.Load())+": "+what, err)
}

// The modes of locks that keep a table's name from changing until the transaction ends.
const (
	forReading = "ACCESS SHARE"
	forWriting = "ROW EXCLUSIVE"
)

// read runs fn on a snapshot; table is the quoted name.
func (c *Collection) read(ctx context.Context, fn func(ctx context.Context, conn *pgx.Conn, table string) error) error {
	return c.locked(ctx, []string{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}, forReading, fn)
}

// locked runs fn in a transaction that holds the table under its present name. Renames go on until then: so the name is looked
// up by the table's number where it proves to be another's.
func (c *Collection) locked(ctx context.Context, begin []string, mode string, fn func(ctx context.Context, conn *pgx.Conn, table string) error) error {
	return c.lockedFor(ctx, c.sink.config.Timeout, begin, mode, fn)
}

func (c *Collection) lockedFor(ctx context.Context, limit time.Duration, begin []string, mode string, fn func(ctx context.Context, conn *pgx.Conn, table string) error) error {
	moved := errors.New("the table was renamed")
	for range 10 {
		table := quote(c.sink.config.Schema, *c.name.Load())
		statements := append(begin[:len(begin):len(begin)], "LOCK TABLE "+table+" IN "+mode+" MODE", fmt.Sprintf("SELECT%s::regclass::oid", literal(table)))
		begun := false
		err := c.sink.inTx(ctx, limit, statements, func(ctx context.Context, conn *pgx.Conn, oid string) error {
			if oid != strconv.FormatUint(uint64(c.oid), 10) {
				return moved
			}
			begun = true
			return fn(ctx, conn, table)
		})
		var pg *pgconn.PgError
		if begun || !errors.Is(err, moved) && (!errors.As(err, &pg) || pg.Code != "42P01") {
			return err
		}
		if err := c.find(ctx); err != nil {
			return err
		}
	}
	return connector.Errorf(connector.ClassTransient, "the table is renamed again and again")
}

// find looks up the table's present name.
func (c *Collection) find(ctx context.Context) error {
	var name string
	err := c.sink.pool.QueryRow(ctx, "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1 AND n.nspname = $2", c.oid, c.sink.config.Schema).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return connector.Errorf(connector.ClassNotFound, "somebody dropped the table; kbsync sync makes it again from the store")
	}
	if err == nil {
		c.name.Store(&name)
	}
	return err
}

// Upsert implements [connector.Collection]. Rows that stand there already are not touched.
func (c *Collection) Upsert(ctx context.Context, points []connector.Point) error {
	if len(points) == 0 {
		return nil
	}
	l := c.layout
	b := newBatch(len(points))
	for i := range points {
		p := &points[i]
		err := check(&p.Record)
		if err == nil {
			err = payload.CheckVector(p.Vector, c.meta.Schema.Dimensions, c.meta.Schema.Distance)
		}
		var row []any
		if err == nil {
			row, err = l.payloadValues(&p.Record)
		}
		b.add(i, p, row, err)
	}
	err := c.write(ctx, l.columns, b, func(ctx context.Context, conn *pgx.Conn, table string) error {
		_, err := conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s AS t (%s) SELECT %s FROM kbsync_incoming ON CONFLICT (%s) DO UPDATE SET %s WHERE %s",
			table, list(l.columns), list(l.columns), l.id(), assignments(l.columns, "excluded"), differs(l.columns, "excluded")))
		return err
	})
	if err == nil {
		err = b.err()
	}
	return c.fail(ctx, "upsert", err)
}

// UpdatePayload implements [connector.Collection].
func (c *Collection) UpdatePayload(ctx context.Context, records []connector.Record) error {
	if len(records) == 0 {
		return nil
	}
	l := c.layout
	columns := l.payload()
	b := newBatch(len(records))
	for i := range records {
		err := check(&records[i])
		var row []any
		if err == nil {
			row, err = l.payloadValues(&records[i])
		}
		b.add(i, &connector.Point{Record: records[i]}, row, err)
	}
	err := c.write(ctx, columns, b, func(ctx context.Context, conn *pgx.Conn, table string) error {
		_, err := conn.Exec(ctx, fmt.Sprintf("UPDATE %s AS t SET %s FROM kbsync_incoming AS n WHERE t.%s = n.%[3]s AND (%[4]s)", table, assignments(columns, "n"), l.id(), differs(columns, "n")))
		if err != nil {
			return err
		}
		rows, err := conn.Query(ctx, fmt.Sprintf("SELECT n.%[1]s::text FROM kbsync_incoming AS n WHERE NOT EXISTS (SELECT FROM %[2]s AS t WHERE t.%[1]s = n.%[1]s)", l.id(), table))
		if err != nil {
			return err
		}
		missing, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, id := range missing {
			for i := range records {
				if records[i].ChunkID == id {
					b.failed[i] = connector.Errorf(connector.ClassNotFound, "there is no chunk %s", id)
				}
			}
		}
		return err
	})
	if err == nil {
		err = b.err()
	}
	return c.fail(ctx, "update payloads", err)
}

// Delete implements [connector.Collection].
func (c *Collection) Delete(ctx context.Context, ids []string) error {
	ids = valid(ids)
	if len(ids) == 0 {
		return c.fail(ctx, "delete", ctx.Err())
	}
	err := c.locked(ctx, []string{"BEGIN"}, forWriting, func(ctx context.Context, conn *pgx.Conn, table string) error {
		_, err := conn.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s = ANY($1::text[]::%s[])", table, c.layout.id(), c.layout.idType()), ids)
		return err
	})
	return c.fail(ctx, "delete", err)
}

// valid are the ids that a table can hold: no other one exists.
func valid(ids []string) []string {
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		if payload.CheckID(id) == nil {
			out = append(out, id)
		}
	}
	return out
}

// Count implements [connector.Collection].
func (c *Collection) Count(ctx context.Context) (int, error) {
	var n int
	err := c.read(ctx, func(ctx context.Context, conn *pgx.Conn, table string) error {
		return conn.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	})
	return n, c.fail(ctx, "count", err)
}

// Fetch implements [connector.Collection].
func (c *Collection) Fetch(ctx context.Context, ids []string, vectors bool) ([]connector.Point, error) {
	known := valid(ids)
	if len(known) == 0 {
		return nil, c.fail(ctx, "fetch", ctx.Err())
	}
	var found map[string]connector.Point
	err := c.read(ctx, func(ctx context.Context, conn *pgx.Conn, table string) (err error) {
		found, err = c.fetch(ctx, conn, table, known, vectors)
		return err
	})
	if err != nil {
		return nil, c.fail(ctx, "fetch", err)
	}
	out := make([]connector.Point, 0, len(found))
	for _, id := range ids {
		if p, ok := found[id]; ok {
			out = append(out, p)
			delete(found, id) // each once: two may not share their values
		}
	}
	return out, nil
}

func (c *Collection) fetch(ctx context.Context, conn *pgx.Conn, table string, ids []string, vectors bool) (map[string]connector.Point, error) {
	l := c.layout
	rows, err := conn.Query(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE %s = ANY($1::text[]::%s[])", l.selected(vectors), table, l.id(), l.idType()), ids)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make(map[string]connector.Point, len(ids))
	for rows.Next() {
		p, err := scan(rows, vectors)
		if err != nil {
			return nil, err
		}
		found[p.ChunkID] = p
	}
	return found, rows.Err()
}
