package nvidia

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tokwatt/power"
)

// The fields that nvidia-smi is asked for. Drivers before 530 know neither of
// the first list's kinds of power and refuse the whole list.
const (
	newPower = "power.draw.average,power.draw.instant"
	oldPower = "power.draw"
)

// queryOf is the list of fields for the kinds of power.
func queryOf(kinds string) string {
	q := "index," + kinds
	for _, m := range beside {
		q += "," + m.field
	}
	return q
}

// parser makes samples of nvidia-smi's lines.
type parser struct {
	kinds string // newPower or oldPower
	gpus  map[int]*gpu
}

// gpu is what a parser keeps of a GPU.
type gpu struct {
	averages bool      // its power is the average of the last second; settled by its first line
	until    time.Time // the end of the last average that was given
}

func newParser(kinds string) *parser { return &parser{kinds: kinds, gpus: map[int]*gpu{}} }

// line parses "0, 213.31, 220.02, 97, 61, 1980, 2520". What is no number,
// as "[N/A]", is missing.
func (p *parser) line(at time.Time, record []byte) ([]power.Sample, error) {
	text := strings.TrimSpace(string(record))
	if text == "" {
		return nil, nil
	}
	fields := strings.Split(text, ",")
	powers := strings.Count(p.kinds, ",") + 1
	if len(fields) != 1+powers+len(beside) {
		return nil, fmt.Errorf("nvidia-smi says: %s", text)
	}
	index, err := strconv.Atoi(strings.TrimSpace(fields[0]))
	if err != nil || index < 0 || index >= 1024 {
		return nil, fmt.Errorf("nvidia-smi says: %s", text)
	}
	source := sourceOf(index)
	samples := p.power(index, at, fields[1:1+powers])
	for i, m := range beside {
		v, ok := number(fields[1+powers+i])
		if v *= m.scale; ok && v >= m.least && v <= m.most {
			samples = append(samples, power.Sample{Source: source, Scope: power.ScopeGPU, Metric: m.metric, Unit: m.unit, End: at, Value: v})
		}
	}
	return samples, nil
}

// power gives the sample of a line's power: the average where the GPU has one,
// once a second so that they follow one another, else the reading of the instant. The
// two are never mixed, since their sum over time would mean nothing.
func (p *parser) power(index int, at time.Time, fields []string) []power.Sample {
	average, hasAverage := math.NaN(), false
	if len(fields) > 1 {
		average, hasAverage = number(fields[0])
	}
	instant, hasInstant := number(fields[len(fields)-1])
	g := p.gpus[index]
	if g == nil {
		if !hasAverage && !hasInstant {
			return nil
		}
		g = &gpu{averages: hasAverage}
		p.gpus[index] = g
	}
	s := power.Sample{Source: sourceOf(index), Scope: power.ScopeGPU, Metric: power.MetricPower, Unit: "W", End: at, Value: instant}
	if !g.averages {
		if !hasInstant {
			return nil
		}
		return []power.Sample{s}
	}
	s.Start, s.Value = at.Add(-trailing), average
	if !hasAverage || s.Start.Before(g.until.Add(-jitter)) {
		return nil
	}
	if s.Start.Before(g.until) {
		s.Start = g.until
	}
	g.until = at
	return []power.Sample{s}
}

// number parses a figure that is not negative; anything else, as "[N/A]" or
// "[Unknown Error]", is none.
func number(field string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
	return v, err == nil && v >= 0 && !math.IsInf(v, 0)
}
