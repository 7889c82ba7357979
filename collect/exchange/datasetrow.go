package exchange

import (
	"iter"
	"slices"
	"time"

	"tokwatt/analyze"
)

// row is a row of a table of a dataset.
type row struct {
	page *analyze.Page
	i    int
}

// whole is an integer that is never NULL.
func (r row) whole(column string) int64 {
	x, _ := r.page.Column(column).Int64(r.i)
	return x
}

func (r row) count(column string) *int64 {
	if x, ok := r.page.Column(column).Int64(r.i); ok {
		return &x
	}
	return nil
}

func (r row) number(column string) *float64 {
	if x, ok := r.page.Column(column).Double(r.i); ok {
		return &x
	}
	return nil
}

func (r row) truth(column string) *bool {
	if x, ok := r.page.Column(column).Bool(r.i); ok {
		return &x
	}
	return nil
}

func (r row) is(column string) bool {
	x, _ := r.page.Column(column).Bool(r.i)
	return x
}

// has reports whether the file has a column: those of older schemas have fewer.
func (r row) has(column string) bool { return r.page.Column(column) != nil }

func (r row) text(column string) string { return r.page.Column(column).Text(r.i) }

func (r row) list(column string) []string { return r.page.Column(column).List(r.i) }

func (r row) time(column string) time.Time {
	t, _ := r.page.Column(column).Time(r.i)
	return t
}

// flag reports whether a row lists a flag.
func (r row) flag(name string) bool { return slices.Contains(r.list("flags"), name) }

// nanos is a column of milliseconds in nanoseconds. Both of our own times and
// Ollama's are whole, which the column's rounding hides.
func (r row) nanos(column string) *int64 {
	ms := r.number(column)
	if ms == nil {
		return nil
	}
	return roundNanos(*ms * 1e6)
}

// rowCursor goes along the rows of a table beside another one's.
type rowCursor struct {
	row
	ok   bool // there is a row
	err  error
	pull func() (row, error, bool)
	stop func()
}

func newRowCursor(rows iter.Seq2[row, error]) *rowCursor {
	c := new(rowCursor)
	c.pull, c.stop = iter.Pull2(rows)
	c.next()
	return c
}

// next goes to the next row.
func (c *rowCursor) next() {
	var more bool
	c.row, c.err, more = c.pull()
	c.ok = more && c.err == nil
}
