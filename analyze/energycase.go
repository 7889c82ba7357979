package analyze

import "strings"

// EnergyCase is a Summary with the energy of the batches that it is over.
type EnergyCase struct {
	Summary
	Batches []EnergyBatch // in order of time
}

// EnergyBatch is the energy of one batch, and the figures made of it.
type EnergyBatch struct {
	BatchID        int64
	J, LowJ, HighJ *float64
	NullReason     string // why J is nil
	Scope          string
	Indicative     bool // LowJ and HighJ are no bounds
	Counted        bool // somebody counted its tokens
	// Figures are the metrics of source power, by name. Those that hang on a
	// count of tokens are nil where nobody counted.
	Figures map[string]*float64
}

// Bounds are those of one of the batch's Figures, which hold as its energy's do:
// each figure is its energy over what the bounds are over as well. That of
// prefill is another window's, whose bounds are not the batch's: nil.
func (b EnergyBatch) Bounds(metric string) (lo, hi *float64) {
	v := b.Figures[metric]
	if v == nil || b.J == nil || *b.J <= 0 || b.LowJ == nil || b.HighJ == nil || strings.HasPrefix(metric, "prefill") {
		return nil, nil
	}
	return new(*v * *b.LowJ / *b.J), new(*v * *b.HighJ / *b.J)
}
