//go:build cgo

package duck

import (
	"fmt"
	"math"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

// watched is a session of one batch a case, of single streams, under a constant
// 60 W that is read once a second; the windows are those of the worked cases.
func watched(yield func(collect.Record, error) bool) {
	put := func(r collect.Record) { yield(r, nil) }
	put(&collect.Session{ID: "s", Host: collect.Host{Name: "h"}})
	put(&collect.Segment{Segment: 1})
	put(&collect.TargetInfo{TargetID: 1, Engine: "e", Driver: "openai", ModelID: "m"})
	n := func(x int64) *int64 { return &x }
	samples := &collect.Samples{Segment: 1}
	for t := int64(0); t <= 60; t++ {
		samples.Samples = append(samples.Samples, collect.Sample{Source: "s", Scope: "system", Metric: "power", Unit: "W", EndNS: t * 1e9, Value: 60})
	}
	put(samples)
	for i, w := range [][2]float64{{10.2, 0.6}, {19.9, 1.2}, {30.1, 4.8}, {39.5, 7}} {
		id, from, to := int64(i+1), int64(math.Round(w[0]*1e9)), int64(math.Round((w[0]+w[1])*1e9))
		put(&collect.Case{TargetID: 1, CaseID: id, TG: 61, Concurrency: 1, CacheMode: collect.CacheCold, Streaming: true, PromptKind: "sized"})
		put(&collect.Batch{CaseID: id, BatchID: id, Segment: 1, StartNS: from, EndNS: to, Requests: []collect.Request{{
			RequestID: id, StartNS: from, EndNS: to, Streamed: true, OutputChars: 9, PPTokens: n(100),
			Chunks: []collect.Chunk{{T: (to - from) / 2, Kind: collect.KindContent, Tokens: collect.TokensUnknown}, {T: to - from, Kind: collect.KindContent, Tokens: collect.TokensUnknown}},
			Report: collect.Report{PromptTokens: n(100), CompletionTokens: n(61), CachedTokens: n(0)}}}})
	}
}

func (db *DB) text(t *testing.T, sql string) string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := ""
	for row, err := range rows.All() {
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintln(row...)
	}
	return out
}

// TestEnergyInSQL: the worked cases all the way, from records to answers.
func TestEnergyInSQL(t *testing.T) {
	root := t.TempDir()
	if _, err := analyze.Export(t.Context(), watched, root, analyze.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	db := open(t, Options{Roots: []string{root}})
	for _, c := range []struct{ sql, want string }{
		{"select batch_id, round(energy_j, 6), round(avg_power_w, 6), power_scope, energy_indicative from batches order by batch_id",
			"1 36 60 system true\n2 72 60 system true\n3 288 60 system true\n4 420 60 system true\n"},
		{"select e.batch_id, e.rule, round(e.energy_j, 6), e.coverage from energy e where e.window_kind = 'batch' and e.node = 'all' order by 1, 2",
			"1 curve 36 1/1\n1 exo_client 0 1/1\n2 curve 72 1/1\n2 exo_client 60 1/1\n3 curve 288 1/1\n3 exo_client 180 1/1\n4 curve 420 1/1\n4 exo_client 360 1/1\n"},
		{"select batch_id, round(prefill_j, 6), round(generation_j, 6), round(prefill_j_per_prompt_token, 6), round(generation_j_per_token, 6), prefill_null_reason from phases where rule = 'curve' order by 1",
			"1 <nil> <nil> <nil> <nil> short_window\n2 36 36 0.36 0.6 <nil>\n3 144 144 1.44 2.4 <nil>\n4 210 210 2.1 3.5 <nil>\n"},
		{"select round(power_watts, 6), power_scope, idle_watts from targets", "60 system <nil>\n"},
		{"select round(power_watts, 6), power_scope, tok_per_sec_per_watt > 0 from asiai", "60 system true\n"},
		{"select case_id, round(j_per_output_token_median, 6), avg_power_w_n from summary order by 1", "1 0.590164 1\n2 1.180328 1\n3 4.721311 1\n4 6.885246 1\n"},
		{"select distinct node from samples union select distinct node from energy order by 1", "all\nh\n"},
	} {
		if got := db.text(t, c.sql); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.sql, got, c.want)
		}
	}
}

// TestEnergyOfASession: in a session with sensors every batch has an energy or
// a reason, and its rows are consistent with each other.
func TestEnergyOfASession(t *testing.T) {
	root := t.TempDir()
	export(t, root, analyzetest.Options{Power: true})
	db := open(t, Options{Roots: []string{root}})
	for _, c := range []struct{ name, sql string }{
		{"batches without energy or reason", "select batch_id from batches where (energy_j is null) = (energy_null_reason is null)"},
		{"batches that are not their row", `select b.batch_id from batches b left join energy e on e.batch_id = b.batch_id and e.window_kind = 'batch' and e.node = 'all' and e.rule = 'curve'
			where b.energy_j is distinct from e.energy_j or b.energy_low_j is distinct from e.low_j or b.energy_net_j is distinct from e.net_j`},
		{"energies outside of their bounds", "select * from energy where rule = 'curve' and (energy_j < low_j - 1e-6 or energy_j > high_j + 1e-6)"},
		{"phases that do not add up", `select p.batch_id from phases p join energy e on e.batch_id = p.batch_id and e.window_kind = 'request' and e.node = 'all' and e.rule = p.rule
			where p.rule = 'curve' and abs(p.prefill_j + p.generation_j - e.energy_j) > 1e-6`},
		{"requests of concurrent streams", `select e.request_id from energy e join batches b on b.batch_id = e.batch_id join cases c on c.case_id = b.case_id
			where c.concurrency > 1 and e.request_id is not null`},
		{"targets that used less than their batches", `select t.target_id from (select c.target_id, sum(b.energy_j) as j from batches b join cases c on c.case_id = b.case_id group by c.target_id) t
			join energy e on e.target_id = t.target_id and e.window_kind = 'target' and e.node = 'all' where t.j > e.energy_j`},
		{"targets without power", "select * from targets where power_watts is null or idle_watts is null or power_scope <> 'system'"},
		{"phases of concurrent streams", `select p.* from phases p join cases c on c.case_id = p.case_id
			where c.concurrency > 1 and (p.prefill_j is not null or p.prefill_null_reason <> 'concurrent')`},
	} {
		if got := db.text(t, c.sql); got != "" {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
	if got := db.text(t, "select count(*) > 500, count(energy_j) > 400, count(distinct window_kind) from energy"); got != "true true 6\n" {
		t.Errorf("the session has too little of energy: %s", got)
	}
}
