package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/kbsync/kbsync/connector"
)

// mariadb is MySQL or MariaDB.
type mariadb struct {
	cursor
	config *mysql.Config
}

// reader opens sessions that only read; the statement is the one that every version knows.
type reader struct{ driver.Connector }

func (r reader) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	exec, ok := c.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("the driver does not execute statements"), c.Close())
	}
	if _, err := exec.ExecContext(ctx, "SET SESSION TRANSACTION READ ONLY", nil); err != nil {
		_ = c.Close() // nothing was done with it
		return nil, err
	}
	return c, nil
}

func openMySQL(secret connector.Secret) (database, error) {
	const form = "it is not valid; write mysql://user:password@host:3306/database, with special characters in the password as %XX, or user:password@tcp(host:3306)/database"
	config, err := mysqlConfig(secret.Reveal())
	if err != nil || strings.Contains(config.Addr+config.DBName, "@") { // the error may hold the password, and so may they
		return nil, errors.New(form)
	}
	config.MultiStatements, config.AllowAllFiles = false, false
	config.ParseTime, config.InterpolateParams = false, false
	config.Logger = &mysql.NopLogger{}
	if config.Timeout == 0 {
		config.Timeout = dialTimeout
	}
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	config.Params["time_zone"] = "'+00:00'"
	if config.Params["net_write_timeout"] == "" {
		config.Params["net_write_timeout"] = "3600" // a listing waits for who embeds what it lists; after a minute the server would hang up
	}
	connect, err := mysql.NewConnector(config)
	if err != nil {
		return nil, errors.New(form)
	}
	return &mariadb{cursor: cursor{db: pool(reader{connect}), decode: mysqlCell, hangUp: true}, config: config}, nil
}

func mysqlConfig(text string) (*mysql.Config, error) {
	if !strings.Contains(text, "://") {
		return mysql.ParseDSN(text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	config, err := mysql.ParseDSN("/?" + u.RawQuery)
	if err != nil {
		return nil, err
	}
	config.Net, config.Addr, config.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	if u.Port() == "" {
		config.Addr = strings.TrimSuffix(u.Host, ":") + ":3306"
	}
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	if u.Hostname() == "" || u.Fragment != "" {
		return nil, errors.New("there is no host, or a fragment")
	}
	return config, nil
}

func (m *mariadb) address() string { return m.config.Addr + "/" + m.config.DBName }
func (m *mariadb) uri() string     { return "mysql://" + m.address() }
func (m *mariadb) close() error    { return m.db.Close() }

func (m *mariadb) dialect() dialect {
	return dialect{
		quote:     quoteWith("`"),
		parameter: question,
		value:     func(e string) string { return e },
		sorted: func(e string, c column) string {
			if strings.HasSuffix(c.typ, "INT") || mysqlBytes(c.typ) || c.typ == "DATE" || c.typ == "DATETIME" || c.typ == "TIMESTAMP" || c.typ == "DECIMAL" {
				return e
			}
			return "CAST(" + e + " AS BINARY)"
		},
		size: func(e string, _ column) string { return "LENGTH(" + e + ")" },
	}
}

func mysqlBytes(typ string) bool {
	return strings.HasSuffix(typ, "BLOB") || strings.HasSuffix(typ, "BINARY") || typ == "GEOMETRY" || typ == "VECTOR"
}

// mysqlCell takes the binary protocol's values: numbers as such, all else as text.
func mysqlCell(c column, v driver.Value) (cell, error) {
	var text string
	switch v := v.(type) {
	case nil:
		return cell{}, nil
	case int64:
		return cell{kindInteger, strconv.FormatInt(v, 10), v}, nil
	case uint64:
		return cell{kindInteger, strconv.FormatUint(v, 10), v}, nil
	case float32:
		return cell{kindFloat, formatFloat(float64(v), 32), float64(v)}, nil
	case float64:
		return cell{kindFloat, formatFloat(v, 64), v}, nil
	case []byte:
		text = string(v)
	case string:
		text = v
	default:
		return cell{}, fmt.Errorf("the column %q is a %T", c.name, v)
	}
	switch {
	case strings.HasSuffix(c.typ, "INT"):
		if u, err := strconv.ParseUint(text, 10, 64); err == nil {
			return cell{kindInteger, text, u}, nil
		}
		return cell{kindInteger, text, text}, nil
	case c.typ == "DECIMAL":
		return cell{kindDecimal, text, text}, nil
	case c.typ == "DATETIME", c.typ == "TIMESTAMP":
		return timeCell(text, text), nil
	case c.typ == "BIT":
		n := uint64(0)
		for i := range len(text) {
			n = n<<8 | uint64(text[i])
		}
		return cell{kindInteger, strconv.FormatUint(n, 10), n}, nil
	case mysqlBytes(c.typ):
		return cell{kindBytes, text, []byte(text)}, nil
	}
	return cell{kindText, text, text}, nil
}

func (m *mariadb) classify(err error) error {
	var classed *connector.Error
	var my *mysql.MySQLError
	switch {
	case errors.As(err, &classed):
		return err
	case errors.As(err, &my):
		class, advice := mysqlClass(my.Number)
		return fail(class, err, fmt.Sprintf("%s (error %d)", my.Message, my.Number), advice)
	case errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrMalformPkt), errors.Is(err, mysql.ErrPktSync), network(err):
		return &connector.Error{Class: connector.ClassTransient, Err: &failure{"the connection broke: " + err.Error(), err}}
	case errors.Is(err, mysql.ErrPktTooLarge):
		return &connector.Error{Class: connector.ClassTooLarge, Err: err}
	}
	return err
}

func mysqlClass(number uint16) (class connector.Class, advice string) {
	switch number {
	case 1045, 1130, 1396, 1524, 1698, 1820, 1862, 3118, 4151:
		return connector.ClassCredentials, "check the user and password in url"
	case 1044, 1142, 1143, 1227, 1356, 1370:
		return connector.ClassDenied, "the user of url needs GRANT SELECT on it"
	case 1049:
		return connector.ClassNotFound, "correct the database in url"
	case 1792, 1290:
		return connector.ClassInvalid, "query writes, and a source only reads"
	case 1040, 1053, 1129, 1203, 1205, 1213, 1226, 1317, 1927, 1969, 2006, 2013, 3024, 1158, 1159, 1160, 1161:
		return connector.ClassTransient, ""
	case 1021, 1114, 3675:
		return connector.ClassFull, "the server's disk is full"
	case 1153, 1301:
		return connector.ClassTooLarge, ""
	case 1046, 1052, 1054, 1055, 1060, 1064, 1103, 1146, 1210, 1222, 1235, 1241, 1242, 1248, 1267, 1271, 1305, 1318, 1366, 1411, 1582, 1583, 1630, 1690, 3141, 3143:
		return connector.ClassInvalid, "check query"
	}
	return connector.ClassUnknown, ""
}
