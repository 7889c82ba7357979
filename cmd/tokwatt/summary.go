package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
)

func (a *app) summary() *cli.Command {
	return &cli.Command{
		Name:      "summary",
		Usage:     "medians, spreads and what to mind, per target and case",
		ArgsUsage: "[ID…|last]",
		Flags: []cli.Flag{
			&cli.IntSliceFlag{Name: "percentiles", Usage: "`LIST` of 90, 99: the times' too"},
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`NAME` table (default), markdown, csv or json"},
			jsonFlag(),
		},
		Metadata: examples("tokwatt summary last", "tokwatt summary --format markdown last"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			format := cmd.String("format")
			if cmd.Bool("json") {
				format = "json"
			}
			if !slices.Contains([]string{"table", "markdown", "csv", "json"}, format) {
				return usagef("there is no format %q: take table, markdown, csv or json", format)
			}
			percentiles, err := knownPercentiles(cmd.IntSlice("percentiles"))
			if err != nil {
				return err
			}
			ids, err := someSessions(ctx, cmd, cmd.Args().Slice())
			if err != nil {
				return err
			}
			db, done, err := a.sql(ctx, cmd, ids...)
			if err != nil {
				return err
			}
			return errors.Join(a.summarise(ctx, db, ids, format, percentiles), done())
		},
	}
}

// knownPercentiles refuses those that the view summary does not have.
func knownPercentiles(list []int) ([]int, error) {
	for _, p := range list {
		if p != 50 && p != 90 && p != 99 {
			return nil, usagef("--percentiles %d: there are 50, 90 and 99; `tokwatt query` computes others with percentile_cont", p)
		}
	}
	return slices.DeleteFunc(list, func(p int) bool { return p == 50 }), nil // the median is always there
}

// someSessions are the sessions with the given prefixes; the newest without any.
func someSessions(ctx context.Context, cmd *cli.Command, prefixes []string) ([]string, error) {
	db, err := openStore(cmd)
	if err != nil {
		return nil, err
	}
	if len(prefixes) == 0 {
		prefixes = []string{"last"}
	}
	var ids []string
	for _, p := range prefixes {
		id, err := db.Find(ctx, p)
		if err != nil {
			return nil, storeError(err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (a *app) summarise(ctx context.Context, db *duck.DB, ids []string, format string, percentiles []int) error {
	if format == "json" || format == "csv" {
		rows, err := db.Query(ctx, "select * from summary where session_id in ('"+strings.Join(ids, "', '")+"') order by session_id, case_id, prefix_cache_hit")
		if err != nil {
			return err
		}
		defer rows.Close()
		return writeRows(a.out, rows, format)
	}
	all, err := db.Summaries(ctx, duck.SummaryFilter{Sessions: ids})
	if err != nil {
		return err
	}
	for i, target := range byTarget(all) {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		writeSummary(a.out, target, format, percentiles)
	}
	return nil
}

// byTarget parts summaries where session or target change.
func byTarget(all []analyze.Summary) [][]analyze.Summary {
	var out [][]analyze.Summary
	for i, s := range all {
		if i == 0 || s.SessionID != all[i-1].SessionID || s.TargetID != all[i-1].TargetID {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], s)
	}
	return out
}

// shownMetrics are the figures of the table, where any row has them.
var shownMetrics = []struct{ name, head string }{
	{"prompt_tps", "prefill\ntok/s"},
	{"generation_tps", "gen\ntok/s"},
	{"agg_wall_tps", "all\ntok/s"},
	{"ttft_ms", "TTFT\nms"},
	{"total_duration_ms", "total\nms"},
}

// writeSummary draws the cases of one target. Medians come first; the mean and
// the sample standard deviation stand below them.
func writeSummary(w io.Writer, rows []analyze.Summary, format string, percentiles []int) {
	first := rows[0]
	fmt.Fprintf(w, "%s  %s  %s  %s %s  %s\n", shortID(first.SessionID), first.Date, first.Host,
		first.Engine, first.EngineVersion, first.ModelID+quantization(first))
	keys := varyingKeys(rows)
	metrics := presentMetrics(rows)
	header := []any{}
	for _, k := range keys {
		header = append(header, k.head)
	}
	for _, m := range metrics {
		header = append(header, m.head)
		for _, p := range percentiles {
			if isTime(m.name) {
				header = append(header, "p"+strconv.Itoa(p))
			}
		}
	}
	header = append(header, "n", "CV\n%")
	t := newTable(w, header...)
	alignSummary(t, len(header))
	for _, s := range rows {
		var row []any
		for _, k := range keys {
			row = append(row, k.cell(s))
		}
		for _, m := range metrics {
			stat := s.Stats[m.name]
			row = append(row, medianCell(stat, format))
			for _, p := range percentiles {
				if isTime(m.name) {
					row = append(row, figure(percentile(stat, p)))
				}
			}
		}
		t.AppendRow(append(row, inFigures(s), stabilityCell(s)))
	}
	if format == "markdown" {
		t.RenderMarkdown()
	} else {
		t.Render()
	}
	for _, note := range footnotes(rows) {
		fmt.Fprintln(w, note)
	}
}

func alignSummary(t table.Writer, columns int) {
	var c []table.ColumnConfig
	for i := range columns {
		c = append(c, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(c)
}

func quantization(s analyze.Summary) string {
	if s.Quantization == "" {
		return ""
	}
	return " " + s.Quantization
}

// medianCell is the median, with mean ± sd below it on a screen and behind it
// in Markdown.
func medianCell(s analyze.Stat, format string) string {
	if s.Median == nil {
		return "–"
	}
	if s.SD == nil {
		return figure(s.Median)
	}
	if format == "markdown" {
		return fmt.Sprintf("%s (%s ± %s)", figure(s.Median), figure(s.Mean), deviation(*s.SD))
	}
	return fmt.Sprintf("%s\n%s±%s", figure(s.Median), figure(s.Mean), deviation(*s.SD))
}

// inFigures is the number of requests behind a row's figures.
func inFigures(s analyze.Summary) int64 {
	var n int64
	for _, m := range shownMetrics {
		if m.name != "agg_wall_tps" { // which is one a batch
			n = max(n, s.Stats[m.name].N)
		}
	}
	return n
}

func stabilityCell(s analyze.Summary) string {
	if s.CV == nil {
		return "–"
	}
	return figure(s.CV) + "\n" + s.Stability
}

func isTime(metric string) bool { return metric == "ttft_ms" || metric == "total_duration_ms" }

func percentile(s analyze.Stat, p int) *float64 {
	if p == 90 {
		return s.P90
	}
	return s.P99
}

// summaryKey is a column that tells cases apart.
type summaryKey struct {
	head string
	cell func(analyze.Summary) string
}

// varyingKeys are pp, tg and concurrency, and of the others those that vary.
func varyingKeys(rows []analyze.Summary) []summaryKey {
	keys := []summaryKey{
		{"pp", func(s analyze.Summary) string {
			if s.PP == nil {
				return "own"
			}
			return strconv.FormatInt(*s.PP, 10)
		}},
		{"tg", func(s analyze.Summary) string { return strconv.FormatInt(s.TG, 10) }},
		{"conc", func(s analyze.Summary) string { return strconv.FormatInt(s.Concurrency, 10) }},
	}
	for _, k := range []summaryKey{
		{"prompt", func(s analyze.Summary) string { return s.PromptKind }},
		{"cache", func(s analyze.Summary) string { return cmp.Or(s.PrefixCacheHit, s.CacheMode) }},
	} {
		if slices.ContainsFunc(rows, func(s analyze.Summary) bool { return k.cell(s) != k.cell(rows[0]) }) {
			keys = append(keys, k)
		}
	}
	return keys
}

func presentMetrics(rows []analyze.Summary) []struct{ name, head string } {
	out := slices.Clone(shownMetrics)
	concurrent := slices.ContainsFunc(rows, func(s analyze.Summary) bool { return s.Concurrency > 1 })
	return slices.DeleteFunc(out, func(m struct{ name, head string }) bool {
		if m.name == "agg_wall_tps" && !concurrent || m.name == "total_duration_ms" && concurrent {
			return true
		}
		return !slices.ContainsFunc(rows, func(s analyze.Summary) bool { return s.Stats[m.name].Median != nil })
	})
}

// footnotes say what a reader of the table must mind.
func footnotes(rows []analyze.Summary) []string {
	var failed, invalid, hits, estimated, implausible int64
	fewest := rows[0].NBatches
	for _, s := range rows {
		failed += s.NFailed
		invalid += s.NInvalid
		hits += s.NCacheHit
		estimated += s.NEstimated
		implausible += s.NImplausible
		fewest = min(fewest, s.NBatches)
	}
	out := []string{"median, below it mean±sd; n: requests in them; CV: of the batches' gen tok/s"}
	add := func(n int64, text string) {
		if n > 0 {
			out = append(out, fmt.Sprintf("%s %s", plural(n, "request"), text))
		}
	}
	add(failed, "failed: in no figure; `tokwatt show` has the reasons")
	add(invalid, "with figures that contradict each other: in none")
	add(hits, "of cold cases hit a cache: in no figure")
	add(implausible, "had implausible server figures: in no figure")
	add(estimated, "had estimated token counts: in the times, not in the rates")
	if fewest < 6 {
		out = append(out, fmt.Sprintf("as few as %s a case: no 95 %% interval of a median under 6", plural(fewest, "batch")))
	}
	return out
}
