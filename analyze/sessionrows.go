package analyze

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/parquet/file"
)

// Page is a run of rows of one session in one table of a dataset.
type Page struct {
	n       int
	columns map[string]*Cells
}

// Len is how many rows there are.
func (p *Page) Len() int { return p.n }

// Column are the cells of a column. One that the file lacks, because it is of
// an older schema, is nil, which is NULL in every row.
func (p *Page) Column(name string) *Cells { return p.columns[name] }

// Cells are the values of a column; ok is false for NULL, and for a type that
// the column is not of.
type Cells struct {
	v  values
	at []int // by row: where its value is, -1 for NULL; of lists where its first item is
}

// Int64 is the value of row i.
func (c *Cells) Int64(i int) (x int64, ok bool) {
	if c == nil || c.at[i] < 0 || c.at[i] >= len(c.v.ints) {
		return 0, false
	}
	return c.v.ints[c.at[i]], true
}

// Time is the value of row i, in UTC.
func (c *Cells) Time(i int) (t time.Time, ok bool) {
	us, ok := c.Int64(i)
	if !ok {
		return t, false
	}
	return time.UnixMicro(us).UTC(), true
}

// Double is the value of row i.
func (c *Cells) Double(i int) (x float64, ok bool) {
	if c == nil || c.at[i] < 0 || c.at[i] >= len(c.v.doubles) {
		return 0, false
	}
	return c.v.doubles[c.at[i]], true
}

// Bool is the value of row i.
func (c *Cells) Bool(i int) (x, ok bool) {
	if c == nil || c.at[i] < 0 || c.at[i] >= len(c.v.bools) {
		return false, false
	}
	return c.v.bools[c.at[i]], true
}

// Text is the value of row i; NULL is empty.
func (c *Cells) Text(i int) string {
	if c == nil || c.at[i] < 0 || c.at[i] >= len(c.v.texts) {
		return ""
	}
	return string(c.v.texts[c.at[i]])
}

// List are the items of row i.
func (c *Cells) List(i int) []string {
	if c == nil || i+1 >= len(c.at) {
		return nil
	}
	var out []string
	for _, s := range c.v.texts[c.at[i]:c.at[i+1]] {
		out = append(out, string(s))
	}
	return out
}

// SessionRows are the rows of a session in a file of a dataset, in their order.
// Pages are row groups: of a file of its own some 100,000 rows, of one that
// sessions share 20,000. Of columns only those named are read, without names all.
// An error ends them.
func SessionRows(root string, f DatasetFile, id string, columns ...string) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		if f.Schema > SchemaVersion {
			yield(nil, &FileFault{f.Path, fmt.Sprintf("it is of schema version %d, and this tokwatt knows those up to %d", f.Schema, SchemaVersion)})
			return
		}
		r, err := file.OpenParquetFile(filepath.Join(root, filepath.FromSlash(f.Path)), false)
		if err != nil {
			yield(nil, &FileFault{f.Path, err.Error()})
			return
		}
		defer r.Close()
		wanted := columnsOf(f.Table, columns)
		for g := range r.NumRowGroups() {
			p, err := readPage(r, g, wanted, id)
			if err != nil {
				yield(nil, &FileFault{f.Path, err.Error()})
				return
			}
			if p.n > 0 && !yield(p, nil) {
				return
			}
		}
	}
}

// readPage reads a row group; without rows of the session it is empty.
func readPage(r *file.Reader, g int, columns []Column, id string) (p *Page, err error) {
	defer func() { // the library does not expect every damage
		if caught := recover(); caught != nil {
			err = fmt.Errorf("%v", caught)
		}
	}()
	group := r.RowGroup(g)
	read := func(c Column) (*values, error) {
		at := r.MetaData().Schema.ColumnIndexByName(leaf(c))
		if at < 0 {
			return nil, nil
		}
		v := new(values)
		if err := v.read(group, at); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		return v, nil
	}
	ids, err := read(Column{Name: "session_id", Type: String})
	if err != nil {
		return nil, err
	}
	if ids == nil {
		return nil, errors.New("it has no column session_id")
	}
	from, to := ids.span(id)
	p = &Page{n: to - from, columns: map[string]*Cells{}}
	if p.n == 0 {
		return p, nil
	}
	for _, c := range columns {
		v := ids
		if c.Name != "session_id" {
			if v, err = read(c); err != nil {
				return nil, err
			}
		}
		if v == nil {
			continue
		}
		cells := &Cells{v: v.rows(from, to, c.Type)}
		cells.place(c.Type)
		p.columns[c.Name] = cells
	}
	return p, nil
}

// columnsOf are the columns of a table with these names, without names all.
func columnsOf(table string, names []string) []Column {
	for _, t := range Tables() {
		if t.Name == table {
			return slices.DeleteFunc(t.Columns, func(c Column) bool { return len(names) > 0 && !slices.Contains(names, c.Name) })
		}
	}
	return nil
}

// span is where the rows of a session begin and end: they stand together.
func (v *values) span(id string) (from, to int) {
	at := 0
	for i, d := range v.def {
		if d == 0 {
			continue
		}
		if string(v.texts[at]) == id {
			if to == 0 {
				from = i
			}
			to = i + 1
		}
		at++
	}
	return from, to
}

// place notes where the value of each row is.
func (c *Cells) place(t ColumnType) {
	next := 0
	for i, d := range c.v.def {
		switch {
		case t == Strings:
			if c.v.rep[i] == 0 {
				c.at = append(c.at, next)
			}
			if d == 2 {
				next++
			}
		case d == 0:
			c.at = append(c.at, -1)
		default:
			c.at = append(c.at, next)
			next++
		}
	}
	if t == Strings {
		c.at = append(c.at, next)
	}
}
