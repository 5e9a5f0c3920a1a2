package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/kbsync/kbsync/connector"
)

// maxSearches bounds concurrent searches, and so the search connections (see searchWorkers).
const maxSearches = 4

// busyTimeout is how long a writer waits for another process's transaction.
const busyTimeout = 10 * time.Second

// handles are the connections to one file: one writer, a pool of readers, and readers for searches, which alone map
// the file into memory: a sync keeps its resident memory small that way.
type handles struct {
	write, read, search *sql.DB
	searches            chan struct{} // semaphore
}

func openHandles(path string, scans *scans) (*handles, error) {
	d := &sqlite3.Driver{}
	if err := scans.register(d); err != nil {
		return nil, fmt.Errorf("register functions: %w", err)
	}
	connect := func(conns int, extra string) *sql.DB {
		db := sql.OpenDB(fileConnector{d, dsn(path, extra)})
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		return db
	}
	h := &handles{
		// Synchronous FULL syncs the log at every commit. NORMAL would lose the last transactions with the power, and
		// the ledger, which trusts an Upsert that returned nil, would then know points that are gone. One sync a batch
		// costs a few percent of the batch. The cache keeps the inner pages of the id index and of the full-text index.
		write:    connect(1, "&_txlock=immediate&_pragma=synchronous(FULL)&_pragma=cache_size(-65536)&_pragma=wal_autocheckpoint(4000)"),
		read:     connect(4, "&_pragma=query_only(1)&_pragma=cache_size(-8192)"),
		search:   connect(maxSearches*searchWorkers(), "&_pragma=query_only(1)&_pragma=cache_size(-2048)&_pragma=mmap_size(68719476736)"),
		searches: make(chan struct{}, maxSearches),
	}
	return h, nil
}

func (h *handles) close() error {
	return errors.Join(h.search.Close(), h.read.Close(), h.write.Close())
}

// dsn is the address of the file. The page size holds for new files only; with 8 KiB a vector block takes few
// overflow pages, and rows of the usual chunk size none.
func dsn(path, extra string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: slashed}
	return u.String() + fmt.Sprintf("?_pragma=busy_timeout(%d)", busyTimeout.Milliseconds()) + "&_pragma=page_size(8192)&_pragma=journal_mode(WAL)&_pragma=journal_size_limit(67108864)" + extra
}

// fileConnector opens connections with the functions of its own driver value: nothing is registered process-wide.
type fileConnector struct {
	driver *sqlite3.Driver
	dsn    string
}

// Connect opens a connection. Where several open a new file at once, each wants it in WAL mode: SQLite refuses all but one without the wait
// that busy_timeout asks for, because each reads the file already. So it is asked again, as long as that wait.
func (c fileConnector) Connect(ctx context.Context) (driver.Conn, error) {
	for deadline := time.Now().Add(busyTimeout); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		conn, err := c.driver.Open(c.dsn)
		if err == nil || !busy(err) || time.Now().After(deadline) {
			return conn, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func busy(err error) bool {
	var e *sqlite3.Error
	return errors.As(err, &e) && e.Code()&0xff == codes.SQLITE_BUSY
}

func (c fileConnector) Driver() driver.Driver { return c.driver }

// inTx runs change in a transaction that is committed if it returns nil.
func inTx(ctx context.Context, db *sql.DB, change func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := change(tx); err != nil {
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			return errors.Join(err, rollback)
		}
		return err
	}
	return tx.Commit()
}

// classify gives an error of SQLite its class, and says what to do where that is clear.
func classify(path string, err error) error {
	if err == nil || connector.ClassOf(err) != connector.ClassUnknown {
		return err
	}
	var e *sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Code() == codes.SQLITE_IOERR_SHMSIZE {
		return connector.Errorf(connector.ClassFull, "%s: no space for the -shm file: %w", path, err)
	}
	switch e.Code() & 0xff {
	case codes.SQLITE_FULL:
		return connector.Errorf(connector.ClassFull, "%s: the disk is full: free some space and run again: %w", path, err)
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return connector.Errorf(connector.ClassTransient, "%s: another process is writing: %w", path, err)
	case codes.SQLITE_NOTADB:
		return connector.Errorf(connector.ClassConflict, "%s is not a SQLite database: choose another path, or move that file away: %w", path, err)
	case codes.SQLITE_CORRUPT:
		return connector.Errorf(connector.ClassConflict, "%s is damaged: move it away with its -wal and -shm files and sync again (vectors come from the cache): %w", path, err)
	case codes.SQLITE_PERM, codes.SQLITE_READONLY, codes.SQLITE_CANTOPEN, codes.SQLITE_AUTH:
		return connector.Errorf(connector.ClassDenied, "%s: cannot be opened for writing: check the rights of the file and of its folder: %w", path, err)
	case codes.SQLITE_TOOBIG:
		return connector.Errorf(connector.ClassTooLarge, "%s: %w", path, err)
	case codes.SQLITE_ERROR:
		if strings.Contains(err.Error(), "no such table: kbsync_") {
			return connector.Errorf(connector.ClassNotFound, "%s: the generation was dropped: %w", path, err)
		}
	}
	return err
}

func closeRows(rows *sql.Rows, err *error) {
	if e := rows.Close(); e != nil && *err == nil {
		*err = e
	}
}
