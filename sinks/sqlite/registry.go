package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// formatVersion is raised when tables change so that older versions would misread them.
const formatVersion = 1

// registrySQL makes the table of collections. Numbers are never used twice (AUTOINCREMENT), so that a process which holds a
// dropped generation open meets missing tables and never another generation's. Version counts write transactions.
const registrySQL = `CREATE TABLE IF NOT EXISTS kbsync_collections(
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	collection TEXT NOT NULL,
	generation TEXT NOT NULL,
	model TEXT NOT NULL,
	dimensions INTEGER NOT NULL,
	distance TEXT NOT NULL,
	marker TEXT NOT NULL,
	live INTEGER NOT NULL,
	format INTEGER NOT NULL,
	version INTEGER NOT NULL DEFAULT 0,
	UNIQUE(collection, generation))`

// registration is a row of the registry.
type registration struct {
	number int64
	schema connector.Schema
	marker string
	live   bool
	format int
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// registrations lists a collection's generations, the live one first; none if there is no registry.
func registrations(ctx context.Context, q querier, collection string) (out []registration, err error) {
	var n int
	if err := q.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'kbsync_collections'`).Scan(&n); err != nil || n == 0 {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, `SELECT number, generation, model, dimensions, distance, marker, live, format
		FROM kbsync_collections WHERE collection = ? ORDER BY live DESC, number`, collection)
	if err != nil {
		return nil, err
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		var r registration
		if err := rows.Scan(&r.number, &r.schema.Generation, &r.schema.Model, &r.schema.Dimensions, &r.schema.Distance, &r.marker, &r.live, &r.format); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

func find(ctx context.Context, q querier, collection, generation string) (*registration, error) {
	rows, err := registrations(ctx, q, collection)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.schema.Generation == generation {
			return &r, nil
		}
	}
	return nil, nil //nolint:nilnil // no such generation is an answer
}

// tables are the names of one generation's tables.
//
// A point has a slot, the integer key of its rows: below storeOnly where it has a vector, at or above it otherwise.
// Points holds what identifies and filters, payload what moves when a neighbour changes, texts the long strings,
// vectors a blob of several slots' vectors (see layout), free the slots of deleted points, fts the terms of the embedded
// texts (contentless: no second copy of the text), vocab the way into its postings, lengths their numbers of terms.
type tables struct {
	points, payload, texts, vectors, free, fts, vocab, lengths string
}

// storeOnly is the first slot of points without a vector, which take no room among the vectors.
const storeOnly = int64(1) << 40

func newTables(number int64) tables {
	name := func(s string) string { return fmt.Sprintf("kbsync_%s_%d", s, number) }
	return tables{name("points"), name("payload"), name("texts"), name("vectors"), name("free"), name("fts"), name("vocab"), name("lengths")}
}

// sql fills in the table names of a statement.
func (t tables) sql(query string) string {
	return strings.NewReplacer("@points", t.points, "@payload", t.payload, "@texts", t.texts, "@vectors", t.vectors,
		"@free", t.free, "@fts", t.fts, "@vocab", t.vocab, "@lengths", t.lengths).Replace(query)
}

func (t tables) ddl() string {
	return t.sql(`
CREATE TABLE @points(slot INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, doc_id TEXT NOT NULL, source TEXT NOT NULL, path TEXT NOT NULL,
	parent_id TEXT NOT NULL, content_hash TEXT NOT NULL);
CREATE TABLE @payload(slot INTEGER PRIMARY KEY, char_count INTEGER NOT NULL, token_count INTEGER NOT NULL, spans TEXT, context_spans TEXT, metadata TEXT);
CREATE TABLE @texts(slot INTEGER PRIMARY KEY, content TEXT NOT NULL, context TEXT NOT NULL, embed_text TEXT);
CREATE TABLE @vectors(block INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE @free(slot INTEGER PRIMARY KEY);
CREATE VIRTUAL TABLE @fts USING fts5(terms, content='', contentless_delete=1, tokenize='ascii');
CREATE VIRTUAL TABLE @vocab USING fts5vocab(@fts, 'instance');
CREATE TABLE @lengths(block INTEGER PRIMARY KEY, data BLOB NOT NULL);
`)
}

func (t tables) drop() string {
	return t.sql(`DROP TABLE @points; DROP TABLE @payload; DROP TABLE @texts; DROP TABLE @vectors; DROP TABLE @free; DROP TABLE @vocab; DROP TABLE @fts; DROP TABLE @lengths`)
}
