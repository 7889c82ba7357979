package analyze_test

import (
	"iter"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

// recorded is a session of at least the given number of requests, 20 chunks
// each, made beforehand: what is measured is the export alone.
func recorded(requests int) iter.Seq2[collect.Record, error] {
	const perRepeat = 3 * 3 * (1 + 4) // targets × pp × streams
	var recs []collect.Record
	for rec := range analyzetest.Records(analyzetest.Options{Repeats: requests / perRepeat, Tokens: 18}) {
		recs = append(recs, rec)
	}
	return func(yield func(collect.Record, error) bool) {
		for _, rec := range recs {
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// BenchmarkExport is the whole way from records to files: rows derived, all
// tables written.
func BenchmarkExport(b *testing.B) {
	recs := recorded(50_000)
	var requests, chunks int64
	b.ReportAllocs()
	for b.Loop() {
		done, err := analyze.Export(b.Context(), recs, b.TempDir(), analyze.ExportOptions{})
		if err != nil {
			b.Fatal(err)
		}
		requests += done.Rows["requests"]
		chunks += done.Rows["chunks"]
	}
	b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(float64(chunks)/b.Elapsed().Seconds(), "chunks/s")
}

// BenchmarkExportSmall is the session of a usual run, of 315 requests.
func BenchmarkExportSmall(b *testing.B) {
	recs := recorded(315)
	root := b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := analyze.Export(b.Context(), recs, root, analyze.ExportOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExportMillion is a session of 1 M requests and 20 M chunks, made as
// it is written, so its figures include the making. Run it with -benchtime 1x
// and look at the peak memory of the process.
func BenchmarkExportMillion(b *testing.B) {
	if testing.Short() {
		b.Skip("takes a minute")
	}
	for b.Loop() {
		o := analyzetest.Options{Repeats: 22_222, Tokens: 18}
		done, err := analyze.Export(b.Context(), analyzetest.Records(o), b.TempDir(), analyze.ExportOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(done.Rows["requests"])/b.Elapsed().Seconds(), "requests/s")
		b.ReportMetric(float64(done.Rows["chunks"])/b.Elapsed().Seconds(), "chunks/s")
	}
}

// BenchmarkDerive is the formulas alone, 20 chunks a request.
func BenchmarkDerive(b *testing.B) {
	var batches []*collect.Batch
	var ctx analyze.Context
	for rec := range analyzetest.Records(analyzetest.Options{Targets: 1, PP: []int64{512}, Concurrency: []int64{4}, Repeats: 100, Tokens: 18}) {
		switch rec := rec.(type) {
		case *collect.TargetInfo:
			ctx.Target = rec
		case *collect.Case:
			ctx.Case = rec
		case *collect.Batch:
			batches = append(batches, rec)
		}
	}
	requests := 0
	b.ReportAllocs()
	for b.Loop() {
		for _, batch := range batches {
			_, rows := analyze.Derive(ctx, batch, nil)
			requests += len(rows)
		}
	}
	b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "requests/s")
}
