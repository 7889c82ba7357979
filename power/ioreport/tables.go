package ioreport

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Clock tables are properties of the power manager, one for each cluster: rows
// of 8 bytes, clock and voltage.

// parseTable returns a table's clocks in MHz, rising, nil where b is no table
// of clocks. GPUs and the CPUs up to M3 have Hz, later CPUs kHz; no clock is so
// slow or so fast that its size could be the other's. A first row of 0 or 1 is
// that of the state off.
func parseTable(b []byte) []float64 {
	if len(b)%8 != 0 {
		return nil
	}
	var raw []uint32
	for ; len(b) > 0; b = b[8:] {
		if f := binary.LittleEndian.Uint32(b); f > 1 || raw != nil {
			raw = append(raw, f)
		}
	}
	if len(raw) == 0 || !slices.IsSorted(raw) {
		return nil
	}
	var perMHz float64
	switch top := raw[len(raw)-1]; {
	case top >= 1e8:
		perMHz = 1e6
	case top >= 1e5:
		perMHz = 1e3
	default:
		return nil
	}
	out := make([]float64, len(raw))
	for i, f := range raw {
		out[i] = float64(f) / perMHz
	}
	return out
}

// pmgr finds clock tables by property.
type pmgr func(name string) []byte

// gpu returns the tables that may be the GPU's.
func (p pmgr) gpu() [][]float64 {
	return p.tables("voltage-states9", "voltage-states9-sram")
}

// cpu returns the tables that may be those of a tier of cores, where tiers are
// the letters of those that the chip has. M1 to M4 have fixed names. From M5
// on acc-clusters has a row for each cluster: the number of its table, and a
// type that rises with speed.
func (p pmgr) cpu(tier, tiers string) [][]float64 {
	if p == nil {
		return nil
	}
	fixed := map[string]string{"E": "voltage-states1-sram", "P": "voltage-states5-sram"}
	e, f := p.tables(fixed["E"]), p.tables(fixed["P"])
	if e != nil && f != nil {
		return p.tables(fixed[tier])
	}
	if byTier := clusters(p("acc-clusters"), tiers); byTier != nil {
		return p.tables(byTier[tier]...)
	}
	return p.tables(fixed[tier])
}

// clusters maps each of tiers, which are in order of speed, to the names of
// its tables. The fastest tier has the highest type, and so on down: a chip
// without efficiency cores has no clusters of the lowest type.
func clusters(b []byte, tiers string) map[string][]string {
	tables := map[byte][]string{}
	var types []byte
	for ; len(b) >= 8; b = b[8:] {
		index, kind := b[0], b[1]
		if tables[kind] == nil {
			types = append(types, kind)
		}
		tables[kind] = append(tables[kind], fmt.Sprintf("voltage-states%d-sram", index))
	}
	if len(types) < len(tiers) || len(types) == 0 {
		return nil
	}
	slices.Sort(types)
	out := map[string][]string{}
	for i, tier := range strings.Split(tiers, "") {
		out[tier] = tables[types[len(types)-len(tiers)+i]]
	}
	return out
}

func (p pmgr) tables(names ...string) [][]float64 {
	if p == nil {
		return nil
	}
	var out [][]float64
	for _, name := range names {
		if t := parseTable(p(name)); t != nil {
			out = append(out, t)
		}
	}
	return out
}

// clocksFor picks from tables the clocks of n active states, nil where none has
// as many: then nobody knows which state is which clock. A table may have a row
// for the state off before them.
func clocksFor(tables [][]float64, n int) []float64 {
	for _, t := range tables {
		switch len(t) {
		case n:
			return t
		case n + 1:
			return t[1:]
		}
	}
	return nil
}
