package pgvector

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kbsync/kbsync/connector"
)

// namespace makes the schema if it is missing.
func (s *Sink) namespace(ctx context.Context, conn *pgx.Conn) error {
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", s.config.Schema).Scan(&there); err != nil || there {
		return err
	}
	_, err := conn.Exec(ctx, "CREATE SCHEMA "+quote(s.config.Schema))
	return err
}

// knowsVectors says whether a connection learnt the extension's types, which it does when it is made. The pool is reset where it
// was made before the extension.
func knowsVectors(conn *pgx.Conn) bool {
	_, ok := conn.TypeMap().TypeForName("vector")
	return ok
}

// extension makes the extension if it is missing.
func (s *Sink) extension(ctx context.Context, conn *pgx.Conn) error {
	var version string
	var old bool
	err := conn.QueryRow(ctx, `SELECT extversion, string_to_array(extversion, '.')::int[] < '{0,8}' FROM pg_extension WHERE extname = 'vector'`).Scan(&version, &old)
	switch {
	case err == nil && old:
		return connector.Errorf(connector.ClassUnsupported, "pgvector %s is too old: install 0.8 or newer on the server, then run: ALTER EXTENSION vector UPDATE;", version)
	case err == nil:
		return nil
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('kbsync'), 0)"); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS vector")
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "0A000", "58P01", "42704":
			return connector.Errorf(connector.ClassUnsupported, "the server has no pgvector: install its package (postgresql-18-pgvector on Debian, pgvector_18 on Red Hat, or the image pgvector/pgvector:pg18), "+
				"then run in this database: CREATE EXTENSION vector; (%w)", pg)
		case "42501":
			return connector.Errorf(connector.ClassDenied, "the role of the url may not make the extension: run as a superuser in this database: CREATE EXTENSION vector; (%w)", pg)
		}
	}
	return err
}
