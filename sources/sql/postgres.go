package sql

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/kbsync/kbsync/connector"
)

// postgres reads values in the text form of the server, which is exact for every type.
type postgres struct {
	db   *sql.DB
	host string
	name string
}

// session makes that form the same whatever the server's settings, for one transaction: so poolers such as PgBouncer work too.
const session = `SELECT set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO, YMD', true), set_config('IntervalStyle', 'postgres', true),
 set_config('bytea_output', 'hex', true), set_config('extra_float_digits', '1', true), set_config('client_encoding', 'UTF8', true), set_config('statement_timeout', '0', true)`

// cleanup is how long a connection that was given up may take to say goodbye.
const cleanup = 2 * time.Second

func openPostgres(url connector.Secret) (database, error) {
	const form = "it is not valid; write postgres://user:password@host:5432/database, with special characters in the password as %XX"
	config, err := pgx.ParseConfig(url.Reveal())
	if err != nil || strings.Contains(config.Host+config.Database, "@") { // the error may hold the password, and so may they
		return nil, errors.New(form)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = dialTimeout
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "kbsync"
	}
	name := config.Database
	if name == "" {
		name = config.User // as the server takes it
	}
	return &postgres{db: pool(stdlib.GetConnector(*config)), name: name, host: net.JoinHostPort(strings.ToLower(config.Host), strconv.Itoa(int(config.Port)))}, nil
}

func (p *postgres) address() string { return p.host + "/" + p.name }
func (p *postgres) uri() string     { return "postgres://" + p.host + "/" + p.name }
func (p *postgres) close() error    { return p.db.Close() }

func (p *postgres) dialect() dialect {
	return dialect{
		quote:     quoteWith(`"`),
		parameter: func(n int) string { return "$" + strconv.Itoa(n) },
		value:     func(e string) string { return e },
		sorted: func(e string, c column) string {
			switch c.typ {
			case "INT2", "INT4", "INT8", "OID", "UUID", "DATE", "BYTEA", "TIMESTAMP", "TIMESTAMPTZ", "BOOL":
				return e // equal values have one form, and an index may have the order
			}
			return e + `::text COLLATE "C"`
		},
		size: func(e string, c column) string {
			if c.typ == "BYTEA" {
				return "octet_length(" + e + ")"
			}
			return "octet_length(" + e + "::text)"
		},
	}
}

// on lends a connection.
func (p *postgres) on(ctx context.Context, use func(*pgconn.PgConn) error) error {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return err
	}
	err = conn.Raw(func(dc any) error {
		c, ok := dc.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the connection is a %T", dc)
		}
		pg := c.Conn().PgConn()
		err := use(pg)
		if pg.IsClosed() {
			select {
			case <-pg.CleanupDone():
			case <-time.After(cleanup):
			}
		}
		return err
	})
	_ = conn.Close() // it goes back to the pool, which looks whether it is of use
	return err
}

func (p *postgres) columns(ctx context.Context, query string) ([]column, error) {
	var out []column
	err := p.on(ctx, func(c *pgconn.PgConn) error {
		statement, err := c.Prepare(ctx, "", "SELECT * FROM (\n"+query+"\n) AS "+table, nil)
		if err != nil {
			return err
		}
		types := pgtype.NewMap()
		for _, f := range statement.Fields {
			typ := strconv.FormatUint(uint64(f.DataTypeOID), 10)
			if t, ok := types.TypeForOID(f.DataTypeOID); ok {
				typ = strings.ToUpper(t.Name)
			}
			out = append(out, column{name: f.Name, typ: typ})
		}
		return nil
	})
	return out, err
}

// rows sends the whole transaction at once: one round trip, for a listing as for one row.
func (p *postgres) rows(ctx context.Context, statement string, params []any, columns []column, each func([]cell) bool) error {
	values := make([][]byte, len(params))
	for i, v := range params {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("a parameter is a %T", v)
		}
		values[i] = []byte(text)
	}
	batch := &pgconn.Batch{}
	batch.ExecParams("BEGIN READ ONLY", nil, nil, nil, nil)
	batch.ExecParams(session, nil, nil, nil, nil)
	batch.ExecParams(statement, values, nil, nil, nil)
	batch.ExecParams("COMMIT", nil, nil, nil, nil)
	return p.on(ctx, func(c *pgconn.PgConn) error {
		results := c.ExecBatch(ctx, batch)
		var failed error
		for n := 0; failed == nil && results.NextResult(); n++ {
			r := results.ResultReader()
			if n == 2 {
				failed = read(r, columns, each)
			}
			if _, err := r.Close(); failed == nil {
				failed = err
			}
		}
		if err := results.Close(); failed == nil {
			failed = err
		}
		if !c.IsClosed() && c.TxStatus() != 'I' {
			_ = c.Exec(ctx, "ROLLBACK").Close() // a connection that stays in a transaction is thrown away
		}
		return failed
	})
}

func read(r *pgconn.ResultReader, columns []column, each func([]cell) bool) error {
	cells := make([]cell, len(columns))
	for r.NextRow() {
		values := r.Values()
		if len(values) != len(columns) {
			return fmt.Errorf("the statement gives %d columns, not %d", len(values), len(columns))
		}
		for i, v := range values {
			if v == nil {
				cells[i] = cell{}
				continue
			}
			var err error
			if cells[i], err = postgresCell(columns[i].typ, string(v)); err != nil {
				return err
			}
		}
		if !each(cells) {
			return nil
		}
	}
	return nil
}

func postgresCell(typ, text string) (cell, error) {
	switch typ {
	case "BOOL":
		return cell{kindBoolean, map[bool]string{true: "true", false: "false"}[text == "t"], text}, nil
	case "INT2", "INT4", "INT8", "OID", "XID", "CID", "XID8":
		return cell{kindInteger, text, text}, nil
	case "FLOAT4", "FLOAT8":
		return cell{kindFloat, text, text}, nil
	case "NUMERIC":
		return cell{kindDecimal, text, text}, nil
	case "TIMESTAMP", "TIMESTAMPTZ":
		return timeCell(text, text), nil
	case "BYTEA":
		raw, err := hex.DecodeString(strings.TrimPrefix(text, `\x`))
		if err != nil {
			return cell{}, fmt.Errorf("bytes: %w", err)
		}
		return cell{kindBytes, string(raw), text}, nil
	}
	return cell{kindText, text, text}, nil
}

func (p *postgres) classify(err error) error {
	var classed *connector.Error
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &classed):
		return err
	case errors.As(err, &pg):
		class, advice := postgresClass(pg.Code)
		return fail(class, err, fmt.Sprintf("%s (SQLSTATE %s)", pg.Message, pg.Code), advice)
	case errors.As(err, &connect), network(err), strings.Contains(err.Error(), "conn closed"):
		return &connector.Error{Class: connector.ClassTransient, Err: err}
	}
	return err
}

func postgresClass(code string) (class connector.Class, advice string) {
	switch code {
	case "3D000":
		return connector.ClassNotFound, "correct the database in url"
	case "42501":
		return connector.ClassDenied, "the role of url needs GRANT SELECT on it"
	case "25006", "25001":
		return connector.ClassInvalid, "query writes, and a source only reads"
	case "53100":
		return connector.ClassFull, "the server's disk is full"
	case "57014", "55P03", "25P03", "57P01", "57P02", "57P03", "57P05":
		return connector.ClassTransient, ""
	}
	switch code[:min(2, len(code))] {
	case "28":
		return connector.ClassCredentials, "check the user and password in url, and the server's pg_hba.conf"
	case "08", "40", "53":
		return connector.ClassTransient, ""
	case "42", "22", "21", "0A", "3F", "2B", "38", "39", "P0":
		return connector.ClassInvalid, "check query"
	case "54":
		return connector.ClassTooLarge, ""
	}
	return connector.ClassUnknown, ""
}
