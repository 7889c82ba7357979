package analyze

import "tokwatt/power"

// Energy is what a batch used in the widest scope there is, and what sensors
// tell of it. Figures that are not known are nil, and NullReason says why J is.
type Energy struct {
	J, LowJ, HighJ *float64 // joules, with the bounds between which the truth is
	PartialJ       *float64 // of the nodes that have a sensor, where not all have one
	NetJ           *float64 // J less idle power over the time; may be negative
	PrefillJ       *float64 // until the first output
	MeanW          *float64
	Coverage       string // "2/3": nodes with a sensor of all nodes
	NullReason     string
	Scope          string // "system", "package", "soc", "gpu"
	Source         string
	Samples        *int64 // readings in the batch's time, of the node with the fewest
	Indicative     bool   // the bounds are none: power was read at instants

	ComponentAboveSystem bool  // what is part of a machine used more than the machine
	Throttled            *bool // the sensors' word; nil: they have none
}

// newEnergy is the energy of a batch as the sum over its nodes has it.
func newEnergy(t power.Total) *Energy {
	e := &Energy{
		J: t.EnergyJ, LowJ: t.LowJ, HighJ: t.HighJ, PartialJ: t.PartialJ, MeanW: t.MeanW,
		Coverage: t.Coverage, NullReason: string(t.Reason),
	}
	if t.EnergyJ != nil || t.PartialJ != nil {
		e.Scope, e.Source, e.Samples, e.Indicative = string(t.Scope), t.Source, &t.Samples, t.Indicative
	}
	return e
}

// fewSamples: with no more readings than these an average says little.
const fewSamples = 2

// few reports whether there were readings, but hardly any.
func (e *Energy) few() bool {
	return e != nil && e.J != nil && e.Samples != nil && *e.Samples <= fewSamples
}

// hot is the sensors' word on throttling, nil where they have none.
func (e *Energy) hot() *bool {
	if e == nil {
		return nil
	}
	return e.Throttled
}

// energyOff is the energy_null_reason of a batch without power measurement.
const energyOff = string(power.ReasonOff)

// noReading is that of a sensor that gave nothing.
const noReading = string(power.ReasonNoReading)

// energy fills the columns of energy: one figure a batch, over the tokens of
// the batch. A ratio is NULL where a part of it is not known.
func (row *BatchRow) energy(e *Energy, sum tokenSums) {
	if e == nil {
		row.EnergyNullReason = energyOff
		return
	}
	row.EnergyJ, row.EnergyLowJ, row.EnergyHighJ = figure(e.J), figure(e.LowJ), figure(e.HighJ)
	row.EnergyPartialJ = figure(e.PartialJ)
	row.EnergyNetJ = finite(e.NetJ)
	row.EnergyCoverage, row.EnergyNullReason = e.Coverage, e.NullReason
	row.AvgPowerW = figure(e.MeanW)
	row.PowerScope, row.PowerSource = e.Scope, e.Source
	if row.EnergyJ != nil {
		row.EnergyIndicative = &e.Indicative
	}
	row.JPerOutputToken = per(row.EnergyJ, sum.output)
	row.JPerTotalToken = per(row.EnergyJ, sum.total())
	row.PrefillJPerPromptToken = per(figure(e.PrefillJ), sum.uncached)
}

// per is j / n, nil where either is not known or n is 0.
func per(j, n *float64) *float64 {
	if j == nil || positive(n) == nil {
		return nil
	}
	return ratio(*j, *n)
}
