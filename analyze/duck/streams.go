package duck

import (
	"context"
	"fmt"

	"tokwatt/analyze"
)

// StreamFilter says which batch of a session is wanted; 0 is any. Of several
// the batch whose answers have the longest gap between outputs is taken, or
// where no gap is known the first one.
type StreamFilter struct {
	Session                      string // whole id
	Target, Case, Batch, Request int64
}

// Streams reads a batch as its answers arrived, of a wanted request alone. It
// is nil where there is no such batch.
func (db *DB) Streams(ctx context.Context, f StreamFilter) (*analyze.StreamBatch, error) {
	where, err := db.ofSessions(ctx, []string{f.Session})
	if err != nil || where == "" {
		return nil, err
	}
	b, start, err := db.streamBatch(ctx, f, where)
	if err != nil || b == nil {
		return nil, err
	}
	if err := db.streamRequests(ctx, b, start, f.Request, where); err != nil {
		return nil, err
	}
	return b, db.streamArrivals(ctx, b, where)
}

// streamBatch chooses the batch, and says when it started on its segment's
// clock. Warm-ups are taken only where they are asked for by number.
func (db *DB) streamBatch(ctx context.Context, f StreamFilter, where string) (b *analyze.StreamBatch, start int64, err error) {
	chosen := "not b.warmup"
	for _, c := range []struct {
		column string
		value  int64
	}{{"c.target_id", f.Target}, {"b.case_id", f.Case}, {"b.batch_id", f.Batch}, {"r.request_id", f.Request}} {
		if c.value != 0 {
			chosen += fmt.Sprintf(" and %s = %d", c.column, c.value)
		}
	}
	if f.Batch != 0 || f.Request != 0 {
		chosen = "true" + chosen[len("not b.warmup"):]
	}
	err = db.each(ctx, func(row []any) {
		r := record{row: row}
		b = &analyze.StreamBatch{SessionID: f.Session, Engine: r.text(), EngineVersion: r.text(), ModelID: r.text(), Quantization: r.text(),
			CaseID: r.integer(), BatchID: r.integer(), PP: r.optInteger(), TG: r.integer(), Concurrency: r.integer()}
		b.Warmup, _ = r.value().(bool)
		start = r.integer()
		b.Longest = r.double() != nil && f.Batch == 0 && f.Request == 0
	}, `select t.engine, t.engine_version, t.model_id, t.model_quantization, c.case_id, b.batch_id, c.pp, c.tg, c.concurrency, b.warmup, b.start_ns, r.itl_max_ms
		from (select * from batches where `+where+`) b
		join cases c on c.host = b.host and c.date = b.date and c.session_id = b.session_id and c.case_id = b.case_id
		join targets t on t.host = b.host and t.date = b.date and t.session_id = b.session_id and t.target_id = c.target_id
		join (select * from requests where `+where+`) r on r.host = b.host and r.date = b.date and r.session_id = b.session_id and r.batch_id = b.batch_id
		where `+chosen+` order by r.itl_max_ms desc nulls last, b.batch_id limit 1`)
	return b, start, err
}

func (db *DB) streamRequests(ctx context.Context, b *analyze.StreamBatch, start, request int64, where string) error {
	return db.each(ctx, func(row []any) {
		r := record{row: row}
		s := analyze.Stream{RequestID: r.integer(), Index: r.integer(), Status: r.text(), ErrorKind: r.text(),
			StartNS: r.integer() - start, EndNS: r.integer() - start}
		if request == 0 || request == s.RequestID {
			b.Streams = append(b.Streams, s)
		}
	}, fmt.Sprintf(`select request_id, concurrent_index, status, error_kind, start_ns, end_ns from requests
		where batch_id = %d and %s order by concurrent_index, request_id`, b.BatchID, where))
}

// streamArrivals fills the outputs in. Those that bear none, such as reports,
// are no arrivals.
func (db *DB) streamArrivals(ctx context.Context, b *analyze.StreamBatch, where string) error {
	if len(b.Streams) == 0 {
		return nil
	}
	at := map[int64]*analyze.Stream{}
	first, last := b.Streams[0].RequestID, b.Streams[0].RequestID
	for i := range b.Streams {
		s := &b.Streams[i]
		at[s.RequestID] = s
		first, last = min(first, s.RequestID), max(last, s.RequestID)
	}
	return db.each(ctx, func(row []any) {
		r := record{row: row}
		if s := at[r.integer()]; s != nil {
			s.Arrivals = append(s.Arrivals, analyze.Arrival{NS: s.StartNS + r.integer(), Tokens: r.optInteger()})
		}
	}, fmt.Sprintf(`select request_id, t_ns, tokens from chunks
		where kind in ('content', 'reasoning', 'tool') and request_id between %d and %d and %s order by request_id, seq`, first, last, where))
}
