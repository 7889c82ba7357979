package analyze

import (
	"cmp"

	"tokwatt/collect"
	"tokwatt/power"
)

// exoRows are the rows of exo's own figures beside ours: of a batch, and of a
// single stream's request and its phases, as exo splits them.
func exoRows(base EnergyRow, c *Context, b *collect.Batch) []EnergyRow {
	if c.Target.Driver != "exo" {
		return nil
	}
	u := longestUsage(b)
	if u == nil {
		return nil
	}
	names := exoNames(c.Target.Cluster)
	at := power.Window{Rule: power.RuleExoServer, Source: "exo", Scope: power.ScopeSystem, From: b.StartNS, To: b.EndNS}
	rows := u.rows(base, at, c.Target, names, exoNode.wholeJ)
	if c.Case.Concurrency != 1 || len(b.Requests) != 1 {
		return rows
	}
	r := &b.Requests[0]
	base.RequestID, at.From, at.To = &r.RequestID, r.StartNS, r.EndNS
	base.WindowKind = WindowRequest
	rows = append(rows, u.rows(base, at, c.Target, names, exoNode.wholeJ)...)
	base.WindowKind = WindowPrefill
	rows = append(rows, u.rows(base, at, c.Target, names, exoNode.prefillJ)...)
	base.WindowKind = WindowGeneration
	return append(rows, u.rows(base, at, c.Target, names, exoNode.generationJ)...)
}

func (n exoNode) wholeJ(elapsed float64) *float64 {
	if positive(n.AvgW) == nil {
		return nil
	}
	return positive(ptr(*n.AvgW * elapsed))
}

func (n exoNode) prefillJ(float64) *float64    { return positive(n.PrefillJ) }
func (n exoNode) generationJ(float64) *float64 { return positive(n.GenJ) }

// rows are those of one window: for each of the placement's nodes, and their
// sum. exo says when neither its phases begin nor how its samples lie, so the
// row has the window of the request, and no bounds.
func (u *exoUsage) rows(base EnergyRow, at power.Window, t *collect.TargetInfo, names map[string]string, joules func(exoNode, float64) *float64) []EnergyRow {
	own := u.own(t)
	var windows []power.Window
	var nodes []string
	for _, n := range own {
		w := at
		w.Node, w.EnergyJ, w.Indicative = cmp.Or(names[n.ID], n.ID), joules(n, u.Elapsed), true
		w.Reason = power.ReasonNoReading
		if w.EnergyJ != nil {
			w.Reason = ""
		}
		if base.WindowKind != WindowPrefill && base.WindowKind != WindowGeneration {
			w.MeanW = positive(n.AvgW)
		}
		if s := count(n.Samples); s != nil {
			w.Samples = *s
		}
		windows, nodes = append(windows, w), append(nodes, w.Node)
	}
	for len(nodes) < len(t.Nodes) {
		nodes = append(nodes, "") // one that exo does not speak of
	}
	total := power.Sum(windows, nodes)
	if base.WindowKind == WindowBatch || base.WindowKind == WindowRequest {
		u.totalled(&total, len(own))
	}
	total.From, total.To, total.Rule, total.Node, total.Source, total.Scope = at.From, at.To, at.Rule, power.AllNodes, at.Source, at.Scope
	return append(base.channels(windows, nodes), base.sum(total))
}

// totalled takes exo's own total where that is of the same nodes.
func (u *exoUsage) totalled(t *power.Total, nodes int) {
	if t.EnergyJ != nil && nodes == len(u.Nodes) && u.TotalJ > 0 {
		t.EnergyJ = positive(&u.TotalJ)
	}
}
