package plot_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"tokwatt/analyze"
	"tokwatt/plot"
)

// A figure of three cases, looked at before it is written.
func Example() {
	var rows []analyze.Summary
	for i, pp := range []int64{128, 512, 4096} {
		rate := []float64{900, 1250, 1340}[i]
		rows = append(rows, analyze.Summary{
			Engine: "llama.cpp", ModelID: "Qwen3-8B", Quantization: "Q4_K_M",
			PP: &pp, TG: 64, Concurrency: 1, NBatches: 3,
			Stats: map[string]analyze.Stat{"prompt_tps": {N: 3, Median: &rate, Points: []float64{rate - 9, rate, rate + 4}}},
		})
	}
	fig, err := plot.Scaling(rows, plot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fig.Title)
	fmt.Println(fig.Subtitle)
	for _, p := range fig.Panels {
		for _, t := range p.X.Ticks {
			fmt.Print(t.Label, " ")
		}
		fmt.Println(p.X.Label)
	}
	for _, n := range fig.Notes {
		fmt.Println(n)
	}
	f, err := os.Create(filepath.Join(os.TempDir(), "scaling.png"))
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(f.Name())
	if err := fig.Write(f, plot.PNG); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Prefill rate of a request by prompt length
	// llama.cpp · Qwen3-8B · Q4_K_M · tg 64 · concurrency 1
	// 128 512 4k Prompt tokens (pp), 1k = 1024
	// Median of 3 batches per point, single batches in faint dots. No whiskers: an interval of the median needs 6 batches.
	// No case has a figure for “Generation rate of a request”.
}
