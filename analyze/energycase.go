package analyze

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
