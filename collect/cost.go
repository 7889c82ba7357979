package collect

import (
	"context"
	"time"

	"tokwatt/power"
)

// SamplingCost is what reading sensors takes.
type SamplingCost struct {
	CPU     time.Duration // of this process, all it did meanwhile
	Wall    time.Duration
	Samples int
}

// MeasureSampling reads sources for d as a run with the same every would, 0
// being as often as each gives cheaply. Nothing else should run in this process.
func MeasureSampling(ctx context.Context, sources []power.Source, every, d time.Duration) SamplingCost {
	sensors, _ := probe(ctx, sources, every)
	start, cpu := time.Now(), cpuTime()
	s := startSampler(ctx, NewClock(), "", sensors, map[string]bool{})
	sleep(ctx, d)
	cost := SamplingCost{CPU: cpuTime() - cpu, Wall: time.Since(start)}
	s.stop()
	got, _ := s.take()
	cost.Samples = got.count
	return cost
}
