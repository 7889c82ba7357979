package power_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tokwatt/power"
)

const length = int64(40e9)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func randomWindow(r *rand.Rand) (from, to int64) {
	from = int64(r.Float64() * float64(length))
	to = from + int64(r.Float64()*r.Float64()*float64(length-from))
	return from, max(to, from+1)
}

// TestTruthIsInTheBracket: of counters and averages the bounds are bounds,
// whatever the power does between two readings and whatever the readings go
// through on their way; and they are no wider than the points make them.
func TestTruthIsInTheBracket(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, 0))
	known, bounded := 0, 0
	for trial := range 10_000 {
		p := randomProfile(r, length+2e9)
		s := []func(*rand.Rand, *profile, int64) script{counterScript, averageScript, trailingScript}[trial%3](r, p, length)
		s.worry(r)
		c := power.NewCurve(s.kind, s.opts, s.readings)
		from, to := randomWindow(r)
		w := c.Energy(from, to)
		truth := p.joules(to) - p.joules(from)
		if (w.EnergyJ == nil) != (w.Reason != "") {
			t.Fatalf("seed %d trial %d: energy %v, reason %q", seed, trial, w.EnergyJ, w.Reason)
		}
		if w.EnergyJ != nil {
			known++
		}
		if w.LowJ == nil || w.Indicative {
			continue
		}
		bounded++
		slack := 1e-9 * max(1, truth)
		if *w.LowJ > truth+slack || truth-slack > *w.HighJ {
			t.Fatalf("seed %d trial %d: truth %v not in [%v, %v]", seed, trial, truth, *w.LowJ, *w.HighJ)
		}
		if s.exact == nil {
			continue
		}
		if low, high, ok := s.bracket(from, to); !ok || math.Abs(low-*w.LowJ) > 1e-6 || math.Abs(high-*w.HighJ) > 1e-6 {
			t.Fatalf("seed %d trial %d: [%v, %v], by definition [%v, %v] %t", seed, trial, *w.LowJ, *w.HighJ, low, high, ok)
		}
	}
	t.Logf("%d with an energy, %d with bounds", known, bounded)
	if known < 7000 || bounded < 8000 {
		t.Errorf("only %d of 10,000 windows have an energy, %d bounds", known, bounded)
	}
}

func TestAdjoiningWindowsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 0))
	sums := 0
	for range 2000 {
		p := randomProfile(r, length+2e9)
		s := counterScript(r, p, length)
		if r.IntN(2) == 0 {
			s = averageScript(r, p, length)
		}
		if r.IntN(3) == 0 {
			s = instantScript(p, length)
		}
		c := power.NewCurve(s.kind, s.opts, s.readings)
		from, to := randomWindow(r)
		mid := from + (to-from)/2
		whole := c.Energy(from, to)
		prefill, generation := c.Phases(from, mid, to)
		if whole.EnergyJ == nil || prefill.EnergyJ == nil || generation.EnergyJ == nil {
			continue
		}
		sums++
		if sum := *prefill.EnergyJ + *generation.EnergyJ; !near(sum, *whole.EnergyJ) {
			t.Fatalf("%v + %v = %v, the whole is %v", *prefill.EnergyJ, *generation.EnergyJ, sum, *whole.EnergyJ)
		}
		if *prefill.LowJ+*generation.LowJ > *whole.LowJ+1e-9 || *prefill.HighJ+*generation.HighJ < *whole.HighJ-1e-9 {
			t.Fatalf("the bounds of the parts are narrower than the whole's")
		}
	}
	if sums < 1000 {
		t.Errorf("only %d windows had an energy", sums)
	}
}

func instantScript(p *profile, length int64) script {
	s := script{kind: power.Instant}
	for t := int64(0); t < length; t += 25e7 {
		s.readings = append(s.readings, power.Reading{EndNS: t, Value: (p.joules(t+1e3) - p.joules(t)) / 1e-6})
	}
	return s
}

// TestFinerSamplingStaysInTheBracket reads one profile with all of the
// readings and with some of them.
func TestFinerSamplingStaysInTheBracket(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 0))
	compared := 0
	for trial := range 3000 {
		p := randomProfile(r, length+2e9)
		fine, coarse := coarsened(r, p)
		if trial%2 == 0 {
			fine, coarse = merged(r, p)
		}
		from, to := randomWindow(r)
		f := power.NewCurve(fine.kind, fine.opts, fine.readings).Energy(from, to)
		c := power.NewCurve(coarse.kind, coarse.opts, coarse.readings).Energy(from, to)
		if f.EnergyJ == nil || c.LowJ == nil {
			continue
		}
		compared++
		if *f.EnergyJ < *c.LowJ-1e-6 || *f.EnergyJ > *c.HighJ+1e-6 || *f.LowJ < *c.LowJ-1e-6 || *f.HighJ > *c.HighJ+1e-6 {
			t.Fatalf("trial %d: fine %v in [%v, %v] leaves coarse [%v, %v]", trial, *f.EnergyJ, *f.LowJ, *f.HighJ, *c.LowJ, *c.HighJ)
		}
	}
	if compared < 1500 {
		t.Errorf("only %d windows compared", compared)
	}
}

// coarsened is a counter read at all times and at every third.
func coarsened(r *rand.Rand, p *profile) (fine, coarse script) {
	fine = script{kind: power.Counter, opts: power.CurveOptions{Stamped: true}}
	for t := int64(0); t < length; t += int64(1e7 + r.Float64()*4e8) {
		fine.readings = append(fine.readings, power.Reading{EndNS: t, Value: p.joules(t)})
	}
	coarse = fine
	coarse.readings = nil
	for i := 0; i < len(fine.readings); i += 3 {
		coarse.readings = append(coarse.readings, fine.readings[i])
	}
	return fine, coarse
}

// merged is averages, and averages of two at a time.
func merged(r *rand.Rand, p *profile) (fine, coarse script) {
	fine = averageScript(r, p, length)
	coarse = script{kind: power.Average}
	for pair := range slices.Chunk(fine.readings, 2) {
		start, end := *pair[0].StartNS, pair[len(pair)-1].EndNS
		coarse.readings = append(coarse.readings, average(start, end, (p.joules(end)-p.joules(start))/(float64(end-start)/1e9)))
	}
	return fine, coarse
}
