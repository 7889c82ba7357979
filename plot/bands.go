package plot

import (
	"cmp"
	"slices"

	"tokwatt/analyze"
)

const (
	// tracesWidth is about how wide the data area of traces is, for choices
	// that are made before anything is laid out.
	tracesWidth = 455 // points
	// leastBatch is how wide half of the batches must be for their phases to
	// be seen.
	leastBatch = 2.5 // points
	// leastIdle is the narrowest hatched area that can be seen.
	leastIdle = 2 // points
	// leastGap is the narrowest time between two bands that is not lost.
	leastGap = 0.4 // points
)

// bandsOf are the batches in the window with their phases, and the quiet
// windows. phased is false where the phases are left out because they are too
// short.
func bandsOf(s *analyze.PowerSession, c clock, window stretch) (bands []Band, phased bool) {
	perPoint := window.length() / tracesWidth
	phased = phasesShow(s, c, window, leastBatch*perPoint)
	for _, i := range s.Idle {
		bands = append(bands, Band{From: c.at(i.Segment, i.StartNS), To: c.at(i.Segment, i.EndNS), Kind: BandIdle})
	}
	for _, b := range s.Batches {
		at := func(ns int64) float64 { return c.at(b.Segment, ns) }
		if !phased || b.FirstNS == nil || b.LastNS == nil {
			bands = append(bands, Band{at(b.StartNS), at(b.EndNS), BandBatch, b.Warmup})
			continue
		}
		bands = append(bands,
			Band{at(b.StartNS), at(*b.FirstNS), BandPrefill, b.Warmup},
			Band{at(*b.FirstNS), at(*b.LastNS), BandMixed, b.Warmup},
			Band{at(*b.LastNS), at(b.EndNS), BandGeneration, b.Warmup})
	}
	bands = joined(cropped(bands, window), leastGap*perPoint)
	return slices.DeleteFunc(bands, func(b Band) bool { return b.Kind == BandIdle && b.To-b.From < leastIdle*perPoint }), phased
}

// phasesShow tells whether the middle one of the batches in the window is wide
// enough.
func phasesShow(s *analyze.PowerSession, c clock, window stretch, least float64) bool {
	var lengths []float64
	for _, b := range s.Batches {
		from, to := c.at(b.Segment, b.StartNS), c.at(b.Segment, b.EndNS)
		if to > window.from && from < window.to {
			lengths = append(lengths, to-from)
		}
	}
	slices.Sort(lengths)
	return len(lengths) == 0 || lengths[len(lengths)/2] >= least
}

// cropped are the bands as far as they are in the window, none of no length.
func cropped(bands []Band, window stretch) []Band {
	var out []Band
	for _, b := range bands {
		b.From, b.To = max(b.From, window.from), min(b.To, window.to)
		if b.From < b.To {
			out = append(out, b)
		}
	}
	return out
}

// joined makes one band of neighbours of one kind between which nothing would
// be seen.
func joined(bands []Band, gap float64) []Band {
	slices.SortStableFunc(bands, func(a, b Band) int { return cmp.Compare(a.From, b.From) })
	var out []Band
	for _, b := range bands {
		if n := len(out); n > 0 && out[n-1].Kind == b.Kind && out[n-1].Warmup == b.Warmup && b.From-out[n-1].To < gap {
			out[n-1].To = max(out[n-1].To, b.To)
			continue
		}
		out = append(out, b)
	}
	return out
}

// kindsOf lists what the legend has to tell of the bands.
func kindsOf(bands []Band) []BandKind {
	var kinds []BandKind
	for k := BandIdle; k < BandWarmup; k++ {
		if slices.ContainsFunc(bands, func(b Band) bool { return b.Kind == k }) {
			kinds = append(kinds, k)
		}
	}
	if slices.ContainsFunc(bands, func(b Band) bool { return b.Warmup }) {
		kinds = append(kinds, BandWarmup)
	}
	return kinds
}

// legendName is how the legend calls a band.
func (k BandKind) legendName() string {
	return map[BandKind]string{
		BandIdle:       "idle",
		BandPrefill:    "prefill",
		BandMixed:      "prefill and generation",
		BandGeneration: "generation",
		BandBatch:      "batch",
		BandWarmup:     "warm-up (fainter)",
	}[k]
}
