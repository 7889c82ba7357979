package analyze

// Energy is what a batch used in the widest scope there is. Figures that are
// not known are nil, and NullReason says why J is.
type Energy struct {
	J, LowJ, HighJ *float64 // joules, with the bounds between which the truth is
	PartialJ       *float64 // of the nodes that have a sensor, where not all have one
	PrefillJ       *float64 // until the first output
	MeanW          *float64
	Coverage       string // "2/3": nodes with a sensor of all nodes
	NullReason     string
	Scope          string // "system", "package", "soc", "gpu"
	Source         string
	Samples        *int64 // readings in the batch's time, of the node with the fewest
}

// fewSamples: with no more readings than these an average says little.
const fewSamples = 2

// few reports whether there were readings, but hardly any.
func (e *Energy) few() bool {
	return e != nil && e.J != nil && e.Samples != nil && *e.Samples <= fewSamples
}

// energyOff is the energy_null_reason of a batch without power measurement.
const energyOff = "off"

// noReading is that of a sensor that gave nothing.
const noReading = "no_reading"

// energy fills the columns of energy: one figure a batch, over the tokens of
// the batch. A ratio is NULL where a part of it is not known.
func (row *BatchRow) energy(e *Energy, sum tokenSums) {
	if e == nil {
		row.EnergyNullReason = energyOff
		return
	}
	row.EnergyJ, row.EnergyLowJ, row.EnergyHighJ = figure(e.J), figure(e.LowJ), figure(e.HighJ)
	row.EnergyPartialJ = figure(e.PartialJ)
	row.EnergyCoverage, row.EnergyNullReason = e.Coverage, e.NullReason
	row.AvgPowerW = figure(e.MeanW)
	row.PowerScope, row.PowerSource = e.Scope, e.Source
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
