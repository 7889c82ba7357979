package plot

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// wantedSteps is about how many steps a linear axis gets: labels stay apart at
// the size of a panel, and values can still be read off.
const wantedSteps = 5

// fromZero is a linear axis from 0 to the first step not under max.
func fromZero(max float64) (ticks []Tick, top float64) {
	if max <= 0 {
		max = 1
	}
	step := niceStep(max / wantedSteps)
	n := math.Ceil(max/step - 1e-9)
	for k := 0.0; k <= n; k++ {
		ticks = append(ticks, Tick{k * step, decimal(k*step, step)})
	}
	return ticks, n * step
}

// between is the linear ticks inside a range.
func between(min, max float64) []Tick {
	step := niceStep((max - min) / wantedSteps)
	var ticks []Tick
	for k := math.Ceil(min / step); k*step <= max; k++ {
		ticks = append(ticks, Tick{k * step, decimal(k*step, step)})
	}
	return ticks
}

// niceStep is the smallest of 1, 2, 2.5 and 5 times a power of ten not under v,
// but 2 instead of 2.5: a decimal more on every second label would tell nothing.
func niceStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		switch {
		case m*power < v*(1-1e-9):
		case m == 2.5 && power < 10:
			return 2 * power
		default:
			return m * power
		}
	}
	return 10 * power
}

// decades is a logarithmic axis that holds both values: labels at each multiple
// where there is not even half a decade, at 1, 2 and 5 while those are few, else
// at the powers of ten.
func decades(min, max float64) (ticks []Tick, bottom, top float64) {
	bottom, top = snapDown(min), snapUp(max)
	if bottom == top {
		bottom, top = snapDown(min*0.99), snapUp(max*1.01)
	}
	span := math.Log10(top / bottom)
	stride := math.Ceil(span / 8)
	for e := math.Floor(math.Log10(bottom) + 1e-9); ; e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, e)
			if v > top*(1+1e-9) {
				return ticks, bottom, top
			}
			if v < bottom*(1-1e-9) {
				continue
			}
			t := Tick{Value: v}
			if (m == 1 && math.Mod(e, stride) == 0) || span <= 2.5 && (m == 1 || m == 2 || m == 5) || span < 0.5 {
				t.Label = decimal(v, v)
			}
			ticks = append(ticks, t)
		}
	}
}

// snapDown is the largest 1, 2 or 5 times a power of ten not over v.
func snapDown(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2, 1} {
		if m*power <= v*(1+1e-9) {
			return m * power
		}
	}
	return power / 2
}

// snapUp is the smallest 1, 2 or 5 times a power of ten not under v.
func snapUp(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// doublings is the powers of two inside a range.
func doublings(min, max float64) []Tick {
	var ticks []Tick
	for v := math.Exp2(math.Ceil(math.Log2(min) - 1e-9)); v <= max*(1+1e-9); v *= 2 {
		ticks = append(ticks, Tick{v, decimal(v, 1)})
	}
	return ticks
}

// fewValues is up to how many different values an axis is marked at the
// values themselves.
const fewValues = 12

// atValues marks the axis at the sorted values of the data. Where every value
// from 1000 on is a multiple of 1024, those are written in k, and kibi is true.
func atValues(values []float64) (ticks []Tick, kibi bool) {
	kibi = values[len(values)-1] >= 1024
	for _, v := range values {
		kibi = kibi && (v < 1000 || math.Mod(v, 1024) == 0)
	}
	for _, v := range values {
		t := Tick{v, decimal(v, 1)}
		if kibi && v >= 1024 {
			t.Label = decimal(v/1024, 1) + "k"
		}
		ticks = append(ticks, t)
	}
	return ticks, kibi
}

// thin takes away labels until none touches the one before: every second, third
// or fourth where that is enough and looks regular, else all but the powers of
// ten where two or more are there, or as many of them as there is room for, else
// each that is in the way. place and width are in one unit, gap is the least
// distance. The ticks stay.
func thin(ticks []Tick, place func(float64) float64, width func(string) float64, gap float64) []Tick {
	if kept := strided(ticks, place, width, gap); kept != nil {
		return kept
	}
	tens, n := slices.Clone(ticks), 0
	for i, t := range tens {
		if exponent := math.Log10(t.Value); math.Abs(exponent-math.Round(exponent)) > 1e-9 {
			tens[i].Label = ""
		} else if t.Label != "" {
			n++
		}
	}
	if kept := strided(tens, place, width, gap); n >= 2 && kept != nil {
		return kept
	}
	return dropTouching(ticks, place, width, gap)
}

// strided is the ticks with the label of each, or of every second, third or fourth
// of those that have one, where these are evenly apart; nil where they would touch.
func strided(ticks []Tick, place func(float64) float64, width func(string) float64, gap float64) []Tick {
	labelled := slices.DeleteFunc(slices.Clone(ticks), func(t Tick) bool { return t.Label == "" })
	for stride := 1; stride <= 4 && (stride == 1 || even(labelled, place)); stride++ {
		kept, n := slices.Clone(ticks), 0
		for i := range kept {
			if kept[i].Label == "" {
				continue
			}
			if n%stride != 0 {
				kept[i].Label = ""
			}
			n++
		}
		if slices.Equal(dropTouching(kept, place, width, gap), kept) {
			return kept
		}
	}
	return nil
}

// dropTouching keeps the first label and each that does not touch the last
// one kept.
func dropTouching(ticks []Tick, place func(float64) float64, width func(string) float64, gap float64) []Tick {
	ticks = slices.Clone(ticks)
	edge := math.Inf(-1)
	for i, t := range ticks {
		if t.Label == "" {
			continue
		}
		half := width(t.Label) / 2
		if place(t.Value)-half < edge+gap {
			ticks[i].Label = ""
			continue
		}
		edge = place(t.Value) + half
	}
	return ticks
}

// even tells whether all ticks are equally far apart.
func even(ticks []Tick, place func(float64) float64) bool {
	for i := 2; i < len(ticks); i++ {
		a, b := place(ticks[i-1].Value)-place(ticks[i-2].Value), place(ticks[i].Value)-place(ticks[i-1].Value)
		if math.Abs(a-b) > 1e-6*math.Abs(a) {
			return false
		}
	}
	return true
}

// decimal writes v with the decimals that a multiple of step needs and with
// commas between thousands; beyond ten million and under 1e-5 as 2e7.
func decimal(v, step float64) string {
	if v == 0 {
		return "0"
	}
	if v >= 1e7 || step < 1e-5 {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', 3, 64), "e")
		e, _ := strconv.Atoi(exponent)
		return strings.TrimRight(strings.TrimRight(mantissa, "0"), ".") + "e" + strconv.Itoa(e)
	}
	digits := 0
	for scaled := step; digits < 6 && math.Abs(scaled-math.Round(scaled)) > 1e-6*scaled; scaled *= 10 {
		digits++
	}
	whole, fraction, dot := strings.Cut(strconv.FormatFloat(v, 'f', digits, 64), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		return whole + "." + fraction
	}
	return whole
}
