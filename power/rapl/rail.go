package rapl

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tokwatt/power"
)

// rail is the zones that make one scope.
type rail struct {
	scope power.Scope
	zones []*zone
}

// zone is one counter. Its figures are in J.
type zone struct {
	dir    string
	span   float64 // after which it begins at 0 again; 0: not known
	last   float64 // the reading before, to see that it has begun anew
	passed float64 // what it had counted when it last began anew
}

// span is the range of the rail's counter: a sum has none.
func (r *rail) span() float64 {
	if len(r.zones) == 1 {
		return r.zones[0].span
	}
	return 0
}

// Read reads every zone once. A scope of which one zone can't be read is left
// out.
func (s *Source) Read(context.Context) ([]power.Sample, error) {
	var samples []power.Sample
	var failed []error
	for _, r := range s.rails {
		sample, err := s.read(r)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		samples = append(samples, sample)
	}
	switch {
	case len(samples) > 0:
		return samples, nil
	case len(failed) > 0:
		return nil, errors.Join(failed...)
	}
	return nil, errors.New("no energy counter of the processor can be read: the probe says why")
}

// read reads the zones of a rail one right after the other. The instant of the
// reading is the middle of that.
func (s *Source) read(r *rail) (power.Sample, error) {
	begin := time.Now()
	now := make([]float64, len(r.zones))
	for i, z := range r.zones {
		v, err := s.number(filepath.Join(z.dir, "energy_uj"))
		if err != nil {
			return power.Sample{}, err
		}
		now[i] = v
	}
	at := begin.Add(time.Since(begin) / 2)
	return power.Sample{
		Source: name, Scope: r.scope, Metric: power.MetricEnergy, Unit: "J", End: at, Value: r.sum(now),
	}, nil
}

// sum adds up what the zones have counted since their first origins. One zone
// stands as it is: who knows its range unwraps it.
func (r *rail) sum(now []float64) float64 {
	if len(now) == 1 {
		return now[0]
	}
	var sum float64
	for i, z := range r.zones {
		if now[i] < z.last {
			z.passed += z.span
		}
		z.last = now[i]
		sum += z.passed + now[i]
	}
	return sum
}

// number reads a file of one count of µJ and returns J.
func (s *Source) number(file string) (float64, error) {
	text, err := s.readFile(file)
	if err != nil {
		return 0, err
	}
	j, err := joules(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	return j, nil
}

// joules parses a count of µJ.
func joules(text []byte) (float64, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, err
	}
	return float64(n) / 1e6, nil
}
