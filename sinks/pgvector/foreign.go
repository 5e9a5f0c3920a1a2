package pgvector

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	vector "github.com/pgvector/pgvector-go"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

// Foreign implements [connector.Importer] for any table or view: its first column of type vector is the vector, its primary key (or
// a column that bears a usual name) the id, and whatever else JSON can show are the fields. It is read page by page by its key; what
// has none, in one transaction.
func (s *Sink) Foreign(ctx context.Context, collection string) iter.Seq2[connector.Foreign, error] {
	return func(yield func(connector.Foreign, error) bool) {
		t, err := s.foreign(ctx, collection)
		for after := ""; err == nil; {
			var page []connector.Foreign
			page, err = t.page(ctx, after)
			for _, f := range page {
				if !yield(f, nil) {
					return
				}
				after = f.ID
			}
			if err == nil && len(page) < pageItems {
				return
			}
		}
		yield(connector.Foreign{}, s.fail(ctx, "read table "+collection, err))
	}
}

// foreignTable is a table that kbsync reads and knows little of.
type foreignTable struct {
	sink     *Sink
	name, id string // quoted
	idType   string
	vector   string   // quoted; empty if there is none
	hide     []string // columns that are no fields
}

func (s *Sink) foreign(ctx context.Context, collection string) (*foreignTable, error) {
	t := &foreignTable{sink: s}
	rows, err := s.pool.Query(ctx, `WITH named AS (
			SELECT c.oid, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND (n.nspname = $1 AND c.relname = $2 OR n.nspname || '.' || c.relname = $2)
			ORDER BY n.nspname <> $1 LIMIT 1)
		SELECT t.nspname, t.relname, a.attname, format_type(a.atttypid, NULL), coalesce(x.indisprimary AND array_length(x.indkey::int[], 1) = 1, false)
		FROM named t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_index x ON x.indrelid = t.oid AND x.indisprimary AND a.attnum = ANY (x.indkey)
		ORDER BY a.attnum`, s.config.Schema, collection)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types := map[string]string{}
	key := ""
	for rows.Next() {
		var schema, table, column, kind string
		var primary bool
		if err := rows.Scan(&schema, &table, &column, &kind, &primary); err != nil {
			return nil, err
		}
		t.name, types[column] = quote(schema, table), kind
		kind = kind[strings.LastIndexByte(kind, '.')+1:] // the extension's schema may be named
		switch {
		case kind == "vector" && t.vector == "":
			t.vector = quote(column)
			fallthrough
		case slices.Contains([]string{"vector", "halfvec", "sparsevec", "tsvector"}, kind) || strings.HasPrefix(column, "kbsync_"):
			t.hide = append(t.hide, column)
		case primary:
			key = column
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if t.name == "" {
		return nil, connector.Errorf(connector.ClassNotFound, "there is no table or view of that name in schema %s", s.config.Schema)
	}
	for _, usual := range []string{"langchain_id", "node_id", "id", "uuid", "chunk_id"} {
		if key == "" && types[usual] != "" {
			key = usual
		}
	}
	if key == "" {
		return nil, connector.Errorf(connector.ClassUnsupported, "%s has no primary key of one column, nor a column named id: make a view with a unique column id", t.name)
	}
	t.id, t.idType = quote(key), types[key]
	return t, nil
}

// page reads the rows after an id, in order of the key.
func (t *foreignTable) page(ctx context.Context, after string) ([]connector.Foreign, error) {
	vectorOf := "NULL::vector"
	if t.vector != "" {
		vectorOf = "t." + t.vector
	}
	where, args := "", []any{t.hide}
	if after != "" {
		where, args = fmt.Sprintf("WHERE t.%s > $2::text::%s", t.id, t.idType), append(args, after)
	}
	var out []connector.Foreign
	err := t.sink.inTx(ctx, t.sink.config.Timeout, []string{"BEGIN READ ONLY"}, func(ctx context.Context, conn *pgx.Conn, _ string) error {
		rows, err := conn.Query(ctx, fmt.Sprintf("SELECT t.%[1]s::text, %[2]s, (to_jsonb(t) - $1::text[])::text FROM %[3]s AS t %[4]s ORDER BY t.%[1]s LIMIT %[5]d", t.id, vectorOf, t.name, where, pageItems), args...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, foreignRow)
		return err
	})
	return out, err
}

func foreignRow(row pgx.CollectableRow) (f connector.Foreign, err error) {
	var v *vector.Vector
	var fields string
	if err := row.Scan(&f.ID, &v, &fields); err != nil {
		return f, err
	}
	if v != nil {
		f.Vector = v.Slice()
	}
	plain, err := payload.DecodeJSON([]byte(fields))
	if err != nil {
		return f, fmt.Errorf("row %s: %w", f.ID, err)
	}
	f.Fields, _ = plain.(map[string]any)
	return f, nil
}
