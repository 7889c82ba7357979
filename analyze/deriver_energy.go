package analyze

import (
	"cmp"

	"tokwatt/analyze/meter"
	"tokwatt/collect"
	"tokwatt/power"
)

// targetEnergy is what a target's own windows are known to have used.
type targetEnergy struct {
	span    *meter.Span   // in the running segment; nil: none yet
	totals  []power.Total // of the segments
	idle    idlePower
	idleW   *float64 // of the sum, in idleOf
	idleOf  power.Scope
	segment int64
}

// grow has the target's window reach over a batch.
func (t *targetEnergy) grow(m *meter.Meter, b *collect.Batch) {
	if t.span == nil {
		t.span = m.Begin(b.StartNS)
		t.segment = b.Segment
	}
	t.span.To = max(t.span.To, b.EndNS)
}

// derive makes the rows of a batch, or those of a quiet window.
func (d *Deriver) derive(w waiting) Derived {
	if w.batch == nil {
		return Derived{Energy: d.idle(w)}
	}
	b, c := w.batch, Context{SessionID: d.session, Target: w.target, Case: w.case_}
	nodes := d.nodes(w.target)
	rows, e := d.batchEnergy(&c, b, nodes)
	row, requests := Derive(c, b, e)
	if hot := d.heat.judge(d.meter, nodes, b, &row, requests); hot != nil {
		if e == nil {
			e = cmp.Or(ExoEnergy(c, b), &Energy{NullReason: energyOff})
		}
		e.Throttled = hot
		row, requests = Derive(c, b, e)
	}
	return Derived{Batch: b, Row: row, Requests: requests, Energy: rows}
}

// batchEnergy is the energy of a batch and the rows of its windows. Where none
// of its nodes has a sensor, exo's own figure stands in if there is one; nil is
// that of a session that wanted no sensors.
func (d *Deriver) batchEnergy(c *Context, b *collect.Batch, nodes []string) ([]EnergyRow, *Energy) {
	base := EnergyRow{SessionID: d.session, TargetID: c.Target.TargetID, BatchID: &b.BatchID, WindowKind: WindowBatch, Segment: b.Segment}
	server := exoRows(base, c, b)
	if !d.meter.Sensed() || len(nodes) == 0 {
		return server, nil
	}
	rows, windows, total := d.window(base, nodes, b.StartNS, b.EndNS)
	e := newEnergy(total)
	e.NetJ = d.of(c.Target.TargetID).idle.totalNet(total)
	e.ComponentAboveSystem = above(windows, nodes)
	phases, prefill := d.phases(base, c, b, nodes)
	e.PrefillJ = prefill
	if exo := ExoEnergy(*c, b); exo != nil && total.Scope == "" && (exo.J != nil || exo.PartialJ != nil) {
		e = exo
	}
	return append(append(rows, phases...), server...), e
}

// window makes the rows of a window by all rules of our own.
func (d *Deriver) window(base EnergyRow, nodes []string, from, to int64) (rows []EnergyRow, windows []power.Window, total power.Total) {
	windows, read := d.meter.Windows(from, to)
	total = power.Sum(windows, nodes)
	if len(windows) == 0 {
		total.Reason = power.ReasonNoChannel
		total.From, total.To, total.Rule = from, to, power.RuleCurve
	}
	shown := windows
	if base.RequestID != nil {
		shown = windows[:read] // why the others gave nothing stands beside the batch
	}
	rows = append(base.channels(shown, nodes), base.sum(total))
	if base.BatchID != nil {
		if client := d.meter.ExoClient(from, to); len(client) > 0 {
			rows = append(append(rows, base.channels(client, nodes)...), base.sum(power.Sum(client, nodes)))
		}
	}
	d.of(base.TargetID).idle.net(rows)
	return rows, windows, total
}

// phases are the windows of the request of a single stream, and its energy
// until the first output. Streams that run together share the power, so that
// of one of them is not known.
func (d *Deriver) phases(base EnergyRow, c *Context, b *collect.Batch, nodes []string) (rows []EnergyRow, prefill *float64) {
	if c.Case.Concurrency != 1 || len(b.Requests) != 1 {
		for _, kind := range []WindowKind{WindowPrefill, WindowGeneration} {
			base.WindowKind = kind
			w := power.Unknown(b.StartNS, b.EndNS, power.ReasonConcurrent)
			w.Node = power.AllNodes
			rows = append(rows, base.of(w))
		}
		return rows, nil
	}
	r := &b.Requests[0]
	base.RequestID = &r.RequestID
	add := func(kind WindowKind, from, to int64) power.Total {
		base.WindowKind = kind
		more, _, total := d.window(base, nodes, from, to)
		rows = append(rows, more...)
		return total
	}
	add(WindowRequest, r.StartNS, r.EndNS)
	if at, ok := firstOutput(r); ok {
		prefill = add(WindowPrefill, r.StartNS, at).EnergyJ
		add(WindowGeneration, at, r.EndNS)
	}
	return rows, prefill
}

// above reports whether parts of a node are said to use more than the node.
func above(windows []power.Window, nodes []string) bool {
	for _, node := range nodes {
		var own []power.Window
		for _, w := range windows {
			if w.Node == node {
				own = append(own, w)
			}
		}
		if power.ComponentAboveSystem(own) {
			return true
		}
	}
	return false
}

// idle takes note of what a target drew before its first request.
func (d *Deriver) idle(w waiting) []EnergyRow {
	t := d.of(w.target.TargetID)
	nodes := d.nodes(w.target)
	if !d.meter.Sensed() || len(nodes) == 0 {
		return nil
	}
	base := EnergyRow{SessionID: d.session, TargetID: w.target.TargetID, WindowKind: WindowIdle, Segment: d.segment}
	rows, _, total := d.window(base, nodes, w.from, w.to)
	t.idle = idlePower{}
	for i := range rows {
		t.idle[idleKey{rows[i].Node, rows[i].Source, rows[i].Scope}] = rows[i].MeanW
		rows[i].NetJ = nil
	}
	if total.MeanW != nil {
		t.idleW, t.idleOf = total.MeanW, total.Scope
	}
	return rows
}

// endTarget makes the rows of a target's own window in the segment.
func (d *Deriver) endTarget(id int64) []EnergyRow {
	t := d.energy[id]
	if t.span == nil {
		return nil
	}
	span := t.span
	t.span = nil
	windows := d.meter.End(span)
	nodes := d.nodes(d.targets[id])
	if len(windows) == 0 || len(nodes) == 0 {
		return nil
	}
	base := EnergyRow{SessionID: d.session, TargetID: id, WindowKind: WindowTarget, Segment: t.segment}
	total := power.Sum(windows, nodes)
	rows := append(base.channels(windows, nodes), base.sum(total))
	t.idle.net(rows)
	t.totals = append(t.totals, total)
	return rows
}

// TargetPower is the mean power of a target over its own windows, those of all
// segments, the scope that it is of, and what the target drew in that scope
// before its first request. It is complete when the session is.
func (d *Deriver) TargetPower(id int64) (watts *float64, scope string, idle *float64) {
	t := d.energy[id]
	if t == nil || len(t.totals) == 0 {
		return nil, "", nil
	}
	first := t.totals[0].Scope
	joules, seconds := 0.0, 0.0
	for _, total := range t.totals {
		if total.EnergyJ == nil || total.Scope != first {
			return nil, "", nil
		}
		joules += *total.EnergyJ
		seconds += since(total.To, total.From) / 1e9
	}
	if t.idleOf == first {
		idle = figure(t.idleW)
	}
	return figure(ratio(joules, seconds)), string(first), idle
}
