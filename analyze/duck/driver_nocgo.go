//go:build !cgo

package duck

import (
	"context"
	"fmt"
)

// Available reports whether this build can run SQL.
const Available = false

type connection struct{}

func connect(context.Context) (*connection, error) { return nil, ErrUnavailable }

func (*connection) close() error                       { return nil }
func (*connection) exec(context.Context, string) error { return ErrUnavailable }

func (*connection) query(context.Context, string, ...any) (resultSet, error) {
	return nil, ErrUnavailable
}

func plainDriverValue(v any) any { return fmt.Sprint(v) }
