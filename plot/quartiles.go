package plot

import (
	"math"
	"slices"
)

// quartiles are those of measurement's rule, type 7: linear between order
// statistics.
func quartiles(values []float64) (lo, hi float64) {
	sorted := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 {
		h := q * float64(len(sorted)-1)
		i := int(math.Floor(h))
		if i+1 == len(sorted) {
			return sorted[i]
		}
		return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
	}
	return at(0.25), at(0.75)
}
