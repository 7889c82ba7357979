package power_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"tokwatt/power"
)

// dayOf4Hz is what four nodes give in 24 hours.
func dayOf4Hz(kind power.Kind) [4][]power.Reading {
	const n = 24 * 3600 * 4
	var nodes [4][]power.Reading
	for node := range nodes {
		r := rand.New(rand.NewPCG(uint64(node), 0))
		joules := 0.0
		for i := range n {
			end := int64(i)*25e7 + r.Int64N(1e7)
			watts := 20 + 80*r.Float64()
			switch joules += watts / 4; kind {
			case power.Counter:
				nodes[node] = append(nodes[node], power.Reading{EndNS: end, Value: joules})
			case power.Average:
				start := end - 25e7
				nodes[node] = append(nodes[node], power.Reading{StartNS: &start, EndNS: end, Value: watts})
			default:
				nodes[node] = append(nodes[node], power.Reading{EndNS: end, Value: watts})
			}
		}
	}
	return nodes
}

var kinds = map[string]power.Kind{"counter": power.Counter, "average": power.Average, "instant": power.Instant}

func BenchmarkDayNewCurve(b *testing.B) {
	for name, kind := range kinds {
		b.Run(name, func(b *testing.B) {
			nodes := dayOf4Hz(kind)
			b.ReportAllocs()
			for b.Loop() {
				for _, readings := range nodes {
					power.NewCurve(kind, power.CurveOptions{Nominal: 250 * time.Millisecond}, readings)
				}
			}
		})
	}
}

// BenchmarkDayWindows asks for 24 h in windows of 10 s, and each in two phases.
func BenchmarkDayWindows(b *testing.B) {
	curves := [4]*power.Curve{}
	for i, readings := range dayOf4Hz(power.Counter) {
		curves[i] = power.NewCurve(power.Counter, power.CurveOptions{Nominal: 250 * time.Millisecond}, readings)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range curves {
			for from := int64(1e9); from < 86390e9; from += 10e9 {
				c.Energy(from, from+10e9)
				c.Phases(from, from+2e9, from+10e9)
			}
		}
	}
}

// BenchmarkDayWindow asks for all of it at once.
func BenchmarkDayWindow(b *testing.B) {
	c := power.NewCurve(power.Counter, power.CurveOptions{}, dayOf4Hz(power.Counter)[0])
	for b.Loop() {
		c.Energy(1e9, 86390e9)
	}
}
