package store

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"tokwatt/collect"
)

func ptr[T any](v T) *T { return &v }

// typicalBatch is a batch as a streaming server gives it.
func typicalBatch(id int64, requests, chunks int) *collect.Batch {
	b := &collect.Batch{
		CaseID: 1 + id%7, BatchID: id, Segment: 1, StartNS: id * 3e9, EndNS: id*3e9 + 2e9,
		RepeatIndex: id % 6, ClientCPUPct: ptr(3.25), WakeupP99NS: ptr(int64(81_000)),
	}
	for i := range requests {
		r := collect.Request{
			RequestID: id*1000 + int64(i), ConcurrentIndex: int64(i),
			StartNS: b.StartNS + int64(i)*1000, EndNS: b.EndNS - int64(i)*1000,
			PPTokens: ptr(int64(512)), HTTPStatus: ptr(int64(200)), Streamed: true, OutputChars: int64(4 * chunks),
			Preview: "The quick brown fox jumps over the lazy dog, again and again and again and again and again.",
			Report: collect.Report{
				Source: collect.ReportServer, Model: "SmolLM2-135M-Instruct", FinishReason: "length",
				PromptTokens: ptr(int64(512)), CompletionTokens: ptr(int64(chunks)), CachedTokens: ptr(int64(0)),
				PromptTPS: ptr(812.375), GenerationTPS: ptr(97.25), GenerationRule: collect.RateIntervals,
				JSON: `{"prompt_tokens":512,"completion_tokens":128,"total_tokens":640,"prompt_tokens_details":{"cached_tokens":0}}`,
			},
		}
		r.Chunks = make([]collect.Chunk, chunks)
		t := int64(50_123_457)
		for j := range r.Chunks {
			t += 10_000_000 + int64((j*7919+i*104729)%400_000)
			r.Chunks[j] = collect.Chunk{T: t, Bytes: int32(230 + (j*31)%9), Tokens: collect.TokensUnknown, Kind: collect.KindContent}
		}
		if chunks > 2 {
			r.Chunks[0].Kind = collect.KindRole
			r.Chunks[chunks-1].Kind = collect.KindUsage
		}
		b.Requests = append(b.Requests, r)
	}
	return b
}

// renumber makes a batch the next one of its session.
func renumber(b *collect.Batch) {
	b.BatchID++
	for i := range b.Requests {
		b.Requests[i].RequestID += 1000
	}
}

func typicalSession(id string) *collect.Session {
	return &collect.Session{ID: id, StartedAt: time.Unix(1.8e9, 0).UTC(), Profile: "default", Options: `{"pp":[512],"tg":[128]}`,
		Host: collect.Host{Name: "bench", Chip: "chip", CPUCores: ptr(int64(8)), RAMBytes: ptr(int64(64 << 30)), OSName: "Linux"}}
}

// BenchmarkPut is the latency of a commit: 8 requests of 128 chunks.
func BenchmarkPut(b *testing.B) {
	s, id := temp(b), newID(b)
	put(b, s, id, typicalSession(id))
	batch := typicalBatch(1, 8, 128)
	for b.Loop() {
		put(b, s, id, batch)
		renumber(batch)
	}
}

// BenchmarkPutBesideReader is the same while somebody reads a large session
// of the store without a pause.
func BenchmarkPutBesideReader(b *testing.B) {
	s, id := temp(b), newID(b)
	put(b, s, id, typicalSession(id))
	large := fill(b, s, 4000, 8, 128)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan int)
	go func() {
		passes := 0
		for ; ctx.Err() == nil; passes++ {
			for range s.Records(ctx, large) {
			}
		}
		done <- passes
	}()
	batch := typicalBatch(1, 8, 128)
	var slowest time.Duration
	for b.Loop() {
		start := time.Now()
		put(b, s, id, batch)
		slowest = max(slowest, time.Since(start))
		renumber(batch)
	}
	cancel()
	b.ReportMetric(float64(<-done), "passes")
	b.ReportMetric(float64(slowest.Milliseconds()), "ms-slowest")
}

// BenchmarkRecords reads a session through: requests and chunks a second.
func BenchmarkRecords(b *testing.B) {
	for _, shape := range []struct{ batches, requests, chunks int }{{400, 8, 128}, {2000, 8, 20}, {2000, 8, 0}, {16000, 1, 20}} {
		b.Run(fmt.Sprintf("%dx%dx%d", shape.batches, shape.requests, shape.chunks), func(b *testing.B) {
			s := temp(b)
			id := fill(b, s, shape.batches, shape.requests, shape.chunks)
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for rec, err := range s.Records(b.Context(), id) {
					if err != nil {
						b.Fatal(err)
					}
					if batch, ok := rec.(*collect.Batch); ok {
						n += len(batch.Requests)
					}
				}
				if n != shape.batches*shape.requests {
					b.Fatalf("%d requests", n)
				}
			}
			requests := float64(shape.batches*shape.requests) * float64(b.N)
			b.ReportMetric(requests/b.Elapsed().Seconds(), "requests/s")
			b.ReportMetric(requests*float64(shape.chunks)/b.Elapsed().Seconds(), "chunks/s")
			info, err := os.Stat(s.Path())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(info.Size())/float64(shape.batches*shape.requests), "bytes/request")
		})
	}
}

// fill makes a session of many batches in a few commits.
func fill(tb testing.TB, s *Store, batches, requests, chunks int) string {
	tb.Helper()
	id := newID(tb)
	recs := []collect.Record{typicalSession(id)}
	for i := range batches {
		recs = append(recs, typicalBatch(int64(i+1), requests, chunks))
		if len(recs) == 500 || i == batches-1 {
			if err := s.PutAll(tb.Context(), id, recs); err != nil {
				tb.Fatal(err)
			}
			recs = recs[:0]
		}
	}
	return id
}

func BenchmarkUnpackChunks(b *testing.B) {
	p := packChunks(typicalBatch(1, 1, 1000).Requests[0].Chunks)
	b.ReportMetric(float64(len(p))/1000, "bytes/chunk")
	for b.Loop() {
		if _, err := unpackChunks(p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
}

// BenchmarkMillion is the size that the store must bear: 1 M requests with
// 20 M chunks. It takes a gigabyte of disk and a minute, so it runs with
// -exhaustive alone.
func BenchmarkMillion(b *testing.B) {
	if !*exhaustive {
		b.Skip("runs with -exhaustive")
	}
	s := temp(b)
	start := time.Now()
	id := fill(b, s, 125_000, 8, 20)
	b.ReportMetric(1e6/time.Since(start).Seconds(), "stored/s")
	for b.Loop() {
		requests := 0
		for rec, err := range s.Records(b.Context(), id) {
			if err != nil {
				b.Fatal(err)
			}
			if batch, ok := rec.(*collect.Batch); ok {
				requests += len(batch.Requests)
			}
		}
		if requests != 1_000_000 {
			b.Fatalf("%d requests", requests)
		}
	}
	read := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(1e6/read, "requests/s")
	b.ReportMetric(20e6/read, "chunks/s")
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ReportMetric(float64(before.Sys)/(1<<20), "MiB-from-OS")
	info, err := os.Stat(s.Path())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/1e6, "bytes/request")
	start = time.Now()
	if _, err := s.Sessions(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(start).Microseconds()), "µs/list")
	start = time.Now()
	put(b, s, id, typicalBatch(125_001, 8, 128))
	b.ReportMetric(float64(time.Since(start).Microseconds()), "µs/put")
	start = time.Now()
	if r, err := s.Check(b.Context()); err != nil || !r.OK() {
		b.Fatal(err, r.Problems)
	}
	b.ReportMetric(time.Since(start).Seconds(), "s/check")
	start = time.Now()
	if err := s.Compact(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(start).Seconds(), "s/compact")
}
