package pgvector

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// made is a table of kbsync.
type made struct {
	name string
	oid  uint32
	meta remote.Meta
}

// querier is what a pool and a connection have in common.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// tables lists the generations' tables, the live one first. A table of the configured name that kbsync did not make is an error.
func (s *Sink) tables(ctx context.Context, q querier) ([]made, error) {
	rows, err := q.Query(ctx, `SELECT c.relname, c.oid, coalesce(obj_description(c.oid, 'pg_class'), '') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND (c.relname = $2 OR obj_description(c.oid, 'pg_class') LIKE '{"kbsync"%')
		ORDER BY c.relname`, s.config.Schema, s.live())
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m made, err error) {
		var comment string
		err = row.Scan(&m.name, &m.oid, &comment)
		m.meta, _ = remote.ParseMeta(comment)
		return m, err
	})
	if err != nil {
		return nil, err
	}
	var out []made
	for _, m := range all {
		switch {
		case m.name == s.live() && m.meta.Kbsync == 0:
			return nil, remote.Foreign("table " + quote(s.config.Schema, m.name))
		case m.name == s.live():
			out = slices.Insert(out, 0, m)
		case m.name == s.table(m.meta.Schema.Generation):
			out = append(out, m)
		}
	}
	return out, nil
}

// Generations implements [connector.Sink].
func (s *Sink) Generations(ctx context.Context) ([]connector.Schema, error) {
	var all []made
	err := s.inTx(ctx, s.config.Timeout, []string{"BEGIN READ ONLY"}, func(ctx context.Context, conn *pgx.Conn, _ string) (err error) {
		all, err = s.tables(ctx, conn)
		return err
	})
	if err != nil {
		return nil, s.fail(ctx, "generations", err)
	}
	out := make([]connector.Schema, len(all))
	for i, m := range all {
		out[i] = m.meta.Schema
	}
	return out, nil
}

// Create implements [connector.Sink].
func (s *Sink) Create(ctx context.Context, schema connector.Schema) (connector.Collection, error) {
	if schema.Distance == "" {
		schema.Distance = s.config.Distance
	}
	what := fmt.Sprintf("create %s", quote(s.config.Schema, s.table(schema.Generation)))
	if schema.Dimensions < 1 || schema.Dimensions > maxDimensions {
		return nil, s.fail(ctx, what, connector.Errorf(connector.ClassInvalid, "%d dimensions: pgvector takes 1 to %d", schema.Dimensions, maxDimensions))
	}
	if _, err := distanceOf(schema.Distance); err != nil {
		return nil, s.fail(ctx, what, err)
	}
	var m made
	unaware := false
	err := s.inTx(ctx, s.config.Timeout, []string{"BEGIN", s.registryLock()}, func(ctx context.Context, conn *pgx.Conn, _ string) (err error) {
		unaware = !knowsVectors(conn)
		if err = s.extension(ctx, conn); err != nil {
			return err
		}
		m, err = s.create(ctx, conn, schema)
		return err
	})
	if err != nil {
		return nil, s.fail(ctx, what, err)
	}
	if unaware {
		s.pool.Reset()
	}
	c, err := s.collection(m)
	if err != nil {
		return nil, s.fail(ctx, what, err)
	}
	return c, nil
}

// registryLock keeps other processes from changing the generations until the transaction ends.
func (s *Sink) registryLock() string {
	return fmt.Sprintf("SELECT pg_advisory_xact_lock(hashtext('kbsync'), hashtext(%s))", literal(s.config.Schema+"."+s.config.Collection))
}

func (s *Sink) create(ctx context.Context, conn *pgx.Conn, schema connector.Schema) (made, error) {
	all, err := s.tables(ctx, conn)
	if err != nil {
		return made{}, err
	}
	for _, m := range all {
		switch {
		case m.meta.Schema == schema:
			if len(all) == 1 && m.name != s.live() { // the live one was dropped by somebody
				err = s.rename(ctx, conn, m.name, s.live())
				m.name = s.live()
			}
			return m, err
		case m.meta.Schema.Generation == schema.Generation, s.config.InPlace && m.name == s.live():
			return made{}, remote.Conflict("table "+quote(s.config.Schema, m.name), m.meta.Schema, schema)
		}
	}
	if err := s.namespace(ctx, conn); err != nil {
		return made{}, err
	}
	l, err := s.layoutFor(schema)
	if err != nil {
		return made{}, err
	}
	m := made{name: s.live(), meta: remote.NewMeta(schema)}
	if len(all) > 0 {
		m.name = s.table(schema.Generation)
	}
	table := quote(s.config.Schema, m.name)
	for _, sql := range []string{l.ddl(s.config.Schema, m.name, schema.Dimensions), fmt.Sprintf("COMMENT ON TABLE %s IS %s", table, literal(m.meta.String()))} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			var pg *pgconn.PgError
			if errors.As(err, &pg) && pg.Code == "42P07" {
				return made{}, remote.Foreign("table " + table)
			}
			return made{}, err
		}
	}
	err = conn.QueryRow(ctx, "SELECT $1::text::regclass::oid", table).Scan(&m.oid)
	return m, err
}

// Live implements [connector.Sink].
func (s *Sink) Live(ctx context.Context) (connector.Collection, error) {
	var all []made
	unaware := false
	err := s.inTx(ctx, s.config.Timeout, []string{"BEGIN READ ONLY"}, func(ctx context.Context, conn *pgx.Conn, _ string) (err error) {
		unaware = !knowsVectors(conn)
		all, err = s.tables(ctx, conn)
		return err
	})
	if unaware {
		s.pool.Reset()
	}
	var c *Collection
	switch {
	case err != nil:
	case len(all) == 0 || all[0].name != s.live():
		err = connector.ErrNoCollection
	default:
		c, err = s.collection(all[0])
	}
	if err != nil {
		return nil, s.fail(ctx, "table "+quote(s.config.Schema, s.live()), err)
	}
	return c, nil
}

// Promote implements [connector.Sink].
func (s *Sink) Promote(ctx context.Context, generation string) error {
	err := s.inTx(ctx, s.config.Timeout, []string{"BEGIN", "SET LOCAL lock_timeout = '5s'", s.registryLock()}, func(ctx context.Context, conn *pgx.Conn, _ string) error {
		all, err := s.tables(ctx, conn)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(m made) bool { return m.meta.Schema.Generation == generation })
		switch {
		case at < 0:
			return connector.Errorf(connector.ClassNotFound, "there is no such generation")
		case all[at].name == s.live():
			return nil
		}
		if old := all[0]; old.name == s.live() {
			if err := s.retire(ctx, conn, old, all[at]); err != nil {
				return err
			}
		}
		return s.rename(ctx, conn, all[at].name, s.live())
	})
	return s.fail(ctx, fmt.Sprintf("promote %q", generation), err)
}

// retire takes the name from the live table, and gives its readers the same rights to the next one. The locks are taken together,
// so that waiting for a long query holds up nobody for longer than lock_timeout.
func (s *Sink) retire(ctx context.Context, conn *pgx.Conn, old, next made) error {
	schema := s.config.Schema
	if _, err := conn.Exec(ctx, fmt.Sprintf("LOCK TABLE %s, %s IN ACCESS EXCLUSIVE MODE", quote(schema, old.name), quote(schema, next.name))); err != nil {
		return err
	}
	rows, err := conn.Query(ctx, `SELECT format('GRANT %s ON TABLE %s TO %s', string_agg(a.privilege_type, ', '), $2::text, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END)
		FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = $1 AND a.grantee <> c.relowner GROUP BY a.grantee`, old.oid, quote(schema, next.name))
	if err != nil {
		return err
	}
	grants, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, grant := range grants {
		if _, err := conn.Exec(ctx, grant); err != nil {
			return err
		}
	}
	return s.rename(ctx, conn, old.name, s.table(old.meta.Schema.Generation))
}

// rename gives a table another name, and its indexes those that follow.
func (s *Sink) rename(ctx context.Context, conn *pgx.Conn, from, to string) error {
	if from == to {
		return nil
	}
	if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER TABLE %s RENAME TO %s", quote(s.config.Schema, from), quote(to))); err != nil {
		return err
	}
	rows, err := conn.Query(ctx, "SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = $1::text::regclass", quote(s.config.Schema, to))
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, suffix := range s.suffixes() {
		if old := indexName(from, suffix); slices.Contains(names, old) {
			if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER INDEX %s RENAME TO %s", quote(s.config.Schema, old), quote(indexName(to, suffix)))); err != nil {
				return err
			}
		}
	}
	return nil
}

// Drop implements [connector.Sink]. Dropping what is not there is no error; dropping the live one is, unless it is the only one.
func (s *Sink) Drop(ctx context.Context, generation string) error {
	err := s.inTx(ctx, s.config.Timeout, []string{"BEGIN", "SET LOCAL lock_timeout = '5s'", s.registryLock()}, func(ctx context.Context, conn *pgx.Conn, _ string) error {
		all, err := s.tables(ctx, conn)
		if err != nil {
			return err
		}
		for _, m := range all {
			if m.meta.Schema.Generation != generation {
				continue
			}
			if m.name == s.live() && len(all) > 1 {
				return connector.Errorf(connector.ClassConflict, "it is the live one; promote another one first")
			}
			_, err := conn.Exec(ctx, "DROP TABLE "+quote(s.config.Schema, m.name))
			return err
		}
		return nil
	})
	return s.fail(ctx, fmt.Sprintf("drop %q", generation), err)
}
