// Package ledger remembers, for every target that a pipeline writes to, which documents it holds, under which
// version and fingerprint, and the id of every chunk that exists there or may exist. It also keeps the
// content-addressed store of texts and vectors, so that nothing is embedded twice.
//
// Two rules make a run that is killed anywhere harmless. The ids that are about to be written are committed
// before the sink is called (Intend), and ids are forgotten only after the sink has deleted them
// (Finish, Forget). So the ledger always knows at least what the sink holds. A ledger that is lost is rebuilt from the sink.
//
// It is one SQLite file in WAL mode, written by one process at a time (see [Acquire]) and readable meanwhile.
//
// # Limits
//
// Memory does not grow with the number of documents: listings are read in pages.
package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/kbsync/kbsync/connector"
	"modernc.org/sqlite" // also registers the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// schemaVersion is raised when the tables change shape. Versions that upgrades knows are brought up to date where the ledger is opened
// for writing; any other is refused with the advice to delete the file, since it can be rebuilt from the sink.
const schemaVersion = 2

// upgrades are the statements that lead from one version to the next.
func upgrades() map[int]string {
	return map[int]string{
		1: "ALTER TABLE chunks ADD COLUMN vec BLOB NOT NULL DEFAULT X''",
	}
}

const schema = `
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE targets(id INTEGER PRIMARY KEY, target TEXT NOT NULL, generation TEXT NOT NULL, marker TEXT NOT NULL,
	complete INTEGER NOT NULL, UNIQUE(target, generation));
CREATE TABLE sources(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE docs(
	target INTEGER NOT NULL, source INTEGER NOT NULL, key BLOB NOT NULL,
	version TEXT NOT NULL, epoch INTEGER NOT NULL, state INTEGER NOT NULL, n INTEGER NOT NULL,
	doc BLOB NOT NULL, raw BLOB NOT NULL, fingerprint TEXT NOT NULL, chunks INTEGER NOT NULL, modified INTEGER NOT NULL,
	run INTEGER NOT NULL, facts BLOB NOT NULL, note TEXT NOT NULL,
	PRIMARY KEY(target, source, key)) WITHOUT ROWID;
CREATE TABLE chunks(
	doc INTEGER NOT NULL, id BLOB NOT NULL, idx INTEGER NOT NULL, text INTEGER NOT NULL, payload BLOB NOT NULL, state INTEGER NOT NULL,
	vec BLOB NOT NULL DEFAULT X'',
	PRIMARY KEY(doc, id)) WITHOUT ROWID;
CREATE TABLE models(id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE);
CREATE TABLE texts(n INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, text BLOB NOT NULL);
CREATE TABLE vectors(model INTEGER NOT NULL, text INTEGER NOT NULL, v BLOB NOT NULL, PRIMARY KEY(model, text)) WITHOUT ROWID;
CREATE TABLE runs(id INTEGER PRIMARY KEY, started INTEGER NOT NULL, ended INTEGER NOT NULL, outcome TEXT NOT NULL, result TEXT NOT NULL);
CREATE TABLE spool(seq INTEGER PRIMARY KEY, stream INTEGER NOT NULL, item BLOB NOT NULL);
CREATE INDEX spool_by_stream ON spool(stream, seq);
`

// Options tune a ledger.
type Options struct {
	// ReadOnly opens an existing file for status and queries; no lock is needed.
	ReadOnly bool
	// CacheBytes bounds SQLite's page cache; 0 means 32 MiB.
	CacheBytes int
	// MaxPages bounds the file's size, for tests of a full disk; 0 means no bound.
	MaxPages int
	// Hook, if set, is called before and after each committed write with the operation's name; an error it
	// returns is the operation's. For fault tests.
	Hook func(op string) error
}

// Ledger is an open ledger file. Methods are safe for concurrent use; writes are serialised.
type Ledger struct {
	path  string
	write *sql.DB // one connection
	read  *sql.DB
	hook  func(op string) error

	mu      sync.Mutex // guards the fields below
	sources map[string]int64
	models  map[string]int64
	nextDoc int64
	stream  int64
	hot     map[string]*sql.Stmt

	version  int       // of the file: an older one is only read
	keywords bool      // the file has a keyword index
	find     *sql.Stmt // one document: compiling the query costs more than running it
}

// Open opens the ledger at path and creates it, with its folder, if it is missing. With ReadOnly a missing file is
// an error that satisfies errors.Is(err, os.ErrNotExist).
func Open(ctx context.Context, path string, opts Options) (*Ledger, error) {
	if opts.ReadOnly {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
	} else if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if opts.CacheBytes == 0 {
		opts.CacheBytes = 32 << 20
	}
	l := &Ledger{path: path, hook: opts.Hook, sources: map[string]int64{}, models: map[string]int64{}, hot: map[string]*sql.Stmt{}}
	var err error
	if l.write, err = sql.Open("sqlite", dsn(path, opts)); err == nil {
		l.write.SetMaxOpenConns(1)
		l.read, err = sql.Open("sqlite", dsn(path, Options{CacheBytes: opts.CacheBytes / 4, ReadOnly: opts.ReadOnly}))
	}
	if err != nil {
		return nil, wrap(path, "open", err)
	}
	l.read.SetMaxOpenConns(4)
	if err := l.prepare(ctx, opts); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// dsn sets synchronous=FULL: what Intend commits must survive power loss before the sink is called.
func dsn(path string, opts Options) string {
	q := url.Values{}
	q.Add("_pragma", "busy_timeout(10000)")
	if !opts.ReadOnly {
		q.Add("_pragma", "journal_mode(wal)")
		q.Add("_pragma", "synchronous(full)")
	}
	q.Add("_pragma", fmt.Sprintf("cache_size(-%d)", opts.CacheBytes/1024))
	q.Add("_pragma", "temp_store(file)")
	if opts.MaxPages > 0 {
		q.Add("_pragma", fmt.Sprintf("max_page_count(%d)", opts.MaxPages))
	}
	q.Add("_txlock", "immediate")
	if opts.ReadOnly {
		q.Add("mode", "ro")
		q.Set("_txlock", "deferred")
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

func (l *Ledger) prepare(ctx context.Context, opts Options) error {
	if err := l.shape(ctx, opts); err != nil {
		return err
	}
	if err := l.findKeywords(ctx); err != nil {
		return err
	}
	if !opts.ReadOnly {
		if _, err := l.write.ExecContext(ctx, "DELETE FROM spool"); err != nil { // left by a run that was killed
			return wrap(l.path, "open", err)
		}
	}
	if err := l.write.QueryRowContext(ctx, "SELECT coalesce(max(n), 0) FROM docs").Scan(&l.nextDoc); err != nil {
		return wrap(l.path, "open", err)
	}
	var err error
	if l.find, err = l.read.PrepareContext(ctx, sqlFindDoc); err != nil {
		return wrap(l.path, "prepare", err)
	}
	if opts.ReadOnly {
		return nil
	}
	for _, q := range hotStatements {
		st, err := l.write.PrepareContext(ctx, q)
		if err != nil {
			return wrap(l.path, "prepare", err)
		}
		l.hot[q] = st
	}
	return nil
}

// shape makes the tables, or brings those of an older version up to date.
func (l *Ledger) shape(ctx context.Context, opts Options) error {
	if err := l.write.QueryRowContext(ctx, "PRAGMA user_version").Scan(&l.version); err != nil {
		return wrap(l.path, "open", err)
	}
	_, older := upgrades()[l.version]
	switch {
	case l.version == 0 && opts.ReadOnly:
		return fmt.Errorf("ledger: %s: no ledger yet: %w", l.path, os.ErrNotExist)
	case l.version == 0:
		return l.reshape(ctx, "create", schema, schemaVersion)
	case older && opts.ReadOnly, l.version == schemaVersion:
		return nil
	case !older:
		return fmt.Errorf("ledger: %s was written by another version of kbsync (format %d, this one writes %d): delete the file; "+
			"the next sync rebuilds it from the sink without embedding anything", l.path, l.version, schemaVersion)
	}
	for l.version < schemaVersion {
		if err := l.reshape(ctx, "upgrade", upgrades()[l.version], l.version+1); err != nil {
			return err
		}
	}
	return nil
}

// reshape runs statements that lead to a version, in one transaction with it.
func (l *Ledger) reshape(ctx context.Context, op, statements string, version int) error {
	err := l.tx(ctx, op, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, statements); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version))
		return err
	})
	if err == nil {
		l.version = version
	}
	return err
}

// Path is the ledger's file.
func (l *Ledger) Path() string { return l.path }

// Close ends all connections.
func (l *Ledger) Close() error {
	var errs []error
	for _, s := range l.hot {
		errs = append(errs, s.Close())
	}
	if l.find != nil {
		errs = append(errs, l.find.Close())
	}
	for _, db := range []*sql.DB{l.read, l.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// tx runs fn in one durable write transaction.
func (l *Ledger) tx(ctx context.Context, op string, fn func(tx *sql.Tx) error) error {
	if err := l.call(op + ":before"); err != nil {
		return err
	}
	tx, err := l.write.BeginTx(ctx, nil)
	if err != nil {
		return wrap(l.path, op, err)
	}
	if err := fn(tx); err != nil {
		_ = tx.Rollback()
		return wrap(l.path, op, err)
	}
	if err := tx.Commit(); err != nil {
		return wrap(l.path, op, err)
	}
	return l.call(op + ":after")
}

func (l *Ledger) call(op string) error {
	if l.hook == nil {
		return nil
	}
	return l.hook(op)
}

// wrap gives SQLite's errors their class and says what to do about them.
func wrap(path, op string, err error) error {
	if err == nil {
		return nil
	}
	var ce *connector.Error
	if errors.As(err, &ce) || errors.Is(err, context.Canceled) {
		return err
	}
	var se *sqlite.Error
	if errors.As(err, &se) {
		switch se.Code() & 0xff {
		case sqlite3.SQLITE_FULL:
			return connector.Errorf(connector.ClassFull, "ledger: %s: %s: no space left: free some and run again, nothing is lost: %w", path, op, err)
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return connector.Errorf(connector.ClassTransient, "ledger: %s: %s: %w", path, op, err)
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return connector.Errorf(connector.ClassInvalid, "ledger: %s is damaged: delete it; the next sync rebuilds it from the sink "+
				"without embedding anything: %w", path, err)
		}
	}
	return fmt.Errorf("ledger: %s: %s: %w", path, op, err)
}

// Meta reads a named value; empty if it was never set.
func (l *Ledger) Meta(ctx context.Context, key string) (string, error) {
	var v string
	err := l.read.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ?", key).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return v, wrap(l.path, "meta", err)
}

// SetMeta writes a named value.
func (l *Ledger) SetMeta(ctx context.Context, key, value string) error {
	return l.tx(ctx, "set-meta", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO meta VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value", key, value)
		return err
	})
}

// sourceID finds or makes the number of a source name.
func (l *Ledger) sourceID(ctx context.Context, name string) (int64, error) {
	return l.nameID(ctx, l.sources, "sources", "name", name)
}

func (l *Ledger) modelID(ctx context.Context, identity string) (int64, error) {
	return l.nameID(ctx, l.models, "models", "identity", identity)
}

func (l *Ledger) nameID(ctx context.Context, cache map[string]int64, table, column, name string) (int64, error) {
	l.mu.Lock()
	id, ok := cache[name]
	l.mu.Unlock()
	if ok {
		return id, nil
	}
	err := l.read.QueryRowContext(ctx, "SELECT id FROM "+table+" WHERE "+column+" = ?", name).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = l.tx(ctx, "add-"+strings.TrimSuffix(table, "s"), func(tx *sql.Tx) error {
			return tx.QueryRowContext(ctx, "INSERT INTO "+table+"("+column+") VALUES(?) ON CONFLICT DO UPDATE SET "+column+" = excluded."+column+" RETURNING id", name).Scan(&id)
		})
	}
	if err != nil {
		return 0, wrap(l.path, table, err)
	}
	l.mu.Lock()
	cache[name] = id
	l.mu.Unlock()
	return id, nil
}
