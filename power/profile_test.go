package power_test

import (
	"math"
	"math/rand/v2"

	"tokwatt/power"
)

// profile is a power over time whose energy is known: pieces that go from one
// power to another in a line.
type profile struct {
	end    []int64 // ns
	p0, p1 []float64
	energy []float64 // J until end
}

func randomProfile(r *rand.Rand, length int64) *profile {
	p := &profile{}
	var t int64
	var joules float64
	for t < length {
		dt := int64(1e7 + r.ExpFloat64()*2e9)
		a, b := r.Float64()*100, r.Float64()*100
		switch r.IntN(4) {
		case 0: // a burst
			dt, a = int64(1e6+r.Float64()*2e8), 200+r.Float64()*1000
			b = a
		case 1: // a step
			b = a
		case 2: // off
			a, b = 0, 0
		}
		t += dt
		joules += (a + b) / 2 * float64(dt) / 1e9
		p.end, p.p0, p.p1, p.energy = append(p.end, t), append(p.p0, a), append(p.p1, b), append(p.energy, joules)
	}
	return p
}

// joules is the energy from 0 to t.
func (p *profile) joules(t int64) float64 {
	var start int64
	var before float64
	for i, end := range p.end {
		if t <= end {
			dt, length := float64(t-start)/1e9, float64(end-start)/1e9
			return before + dt*(p.p0[i]+(p.p1[i]-p.p0[i])*dt/length/2)
		}
		start, before = end, p.energy[i]
	}
	return before
}

// script is what a sensor said of a profile.
type script struct {
	kind     power.Kind
	opts     power.CurveOptions
	readings []power.Reading
	exact    []spot // its points, as a person would list them
}

// spot is a point of E(t): E was reached at some time in [early, t].
type spot struct {
	early, t int64
	e        float64
}

// counterScript reads a counter with jitter. It may wrap, be renewed on a slow
// schedule of its own or stop being renewed for some seconds. (One that lags
// without ever being read twice between renewals can't be told from one that
// does not: nobody could bound its energy.)
func counterScript(r *rand.Rand, p *profile, length int64) script {
	s := script{kind: power.Counter}
	step := int64(5e7 + r.Float64()*1e9)
	start := r.Float64() * 500
	if r.IntN(2) == 0 {
		s.opts.Range = 5000 + r.Float64()*5000 // never passed twice between two readings
	}
	published := func(t int64) int64 { return t }
	if r.IntN(3) == 0 {
		every := 3*step + int64(r.Float64()*1e9)
		published = func(t int64) int64 { return t - t%every }
	}
	frozenFrom, frozenTo := int64(-1), int64(-1)
	if r.IntN(3) == 0 {
		frozenFrom = int64(r.Float64() * float64(length))
		frozenTo = frozenFrom + int64(r.Float64()*8e9)
	}
	last := math.NaN()
	var seen, at int64
	for t := int64(0); t < length; t += step/2 + int64(r.Float64()*float64(step)) {
		if last := published(t); last < frozenFrom || last >= frozenTo {
			at = last
		}
		e := p.joules(at)
		raw := start + e
		if s.opts.Range > 0 {
			raw = math.Mod(raw, s.opts.Range)
		}
		s.readings = append(s.readings, power.Reading{EndNS: t, Value: raw})
		if raw != last {
			s.renewed(t, seen, e)
		}
		last, seen = raw, t
	}
	return s
}

// renewed notes a renewal that was read at t. If the reading before, at seen,
// was not a renewal, this one was published since then.
func (s *script) renewed(t, seen int64, e float64) {
	one := spot{early: t, t: t, e: e}
	if n := len(s.exact); n > 0 && s.exact[n-1].t < seen {
		one.early = seen
	}
	s.exact = append(s.exact, one)
}

// averageScript reads averages that follow one another without a gap.
func averageScript(r *rand.Rand, p *profile, length int64) script {
	s := script{kind: power.Average}
	step := int64(5e7 + r.Float64()*1e9)
	s.exact = []spot{{0, 0, 0}}
	for t := int64(0); t < length; {
		end := t + step/2 + int64(r.Float64()*float64(step))
		e := p.joules(end)
		s.readings = append(s.readings, average(t, end, (e-p.joules(t))/(float64(end-t)/1e9)))
		s.exact = append(s.exact, spot{end, end, e})
		t = end
	}
	return s
}

func average(from, to int64, watts float64) power.Reading {
	return power.Reading{StartNS: &from, EndNS: to, Value: watts}
}

// trailingScript reads averages over a second, several times a second.
func trailingScript(r *rand.Rand, p *profile, length int64) script {
	s := script{kind: power.Average}
	step := int64(1e9) / int64(2+r.IntN(9))
	for t := int64(1e9); t < length; t += step {
		s.readings = append(s.readings, average(t-step*(1e9/step), t, (p.joules(t)-p.joules(t-step*(1e9/step)))/(float64(step*(1e9/step))/1e9)))
	}
	return s
}

// worry spoils the readings without taking anything away: some come twice,
// some are rubbish, none comes in order.
func (s *script) worry(r *rand.Rand) {
	for range r.IntN(6) {
		one := s.readings[r.IntN(len(s.readings))]
		s.readings = append(s.readings, one)
	}
	for range r.IntN(4) {
		bad := s.readings[r.IntN(len(s.readings))]
		bad.EndNS += int64(r.IntN(1e6))
		bad.Value = []float64{math.NaN(), -1, math.Inf(1), math.MaxFloat64}[r.IntN(4)]
		if s.kind == power.Average || !math.IsInf(bad.Value, 1) {
			s.readings = append(s.readings, bad)
		}
	}
	r.Shuffle(len(s.readings), func(i, j int) { s.readings[i], s.readings[j] = s.readings[j], s.readings[i] })
}

// bracket is the bracket of the energy by its definition, with no search and
// no curve: low = E(last point ≤ to) − E(first point ≥ from), high = E(first
// point ≥ to) − E(last point ≤ from).
func (s *script) bracket(from, to int64) (low, high float64, ok bool) {
	none := math.NaN()
	firstIn, lastIn, lastBefore, firstAfter := none, none, none, none
	for _, p := range s.exact {
		if p.early >= from && math.IsNaN(firstIn) {
			firstIn = p.e
		}
		if p.t <= to {
			lastIn = p.e
		}
		if p.t <= from {
			lastBefore = p.e
		}
		if p.early >= to && math.IsNaN(firstAfter) {
			firstAfter = p.e
		}
	}
	if lastIn > firstIn { // not if one of them is none
		low = lastIn - firstIn
	}
	return low, firstAfter - lastBefore, !math.IsNaN(firstAfter - lastBefore)
}
