package exchange

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// DatasetSession are the records of a session of a dataset (see
// [analyze.Export]), made of its rows again: all that was recorded, and so every
// row and figure that is made of it. Ids, and where the session was imported
// from, are kept. Any error is the last item: the session is then not whole.
//
// What can't be had again: times on the wall clock are whole microseconds; of a
// target that came again in a later segment the newest record stands, and of a
// session that was resumed the newest end; a quiet window is known by its
// energies, so one in which no sensor was read is left out; a figure of a server
// that is not a number is −1.
//
// Files of a schema before version 3 have figures alone. Of what was recorded
// there is then what follows from them (see datasetolder.go).
//
// Memory holds a row group of each table.
func DatasetSession(ctx context.Context, root, id string) iter.Seq2[collect.Record, error] {
	return func(yield func(collect.Record, error) bool) {
		d := &datasetReader{ctx: ctx, root: root, id: id, yield: yield, targets: map[int64]*collect.TargetInfo{}, cases: map[int64]*collect.Case{}}
		if err := d.read(); err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// errEnough is for a consumer that takes no more.
var errEnough = errors.New("enough")

// datasetReader makes the records of one session.
type datasetReader struct {
	ctx   context.Context
	root  string
	id    string
	yield func(collect.Record, error) bool
	files []analyze.DatasetFile

	session  *collect.Session
	segments []datasetSegment
	targets  map[int64]*collect.TargetInfo
	order    []*collect.TargetInfo
	cases    map[int64]*collect.Case
	caseList []*collect.Case
	idle     []*collect.Idle
	older    bool  // of a schema that had figures alone
	fault    error // of a segment's row

	requests *rowCursor
	chunks   *rowCursor
	samples  *rowCursor
}

func (d *datasetReader) put(rec collect.Record) error {
	if err := d.ctx.Err(); err != nil {
		return context.Cause(d.ctx)
	}
	if !d.yield(rec, nil) {
		return errEnough
	}
	return nil
}

// rows are the rows of a table, one after the other.
func (d *datasetReader) rows(table string, columns ...string) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for _, f := range d.files {
			if f.Table != table {
				continue
			}
			for page, err := range analyze.SessionRows(d.root, f, d.id, columns...) {
				if err != nil {
					yield(row{}, err)
					return
				}
				for i := range page.Len() {
					if !yield(row{page, i}, nil) {
						return
					}
				}
			}
		}
	}
}

// each calls a function for every row of a table.
func (d *datasetReader) each(table string, f func(row), columns ...string) error {
	for r, err := range d.rows(table, columns...) {
		if err != nil {
			return err
		}
		f(r)
	}
	return nil
}

func (d *datasetReader) read() error {
	var err error
	if d.files, _, err = analyze.DatasetFiles(d.root, d.id); err != nil {
		return err
	}
	for _, t := range analyze.Tables() {
		if !slices.ContainsFunc(d.files, func(f analyze.DatasetFile) bool { return f.Table == t.Name }) {
			return fmt.Errorf("it has no file of table %s", t.Name)
		}
	}
	end, err := d.facts()
	if err != nil {
		return err
	}
	if err := d.put(d.session); err != nil {
		return err
	}
	d.requests, d.chunks, d.samples = newRowCursor(d.rows("requests")), newRowCursor(d.rows("chunks")), newRowCursor(d.rows("samples"))
	defer d.requests.stop()
	defer d.chunks.stop()
	defer d.samples.stop()
	if err := d.measured(); err != nil {
		return err
	}
	if end != nil {
		return d.put(end)
	}
	return nil
}

// measured puts all that was measured, segment by segment: readings before the
// batches that they were taken in, so that no window waits for them.
func (d *datasetReader) measured() error {
	at := -1 // of d.segments
	for r, err := range d.rows("batches") {
		if err != nil {
			return err
		}
		for at < 0 || d.segments[at].Segment.Segment != r.whole("segment") {
			if at++; at == len(d.segments) {
				return fmt.Errorf("batch %d is of segment %d, which it has not", r.whole("batch_id"), r.whole("segment"))
			}
			if err := d.begin(at); err != nil {
				return err
			}
		}
		b, err := d.batch(r)
		if err != nil {
			return err
		}
		if err := d.before(b); err != nil {
			return err
		}
		if err := d.put(b); err != nil {
			return err
		}
	}
	for at++; at < len(d.segments); at++ {
		if err := d.begin(at); err != nil {
			return err
		}
	}
	if err := d.readings(lastSegment, math.MinInt64); err != nil {
		return err
	}
	return d.all()
}

// begin begins a segment, after the readings of those before it. The targets
// and cases stand in the first.
func (d *datasetReader) begin(at int) error {
	s := d.segments[at]
	if err := d.readings(s.Segment.Segment, math.MinInt64); err != nil {
		return err
	}
	records := []collect.Record{s.Segment}
	if at == 0 {
		for _, t := range d.order {
			records = append(records, t)
		}
		for _, c := range d.caseList {
			records = append(records, c)
		}
	}
	for _, of := range s.sensors {
		records = append(records, of)
	}
	for _, l := range s.lost {
		records = append(records, l)
	}
	for _, rec := range records {
		if err := d.put(rec); err != nil {
			return err
		}
	}
	return nil
}

// all holds that every request and chunk had its batch.
func (d *datasetReader) all() error {
	for table, c := range map[string]*rowCursor{"requests": d.requests, "chunks": d.chunks} {
		if c.err != nil {
			return c.err
		}
		if c.ok {
			return fmt.Errorf("table %s has rows without a batch", table)
		}
	}
	return nil
}
