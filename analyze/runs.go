package analyze

import (
	"slices"
	"time"

	"tokwatt/collect"
)

// RunTable makes the rows of the view runs without SQL: each request with what
// it belongs to on the same row. What is known only when the session has ended
// (ended_at, its status, the power of a target) is not among the columns.
type RunTable struct {
	names    []string
	session  flat[SessionRow]
	target   flat[TargetRow]
	case_    flat[CaseRow]
	request  flat[RequestRow]
	buffered values
}

// flat are the columns of one table that are on the row of a request.
type flat[R any] struct{ cols []column[R] }

// NewRunTable returns a RunTable.
func NewRunTable() *RunTable {
	t := new(RunTable)
	t.names = []string{"session_id", "host", "date"}
	t.session.cols = without(sessionColumns(), "session_id", "ended_at", "status", "options_json", "not_run", "import_hash", "imported_at", "import_extra_json")
	t.target.cols = without(targetColumns(), "session_id", "served_model", "download_duration_s", "load_duration_s", "sampling_json", "cluster_json", "model_unlisted",
		"power_watts", "power_scope", "idle_watts")
	t.case_.cols = without(caseColumns(), "session_id", "target_id", "tg_wanted")
	t.request.cols = without(requestColumns(), "session_id", "case_id", "warmup",
		"streamed", "output_chars", "recount_tokens", "recount_first_tokens", "report_json", "stated_json")
	t.names = append(t.names, t.session.names()...)
	t.names = append(t.names, t.target.names()...)
	t.names = append(t.names, t.case_.names()...)
	t.names = append(t.names, t.request.names()...)
	return t
}

// Names are the columns' names, those of the view runs.
func (t *RunTable) Names() []string { return t.names }

// Rows are the requests of a batch. A value is nil for NULL, or an int64,
// float64, bool, string, time.Time (UTC) or []any of strings.
func (t *RunTable) Rows(s *collect.Session, target *collect.TargetInfo, c *collect.Case, d *Derived) ([][]any, error) {
	p, err := partitionOf(s)
	if err != nil {
		return nil, err
	}
	shared := []any{s.ID, p.host, p.date}
	shared = t.session.append(shared, &t.buffered, []SessionRow{sessionRow(s)})
	shared = t.target.append(shared, &t.buffered, []TargetRow{{SessionID: s.ID, TargetInfo: *target}})
	shared = t.case_.append(shared, &t.buffered, []CaseRow{{SessionID: s.ID, Case: *c}})
	out := make([][]any, len(d.Requests))
	for i := range d.Requests {
		out[i] = t.request.append(slices.Clone(shared), &t.buffered, d.Requests[i:i+1])
	}
	return out, nil
}

func without[R any](cols []column[R], names ...string) []column[R] {
	return slices.DeleteFunc(cols, func(c column[R]) bool { return slices.Contains(names, c.Name) })
}

func (f flat[R]) names() []string {
	var out []string
	for _, c := range f.cols {
		out = append(out, c.Name)
	}
	return out
}

// append adds the values of a row, the only one of rows; v is room to work in.
func (f flat[R]) append(to []any, v *values, rows []R) []any {
	for _, c := range f.cols {
		v.reset()
		c.fill(v, rows)
		to = append(to, v.first(c.Type))
	}
	return to
}

// first is the first value of a column as a plain one.
func (v *values) first(t ColumnType) any {
	switch {
	case v.def[0] == 0:
		return nil
	case t == Strings:
		items := make([]any, len(v.texts))
		for i, s := range v.texts {
			items[i] = string(s)
		}
		return items
	case t == String:
		return string(v.texts[0])
	case t == Int64:
		return v.ints[0]
	case t == Double:
		return v.doubles[0]
	case t == Timestamp:
		return time.UnixMicro(v.ints[0]).UTC()
	}
	return v.bools[0]
}
