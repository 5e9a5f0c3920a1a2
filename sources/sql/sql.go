// Package sql lists the rows of a query: one row is one document. It reads PostgreSQL, MySQL and MariaDB, and SQLite.
//
// The rows come from one statement, so a listing is one consistent state of the database, and they are read as they
// come: memory does not grow with their number. Every value keeps the digits that the database holds.
//
// # Config
//
// url says where the database is; query is one SELECT. key names the columns that identify a row; version a column
// that changes whenever the row does (updated_at, a counter, xmin): with it a listing reads no content, and a row
// whose version is the same is not read again. Without it every listing reads every row, and a row's version is the hash of
// what it holds. content names the columns that make the text, default all that have no other part: one column is the document
// as it stands, bytes too; several are written as lines of "column: value", in the order in which content (or, where
// that is empty, the query) names them, without those that are NULL. A document's path is the values of its key, escaped and
// joined by slashes, with an extension that tells its media type, or what stands in the column that path names.
//
// # Limits
//
// Sessions only read: a query that writes, through a function too, is refused by the database. A key may not be a floating-point
// number. A listing of MySQL or SQLite is one long reading: a SQLite database that is written meanwhile should be in WAL mode,
// or its writers wait. Columns of bytes cannot stand among several content columns, nor be metadata.
package sql

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"mime"
	"slices"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// The values of Config.Driver.
const (
	driverPostgres = "postgres"
	driverMySQL    = "mysql"
	driverSQLite   = "sqlite"
)

const (
	maxQuery    = 1 << 20
	connections = 8 // the engine's readers share them with the listing
	idleTime    = time.Minute
	dialTimeout = 10 * time.Second
	// settling is how long after a time that serves as a version the same time may stand for another state.
	settling = 2 * time.Second
)

// Config of the source.
type Config struct {
	Driver          string           `yaml:"driver" enum:"postgres,mysql,sqlite" doc:"the database; default: what the url's scheme says"`
	URL             connector.Secret `yaml:"url" required:"true" doc:"postgres://user:password@host:5432/database, mysql://user:password@host:3306/database, or the path of a SQLite file, relative to the configuration file"`
	Query           string           `yaml:"query" required:"true" doc:"one SELECT without parameters; each of its rows is a document"`
	Key             []string         `yaml:"key" required:"true" doc:"the columns that identify a row"`
	Version         string           `yaml:"version" doc:"a column that changes whenever the row does, such as updated_at; without one every listing reads every row"`
	Content         []string         `yaml:"content" doc:"the columns that make the text; default: all that have no other part here"`
	Title           string           `yaml:"title" doc:"the column that holds the title"`
	MediaType       string           `yaml:"media_type" doc:"what the content is, such as text/markdown or text/html"`
	MediaTypeColumn string           `yaml:"media_type_column" doc:"the column that says what the content is; media_type where it is NULL"`
	Metadata        []string         `yaml:"metadata" doc:"the columns that are copied to the metadata"`
	Path            string           `yaml:"path" doc:"the column that holds the document's path; default: made of the key"`
	Modified        string           `yaml:"modified" doc:"the column that says when the content last changed"`
	Timeout         time.Duration    `yaml:"timeout" doc:"the longest wait for the next row"`
	MaxSize         int64            `yaml:"max_size" format:"size" doc:"rows with more content are skipped; 0: no limit"`
}

func defaults() Config { return Config{MediaType: "text/plain", Timeout: 5 * time.Minute} }

// Validate checks all that needs no database.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Timeout == 0 {
		c.Timeout = defaults().Timeout
	}
	if c.MediaType == "" {
		c.MediaType = defaults().MediaType
	}
	if c.URL == "" {
		fail("url: missing; write postgres://user@host:5432/database, mysql://user@host:3306/database or the path of a SQLite file")
	} else if driver, err := c.driver(); err != nil {
		errs = append(errs, err)
	} else if _, err := checkQuery(c.Query, driver); err != nil {
		fail("query: %w", err)
	}
	if len(c.Key) == 0 {
		fail("key: missing; name the columns that identify a row")
	}
	for _, list := range []struct {
		key     string
		columns []string
	}{{"key", c.Key}, {"content", c.Content}, {"metadata", c.Metadata}} {
		for i, name := range list.columns {
			if name == "" || slices.Contains(list.columns[:i], name) {
				fail("%s[%d]: %q is empty or there already; expected names of columns", list.key, i, name)
			}
		}
	}
	if _, _, err := mime.ParseMediaType(c.MediaType); err != nil || !strings.Contains(c.MediaType, "/") {
		fail("media_type: %q is none; expected one such as text/markdown", c.MediaType)
	}
	if c.Timeout < 0 || c.MaxSize < 0 {
		fail("timeout and max_size: expected 0 or more")
	}
	return errors.Join(errs...)
}

// driver is the configured one or the one that the url's form tells.
func (c *Config) driver() (string, error) {
	url := strings.ToLower(c.URL.Reveal())
	scheme, _, found := strings.Cut(url, ":")
	named := ""
	switch {
	case found && (scheme == "postgres" || scheme == "postgresql"):
		named = driverPostgres
	case found && (scheme == "mysql" || scheme == "mariadb"), strings.Contains(url, "@tcp(") || strings.Contains(url, "@unix("):
		named = driverMySQL
	case found && (scheme == "sqlite" || scheme == "file"),
		strings.HasSuffix(url, ".db") || strings.HasSuffix(url, ".sqlite") || strings.HasSuffix(url, ".sqlite3"):
		named = driverSQLite
	}
	switch {
	case c.Driver == "" && named == "":
		return "", errors.New("driver: the url does not tell it; write postgres, mysql or sqlite")
	case c.Driver == "":
		return named, nil
	case c.Driver != driverPostgres && c.Driver != driverMySQL && c.Driver != driverSQLite:
		return "", fmt.Errorf("driver: %q; expected postgres, mysql or sqlite", c.Driver)
	case named != "" && named != c.Driver && strings.Contains(url, "://"):
		return "", fmt.Errorf("driver: %s, but the url is one of %s", c.Driver, named)
	}
	return c.Driver, nil
}

// Source lists the rows of one query.
type Source struct {
	config Config
	query  string // without a semicolon at its end
	db     database
	recent recent
}

var _ connector.Source = (*Source)(nil)

// Plugin is the registry entry of kind "sql".
func Plugin() connector.SourcePlugin {
	return connector.Define("sql", "Rows of a query in PostgreSQL, MySQL or SQLite.", defaults(),
		func(_ context.Context, c *Config, env connector.Env) (connector.Source, error) {
			return Open(*c, env.Dir)
		})
}

// Open makes the source; dir is what the path of a SQLite file is relative to. The first listing connects.
func Open(c Config, dir string) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("sql: %w", err)
	}
	driver, err := c.driver()
	if err != nil {
		return nil, fmt.Errorf("sql: %w", err)
	}
	query, err := checkQuery(c.Query, driver)
	if err != nil {
		return nil, fmt.Errorf("sql: query: %w", err)
	}
	s := &Source{config: c, query: query}
	switch driver {
	case driverPostgres:
		s.db, err = openPostgres(c.URL)
	case driverMySQL:
		s.db, err = openMySQL(c.URL)
	default:
		s.db, err = openSQLite(c.URL, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("sql: url: %w", err)
	}
	return s, nil
}

// Capabilities promises versions. Rows come in the order of their keys, which is no order of paths.
func (s *Source) Capabilities() connector.SourceCapabilities {
	return connector.SourceCapabilities{Order: connector.OrderNone, Versions: true}
}

// Changes runs the query. The source is no connector.Resumer: what is left of a statement that broke cannot be asked for, and a
// second statement would see another state of the database; an unchanged row costs a new listing next to nothing.
func (s *Source) Changes(ctx context.Context) iter.Seq2[connector.Change, error] {
	return func(yield func(connector.Change, error) bool) {
		s.recent.clear()
		l := &listing{source: s, yield: yield}
		err := ctx.Err()
		if err == nil {
			l.plan, err = s.plan(ctx)
		}
		if err == nil {
			err = s.run(ctx, "list", l.plan.list, nil, l.plan.listed, l.row)
		}
		switch {
		case l.stopped:
		case err != nil:
			yield(connector.Change{}, err)
		default:
			l.flush()
		}
	}
}

// Close closes the connections.
func (s *Source) Close() error {
	s.recent.clear()
	if err := s.db.close(); err != nil {
		return fmt.Errorf("sql: close: %w", err)
	}
	return nil
}
