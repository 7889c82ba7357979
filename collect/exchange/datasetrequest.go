package exchange

import (
	"cmp"
	"fmt"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// batch is a batch with its requests and their chunks, which stand in the order
// of the batches.
func (d *datasetReader) batch(r row) (*collect.Batch, error) {
	b := &collect.Batch{
		CaseID: r.whole("case_id"), BatchID: r.whole("batch_id"), Segment: r.whole("segment"), StartNS: r.whole("start_ns"), EndNS: r.whole("end_ns"),
		RepeatIndex: r.whole("repeat_index"), Warmup: r.is("warmup"), ClientCPUPct: r.number("client_cpu_pct"), SpeedLimitPct: r.number("speed_limit_pct"),
		WakeupP99NS: r.count("wakeup_p99_ns"), ClockStepNS: r.whole("clock_step_ns"), Throttled: r.truth("host_throttled"),
	}
	c := d.cases[b.CaseID]
	if c == nil || d.targets[c.TargetID] == nil {
		return nil, fmt.Errorf("batch %d is of case %d, which it has not, or whose target it has not", b.BatchID, b.CaseID)
	}
	if !r.has("clock_step_ns") {
		olderBatch(b, r)
	}
	for n := r.whole("requests"); n > 0; n-- {
		if !d.requests.ok || d.requests.whole("batch_id") != b.BatchID {
			return nil, cmp.Or(d.requests.err, fmt.Errorf("batch %d has %d requests fewer than it says", b.BatchID, n))
		}
		req, err := d.request(d.requests.row, c)
		if err == nil {
			err = d.arrivals(&req)
		}
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", req.RequestID, err)
		}
		if !d.requests.has("stated_json") {
			d.olderArrived(d.requests.row, c, &req, r.number("dispatch_spread_us") != nil)
		}
		b.Requests = append(b.Requests, req)
		d.requests.next()
	}
	return b, nil
}

// arrivals takes the chunks of a request.
func (d *datasetReader) arrivals(req *collect.Request) error {
	c := d.chunks
	for c.ok && c.whole("request_id") == req.RequestID {
		chunk := collect.Chunk{T: c.whole("t_ns"), Bytes: int32(c.whole("bytes")), Tokens: collect.TokensUnknown}
		if n := c.count("tokens"); n != nil {
			chunk.Tokens = int32(*n)
		}
		kind, err := kindOf(c.text("kind"))
		if err != nil {
			return err
		}
		chunk.Kind = kind
		req.Chunks = append(req.Chunks, chunk)
		c.next()
	}
	return c.err
}

// kindOf is the kind of a name.
func kindOf(name string) (collect.ChunkKind, error) {
	for k := collect.KindRole; k <= collect.KindReport; k++ {
		if k.String() == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("a chunk is of the unknown kind %q", name)
}

// request is a request without its chunks, as it was recorded.
func (d *datasetReader) request(r row, c *collect.Case) (collect.Request, error) {
	req := collect.Request{
		RequestID: r.whole("request_id"), ConcurrentIndex: r.whole("concurrent_index"), StartNS: r.whole("start_ns"), EndNS: r.whole("end_ns"),
		PPTokens: r.count("pp_tokens"), HTTPStatus: r.count("http_status"), StampSource: collect.StampSource(r.text("stamp_source")),
		Streamed: r.is("streamed"), UncleanEnd: r.flag("unclean_end"), OutputChars: r.whole("output_chars"), Preview: r.text("output_text_preview"),
		Failure: failureOf(r),
	}
	if !r.has("report_json") {
		d.olderRequest(r, c, &req)
		return req, nil
	}
	if n := r.count("recount_tokens"); n != nil {
		req.Recount = &collect.Recount{Tokens: *n, First: r.whole("recount_first_tokens")}
	}
	var err error
	if req.Report, err = analyze.ReportOf(r.text("report_json")); err != nil {
		return req, err
	}
	req.Report.Model, req.Report.FinishReason, req.Report.JSON = r.text("served_model"), r.text("finish_reason"), r.text("server_json")
	req.Stated, err = analyze.StatedOf(r.text("stated_json"))
	return req, err
}

// failureOf is why a request failed. A complete answer without anything is
// found empty anew.
func failureOf(r row) *collect.Failure {
	kind := collect.ErrorKind(r.text("error_kind"))
	if r.text("status") != string(analyze.StatusFailed) || kind == collect.ErrEmpty && r.number("response_ms") != nil {
		return nil
	}
	return &collect.Failure{Kind: kind, Message: r.text("error"), HTTPStatus: r.count("http_status"), RetryAfter: r.number("retry_after_s")}
}
