package power_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"tokwatt/power"
)

// FuzzCurve: whatever is read, an energy is within its bounds, and one that is
// not known has a reason.
func FuzzCurve(f *testing.F) {
	f.Add([]byte{}, uint8(1), int64(1e9), int64(0), 0.0, int64(0), int64(5e9))
	f.Add(fuzzed(at(0, 990, 1, 995, 2, 5, 3, 5, 4, 10)), uint8(1), int64(1e9), int64(0), 1000.0, int64(5e8), int64(35e8))
	f.Add(fuzzed(over(0, 1, 10, 1, 2, 50, 2.5, 3, 10)), uint8(2), int64(1e9), int64(1e8), 0.0, int64(5e8), int64(25e8))
	f.Add(fuzzed(at(0, 10, 1, 50, 1, none, 9, 10)), uint8(3), int64(0), int64(0), 0.0, int64(5e8), int64(1e9))
	f.Add(fuzzed(at(0, math.MaxFloat64, 1, 0, 2, math.Inf(1))), uint8(1), int64(math.MaxInt64), int64(math.MaxInt64), math.Inf(1), int64(math.MinInt64), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, raw []byte, kind uint8, nominal, refresh int64, limit float64, from, to int64) {
		opts := power.CurveOptions{Nominal: time.Duration(nominal), Refresh: time.Duration(refresh), Range: limit, Stamped: kind&8 != 0}
		readings := unfuzzed(raw)
		c := power.NewCurve(power.Kind(kind&3), opts, readings)
		mid := from/2 + to/2
		for _, w := range []power.Window{c.Energy(from, to), c.Energy(from, mid), c.Energy(mid, to)} {
			sound(t, w, len(readings))
		}
		whole, before, rest := c.Energy(from, to), c.Energy(from, mid), c.Energy(mid, to)
		if whole.EnergyJ != nil && before.EnergyJ != nil && rest.EnergyJ != nil && !near(*before.EnergyJ+*rest.EnergyJ, *whole.EnergyJ) {
			t.Errorf("%v + %v is not %v", *before.EnergyJ, *rest.EnergyJ, *whole.EnergyJ)
		}
		s := power.Series{Readings: readings}
		sound(t, s.ExoClient(from, to), len(readings))
	})
}

// sound checks what must hold of every window.
func sound(t *testing.T, w power.Window, readings int) {
	t.Helper()
	if (w.EnergyJ == nil) != (w.Reason != "") {
		t.Errorf("energy %v, reason %q", show(w.EnergyJ), w.Reason)
	}
	for _, x := range []*float64{w.EnergyJ, w.LowJ, w.HighJ, w.MeanW, w.PeakW, w.MaxGapS} {
		if x != nil && (math.IsNaN(*x) || math.IsInf(*x, 0) || *x < 0 && w.Rule == power.RuleCurve) {
			t.Errorf("%v in %+v", *x, w)
		}
	}
	if (w.LowJ == nil) != (w.HighJ == nil) || w.LowJ != nil && *w.LowJ > *w.HighJ {
		t.Errorf("bounds %v, %v", show(w.LowJ), show(w.HighJ))
	}
	if w.EnergyJ != nil && w.LowJ != nil && (*w.EnergyJ < *w.LowJ || *w.EnergyJ > *w.HighJ) {
		t.Errorf("%v not in [%v, %v]", *w.EnergyJ, *w.LowJ, *w.HighJ)
	}
	if w.Samples < 0 || w.Rejected < 0 || w.Samples+w.Rejected > int64(readings) {
		t.Errorf("%d samples, %d rejected of %d", w.Samples, w.Rejected, readings)
	}
}

// A reading takes 16 bytes: length of the average in µs (0: an instant), end
// in ms, value.
func fuzzed(rs []power.Reading) []byte {
	var out []byte
	for _, r := range rs {
		var length uint32
		if r.StartNS != nil {
			length = uint32((r.EndNS - *r.StartNS) / 1e3)
		}
		out = binary.LittleEndian.AppendUint32(out, length)
		out = binary.LittleEndian.AppendUint32(out, uint32(r.EndNS/1e6))
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(r.Value))
	}
	return out
}

func unfuzzed(raw []byte) []power.Reading {
	var out []power.Reading
	for b := range slices.Chunk(raw, 16) {
		if len(b) < 16 {
			break
		}
		r := power.Reading{EndNS: int64(int32(binary.LittleEndian.Uint32(b[4:]))) * 1e6, Value: math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))}
		if length := binary.LittleEndian.Uint32(b); length%7 == 6 { // as far away as can be
			r.EndNS <<= 40
		} else if length > 0 {
			start := r.EndNS - int64(length)*1e3
			r.StartNS = &start
		}
		out = append(out, r)
	}
	return out
}
