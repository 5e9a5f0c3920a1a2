package sql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// database is one of the systems, through a pool of sessions that only read.
type database interface {
	// address names it for people, without a password.
	address() string
	// uri starts those of the rows.
	uri() string
	// columns are those of a query, in order; it does not run.
	columns(ctx context.Context, query string) ([]column, error)
	// rows runs a statement and hands each row over as it comes, until each returns false. The slice is used again.
	rows(ctx context.Context, statement string, params []any, columns []column, each func([]cell) bool) error
	// classify gives an error its class, and says what to do about it.
	classify(err error) error
	dialect() dialect
	close() error
}

// dialect is how a database spells what statements are made of. An expression is a column that is named in full.
type dialect struct {
	quote     func(name string) string
	parameter func(n int) string // 1 is the first
	// value is the expression as it is selected.
	value func(expression string) string
	// sorted orders equal values, and them alone, side by side: as bytes, whatever the collation.
	sorted func(expression string, c column) string
	// size is the number of the value's bytes.
	size func(expression string, c column) string
}

// quoteWith is the quoting of names by a character, which is doubled inside.
func quoteWith(q string) func(string) string {
	return func(name string) string { return q + strings.ReplaceAll(name, q, q+q) + q }
}

func question(int) string { return "?" }

func pool(c driver.Connector) *sql.DB {
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(idleTime)
	return db
}

// cursor reads a statement's rows through the driver itself: values come as the driver has them, and a reading that is given up
// can close the connection where [sql.Rows] would first read all that is left.
type cursor struct {
	db     *sql.DB
	decode func(c column, v driver.Value) (cell, error)
	// hangUp says that the rest of an answer would come over a line.
	hangUp bool
}

func (r cursor) rows(ctx context.Context, statement string, params []any, columns []column, each func([]cell) bool) error {
	return r.query(ctx, statement, params, func(rows driver.Rows) (bool, error) {
		values, cells := make([]driver.Value, len(columns)), make([]cell, len(columns))
		if n := len(rows.Columns()); n != len(columns) {
			return false, fmt.Errorf("the statement gives %d columns, not %d", n, len(columns))
		}
		for {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			if err := rows.Next(values); errors.Is(err, io.EOF) {
				return true, nil
			} else if err != nil {
				return false, err
			}
			for i, v := range values {
				var err error
				if cells[i], err = r.decode(columns[i], v); err != nil {
					return false, err
				}
			}
			if !each(cells) {
				return false, nil
			}
		}
	})
}

// columns asks for no row of the query, and for the names and types of its columns.
func (r cursor) columns(ctx context.Context, query string) ([]column, error) {
	var out []column
	err := r.query(ctx, "SELECT * FROM (\n"+query+"\n) AS "+table+" LIMIT 0", nil, func(rows driver.Rows) (bool, error) {
		types, _ := rows.(driver.RowsColumnTypeDatabaseTypeName)
		for i, name := range rows.Columns() {
			c := column{name: name}
			if types != nil {
				c.typ = strings.ToUpper(types.ColumnTypeDatabaseTypeName(i))
			}
			out = append(out, c)
		}
		return true, rows.Next(make([]driver.Value, len(out)))
	})
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return out, err
}

// query runs a prepared statement, whose values come in full precision, on a connection of its own. read says whether it came
// to the end; if not, the connection is closed.
func (r cursor) query(ctx context.Context, statement string, params []any, read func(driver.Rows) (bool, error)) error {
	conn, err := r.db.Conn(ctx)
	if err != nil {
		return err
	}
	args := make([]driver.NamedValue, len(params))
	for i, p := range params {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: p}
	}
	var failed error
	raw := conn.Raw(func(dc any) error {
		c, prepares := dc.(interface {
			driver.Conn
			driver.ConnPrepareContext
		})
		if !prepares {
			return errors.New("the driver does not prepare statements")
		}
		var done bool
		done, failed = r.onConn(ctx, c, statement, args, read)
		if !done && r.hangUp {
			return driver.ErrBadConn // it is closed
		}
		return nil
	})
	if closed := conn.Close(); raw == nil && failed == nil && !errors.Is(closed, sql.ErrConnDone) {
		raw = closed
	}
	if failed == nil && !errors.Is(raw, driver.ErrBadConn) {
		failed = raw
	}
	return failed
}

func (r cursor) onConn(ctx context.Context, c interface {
	driver.Conn
	driver.ConnPrepareContext
}, statement string, args []driver.NamedValue, read func(driver.Rows) (bool, error)) (done bool, err error) {
	stmt, err := c.PrepareContext(ctx, statement)
	if err != nil {
		if done = !broken(err); !done && r.hangUp {
			_ = c.Close()
		}
		return done, err
	}
	q, ok := stmt.(driver.StmtQueryContext)
	if !ok {
		return true, errors.Join(errors.New("the driver does not query by context"), stmt.Close())
	}
	rows, err := q.QueryContext(ctx, args)
	if err == nil {
		done, err = read(rows)
		if !done && r.hangUp {
			_ = c.Close() // before the rows, which would read what is left
		}
		_ = rows.Close() // nothing is written that could fail
	} else if done = !broken(err); !done && r.hangUp {
		_ = c.Close()
	}
	_ = stmt.Close()
	return done, err
}

// broken says whether a connection is of no use after an error.
func broken(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || network(err)
}

// network says whether an error is one of the line to the server.
func network(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrDeadlineExceeded)
}

// failure is an error of a database in words for people.
type failure struct {
	text  string
	cause error
}

// Error is the text.
func (f *failure) Error() string { return f.text }

// Unwrap gives the driver's error.
func (f *failure) Unwrap() error { return f.cause }

func fail(class connector.Class, cause error, text, advice string) error {
	if advice != "" {
		text += ": " + advice
	}
	return &connector.Error{Class: class, Err: &failure{text, cause}}
}

var errSlow = errors.New("no row within sources.sql.timeout")

// run runs a statement: each gets the rows until it returns false. The time that each takes does not count for the timeout.
func (s *Source) run(ctx context.Context, what, statement string, params []any, columns []column, each func([]cell) bool) error {
	return s.limited(ctx, what, func(ctx context.Context, stop context.CancelCauseFunc, timer *time.Timer) error {
		return s.db.rows(ctx, statement, params, columns, func(row []cell) bool {
			timer.Stop()
			if ctx.Err() != nil {
				return false
			}
			if !each(row) {
				stop(errEnough)
				return false
			}
			timer.Reset(s.config.Timeout)
			return true
		})
	})
}

var errEnough = errors.New("nobody asks for more")

// limited calls the database under the timeout, and says what its errors mean.
func (s *Source) limited(ctx context.Context, what string, call func(ctx context.Context, stop context.CancelCauseFunc, timer *time.Timer) error) error {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	timer := time.AfterFunc(s.config.Timeout, func() { stop(errSlow) })
	defer timer.Stop()
	err := call(inner, stop, timer)
	cause := context.Cause(inner)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("sql: %s: %w", what, ctx.Err())
	case errors.Is(cause, errEnough):
		return nil
	case errors.Is(cause, errSlow):
		err = connector.Errorf(connector.ClassTransient, "%w", errSlow)
	case err == nil:
		return nil
	default:
		err = s.db.classify(err)
	}
	return fmt.Errorf("sql: %s: %s: %w", s.db.address(), what, err)
}
