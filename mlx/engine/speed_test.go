package engine

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cpuTime is what this process has used of its cores.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMLX gives the processor time that MLX takes for a token of a prompt
// of 512, and for each of 128 generated after it: of the folder that
// TOKWATT_MLX_MODEL names, else of synthetic:tiny. scripts/mlx_speed.py compares
// both with mlx_lm.
func BenchmarkMLX(b *testing.B) {
	s := withMLX(b)
	const prompted, generated = 512, 128
	var prefill, decode time.Duration
	s.Do(func() {
		l := Load{Model: os.Getenv("TOKWATT_MLX_MODEL")}
		if l.Model == "" {
			l.Model = DefaultModel
		}
		m, err := load(s, l)
		if err != nil {
			b.Error(err)
			return
		}
		var tokens int
		var began, first time.Duration
		g := newGenerator(m, func(frames []byte) {
			if strings.Contains(string(frames), `"t":`) {
				if tokens++; tokens == 1 {
					first = cpuTime()
				}
			}
		}, func(*job) {})
		for b.Loop() {
			tokens, began = 0, cpuTime()
			g.run([]*job{newJob(1, prompt(1, prompted), generated, true)})
			prefill += first - began
			decode += cpuTime() - first
		}
	})
	n := float64(b.N)
	b.ReportMetric(float64(prefill.Microseconds())/n/prompted, "µs/prompt-token")
	b.ReportMetric(float64(decode.Microseconds())/n/(generated-1), "µs/token")
}
