//go:build cgo

package duck

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

// million is a dataset of 1,000,000 requests: 200 sessions on 10 hosts and 20
// days, 20 cases each, 50 batches a case of 5 streams.
func million(b *testing.B) *fixture {
	f := newFixture(b)
	f.version = analyze.SchemaVersion
	f.exec(`create table s as select i, printf('019bc0de-%%04x-7000-8000-000000000000', i) as session_id, printf('mac-%%d', i %% 10) as host,
		date '2026-01-01' + cast(i // 10 as int) as date from range(200) r(i)`)
	f.exec("insert into sessions (session_id, host, date, started_at) select session_id, host, date, date from s")
	f.exec("insert into targets (session_id, host, date, target_id, engine, model_id) select session_id, host, date, 1, 'mlx_lm', 'demo-8b' from s")
	f.exec(`insert into cases (session_id, host, date, target_id, case_id, pp, tg, concurrency, cache_mode, prompt_kind)
		select session_id, host, date, 1, c, 128 * c, 64, 5, 'cold', 'sized' from s, range(1, 21) r(c)`)
	f.exec(`insert into batches (session_id, host, date, case_id, batch_id, segment, start_ns, warmup, batch_wall_s, agg_wall_tps)
		select session_id, host, date, 1 + k // 50, 1 + k, 1, k, false, 2 + random(), 50 + random() from s, range(1000) r(k)`)
	f.exec(`insert into requests (session_id, host, date, batch_id, request_id, status, flags, tokens_source, prefix_cache_hit,
			in_stats, in_cold_stats, in_prefill_stats, ttft_ms, total_duration_ms, response_ms, elapsed_s, prompt_tps, generation_tps,
			generation_tps_client, tok_per_sec, itl_p50_ms, itl_max_ms)
		select session_id, host, date, 1 + k // 5, 1 + k, 'ok', [], 'server', 'none', true, true, true,
			100 + random(), 2000 + random(), 2001 + random(), 2 + random(), 1000 + random(), 30 + random(), 30 + random(), 30 + random(), 33 + random(), 40 + random()
		from s, range(5000) r(k)`)
	f.exec("set partitioned_write_max_open_files = 1000") // or a day has several files
	f.write()
	for i := range 200 {
		day := fmt.Sprintf("host=mac-%d/date=2026-01-%02d", i%10, 1+i/10)
		for _, table := range []string{"sessions", "targets", "cases", "batches", "requests"} {
			dir := filepath.Join(f.root, "table="+table, day)
			if err := os.Rename(filepath.Join(dir, "data_0.parquet"), filepath.Join(dir, fmt.Sprintf("019bc0de-%04x-7000-8000-000000000000.parquet", i))); err != nil {
				b.Fatal(err)
			}
		}
	}
	return f
}

// BenchmarkMillion asks the dataset of a million requests.
func BenchmarkMillion(b *testing.B) {
	f := million(b)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			db, err := Open(b.Context(), Options{Roots: []string{f.root}})
			if err != nil {
				b.Fatal(err)
			}
			db.Close()
		}
	})
	db := open(b, Options{Roots: []string{f.root}})
	for name, sql := range map[string]string{
		"median": "select model_id, pp, concurrency, median(generation_tps) from runs where in_stats group by all order by all",
		"host":   "select pp, median(ttft_ms) from runs where host = 'mac-3' and date >= '2026-01-15' group by pp",
		"count":  "select count(*) from runs",
	} {
		b.Run(name, func(b *testing.B) { benchmarkQuery(b, db, sql) })
	}
	benchmarkSummary(b, db, f.root)
	b.Run("summary_all", func(b *testing.B) { benchmarkQuery(b, db, "select count(generation_tps_lo) from summary") })
}

// benchmarkSummary asks for the last session, in a session over all of them and
// in one of its own.
func benchmarkSummary(b *testing.B, db *DB, root string) {
	ids, err := db.Sessions(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	last := ids[len(ids)-1:]
	summarize := func(db *DB, f SummaryFilter) {
		if got, err := db.Summaries(b.Context(), f); err != nil || len(got) != 20 {
			b.Fatal(len(got), err)
		}
	}
	b.Run("summary_last", func(b *testing.B) {
		for b.Loop() {
			summarize(db, SummaryFilter{Sessions: last, Points: true})
		}
	})
	b.Run("open_and_summarize_last", func(b *testing.B) {
		for b.Loop() {
			db, err := Open(b.Context(), Options{Roots: []string{root}, Sessions: last})
			if err != nil {
				b.Fatal(err)
			}
			summarize(db, SummaryFilter{Points: true})
			db.Close()
		}
	})
}

func benchmarkQuery(b *testing.B, db *DB, sql string) {
	for b.Loop() {
		rows, err := db.Query(b.Context(), sql)
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range rows.All() {
			if err != nil {
				b.Fatal(err)
			}
		}
		rows.Close()
	}
}

// BenchmarkOpen is what every command that needs SQL pays first.
func BenchmarkOpen(b *testing.B) {
	for _, sessions := range []int{0, 1, 20} {
		root := filepath.Join(b.TempDir(), "dataset")
		o := analyzetest.Options{Targets: 1, Tokens: 5}
		if sessions > 0 {
			export(b, root, slices.Collect(analyzetest.Fleet(1, sessions, o))...)
		}
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			for b.Loop() {
				db, err := Open(b.Context(), Options{Roots: []string{root}})
				if err != nil {
					b.Fatal(err)
				}
				if err := db.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
