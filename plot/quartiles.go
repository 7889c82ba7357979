package plot

import "tokwatt/analyze"

// quartiles of values, of which there is one at least, all finite.
func quartiles(values []float64) (lo, hi float64) {
	s, _ := analyze.NewSample(values)
	return *s.Quantile(0.25), *s.Quantile(0.75)
}
