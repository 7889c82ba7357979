package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tokwatt/analyze"
	"tokwatt/plot"
	"tokwatt/plot/report"
)

// course is what the batches did over the time of the session: a machine that
// grows hot shows here.
func (r *reporter) course(ctx context.Context) (report.Section, error) {
	s := report.Section{ID: "time", Title: "Over time"}
	found, err := r.ask(ctx, `select b.batch_id, c.target_id, c.case_id, b.segment, cast(b.start_ns as double) / 1e9 as start_s, c.pp, c.prompt_kind, c.tg, c.concurrency,
			b.repeat_index, case when b.warmup then 'yes' end as warmup, b.requests, b.failed, b.batch_wall_s,
			f.generation_tps, 100e0 * (f.generation_tps / median(f.generation_tps) over (partition by c.target_id, c.case_id, b.warmup) - 1e0) as change_pct,
			f.ttft_ms, b.agg_wall_tps, b.agg_steady_tps, b.energy_j, b.energy_low_j, b.energy_high_j, b.energy_null_reason, b.avg_power_w, b.power_scope,
			b.speed_limit_pct, case when b.throttled then 'yes' end as throttled, b.client_cpu_pct, b.flags
		from batches b
		join cases c on c.host = b.host and c.date = b.date and c.session_id = b.session_id and c.case_id = b.case_id
		left join (select host, date, session_id, batch_id, median(generation_tps) as generation_tps, median(ttft_ms) as ttft_ms
		           from requests where `+r.of()+` and status = 'ok' group by host, date, session_id, batch_id) f
		  on f.host = b.host and f.date = b.date and f.session_id = b.session_id and f.batch_id = b.batch_id
		where b.`+r.of()+` order by b.segment, b.start_ns, b.batch_id`)
	if err != nil {
		return s, err
	}
	if len(found.rows) == 0 {
		s.Text = []string{"No batch has ended."}
		return s, nil
	}
	s.Text = []string{courseText(found)}
	f, err := plot.Drift("generation rate", r.drift(found))
	if r.imported() && r.session.value(0, "started_at") == nil {
		f, err = nil, errors.New("the imported file does not say when its batches ran")
	}
	s.Figures = []report.Figure{figureOf("the course over time", f, err)}
	t := cut(found, mostRows).table(fmt.Sprintf("The batches in order of time (%s)", shownOf(len(found.rows), "batch")), 1)
	t.Folded, t.Columns = true, aboutCourse(t.Columns)
	t.Notes = []string{"generation_tps and ttft_ms: medians of the batch's good requests. change: of generation_tps against the median of the case's batches."}
	s.Tables = []report.Table{t}
	return s, nil
}

func aboutCourse(columns []report.Column) []report.Column {
	for i, c := range columns {
		switch c.Head {
		case "start_s":
			columns[i].Unit = "s"
		case "change_pct":
			columns[i].Head, columns[i].Unit = "change", "%"
		}
	}
	return columns
}

// drift are the batches with a rate in the time of the session, warm-ups left
// out.
func (r *reporter) drift(found answer) []plot.DriftBatch {
	names := map[int64]string{}
	for i := range r.summaries {
		names[r.summaries[i].TargetID] = r.targetName(r.summaries[i].Summary)
	}
	began := map[int64]float64{} // of each segment, after the first
	for i := range r.segments.rows {
		first, _ := r.segments.value(0, "started_at").(time.Time)
		at, _ := r.segments.value(i, "started_at").(time.Time)
		id, _ := r.segments.value(i, "segment").(int64)
		began[id] = at.Sub(first).Seconds()
	}
	var out []plot.DriftBatch
	for i := range found.rows {
		change, ok := found.value(i, "change_pct").(float64)
		if !ok || found.value(i, "warmup") != nil {
			continue
		}
		segment, _ := found.value(i, "segment").(int64)
		start, _ := found.value(i, "start_s").(float64)
		target, _ := found.value(i, "target_id").(int64)
		out = append(out, plot.DriftBatch{Target: names[target], Seconds: began[segment] + start, Percent: 100 + change})
	}
	return out
}

// courseText compares the earlier half of each case's batches with the later.
func courseText(found answer) string {
	byCase := map[any][]float64{} // in order of time
	var order []any
	for i := range found.rows {
		v, ok := found.value(i, "change_pct").(float64)
		if !ok || found.value(i, "warmup") != nil {
			continue
		}
		id := found.value(i, "case_id")
		if byCase[id] == nil {
			order = append(order, id)
		}
		byCase[id] = append(byCase[id], v)
	}
	var earlier, later []float64
	for _, id := range order {
		all := byCase[id]
		half := len(all) / 2
		earlier, later = append(earlier, all[:half]...), append(later, all[len(all)-half:]...)
	}
	test := analyze.MannWhitney(earlier, later)
	if test.P == nil {
		return "Too few batches to tell whether the generation rate changed over time: two halves of four batches are needed, each case's own."
	}
	a, _ := analyze.NewSample(earlier)
	b, _ := analyze.NewSample(later)
	apart := func(s analyze.Sample) string {
		return strings.Replace(fmt.Sprintf("%+.1f", *s.Quantile(0.5)), "-", "−", 1)
	}
	return fmt.Sprintf("Whether the machine slowed down: generation rates of the earlier half of each case's batches are %s %% off their case's median (median), "+
		"those of the later half %s %% (%d against %d batches, rank test p = %s).",
		apart(a), apart(b), len(earlier), len(later), sig(*test.P))
}

// mostRows is how many rows of a long table the page has.
const mostRows = 200

func cut(a answer, n int) answer {
	a.rows = a.rows[:min(n, len(a.rows))]
	return a
}

// shownOf says how many rows there are, and how many of them are shown.
func shownOf(n int, noun string) string {
	if n <= mostRows {
		return plural(int64(n), noun)
	}
	return fmt.Sprintf("the first %d of %s; `tokwatt query` has all", mostRows, plural(int64(n), noun))
}

// failures are by kind and message.
func (r *reporter) failures(ctx context.Context) (report.Section, error) {
	s := report.Section{ID: "failures", Title: "Failures and flags"}
	found, err := r.ask(ctx, `select count(*) as requests, status, error_kind, http_status, error, min(request_id) as first_request_id
		from requests where `+r.of()+` and status <> 'ok' group by status, error_kind, http_status, error order by requests desc, first_request_id`)
	if err != nil {
		return s, err
	}
	switch {
	case r.requested == 0:
		s.Text = append([]string{"No request was made."}, r.unmeasured...)
	case len(found.rows) == 0:
		s.Text = []string{"No request failed, and none is invalid."}
	default:
		t := cut(found, mostRows).table(fmt.Sprintf("Requests that failed or are invalid (%s)", shownOf(len(found.rows), "kind")), 1)
		t.Notes = []string{"invalid: a complete answer whose figures contradict each other. Neither kind is in any figure but the counts."}
		s.Tables = append(s.Tables, t)
	}
	flags, err := r.ask(ctx, `select flag, count(*) as n from (
			select unnest(flags) as flag from requests where `+r.of()+` union all select unnest(flags) from batches where `+r.of()+`) f
		group by flag order by n desc, flag`)
	if err != nil || len(flags.rows) == 0 {
		return s, err
	}
	t := report.Table{Caption: "Flags on requests and batches", Keys: 1, Columns: []report.Column{{Head: "flag"}, {Head: "n", Number: true}, {Head: "meaning"}}}
	for i := range flags.rows {
		t.Rows = append(t.Rows, []string{flags.text(i, "flag"), flags.text(i, "n"), cmp.Or(meaning(flags.text(i, "flag")), "not known to this tokwatt")})
	}
	s.Tables = append(s.Tables, t)
	return s, nil
}

// requests are the single rows.
func (r *reporter) requests(ctx context.Context) (report.Section, error) {
	s := report.Section{ID: "requests", Title: "Requests"}
	if r.requested == 0 {
		s.Text = []string{"There is none."}
		return s, nil
	}
	found, err := r.ask(ctx, fmt.Sprintf(`select r.request_id, r.batch_id, b.case_id, r.concurrent_index, case when b.warmup then 'yes' end as warmup, r.status, r.error_kind,
			r.prompt_tokens, r.cached_tokens, r.tokens_generated, r.tokens_source, r.ttft_ms, r.ttft_client_ms, r.total_duration_ms,
			r.prompt_tps, r.prompt_tps_source, r.generation_tps, r.generation_tps_source, r.decode_tps, r.tok_per_sec, r.mixed_tps,
			r.itl_p50_ms, r.itl_p99_ms, r.itl_max_ms, r.chunks, r.finish_reason, r.flags, r.output_text_preview
		from requests r join batches b on b.host = r.host and b.date = r.date and b.session_id = r.session_id and b.batch_id = r.batch_id
		where r.%s order by r.request_id limit %d`, r.of(), mostRows))
	if err != nil {
		return s, err
	}
	t := found.table(fmt.Sprintf("One by one (%s)", shownOf(int(r.requested), "request")), 1)
	t.Folded = true
	s.Tables = []report.Table{t}
	return s, nil
}
