package duck

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"tokwatt/analyze"
)

// PowerSession reads one session, by its whole id, as its sensors saw it. A
// session that is not there has no segments.
func (db *DB) PowerSession(ctx context.Context, id string) (analyze.PowerSession, error) {
	s := analyze.PowerSession{SessionID: id}
	where, err := db.ofSessions(ctx, []string{id})
	if err != nil || where == "" {
		return s, err
	}
	for _, read := range []func(context.Context, *analyze.PowerSession, string) error{
		db.powerSegments, db.powerTargets, db.powerBatches, db.powerIdle, db.powerTraces,
	} {
		if err := read(ctx, &s, where); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (db *DB) powerSegments(ctx context.Context, s *analyze.PowerSession, where string) error {
	var bad error
	err := db.each(ctx, func(row []any) {
		r := record{row: row}
		s.Host = r.text()
		segment := analyze.PowerSegment{Segment: r.integer()}
		segment.StartedAt, _ = r.value().(time.Time)
		var err error
		segment.Channels, err = analyze.NewPowerChannels(s.Host, segment.Segment, r.text())
		bad = cmp.Or(bad, err)
		s.Segments = append(s.Segments, segment)
	}, "select host, segment, started_at, sensors_json from segments where "+where+" order by segment")
	return cmp.Or(err, bad)
}

func (db *DB) powerTargets(ctx context.Context, s *analyze.PowerSession, where string) error {
	return db.each(ctx, func(row []any) {
		r := record{row: row}
		s.Targets = append(s.Targets, analyze.PowerTarget{TargetID: r.integer(), Engine: r.text(), EngineVersion: r.text(), ModelID: r.text(), Quantization: r.text()})
	}, "select target_id, engine, engine_version, model_id, model_quantization from targets where "+where+" order by target_id")
}

// powerBatches are the batches with the first outputs of their first and their
// last stream, where the client saw one of every stream.
func (db *DB) powerBatches(ctx context.Context, s *analyze.PowerSession, where string) error {
	return db.each(ctx, func(row []any) {
		r := record{row: row}
		b := analyze.PowerBatch{Segment: r.integer(), TargetID: r.integer(), CaseID: r.integer(), BatchID: r.integer(),
			StartNS: r.integer(), EndNS: r.integer()}
		b.Warmup, _ = r.value().(bool)
		b.PP, b.TG, b.Concurrency = r.optInteger(), r.integer(), r.integer()
		b.FirstNS, b.LastNS = r.optInteger(), r.optInteger()
		s.Batches = append(s.Batches, b)
	}, `select b.segment, c.target_id, b.case_id, b.batch_id, b.start_ns, b.end_ns, b.warmup, c.pp, c.tg, c.concurrency,
		case when o.known = b.requests then o.first_ns end, case when o.known = b.requests then o.last_ns end
		from (select * from batches where `+where+`) b
		join cases c on c.host = b.host and c.date = b.date and c.session_id = b.session_id and c.case_id = b.case_id
		left join (
			select host, date, session_id, batch_id, count(ttft_client_ms) as known,
			       min(start_ns + cast(round(ttft_client_ms * 1e6) as bigint)) as first_ns,
			       max(start_ns + cast(round(ttft_client_ms * 1e6) as bigint)) as last_ns
			from requests where `+where+`
			group by host, date, session_id, batch_id
		) o on o.host = b.host and o.date = b.date and o.session_id = b.session_id and o.batch_id = b.batch_id
		order by b.segment, b.start_ns, b.batch_id`)
}

func (db *DB) powerIdle(ctx context.Context, s *analyze.PowerSession, where string) error {
	return db.each(ctx, func(row []any) {
		r := record{row: row}
		s.Idle = append(s.Idle, analyze.PowerIdle{Segment: r.integer(), TargetID: r.integer(), StartNS: r.integer(), EndNS: r.integer()})
	}, "select distinct segment, target_id, start_ns, end_ns from energy where window_kind = 'idle' and "+where+
		" order by segment, start_ns, target_id")
}

// powerTraces makes a trace of each channel's readings as soon as they are
// read, so that those of one channel alone are in memory. Of two readings with
// one stamp either may count: rows have no order that tells the later one.
func (db *DB) powerTraces(ctx context.Context, s *analyze.PowerSession, where string) error {
	var now analyze.PowerTrace
	var metric string
	var readings []analyze.PowerReading
	finish := func() {
		if i := slices.IndexFunc(s.Segments, func(of analyze.PowerSegment) bool { return of.Segment == now.Segment }); i >= 0 {
			now.Channel = s.Segments[i].Channels.Of(now, metric)
		}
		if t := analyze.NewPowerTrace(now, metric, readings); t != nil && len(readings) > 0 {
			s.Traces = append(s.Traces, *t)
		}
		readings = readings[:0]
	}
	err := db.each(ctx, func(row []any) {
		r := record{row: row}
		t := analyze.PowerTrace{Segment: r.integer(), Node: r.text(), Source: r.text(), Scope: r.text()}
		m := r.text()
		if t.Segment != now.Segment || t.Node != now.Node || t.Source != now.Source || t.Scope != now.Scope || m != metric {
			finish()
			now, metric = t, m
		}
		reading := analyze.PowerReading{StartNS: r.optInteger(), EndNS: r.integer(), Value: math.NaN()}
		if v := r.double(); v != nil {
			reading.Value = *v
		}
		readings = append(readings, reading)
	}, `select segment, coalesce(node, host), source, scope, metric, start_ns, end_ns, value
		from samples where metric in ('energy', 'power') and `+where+
		" order by segment, coalesce(node, host), source, scope, metric, end_ns, start_ns nulls first")
	finish()
	return err
}
