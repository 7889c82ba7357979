package serve

import "time"

// Meter measures what this machine takes.
type Meter interface {
	// Mark asks for a reading as of now, since a window begins or ends here.
	// It does not wait for it.
	Mark()
	// Energy is what was taken between two moments; false where that is not
	// known. It may wait a moment for the reading that the second one asked for.
	Energy(from, to time.Time) (Energy, bool)
	// System is what was read last; false where no power is.
	System() (System, bool)
}

// Energy is what a window took.
type Energy struct {
	Joules  float64
	Samples int64 // readings that it is from
}

// System are the newest readings. What is not known is nil.
type System struct {
	GPUUsage    *float64 `json:"gpuUsage,omitempty"` // 0–1
	Temperature *float64 `json:"temp,omitempty"`     // °C
	Power       *float64 `json:"sysPower,omitempty"` // W
	PCPUUsage   *float64 `json:"pcpuUsage,omitempty"`
	ECPUUsage   *float64 `json:"ecpuUsage,omitempty"`
}

// powerUsage is exo's account of the energy of a request. Its nodes are empty
// where there are no figures, which then are null.
type powerUsage struct {
	Elapsed           float64     `json:"elapsed_seconds"`
	Nodes             []nodePower `json:"nodes"`
	AveragePower      *float64    `json:"total_avg_sys_power_watts"`
	Energy            *float64    `json:"total_energy_joules"`
	PrefillSeconds    float64     `json:"prefill_seconds"`
	GenerationSeconds float64     `json:"generation_seconds"`
	PrefillEnergy     *float64    `json:"prefill_energy_joules"`
	GenerationEnergy  *float64    `json:"generation_energy_joules"`
	PrefillPower      *float64    `json:"prefill_avg_sys_power_watts"`
	GenerationPower   *float64    `json:"generation_avg_sys_power_watts"`
}

type nodePower struct {
	Node             string   `json:"node_id"`
	Samples          int64    `json:"samples"`
	AveragePower     *float64 `json:"avg_sys_power"`
	PrefillPower     *float64 `json:"prefill_avg_sys_power"`
	GenerationPower  *float64 `json:"generation_avg_sys_power"`
	PrefillEnergy    *float64 `json:"prefill_energy_joules"`
	GenerationEnergy *float64 `json:"generation_energy_joules"`
}

// usageOf is the account of a request that arrived, read its first token and
// ended at these moments. Without a first token all of it was prefill.
func usageOf(m Meter, node string, arrived, first, ended time.Time) powerUsage {
	if first.IsZero() || first.After(ended) {
		first = ended
	}
	u := powerUsage{
		Elapsed: ended.Sub(arrived).Seconds(), Nodes: []nodePower{},
		PrefillSeconds: first.Sub(arrived).Seconds(), GenerationSeconds: ended.Sub(first).Seconds(),
	}
	if m == nil {
		return u
	}
	all, ok := m.Energy(arrived, ended)
	if !ok {
		return u
	}
	u.Energy, u.AveragePower = &all.Joules, per(all.Joules, u.Elapsed)
	if e, ok := m.Energy(arrived, first); ok {
		u.PrefillEnergy, u.PrefillPower = &e.Joules, per(e.Joules, u.PrefillSeconds)
	}
	if e, ok := m.Energy(first, ended); ok {
		u.GenerationEnergy, u.GenerationPower = &e.Joules, per(e.Joules, u.GenerationSeconds)
	}
	u.Nodes = append(u.Nodes, nodePower{
		Node: node, Samples: all.Samples, AveragePower: u.AveragePower, PrefillPower: u.PrefillPower, GenerationPower: u.GenerationPower,
		PrefillEnergy: u.PrefillEnergy, GenerationEnergy: u.GenerationEnergy,
	})
	return u
}

func per(joules, seconds float64) *float64 {
	if seconds <= 0 {
		return nil
	}
	w := joules / seconds
	return &w
}
