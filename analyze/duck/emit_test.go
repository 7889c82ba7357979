//go:build cgo

package duck

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

var emit = flag.String("emit", "", "write random runs and their row of the view asiai to this file, for scripts/check_stats.py")

// emittedAsiai is a target's runs, by prompt kind, and what SQL makes of them.
// A run of 0 is not measurable; a nil one has no tok_per_sec.
type emittedAsiai struct {
	Groups                                   [][]*float64
	Median, Mean, StdDev, SampleSD, CV, TTFT *float64
	Runs, Rates, Kinds                       int64
	Stability                                string
}

func TestEmitAsiai(t *testing.T) {
	if *emit == "" {
		t.Skip("for scripts/check_stats.py: give -emit")
	}
	rnd := rand.New(rand.NewPCG(13, 14))
	f := newFixture(t)
	out := map[string]*emittedAsiai{}
	for i := range 300 {
		session := fmt.Sprintf("s%03d", i)
		e := &emittedAsiai{Groups: [][]*float64{}}
		kinds := make([][]string, 1+rnd.IntN(5))
		for k := range kinds {
			e.Groups = append(e.Groups, []*float64{})
			for range rnd.IntN(7) {
				v, text := drawRun(rnd, i)
				e.Groups[k] = append(e.Groups[k], v)
				kinds[k] = append(kinds[k], text)
			}
		}
		kinds[0], e.Groups[0] = append(kinds[0], "null"), append(e.Groups[0], nil) // a target without rows has none here
		f.kindsSession(session, kinds...)
		out[session] = e
	}
	rows, err := f.open(Options{}).Asiai(t.Context(), nil)
	if err != nil || len(rows) != len(out) {
		t.Fatalf("%d rows, want %d; error %v", len(rows), len(out), err)
	}
	for _, r := range rows {
		e := out[r.SessionID]
		e.Median, e.Mean, e.StdDev, e.SampleSD, e.CV, e.TTFT = r.TokPerSec, r.TokPerSecMean, r.StdDevTokS, r.PooledSDSample, r.CV, r.TTFTMS
		e.Runs, e.Rates, e.Kinds, e.Stability = r.NRuns, r.NRates, r.NKinds, r.Stability
	}
	text, err := json.Marshal(out)
	if err == nil {
		err = os.WriteFile(*emit, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// drawRun draws a rate near 50, or on a large offset, or one that a tie is
// likely with; now and then 0 or none.
func drawRun(rnd *rand.Rand, i int) (*float64, string) {
	v := []float64{50, 1.2e6, 0}[i%3] + math.Abs(rnd.NormFloat64())*4
	switch {
	case i%5 == 0:
		v = float64(20 + rnd.IntN(4))
	case rnd.IntN(12) == 0:
		v = 0
	case rnd.IntN(12) == 0:
		return nil, "null"
	}
	return &v, strconv.FormatFloat(v, 'e', -1, 64)
}

// emittedEnergy is a batch under random readings, and what SQL has of it.
type emittedEnergy struct {
	From, To     float64 // s
	Counter      bool    // else power at instants
	T, V         []float64
	J, Low, High *float64
	Tokens       int64
	PerToken     *float64
}

func TestEmitEnergy(t *testing.T) {
	if *emit == "" {
		t.Skip("for scripts/check_stats.py: give -emit")
	}
	rnd := rand.New(rand.NewPCG(15, 16))
	var all []*emittedEnergy
	recs := func(yield func(collect.Record, error) bool) {
		yield(&collect.Session{ID: "s", Host: collect.Host{Name: "h"}}, nil)
		for i := range int64(300) {
			e := drawEnergy(rnd)
			all = append(all, e)
			for _, rec := range e.records(i + 1) {
				yield(rec, nil)
			}
		}
	}
	root := t.TempDir()
	if _, err := analyze.Export(t.Context(), recs, root, analyze.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	rows, err := open(t, Options{Roots: []string{root}}).Query(t.Context(),
		"select batch_id, energy_j, energy_low_j, energy_high_j, j_per_output_token from batches order by batch_id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for row, err := range rows.All() {
		if err != nil {
			t.Fatal(err)
		}
		figure := func(i int) *float64 {
			if x, ok := row[i].(float64); ok {
				return &x
			}
			return nil
		}
		e := all[row[0].(int64)-1]
		e.J, e.Low, e.High, e.PerToken = figure(1), figure(2), figure(3), figure(4)
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(*emit, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// drawEnergy draws readings about twice a second, all covered and none too far
// apart, over a window of two to forty seconds.
func drawEnergy(rnd *rand.Rand) *emittedEnergy {
	e := &emittedEnergy{From: 3 + 3*rnd.Float64(), Counter: rnd.IntN(2) == 0, Tokens: 2 + rnd.Int64N(500)}
	e.To = e.From + 2 + 38*rnd.Float64()
	joules, at := 0.0, 0.0
	for at < e.To+3 {
		step, watts := 0.2+0.6*rnd.Float64(), 5+100*rnd.Float64()
		at += step
		joules += watts * step
		e.T = append(e.T, math.Round(at*1e9)/1e9)
		e.V = append(e.V, map[bool]float64{true: joules, false: watts}[e.Counter])
	}
	return e
}

func (e *emittedEnergy) records(id int64) []collect.Record {
	ns := func(s float64) int64 { return int64(math.Round(s * 1e9)) }
	from, to, n := ns(e.From), ns(e.To), e.Tokens
	samples := &collect.Samples{Segment: id}
	for i, at := range e.T {
		metric := map[bool]string{true: "energy", false: "power"}[e.Counter]
		samples.Samples = append(samples.Samples, collect.Sample{Source: "s", Scope: "package", Metric: metric, EndNS: ns(at), Value: e.V[i]})
	}
	return []collect.Record{
		&collect.Segment{Segment: id}, &collect.TargetInfo{TargetID: id},
		&collect.Case{CaseID: id, TargetID: id, TG: n, Concurrency: 1},
		&collect.Batch{CaseID: id, BatchID: id, Segment: id, StartNS: from, EndNS: to, Requests: []collect.Request{{RequestID: id, StartNS: from, EndNS: to, OutputChars: 9,
			Chunks: []collect.Chunk{{T: 1e9, Kind: collect.KindContent}}, Report: collect.Report{CompletionTokens: &n}}}},
		samples,
	}
}

// emittedCase is a case of random batches, and its row of the view summary for
// one metric, with one thread and with several, of rows in another order.
type emittedCase struct {
	Batches [][]float64
	Alone   emittedStat
	Many    emittedStat
}

type emittedStat struct {
	N                                                int64
	Median, Lo, Hi, Coverage, Mean, SD, P90, P99, CV *float64
	Stability                                        string
}

func TestEmitSummary(t *testing.T) {
	if *emit == "" {
		t.Skip("for scripts/check_stats.py: give -emit")
	}
	rnd := rand.New(rand.NewPCG(17, 18))
	cases, rows := drawCases(rnd)
	alone := summarized(t, cases, rows, 1)
	rnd.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	many := summarized(t, cases, rows, 4)
	for session, c := range cases {
		c.Alone, c.Many = alone[session], many[session]
	}
	text, err := json.Marshal(cases)
	if err == nil {
		err = os.WriteFile(*emit, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// drawCases draws cases of one batch to some sixty, of one request to four each,
// and the requests' rows.
func drawCases(rnd *rand.Rand) (cases map[string]*emittedCase, rows []string) {
	cases = map[string]*emittedCase{}
	for i := range 250 {
		session := fmt.Sprintf("s%03d", i)
		c := &emittedCase{}
		for b := range 1 + rnd.IntN(1+i/4) {
			var batch []float64
			for range 1 + rnd.IntN(4) {
				v := []float64{0, 50, 1.2e10}[i%3] + math.Abs(rnd.NormFloat64())*4
				if i%4 == 0 {
					v = float64(20 + rnd.IntN(4))
				}
				batch = append(batch, v)
				rows = append(rows, fmt.Sprintf("('%s', 'h', '2026-01-02', %d, %d, 'ok', [], true, true, true, 'server', %s)",
					session, 100001+b, len(rows), strconv.FormatFloat(v, 'e', -1, 64)))
			}
			c.Batches = append(c.Batches, batch)
		}
		cases[session] = c
	}
	return cases, rows
}

// summarized is what the view makes of the rows, by session.
func summarized(t *testing.T, cases map[string]*emittedCase, rows []string, threads int) map[string]emittedStat {
	f := newFixture(t)
	for session, c := range cases {
		f.session(session)
		f.case_(session, 1, len(c.Batches), "cold")
	}
	f.exec(`insert into requests (session_id, host, date, batch_id, request_id, status, flags,
		in_stats, in_cold_stats, in_prefill_stats, tokens_source, generation_tps) values %s`, strings.Join(rows, ", "))
	summaries, err := f.open(Options{Threads: threads}).Summaries(t.Context(), SummaryFilter{})
	if err != nil || len(summaries) != len(cases) {
		t.Fatalf("%d summaries, want %d; error %v", len(summaries), len(cases), err)
	}
	out := map[string]emittedStat{}
	for _, s := range summaries {
		g := s.Stats["generation_tps"]
		out[s.SessionID] = emittedStat{g.N, g.Median, g.Lo, g.Hi, g.Coverage, g.Mean, g.SD, g.P90, g.P99, s.CV, s.Stability}
	}
	return out
}
