package duck

import (
	"context"
	"fmt"

	"tokwatt/analyze"
)

// SummaryFilter says which summaries are wanted.
type SummaryFilter struct {
	Sessions []string // whole ids; none: all sessions
	Cases    []int64  // ids of cases within their sessions; none: all. Others are not computed
	Points   bool     // fill Stat.Points
}

// Sessions lists the ids of all sessions, oldest first.
func (db *DB) Sessions(ctx context.Context) ([]string, error) {
	var ids []string
	err := db.each(ctx, func(row []any) {
		id, _ := row[0].(string)
		ids = append(ids, id)
	}, "select session_id from sessions order by session_id")
	return ids, err
}

// Summaries reads what the view summary has: one Summary a target, case and kind
// of prefix-cache hit, in the order of session, target, case and kind.
func (db *DB) Summaries(ctx context.Context, f SummaryFilter) ([]analyze.Summary, error) {
	var out []analyze.Summary
	err := db.narrowed(ctx, f, func(where string) error {
		some, err := db.summariesOf(ctx, where, f.Points)
		out = append(out, some...)
		return err
	})
	return out, err
}

// summariesOf reads the parts of the view summary apart: side by side they are
// 300 columns that take longer to plan than to compute.
func (db *DB) summariesOf(ctx context.Context, where string, points bool) ([]analyze.Summary, error) {
	var out []analyze.Summary
	err := db.eachNamed(ctx, func(names map[string]int, row []any) {
		out = append(out, newSummary(names, row))
	}, "select * from "+inline("summary_cases")+" where "+where+
		" order by session_id, host, target_id, case_id, prefix_cache_hit nulls first")
	if err != nil {
		return nil, err
	}
	at := make(map[group]*analyze.Summary, len(out))
	for i, s := range out {
		at[group{s.SessionID, s.Host, s.TargetID, s.CaseID, s.PrefixCacheHit}] = &out[i]
	}
	if err := db.addRowFigures(ctx, at, where); err != nil {
		return nil, err
	}
	if err := db.addIntervals(ctx, at, where); err != nil {
		return nil, err
	}
	if err := db.addVersions(ctx, out); err != nil {
		return nil, err
	}
	if points {
		err = db.addPoints(ctx, at, where)
	}
	return out, err
}

// addRowFigures fills in what Stats has of the rows.
func (db *DB) addRowFigures(ctx context.Context, at map[group]*analyze.Summary, where string) error {
	return db.eachNamed(ctx, func(names map[string]int, row []any) {
		r := record{names: names, row: row}
		s := at[r.group()]
		if s == nil {
			return
		}
		for _, m := range analyze.Metrics() {
			figure := func(name string) *float64 { return r.at(m.Name + "_" + name).double() }
			s.Stats[m.Name] = analyze.Stat{N: r.at(m.Name + "_n").integer(), Median: figure("median"),
				Mean: figure("mean"), SD: figure("sd"), P90: figure("p90"), P99: figure("p99")}
		}
	}, "select * from "+inline("row_figures")+" where "+where)
}

// addIntervals fills in what Stats has of the batches.
func (db *DB) addIntervals(ctx context.Context, at map[group]*analyze.Summary, where string) error {
	return db.eachNamed(ctx, func(names map[string]int, row []any) {
		r := record{names: names, row: row}
		s := at[r.group()]
		if s == nil {
			return
		}
		metric := r.at("metric").text()
		if metric == "generation_tps" {
			s.CV, s.Stability = r.at("cv").double(), r.at("stability").text()
		}
		stat := s.Stats[metric]
		stat.Lo, stat.Hi, stat.Coverage = r.at("lo").double(), r.at("hi").double(), r.at("coverage").double()
		s.Stats[metric] = stat
	}, "select * from "+inline("batch_intervals")+" where "+where)
}

// ofSessions makes the condition that picks sessions by id; without ids it picks
// all. It is empty where there is no such session.
//
// Where the files of others are there too it spans hosts and dates, for these
// alone keep them closed: DuckDB carries a range on them, but neither a list nor
// an OR, through the views' joins to every table.
func (db *DB) ofSessions(ctx context.Context, ids []string) (string, error) {
	if len(ids) == 0 {
		return "true", nil
	}
	in := "session_id in (" + literals(ids) + ")"
	if len(db.sessions) > 0 && len(db.sessions) <= len(ids) {
		return in, nil
	}
	var span string
	err := db.each(ctx, func(row []any) {
		if row[0] != nil {
			span = fmt.Sprintf(" and host between %s and %s and date between date '%s' and date '%s'",
				quote(row[0].(string)), quote(row[1].(string)), row[2], row[3])
		}
	}, "select min(host), max(host), min(date), max(date) from sessions where "+in)
	if err != nil || span == "" {
		return "", err
	}
	return in + span, nil
}

// each runs one of our own queries and hands on its rows.
func (db *DB) each(ctx context.Context, do func(row []any), sql string) error {
	return db.eachNamed(ctx, func(_ map[string]int, row []any) { do(row) }, sql)
}

// eachNamed is each, with the place of each column.
func (db *DB) eachNamed(ctx context.Context, do func(names map[string]int, row []any), sql string) error {
	rows, err := db.run(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	names := columnsByName(rows.Names())
	for row, err := range rows.All() {
		if err != nil {
			return err
		}
		do(names, row)
	}
	return nil
}

// addPoints fills the batch medians, in order of time, into summaries.
func (db *DB) addPoints(ctx context.Context, at map[group]*analyze.Summary, where string) error {
	return db.each(ctx, func(row []any) {
		r := record{row: row}
		s := at[group{r.text(), r.text(), r.integer(), r.integer(), r.text()}]
		metric, median := r.text(), r.double()
		if s == nil || median == nil {
			return
		}
		stat := s.Stats[metric]
		stat.Points = append(stat.Points, *median)
		s.Stats[metric] = stat
	}, "select session_id, host, target_id, case_id, prefix_cache_hit, metric, median from batch_medians where "+where+
		" order by batch_id")
}

type group struct {
	session, host string
	target, case_ int64
	hit           string
}

// newSummary reads a row of summary_cases by its column names.
func newSummary(names map[string]int, row []any) analyze.Summary {
	r := record{names: names, row: row}
	s := analyze.Summary{
		SessionID: r.at("session_id").text(), Host: r.at("host").text(), Date: r.at("date").text(),
		Engine: r.at("engine").text(), EngineVersion: r.at("engine_version").text(),
		ModelID: r.at("model_id").text(), Quantization: r.at("model_quantization").text(),
		Sharding: r.at("placement_sharding").text(), InstanceMeta: r.at("placement_instance_meta").text(), Nodes: r.at("placement_nodes").texts(),
		TargetID: r.at("target_id").integer(), CaseID: r.at("case_id").integer(),
		PP: r.at("pp").optInteger(), TG: r.at("tg").integer(), Concurrency: r.at("concurrency").integer(),
		CacheMode: r.at("cache_mode").text(), PromptKind: r.at("prompt_kind").text(),
		PromptSource: r.at("prompt_source").text(), PrefixCacheHit: r.at("prefix_cache_hit").text(),
		NBatches: r.at("n_batches").integer(), NOK: r.at("n_ok").integer(), NFailed: r.at("n_failed").integer(),
		NInvalid: r.at("n_invalid").integer(), NCacheHit: r.at("n_cache_hit").integer(),
		NEstimated: r.at("n_estimated").integer(), NImplausible: r.at("n_implausible").integer(),
		Stats: make(map[string]analyze.Stat), Keys: summaryKeys(names, row),
	}
	for _, m := range analyze.Metrics() {
		s.Stats[m.Name] = analyze.Stat{} // no row in the statistics, until one comes
	}
	return s
}

// record reads the plain values of a row, from left to right or by name.
type record struct {
	names map[string]int
	row   []any
	next  int
}

// columnsByName says where each column is.
func columnsByName(names []string) map[string]int {
	at := make(map[string]int, len(names))
	for i, name := range names {
		at[name] = i
	}
	return at
}

func (r *record) at(name string) *record {
	r.next = r.names[name]
	return r
}

// group is what summaries are told apart by.
func (r *record) group() group {
	return group{r.at("session_id").text(), r.at("host").text(), r.at("target_id").integer(), r.at("case_id").integer(), r.at("prefix_cache_hit").text()}
}

func (r *record) value() any {
	v := r.row[r.next]
	r.next++
	return v
}

func (r *record) text() string {
	s, _ := r.value().(string)
	return s
}

// texts is a list of words; nil where it is empty.
func (r *record) texts() []string {
	list, _ := r.value().([]any)
	var out []string
	for _, v := range list {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

func (r *record) integer() int64 {
	n, _ := r.value().(int64)
	return n
}

func (r *record) optInteger() *int64 {
	if n, ok := r.value().(int64); ok {
		return &n
	}
	return nil
}

func (r *record) double() *float64 {
	if f, ok := r.value().(float64); ok {
		return &f
	}
	return nil
}
