package ioreport

import (
	"encoding/binary"
	"slices"
	"testing"
)

func clockTable(clocks ...uint32) []byte {
	var b []byte
	for _, c := range clocks {
		b = binary.LittleEndian.AppendUint64(b, uint64(c)|900<<32)
	}
	return b
}

func TestParseTable(t *testing.T) {
	for _, c := range []struct {
		name string
		b    []byte
		want []float64
	}{
		{"Hz", clockTable(600e6, 3204e6), []float64{600, 3204}},
		{"kHz", clockTable(1260e3, 4608e3), []float64{1260, 4608}},
		{"row of the state off", clockTable(0, 396e6, 1278e6), []float64{396, 1278}},
		{"periods, not clocks", clockTable(40, 36, 30), nil},
		{"indices", clockTable(1, 2, 3), nil},
		{"a clock over 4.29 GHz in Hz, run over", clockTable(600e6, 4200e6, 105e6), nil},
		{"none", nil, nil},
		{"only off", clockTable(0, 0), nil},
		{"cut off", clockTable(600e6, 3204e6)[:12], nil},
	} {
		if got := parseTable(c.b); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestTableOfTier: which table is whose.
func TestTableOfTier(t *testing.T) {
	acc := func(rows ...[2]byte) []byte {
		var b []byte
		for _, r := range rows {
			b = append(b, r[0], r[1], 0, 0, 0, 0, 0, 0)
		}
		return b
	}
	fixed := map[string][]byte{"voltage-states1-sram": clockTable(1e9), "voltage-states5-sram": clockTable(2e9)}
	m5max := map[string][]byte{
		"acc-clusters":          acc([2]byte{22, 1}, [2]byte{23, 1}, [2]byte{5, 2}),
		"voltage-states22-sram": clockTable(3e9), "voltage-states23-sram": clockTable(3e9), "voltage-states5-sram": clockTable(4e9),
	}
	m5 := map[string][]byte{
		"acc-clusters":          acc([2]byte{5, 1}, [2]byte{22, 0}),
		"voltage-states22-sram": clockTable(1e9), "voltage-states5-sram": clockTable(4e9),
	}
	allTypes := map[string][]byte{"acc-clusters": append(acc([2]byte{7, 0}), m5max["acc-clusters"]...), "voltage-states7-sram": clockTable(1e9)}
	for name, b := range m5max {
		if allTypes[name] == nil {
			allTypes[name] = b
		}
	}
	for _, c := range []struct {
		name, tier, tiers string
		props             map[string][]byte
		want              float64
	}{
		{"M1 E", "E", "EP", fixed, 1000}, {"M1 P", "P", "EP", fixed, 2000},
		{"M5 Max M", "M", "MP", m5max, 3000}, {"M5 Max P", "P", "MP", m5max, 4000},
		{"M5 E", "E", "EP", m5, 1000}, {"M5 P", "P", "EP", m5, 4000},
		{"M5 Max that lists clusters it hasn't, M", "M", "MP", allTypes, 3000}, {"and P", "P", "MP", allTypes, 4000},
		{"more tiers than types", "E", "EMP", m5max, 0},
		{"virtual machine", "E", "EP", nil, 0},
	} {
		got := pmgr(func(name string) []byte { return c.props[name] }).cpu(c.tier, c.tiers)
		if (c.want == 0) != (got == nil) || got != nil && got[0][0] != c.want {
			t.Errorf("%s: %v, want %g", c.name, got, c.want)
		}
	}
}

func TestClocksFor(t *testing.T) {
	tables := [][]float64{{300, 400, 500}, {1, 2}}
	for n, want := range map[int][]float64{3: {300, 400, 500}, 2: {400, 500}, 1: {2}, 4: nil, 12: nil, 0: nil} {
		if got := clocksFor(tables, n); !slices.Equal(got, want) {
			t.Errorf("%d states: %v, want %v", n, got, want)
		}
	}
}

// FuzzTables: properties are bytes of another's making.
func FuzzTables(f *testing.F) {
	f.Add(clockTable(600e6, 3204e6), []byte{22, 1, 0, 0, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 0, 0}, "MP")
	f.Add([]byte{}, []byte{1}, "")
	f.Fuzz(func(t *testing.T, table, acc []byte, tiers string) {
		got := parseTable(table)
		if !slices.IsSorted(got) || len(got) > 0 && (got[0] <= 0 || got[len(got)-1] < 100) {
			t.Errorf("%v", got)
		}
		if len(tiers) > 3 {
			return
		}
		for tier, names := range clusters(acc, tiers) {
			if len(names) == 0 && tier != "" {
				t.Errorf("tier %q has no table", tier)
			}
		}
	})
}
