package exchange

import (
	"cmp"
	"encoding/json"
	"math"
	"net/url"
	"unicode/utf8"

	"tokwatt/collect"
)

// guidellmBatch collects the requests of a benchmark.
type guidellmBatch struct {
	g        *guidellmReader
	bench    int // -1: none yet
	placed   bool
	window   guidellmWindow // of bench
	warmup   collect.Batch  // what is outside of the window
	measured collect.Batch
}

// guidellmWindow is when a benchmark was measured, in seconds since 1970; nil:
// from its beginning, or to its end. The file lists the requests of its warm-up
// and of its cool-down with the others, and leaves them out of its averages.
type guidellmWindow struct{ from, to *float64 }

func (g *guidellmReader) window(bench int) guidellmWindow {
	m := g.heads[bench].object("scheduler_metrics")
	return guidellmWindow{m.number("measure_start_time"), m.number("measure_end_time")}
}

// leavesOut reports whether a request ended before the window or began behind it.
func (w guidellmWindow) leavesOut(start, end *float64) bool {
	return w.from != nil && end != nil && *end < *w.from || w.to != nil && start != nil && *start > *w.to
}

// take is the second pass over a request.
func (b *guidellmBatch) take(n int, group string, i int, raw json.RawMessage) {
	at := where("benchmarks[%d].requests.%s[%d]", n, group, i)
	row, err := parseObject(raw)
	if err != nil {
		b.g.out.bad(at, "%v", err)
		return
	}
	start := guidellmStart(row)
	if n != b.bench {
		b.flush()
		b.bench, b.window = n, b.g.window(n)
	}
	if placed := start != nil; placed != b.placed {
		b.flush()
		b.placed = placed
	}
	q, err := b.g.request(row, group, start)
	if err != nil {
		b.g.out.bad(at, "%v", err)
		return
	}
	to := &b.measured
	if b.window.leavesOut(start, guidellmEnd(row)) {
		to = &b.warmup
	}
	q.ConcurrentIndex = int64(len(to.Requests))
	if to.Requests = append(to.Requests, q); len(to.Requests) == maxBatch {
		b.flush()
	}
}

// flush hands out what is in hand.
func (b *guidellmBatch) flush() {
	b.warmup.Warmup = true
	for _, batch := range []collect.Batch{b.warmup, b.measured} {
		if len(batch.Requests) > 0 {
			b.g.out.batch(b.g.caseOf(b.bench), b.placed, batch)
		}
	}
	b.warmup, b.measured = collect.Batch{}, collect.Batch{}
}

// guidellmStart is when a request was sent, in seconds since 1970.
func guidellmStart(row object) *float64 {
	x := row.number("request_start_time", "start_time")
	if x == nil {
		x = row.object("info").object("timings").number("request_start", "resolve_start")
	}
	if x == nil || *x <= 0 {
		return nil
	}
	return x
}

// guidellmEnd is when a request ended, in seconds since 1970.
func guidellmEnd(row object) *float64 {
	x := row.number("request_end_time", "end_time")
	if x == nil {
		x = row.object("info").object("timings").number("request_end", "resolve_end")
	}
	return x
}

// request is one request of a group. start may be nil: then the file has no
// times of day.
func (g *guidellmReader) request(row object, group string, start *float64) (collect.Request, error) {
	q := collect.Request{Stated: &collect.Stated{Sent: start != nil}}
	if err := cmp.Or(row.refuseCounts("prompt_tokens", "output_tokens", "cached_tokens"), row.refuseTimes("time_to_first_token_ms", "request_latency", "inter_token_latency_ms")); err != nil {
		return q, err
	}
	q.Report = collect.Report{
		JSON:         row.without("prompt", "output", "reasoning_output", "request_args"),
		PromptTokens: row.count("prompt_tokens"), CompletionTokens: row.count("output_tokens"), CachedTokens: row.count("cached_tokens"),
	}
	text := row.text("output")
	q.Preview, q.OutputChars = firstRunes(text, 200), int64(utf8.RuneCountInString(text)+utf8.RuneCountInString(row.text("reasoning_output")))
	if start != nil {
		q.StartNS = toNS(*start - g.from)
		q.EndNS = q.StartNS
		if end := guidellmEnd(row); end != nil && *end > *start {
			q.EndNS = toNS(*end - g.from)
		}
	}
	if ttft := row.number("time_to_first_token_ms"); ttft != nil && *ttft > 0 {
		q.Streamed = true
		q.Stated.FirstOutputNS = ptrNS(*ttft * 1e6)
		q.Stated.LastOutputNS = guidellmLast(row, start, *ttft)
	} else if latency := row.number("request_latency"); latency != nil && start == nil && group == "successful" {
		ms := *latency * 1e3
		q.Stated.TotalDurationMS = &ms
	}
	if q.Failure = guidellmFailure(row, group); q.Failure != nil && !q.Streamed {
		q.Report.CompletionTokens = nil
	}
	return q, nil
}

// guidellmLast is when the last output came, in ns from the start: as stamped,
// else by the mean gap of n − 1, else by the latency.
func guidellmLast(row object, start *float64, ttft float64) *int64 {
	last := row.number("last_token_time")
	if last == nil {
		last = row.object("info").object("timings").number("last_token_iteration", "last_iteration")
	}
	if last != nil && start != nil {
		return ptrNS(math.Max((*last-*start)*1e9, ttft*1e6))
	}
	if gap, n := row.number("inter_token_latency_ms"), row.count("output_tokens"); gap != nil && n != nil && *n > 0 {
		return ptrNS((ttft + *gap*float64(*n-1)) * 1e6)
	}
	if latency := row.number("request_latency"); latency != nil {
		return ptrNS(*latency * 1e9)
	}
	return nil
}

// guidellmFailure is why a request of a group failed. One that was under way
// when the benchmark ended is incomplete.
func guidellmFailure(row object, group string) *collect.Failure {
	info := row.object("info")
	message := row.text("error")
	if message == "" {
		message = info.text("error")
	}
	switch {
	case group == "incomplete":
		if message == "" {
			message = "the benchmark ended before the answer was complete"
		}
		return collect.Failf(collect.ErrCancelled, "%s", message)
	case group == "errored" || message != "":
		if message == "" {
			return collect.Failf(collect.ErrServer, "the file says no more than that it failed")
		}
		return collect.Failf(failureKind(message), "%s", message)
	}
	return nil
}

// endpoint is a URL without what may be secret in it.
func endpoint(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func toNS(seconds float64) int64 {
	return deref(nanos(&seconds))
}

func ptrNS(ns float64) *int64 {
	s := ns / 1e9
	return nanos(&s)
}
