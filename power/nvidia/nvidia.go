// Package nvidia reads NVIDIA's GPUs.
//
//   - By default a running nvidia-smi prints one line a GPU ten times a second
//     (smi.go, parse.go): nothing is linked and nothing needs cgo.
//   - Built with the tag nvml, under Linux, the driver's library is loaded
//     instead where it is there (nvml.go): its energy counter is read on
//     demand, so that a reading can be had at the first token. The loader
//     makes the program dependent on glibc, hence the tag.
//
// Each GPU is a source of its own, "nvidia:0" for the GPU of index 0, and its
// scope gpu is the whole board, memory included. GPUs of one node are disjoint,
// so their energies may be added; that is for the caller, who knows which of
// them took part.
//
// Power comes as what the GPU says it is. From Ampere on (but not GA100) it is
// the average of the last second: each sample has its Start, and samples of one
// GPU do not overlap, so there is one a second. Others give readings of an
// instant. On A100 and H100 the sensor looks at the board a quarter of the
// time only (Yang et al., arXiv 2312.02741): one short window is uncertain by
// tens of percent, whatever its bounds say; repeat with varying phase.
package nvidia

import (
	"fmt"
	"time"

	"tokwatt/power"
)

const name = "nvidia"

const (
	// trailing is the length of the driver's averages of power.
	trailing = time.Second
	// jitter is by how much they may overlap: the twentieth within which a
	// curve takes averages to adjoin.
	jitter = trailing / 20
)

// metric is what is read of a GPU besides power, in the order of the query.
type metric struct {
	metric power.Metric
	unit   string
	field  string  // of nvidia-smi
	scale  float64 // from nvidia-smi's unit
	least  float64
	most   float64
}

// beside are the metrics besides power. Clocks are those of the shaders.
var beside = []metric{
	{power.MetricUsage, "ratio", "utilization.gpu", 0.01, 0, 1},
	{power.MetricTemperature, "celsius", "temperature.gpu", 1, 1, 150},
	{power.MetricFrequency, "MHz", "clocks.current.sm", 1, 1, 1e5},
	{power.MetricFrequencyMax, "MHz", "clocks.max.sm", 1, 1, 1e5},
}

func sourceOf(gpu int) string { return fmt.Sprintf("%s:%d", name, gpu) }

// none is the answer where no GPU can be read.
func none(why power.Reason, note string) []power.Channel {
	return []power.Channel{{Source: name, Scope: power.ScopeGPU, Metric: power.MetricPower, Unit: "W", Missing: why, Note: note}}
}
