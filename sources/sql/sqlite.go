package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/kbsync/kbsync/connector"
)

// sqliteFile is a database in one file.
type sqliteFile struct {
	cursor
	path string
}

// opener opens connections with a driver of its own: nothing is registered.
type opener struct {
	driver *sqlite.Driver
	dsn    string
}

func (o opener) Connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return o.driver.Open(o.dsn)
}

func (o opener) Driver() driver.Driver { return o.driver }

func openSQLite(secret connector.Secret, dir string) (database, error) {
	path := secret.Reveal()
	for _, scheme := range []string{"sqlite://", "sqlite:", "file://", "file:"} {
		if len(path) >= len(scheme) && strings.EqualFold(path[:len(scheme)], scheme) {
			path = path[len(scheme):]
			break
		}
	}
	if path == "" || strings.Contains(path, ":memory:") || strings.ContainsRune(path, 0) {
		return nil, errors.New("it names no file; write the path of a SQLite database")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f := &sqliteFile{path: path}
	f.cursor = cursor{decode: sqliteCell, db: pool(opener{&sqlite.Driver{}, f.uri() + "?mode=ro&_pragma=busy_timeout(2000)&_pragma=query_only(1)&_pragma=cache_size(-8192)"})}
	return f, nil
}

func (f *sqliteFile) address() string { return f.path }
func (f *sqliteFile) close() error    { return f.db.Close() }

func (f *sqliteFile) uri() string {
	slashed := filepath.ToSlash(f.path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/…
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}

func (f *sqliteFile) dialect() dialect {
	return dialect{
		quote:     quoteWith("`"), // in double quotes, a column that is not there would be text
		parameter: question,
		value:     func(e string) string { return "+" + e }, // without its declared type, by which the driver would parse times
		sorted:    func(e string, _ column) string { return e + " COLLATE BINARY" },
		size:      func(e string, _ column) string { return "length(CAST(" + e + " AS BLOB))" },
	}
}

// sqliteCell goes by the value's own type; the column's declared one tells booleans and times.
func sqliteCell(c column, v driver.Value) (cell, error) {
	switch v := v.(type) {
	case nil:
		return cell{}, nil
	case int64:
		if (c.typ == "BOOLEAN" || c.typ == "BOOL") && (v == 0 || v == 1) {
			return cell{kindBoolean, strconv.FormatBool(v == 1), v}, nil
		}
		return cell{kindInteger, strconv.FormatInt(v, 10), v}, nil
	case float64:
		return cell{kindFloat, formatFloat(v, 64), v}, nil
	case string:
		if c.typ == "DATETIME" || c.typ == "TIMESTAMP" {
			return timeCell(v, v), nil
		}
		return cell{kindText, v, v}, nil
	case []byte:
		return cell{kindBytes, string(v), append([]byte{}, v...)}, nil
	}
	return cell{}, fmt.Errorf("the column %q is a %T", c.name, v)
}

func (f *sqliteFile) classify(err error) error {
	var classed *connector.Error
	var lite *sqlite.Error
	if errors.As(err, &classed) || !errors.As(err, &lite) {
		return err
	}
	class, advice := f.class(lite.Code() & 0xff)
	return fail(class, err, lite.Error(), advice)
}

func (f *sqliteFile) class(code int) (class connector.Class, advice string) {
	switch code {
	case codes.SQLITE_CANTOPEN:
		if _, err := os.Stat(f.path); errors.Is(err, os.ErrNotExist) {
			return connector.ClassNotFound, "there is no such file; is url relative to the configuration file?"
		}
		return connector.ClassDenied, "check the rights of the file and of its folder (a database in WAL mode needs its -shm file)"
	case codes.SQLITE_NOTADB:
		return connector.ClassInvalid, "url names a file that is no SQLite database"
	case codes.SQLITE_PERM, codes.SQLITE_AUTH:
		return connector.ClassDenied, "check the rights of the file"
	case codes.SQLITE_READONLY:
		return connector.ClassInvalid, "query writes, and a source only reads"
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_SCHEMA, codes.SQLITE_INTERRUPT, codes.SQLITE_IOERR, codes.SQLITE_PROTOCOL:
		return connector.ClassTransient, ""
	case codes.SQLITE_FULL:
		return connector.ClassFull, "there is no room for temporary files"
	case codes.SQLITE_TOOBIG:
		return connector.ClassTooLarge, ""
	case codes.SQLITE_ERROR, codes.SQLITE_RANGE, codes.SQLITE_MISMATCH:
		return connector.ClassInvalid, "check query"
	}
	return connector.ClassUnknown, ""
}
