// Package vectorstore keeps vectors that several pipelines share, so that a text that one of them embedded is not embedded
// again by another: not for another sink, not under another name, not after a ledger was lost.
//
// A vector is kept under the SHA-256 of the text that was embedded and the identity of the model that made it, and under nothing
// else. Texts are not kept: who reads the store learns which hashes were embedded, and what vectors tell, but no text.
//
// It is a cache: nothing depends on what it holds. Each vector carries a checksum over model, hash and numbers, and one that does not
// agree with it, or has another number of dimensions than asked for, counts as absent and is written anew.
//
// # Limits
//
// One SQLite file in WAL mode, for processes of one machine: not for a network drive. Many processes may read and write at once; every
// transaction is short. What a power failure takes are the latest vectors, never the order of the file.
package vectorstore

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
	"time"

	"github.com/gofrs/flock"
	"github.com/kbsync/kbsync/connector"
	"modernc.org/sqlite" // also registers the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The file says what it is: applicationID ("kbsv") tells it from other SQLite files, schemaVersion is raised when the tables change shape.
const (
	applicationID = 0x6b627376
	schemaVersion = 1
)

// Keys stand apart from vectors: what is looked up, aged and counted is small, and noting a use rewrites no vector.
const schema = `
CREATE TABLE models(id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE);
CREATE TABLE keys(model INTEGER NOT NULL, hash BLOB NOT NULL, n INTEGER NOT NULL, dims INTEGER NOT NULL, used INTEGER NOT NULL,
	PRIMARY KEY(model, hash)) WITHOUT ROWID;
CREATE INDEX keys_by_use ON keys(used, model, hash);
CREATE TABLE vectors(n INTEGER PRIMARY KEY, sum BLOB NOT NULL, v BLOB NOT NULL);
`

// defaultWait is how long a call waits for other processes.
const defaultWait = 5 * time.Second

// Options tune a store.
type Options struct {
	// Create makes the file if it is missing; else a missing file is an error that satisfies errors.Is(err, os.ErrNotExist).
	Create bool
	// ReadOnly notes no use and refuses to write.
	ReadOnly bool
	// Wait is how long a call waits for other processes; 0 means 5 s.
	Wait time.Duration
	// MaxPages bounds the file's size in pages of 8 KiB, for tests of a full disk; 0 means no bound.
	MaxPages int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Store is an open store. Methods are safe for concurrent use.
type Store struct {
	path     string
	readOnly bool
	now      func() time.Time
	write    *sql.DB // one connection
	read     *sql.DB

	mu   sync.Mutex // guards the two below
	mute bool       // noting a use failed once: no more notes
	used map[key]struct{}
}

// key names a vector.
type key struct {
	model string
	hash  Hash
}

// Open opens the store at path. A file that is no store, is damaged or was made by a newer version is an error, and is left as it is.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Wait == 0 {
		opts.Wait = defaultWait
	}
	if err := present(ctx, path, opts); err != nil {
		return nil, err
	}
	s, err := connect(ctx, path, opts, "")
	if err != nil && unwritable(err) && sealed(path) {
		// A file in a place where nothing can be written, and nothing is pending: SQLite can read it without its companions.
		opts.ReadOnly = true
		s, err = connect(ctx, path, opts, "1")
	}
	return s, err
}

func connect(ctx context.Context, path string, opts Options, immutable string) (*Store, error) {
	s := &Store{path: path, readOnly: opts.ReadOnly, now: opts.Now, used: map[key]struct{}{}}
	var err error
	if s.write, err = sql.Open("sqlite", dsn(path, opts, immutable)); err == nil {
		s.write.SetMaxOpenConns(1)
		s.read, err = sql.Open("sqlite", dsn(path, Options{ReadOnly: opts.ReadOnly, Wait: opts.Wait}, immutable))
	}
	if err != nil {
		return nil, wrap(path, "open", err)
	}
	s.read.SetMaxOpenConns(4)
	if err := s.check(ctx); err != nil {
		_ = s.disconnect()
		return nil, err
	}
	return s, nil
}

// dsn never creates a file (mode=rw), and changes nothing in one that may be another program's.
func dsn(path string, opts Options, immutable string) string {
	q := url.Values{"mode": {"rw"}, "_txlock": {"immediate"}}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", opts.Wait.Milliseconds()))
	q.Add("_pragma", "synchronous(normal)")
	q.Add("_pragma", "cache_size(-8192)")
	q.Add("_pragma", "journal_size_limit(16777216)")
	if opts.MaxPages > 0 {
		q.Add("_pragma", fmt.Sprintf("max_page_count(%d)", opts.MaxPages))
	}
	if opts.ReadOnly {
		q.Set("mode", "ro")
		q.Set("_txlock", "deferred")
	}
	if immutable != "" {
		q.Set("immutable", immutable)
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

// check refuses what is no store of this version. The first statement also tells a damaged file.
func (s *Store) check(ctx context.Context) error {
	var id, version int
	if err := s.read.QueryRowContext(ctx, "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version").Scan(&id, &version); err != nil {
		return wrap(s.path, "open", err)
	}
	switch {
	case id != applicationID:
		return connector.Errorf(connector.ClassConflict, "vector store: %s is another program's file: name another file", s.path)
	case version != schemaVersion:
		return connector.Errorf(connector.ClassConflict, "vector store: %s has format %d and this kbsync reads format %d: use the version of kbsync that wrote it, or name another file",
			s.path, version, schemaVersion)
	}
	return nil
}

// present makes sure that there is a file. A new one is made under another name and appears whole: whatever ends this process, there is
// no store or a complete one.
func present(ctx context.Context, path string, opts Options) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return connector.Errorf(connector.ClassConflict, "vector store: %s is a folder: name a file", path)
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, os.ErrNotExist) || !opts.Create || opts.ReadOnly {
		return fmt.Errorf("vector store: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("vector store: %w", err)
	}
	lock := flock.New(path + ".lock")
	ctx, cancel := context.WithTimeout(ctx, opts.Wait)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 10*time.Millisecond); !ok {
		return connector.Errorf(connector.ClassTransient, "vector store: lock %s: %w", lock.Path(), err)
	}
	defer func() { _ = lock.Unlock() }()
	if _, err := os.Stat(path); err == nil {
		return nil // another process was faster
	}
	return create(ctx, path)
}

// create makes an empty store; the caller holds the lock.
func create(ctx context.Context, path string) (err error) {
	// The log of a store that was deleted without it would be taken for the new one's; nor does what a killed process left help anybody.
	strays, err := filepath.Glob(escapeGlob(path) + ".new-*")
	if err != nil {
		return fmt.Errorf("vector store: %w", err)
	}
	for _, stray := range append(strays, path+"-wal", path+"-shm", path+"-journal") {
		if err := os.Remove(stray); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("vector store: %w", err)
		}
	}
	fresh := fmt.Sprintf("%s.new-%d", path, os.Getpid())
	defer func() { _ = os.Remove(fresh) }()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(fresh)}).EscapedPath()}).String())
	if err != nil {
		return wrap(path, "create", err)
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, "PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL; BEGIN;"+schema+
		fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT; PRAGMA journal_mode=WAL", applicationID, schemaVersion))
	if err = errors.Join(err, db.Close()); err != nil {
		return wrap(path, "create", err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("vector store: %w", err)
	}
	return nil
}

// escapeGlob makes a path match itself alone.
func escapeGlob(path string) string {
	if os.PathSeparator == '\\' {
		return path // there a backslash separates, and the other characters are rare in names
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// sealed says that no writes to the store are pending in its log.
func sealed(path string) bool {
	info, err := os.Stat(path + "-wal")
	return errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0
}

// Path is the store's file.
func (s *Store) Path() string { return s.path }

// Files are the files that the store at path consists of, whether they exist or not.
func Files(path string) []string {
	return []string{path, path + "-wal", path + "-shm", path + "-journal", path + ".lock"}
}

// Close notes what was used, also where the caller was cancelled, and ends all connections.
//
//nolint:contextcheck,nolintlint // the first linter reads this itself, which the second one does not see
func (s *Store) Close() error {
	s.flushUsed(context.Background(), 0)
	return s.disconnect()
}

func (s *Store) disconnect() error { return errors.Join(s.read.Close(), s.write.Close()) }

// tx runs fn in one write transaction.
func (s *Store) tx(ctx context.Context, op string, fn func(tx *sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return wrap(s.path, op, err)
	}
	if err := fn(tx); err != nil {
		_ = tx.Rollback()
		return wrap(s.path, op, err)
	}
	return wrap(s.path, op, tx.Commit())
}

// unwritable says that SQLite could not make the companions of a file.
func unwritable(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) && (se.Code()&0xff == sqlite3.SQLITE_CANTOPEN || se.Code()&0xff == sqlite3.SQLITE_READONLY)
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
			return connector.Errorf(connector.ClassFull, "vector store: %s: %s: no space left: free some, or run kbsync cache prune --shared: %w", path, op, err)
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
			return connector.Errorf(connector.ClassTransient, "vector store: %s: %s: other processes held it too long: %w", path, op, err)
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
			return connector.Errorf(connector.ClassDenied, "vector store: %s: %s: it can be read and not written: check the rights of the file and its folder: %w", path, op, err)
		case sqlite3.SQLITE_NOTADB:
			return connector.Errorf(connector.ClassConflict, "vector store: %s is no vector store: name another file: %w", path, err)
		case sqlite3.SQLITE_CORRUPT:
			return connector.Errorf(connector.ClassInvalid, "vector store: %s is damaged: delete it with its -wal and -shm files; the next run begins a new one: %w", path, err)
		case sqlite3.SQLITE_IOERR:
			return connector.Errorf(connector.ClassTransient, "vector store: %s: %s: the disk fails, or the file lies on a network drive, where it cannot be shared: %w", path, op, err)
		}
	}
	return fmt.Errorf("vector store: %s: %s: %w", path, op, err)
}
