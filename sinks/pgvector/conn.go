package pgvector

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	vectors "github.com/pgvector/pgvector-go/pgx"
)

// pool is the configuration of the connections. Statements are not prepared by name: the tables are renamed beneath them, and
// every plan knows its filter's values. So poolers such as PgBouncer work too.
func (c *Config) pool() (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(c.URL.Reveal())
	if err != nil { // its text may hold the password
		return nil, errors.New("pgvector: url is not valid: write postgres://user:password@host:5432/database, with special characters in the password as %XX")
	}
	config.MaxConns = max(config.MaxConns, connections)
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	config.ConnConfig.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: grace} // the server shall not go on with what nobody waits for
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "kbsync"
	}
	config.AfterConnect = register
	return config, nil
}

// register teaches a connection the types of pgvector, wherever the extension lies; before Create makes it, there are none.
func register(ctx context.Context, conn *pgx.Conn) error {
	var schema string
	var visible bool
	err := conn.QueryRow(ctx, `SELECT n.nspname, to_regtype('vector') IS NOT NULL FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'`).Scan(&schema, &visible)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if !visible {
		if _, err := conn.Exec(ctx, `SELECT set_config('search_path', current_setting('search_path') || ', ' || quote_ident($1), false)`, schema); err != nil {
			return err
		}
	}
	return vectors.RegisterTypes(ctx, conn)
}

// addressOf is host:port/database, of every host.
func addressOf(config *pgxpool.Config) string {
	c := config.ConnConfig
	hosts := []string{hostPort(c.Host, c.Port)}
	for _, f := range c.Fallbacks {
		if h := hostPort(f.Host, f.Port); h != hosts[len(hosts)-1] {
			hosts = append(hosts, h)
		}
	}
	database := c.Database
	if database == "" {
		database = c.User // as the server takes it
	}
	return strings.Join(hosts, ",") + "/" + database
}

func hostPort(host string, port uint16) string {
	return net.JoinHostPort(strings.ToLower(host), strconv.Itoa(int(port)))
}

// inTx runs fn in a transaction that begins with statements, in one round trip; what the last one selects is handed to fn. A limit
// of 0 is none. The connection of a transaction that failed is reset, or thrown away by the pool.
func (s *Sink) inTx(ctx context.Context, limit time.Duration, statements []string, fn func(ctx context.Context, conn *pgx.Conn, selected string) error) error {
	begin := statements[0] + "; SET LOCAL statement_timeout = " + strconv.FormatInt(limit.Milliseconds(), 10)
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit+grace)
		defer cancel()
	}
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	conn := c.Conn()
	results, err := conn.PgConn().Exec(ctx, strings.Join(append([]string{begin}, statements[1:]...), "; ")).ReadAll()
	if err == nil {
		selected := ""
		if last := results[len(results)-1]; len(last.Rows) > 0 {
			selected = string(last.Rows[0][0])
		}
		if err = fn(ctx, conn, selected); err == nil {
			_, err = conn.Exec(ctx, "COMMIT")
		}
	}
	if err != nil && !conn.IsClosed() && conn.PgConn().TxStatus() != 'I' {
		over, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		_, _ = conn.Exec(over, "ROLLBACK") // the connection is thrown away if that fails
	}
	return err
}
