//go:build cgo

package duck

// Nothing looks up DuckDB's symbols by name. Exported, as cgo does it unless
// told otherwise, they make 7 MB that the dynamic loader reads at every start.

// #cgo linux LDFLAGS: -Wl,--no-export-dynamic
import "C"

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/big"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// Available reports whether this build can run SQL.
const Available = true

// connection is one in-memory database and its only connection: temporary
// views belong to a connection.
type connection struct {
	connector *duckdb.Connector
	conn      *duckdb.Conn
}

func connect(ctx context.Context) (*connection, error) {
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return nil, err
	}
	c, err := connector.Connect(ctx)
	if err != nil {
		return nil, errors.Join(err, connector.Close())
	}
	return &connection{connector: connector, conn: c.(*duckdb.Conn)}, nil
}

func (c *connection) close() error {
	return errors.Join(c.conn.Close(), c.connector.Close())
}

// exec runs trusted statements: ours, never a user's.
func (c *connection) exec(ctx context.Context, sql string) error {
	_, err := c.conn.ExecContext(ctx, sql, nil)
	return err
}

// query runs one statement that reads. Prepare, unlike PrepareContext, refuses
// a text of several statements instead of running all but the last.
func (c *connection) query(ctx context.Context, sql string, args ...any) (resultSet, error) {
	prepared, err := c.conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	stmt := prepared.(*duckdb.Stmt)
	rows, err := queryStatement(ctx, stmt, args)
	if err != nil {
		return nil, errors.Join(err, stmt.Close())
	}
	return statementRows{rows.(typedRows), stmt}, nil
}

func queryStatement(ctx context.Context, stmt *duckdb.Stmt, args []any) (driver.Rows, error) {
	kind, err := stmt.StatementType()
	if err != nil {
		return nil, err
	}
	if kind != duckdb.STATEMENT_TYPE_SELECT && kind != duckdb.STATEMENT_TYPE_EXPLAIN {
		return nil, errNotReading
	}
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return stmt.QueryContext(ctx, named)
}

type typedRows interface {
	driver.Rows
	driver.RowsColumnTypeDatabaseTypeName
}

// statementRows closes the statement after its result.
type statementRows struct {
	typedRows
	stmt *duckdb.Stmt
}

func (r statementRows) Close() error {
	return errors.Join(r.typedRows.Close(), r.stmt.Close())
}

// plainDriverValue turns the driver's own types into plain Go values.
func plainDriverValue(v any) any {
	switch v := v.(type) {
	case *big.Int:
		return plainInteger(v)
	case duckdb.Decimal:
		if v.Scale == 0 {
			return plainInteger(v.Value)
		}
		return v.Float64()
	case duckdb.Interval:
		return isoInterval(int64(v.Months), int64(v.Days), v.Micros)
	case duckdb.OrderedMap:
		return plainMap(&v)
	case duckdb.Union:
		return plain(v.Value)
	case fmt.Stringer:
		return v.String()
	}
	return fmt.Sprint(v)
}

func plainMap(m *duckdb.OrderedMap) map[string]any {
	out := make(map[string]any, m.Len())
	keys, values := m.Keys(), m.Values()
	for i, key := range keys {
		out[fmt.Sprint(plain(key))] = plain(values[i])
	}
	return out
}
