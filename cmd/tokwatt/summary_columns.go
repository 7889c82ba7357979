package main

import (
	"cmp"
	"slices"
	"strconv"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// shownMetric is a column of the table. Below, where it is not empty, is the
// metric whose median stands below the median, in place of mean ± sd. Of some a
// batch has one, of the others a request.
type shownMetric struct {
	name, head, below string
	ofBatch           bool
}

// withoutGen are the rates after the generation rate: those that stand in for it
// where no row has one, and that of prompt and output together, which only
// imported files have.
var withoutGen = []shownMetric{{name: "tok_per_sec", head: "gen n/t\ntok/s"}, {name: "mixed_tps", head: "mixed\ntok/s"}}

// joulesPerToken is the metric of energy that people compare.
const joulesPerToken = "j_per_output_token"

// shownMetrics are the figures of the table, where any row has them: those of the
// metric table that have a head.
func shownMetrics() []shownMetric {
	var out []shownMetric
	for _, m := range analyze.Metrics() {
		if m.Head != "" {
			out = append(out, shownMetric{name: m.Name, head: m.Head, ofBatch: m.Table == "batches"})
		}
		if m.Name == "generation_tps" {
			out = append(out, withoutGen...)
		}
	}
	return out
}

// summaryKey is a column that tells cases apart.
type summaryKey struct {
	head string
	cell func(analyze.Summary) string
}

// varyingKeys are pp (or which prompt it is), tg and concurrency; how deep the
// context was, where an imported file says so; and where a case is not cold, what
// the cache did: of such rows a reader must know, be they all alike.
func varyingKeys(rows []analyze.Summary) []summaryKey {
	own := ownPrompts(rows)
	keys := []summaryKey{
		{"pp", func(s analyze.Summary) string {
			if s.PP != nil {
				return strconv.FormatInt(*s.PP, 10)
			}
			return cmp.Or(own[s.CaseID], s.PromptKind)
		}},
		{"tg", func(s analyze.Summary) string { return wantedLength(s.TG, s.PP) }},
		{"conc", func(s analyze.Summary) string { return strconv.FormatInt(s.Concurrency, 10) }},
	}
	if slices.ContainsFunc(rows, func(s analyze.Summary) bool { return s.Keys["depth"] != "" }) {
		keys = slices.Insert(keys, 1, summaryKey{"depth", func(s analyze.Summary) string { return cmp.Or(s.Keys["depth"], "–") }})
	}
	if slices.ContainsFunc(rows, func(s analyze.Summary) bool { return s.CacheMode != string(collect.CacheCold) }) {
		keys = append(keys, summaryKey{"cache", func(s analyze.Summary) string { return cmp.Or(s.PrefixCacheHit, s.CacheMode) }})
	}
	return keys
}

// ownPrompts are the names of the prompts of one's own, by case of one session.
func ownPrompts(rows []analyze.Summary) map[int64]string {
	list := make([]*analyze.Summary, len(rows))
	for i := range rows {
		list[i] = &rows[i]
	}
	names := map[int64]string{}
	for s, name := range analyze.OwnPrompts(list) {
		names[s.CaseID] = name
	}
	return names
}

// hasGen reports whether a row has a generation rate by tokwatt's rule.
func hasGen(s analyze.Summary) bool { return s.Stats["generation_tps"].Median != nil }

// standIns explains the rates that stand beside or in place of gen.
func standIns(metrics []shownMetric) []string {
	var out []string
	for _, m := range metrics {
		switch m.name {
		case "tok_per_sec":
			out = append(out, "gen n/t: tok_per_sec, output tokens over the time after the first; gen, which leaves the first token out, is not known")
		case "mixed_tps":
			out = append(out, "mixed: prompt and output tokens over the time of both")
		}
	}
	return out
}

// tableMetrics are the metrics that any table of cases has, at the end of a run
// and in summary: those that any row has; of streams beside each other the rate
// of all, else the intervals.
func tableMetrics(concurrent bool, has func(metric string) bool) []shownMetric {
	return slices.DeleteFunc(shownMetrics(), func(m shownMetric) bool {
		return m.name == "agg_wall_tps" && !concurrent || m.name == "itl_p50_ms" && concurrent ||
			m.name == "tok_per_sec" && has("generation_tps") || !has(m.name)
	})
}

// presentMetrics are those of summary's table. On a screen, where a column for
// the cache leaves no room for one of joules, they share that of all streams,
// or take that of the intervals.
func presentMetrics(rows []analyze.Summary, format string) []shownMetric {
	some := func(match func(analyze.Summary) bool) bool { return slices.ContainsFunc(rows, match) }
	has := func(metric string) bool {
		return some(func(s analyze.Summary) bool { return s.Stats[metric].Median != nil })
	}
	concurrent := some(func(s analyze.Summary) bool { return s.Concurrency > 1 })
	crowded := format != "markdown" && some(func(s analyze.Summary) bool {
		return s.CacheMode != string(collect.CacheCold) && s.Stats[joulesPerToken].Median != nil
	})
	out := tableMetrics(concurrent, has)
	if !crowded {
		return out
	}
	out = slices.DeleteFunc(out, func(m shownMetric) bool {
		return m.name == "itl_p50_ms" || m.name == joulesPerToken && concurrent
	})
	for i := range out {
		if out[i].name == "agg_wall_tps" {
			out[i].head, out[i].below = "all t/s\nJ/tok", joulesPerToken
		}
	}
	return out
}
