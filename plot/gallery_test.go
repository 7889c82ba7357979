package plot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tokwatt/analyze"
)

// model of a server: rates that a batch would show.
type server struct {
	engine, version, model, quant string
	prefill, decode, knee         float64
}

func (s server) summary(pp, conc int64, batches int, r *rand.Rand) analyze.Summary {
	c, p := float64(conc), float64(pp)
	prefill := s.prefill / (1 + p/60000) * p / (p + 80) / math.Sqrt(c)
	decode := s.decode / (1 + (c-1)/s.knee) / (1 + p/90000)
	noisy := func(v, by float64) []float64 {
		list := make([]float64, batches)
		for i := range list {
			list[i] = v * math.Max(0.1, 1+by*r.NormFloat64())
		}
		return list
	}
	return analyze.Summary{
		SessionID: "0199a000-0000-7000-8000-000000000001", Host: "studio", Engine: s.engine, EngineVersion: s.version,
		ModelID: s.model, Quantization: s.quant, TargetID: 1, CaseID: pp*100 + conc, PP: &pp, TG: 128, Concurrency: conc,
		CacheMode: "cold", PromptKind: "sized", NBatches: int64(batches), NOK: int64(batches) * conc,
		Stats: map[string]analyze.Stat{
			"prompt_tps":     stat(noisy(prefill, 0.04)),
			"generation_tps": stat(noisy(decode, 0.03)),
			"agg_wall_tps":   stat(noisy(decode*c*0.9, 0.03)),
			"ttft_ms":        stat(noisy(1000*p*c/prefill/math.Sqrt(c), 0.05)),
			"itl_p50_ms":     stat(noisy(1000/decode, 0.02)),
		},
	}
}

// stat is the distribution of batch medians, with a stand-in for the interval.
func stat(values []float64) analyze.Stat {
	sorted := append([]float64{}, values...)
	for i := range sorted {
		for j := i; j > 0 && sorted[j] < sorted[j-1]; j-- {
			sorted[j], sorted[j-1] = sorted[j-1], sorted[j]
		}
	}
	n := len(sorted)
	median := (sorted[(n-1)/2] + sorted[n/2]) / 2
	st := analyze.Stat{N: int64(n), Median: &median, Points: values}
	if n >= 6 {
		k := max(0, n/2-3-n/10)
		st.Lo, st.Hi = &sorted[k], &sorted[n-1-k]
	}
	return st
}

// withTails adds quantiles of the requests to the times.
func withTails(rows []analyze.Summary) []analyze.Summary {
	for _, row := range rows {
		for _, m := range []string{"ttft_ms", "itl_p50_ms"} {
			st := row.Stats[m]
			st.P90, st.P99 = new(*st.Median*1.3), new(*st.Median*1.9)
			row.Stats[m] = st
		}
	}
	return rows
}

func matrixOf(servers []server, pp, conc []int64, batches int) []analyze.Summary {
	r := rand.New(rand.NewPCG(7, 7))
	var rows []analyze.Summary
	for i, s := range servers {
		for _, p := range pp {
			for _, c := range conc {
				row := s.summary(p, c, batches, r)
				row.TargetID = int64(i + 1)
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func servers() []server {
	return []server{
		{"llama.cpp", "b7310", "Qwen3-8B", "Q4_K_M", 1450, 62, 6},
		{"mlx_lm", "0.29.1", "Qwen3-8B", "4bit", 1720, 71, 9},
		{"vllm", "0.12.0", "Qwen3-8B", "fp16", 5200, 48, 30},
		{"ollama", "0.17.4", "Qwen3-8B", "Q4_K_M", 1180, 55, 4},
		{"exo", "1.0.0", "Qwen3-8B", "4bit", 2300, 38, 14},
		{"sglang", "0.5.6", "Qwen3-8B", "fp16", 5600, 51, 34},
	}
}

func twelve() []server {
	var list []server
	for _, model := range []string{"Qwen3-8B", "Llama-3.1-8B-Instruct"} {
		for i, s := range servers() {
			s.model = model
			s.prefill *= 1 - 0.1*float64(i%3)
			s.decode *= map[string]float64{"Qwen3-8B": 1, "Llama-3.1-8B-Instruct": 1.15}[model]
			list = append(list, s)
		}
	}
	return list
}

type picture struct {
	name    string
	build   func() (*Figure, error)
	columns int // panels side by side; traces are as wide as two
}

// of is a picture of summaries.
func of(kind func([]analyze.Summary, Options) (*Figure, error), rows []analyze.Summary, opt Options) func() (*Figure, error) {
	return func() (*Figure, error) { return kind(rows, opt) }
}

func gallery() []picture {
	doublings := func(lo, hi int64) []int64 {
		var list []int64
		for v := lo; v <= hi; v *= 2 {
			list = append(list, v)
		}
		return list
	}
	one := servers()[:1]
	tiny := []server{{"reference", "1", "synthetic:tiny", "f32", 0.9, 0.00037, 3}}
	huge := []server{{"vllm", "0.12.0", "toy", "fp8", 1.9e6, 19000, 3}}
	long := servers()[:3]
	long[0].model = "mlx-community/DeepSeek-R1-0528-Distill-Qwen3-235B-A22B-Instruct-2507-UD-Q4_K_XL-00001-of-00003-with-a-very-long-suffix.gguf"
	long[1].model = "通义千问-7B-🚀"
	long[2].model = "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8"
	equal := servers()[:3]
	for i := range equal {
		equal[i].prefill, equal[i].decode, equal[i].knee = 1450, 62, 6
	}
	return append([]picture{
		{"one", of(Scaling, matrixOf(one, []int64{128, 512, 2048, 4096}, []int64{1}, 6), Options{}), 2},
		{"two", of(Scaling, matrixOf(servers()[:2], []int64{128, 512, 2048, 8192}, []int64{1}, 8), Options{}), 2},
		{"six", of(Scaling, matrixOf(servers(), doublings(128, 16384), []int64{1}, 8), Options{}), 2},
		{"twelve", of(Scaling, matrixOf(twelve(), doublings(128, 16384), []int64{1}, 6), Options{}), 2},
		{"matrix", of(Scaling, matrixOf(one, []int64{128, 512, 2048}, []int64{1, 4, 16}, 6), Options{}), 2},
		{"point", of(Scaling, matrixOf(one, []int64{512}, []int64{1}, 6), Options{X: "pp"}), 2},
		{"points", of(Scaling, matrixOf(servers(), []int64{512}, []int64{1}, 6), Options{X: "pp"}), 2},
		{"wide", of(Scaling, matrixOf(servers()[:3], doublings(128, 131072), []int64{1}, 6), Options{}), 2},
		{"wide_logy", of(Scaling, matrixOf(append(servers()[:3], tiny...), doublings(128, 131072), []int64{1}, 6), Options{Log: "xy"}), 2},
		{"concurrency", of(Scaling, matrixOf(servers()[:4], []int64{512}, doublings(1, 32), 6), Options{}), 2},
		{"aggregate", of(Scaling, matrixOf(servers()[:4], []int64{512}, doublings(1, 32), 6), Options{Y: []string{"agg_wall_tps"}}), 1},
		{"three", of(Scaling, matrixOf(servers()[:4], []int64{512}, doublings(1, 32), 6), Options{Y: []string{"prompt_tps", "generation_tps", "agg_wall_tps"}}), 2},
		{"linear", of(Scaling, matrixOf(servers()[:2], []int64{512}, []int64{1, 2, 3, 4}, 3), Options{}), 2},
		{"uneven", of(Scaling, matrixOf(servers()[:2], []int64{100, 1000, 1024, 3000, 10000, 100000}, []int64{1}, 3), Options{}), 2},
		{"tiny", of(Scaling, matrixOf(tiny, []int64{16, 32, 64, 256}, []int64{1}, 6), Options{}), 2},
		{"huge", of(Scaling, matrixOf(huge, []int64{16, 32, 64, 256}, []int64{1}, 6), Options{}), 2},
		{"long", of(Scaling, matrixOf(long, []int64{128, 512, 2048}, []int64{1}, 6), Options{}), 2},
		{"long_one", of(Scaling, matrixOf(long[:1], []int64{128, 512, 2048}, []int64{1}, 6), Options{Y: []string{"generation_tps"}}), 1},
		{"overlap", of(Scaling, matrixOf(equal, []int64{128, 512, 2048, 4096}, []int64{1}, 6), Options{}), 2},
		{"few", of(Scaling, matrixOf(servers()[:2], []int64{128, 512, 2048, 4096}, []int64{1}, 3), Options{}), 2},
		{"latency_few", of(Latency, matrixOf(servers()[:3], []int64{128, 512, 2048}, []int64{1}, 6), Options{}), 2},
		{"latency_boxes", of(Latency, matrixOf(servers()[:3], []int64{512}, []int64{1, 4, 16}, 20), Options{}), 2},
		{"latency_2000", of(Latency, matrixOf(servers()[:3], []int64{512}, []int64{1, 4, 16}, 2000), Options{}), 2},
		{"latency_tails", of(Latency, withTails(matrixOf(servers()[:3], []int64{512}, []int64{8, 32}, 12)), Options{}), 2},
		{"latency_one", of(Latency, matrixOf(one, []int64{512}, []int64{1}, 6), Options{}), 2},
		{"latency_many", of(Latency, matrixOf(servers(), []int64{128, 512, 2048, 8192}, []int64{1, 8}, 6), Options{}), 2},
		{"latency_long", of(Latency, matrixOf(long, []int64{128, 131072}, []int64{1}, 12), Options{By: []string{"pp"}}), 2},
		{"latency_long_lanes", of(Latency, matrixOf(long, []int64{512}, []int64{1}, 6), Options{By: []string{"pp"}}), 2},
		{"latency_alone", of(Latency, matrixOf(long, []int64{128, 8192}, []int64{1}, 6), Options{Y: []string{"ttft_ms"}, By: []string{"pp"}}), 1},
		{"latency_ttft", of(Latency, matrixOf(servers()[:2], []int64{128, 512}, []int64{1}, 12), Options{Y: []string{"ttft_ms"}}), 1},
	}, slices.Concat(powerGallery(), energyGallery(), historyGallery(), itlGallery(), compareGallery())...)
}

// largestFile is what no picture takes more than, in bytes: what a page of a
// paper or a mail holds without anybody's asking.
const largestFile = 650_000

// TestGallery builds every picture and writes it in every format, in one of them
// twice: the bytes are the same, and the PNG has the laid-out size at 200 dpi. To look at the pictures:
//
//	go test -run Gallery -artifacts -outputdir DIR ./plot
func TestGallery(t *testing.T) {
	for i, p := range gallery() {
		t.Run(p.name, func(t *testing.T) {
			fig, err := p.build()
			if err != nil {
				t.Fatal(err)
			}
			for k, format := range []Format{PNG, SVG, PDF} {
				data := encode(t, fig, format)
				name := filepath.Join(t.ArtifactDir(), p.name+"."+string(format))
				if err := os.WriteFile(name, data, 0o644); err != nil {
					t.Fatal(err)
				}
				if len(data) > largestFile {
					t.Errorf("the %s has %d bytes", format, len(data))
				}
				if format == PNG {
					checkPNG(t, data, fig, p.columns)
				}
				if (i+k)%3 > 0 {
					continue // once a picture, for it takes time
				}
				again, err := p.build()
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(data, encode(t, again, format)) {
					t.Errorf("two %s files of the same rows differ", format)
				}
			}
		})
	}
}

func encode(t *testing.T, f *Figure, format Format) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := f.Write(&buf, format); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func checkPNG(t *testing.T, data []byte, fig *Figure, columns int) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	width := map[int]int{1: 669, 2: 1417}[columns] // 8.5 and 18 cm
	height := int(math.Round(float64(fig.spelled(inFont).layout(light()).height()) / 72 * 200))
	if b := img.Bounds(); b.Dx() != width || b.Dy() != height {
		t.Errorf("the PNG is %d × %d, want %d × %d", b.Dx(), b.Dy(), width, height)
	}
	// nothing is drawn into the outermost pixels
	for x := range img.Bounds().Dx() {
		for _, y := range []int{0, img.Bounds().Dy() - 1} {
			if r, g, b, _ := img.At(x, y).RGBA(); r&g&b != 0xffff {
				t.Fatalf("ink at the edge, at %d, %d", x, y)
			}
		}
	}
	for y := range img.Bounds().Dy() {
		for _, x := range []int{0, img.Bounds().Dx() - 1} {
			if r, g, b, _ := img.At(x, y).RGBA(); r&g&b != 0xffff {
				t.Fatalf("ink at the edge, at %d, %d", x, y)
			}
		}
	}
	phys := data[33:]
	if got := fmt.Sprintf("%s %d", phys[4:8], binary.BigEndian.Uint32(phys[8:12])); got != "pHYs 7874" {
		t.Errorf("the resolution chunk reads %q, want 7874 pixels a metre, 200 dpi", got)
	}
}
