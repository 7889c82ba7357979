package model

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tokwatt/mlx"
)

// python names a Python that has mlx and mlx_lm.
const python = "TOKWATT_MLX_PY"

// newMLX says that mlx_lm has MLX 0.32.3 or newer, which it needs for experts
// that are quantized.
const newMLX = "TOKWATT_MLX_NEW"

// modelFolder names a folder of somebody else's model.
const modelFolder = "TOKWATT_MLX_MODEL"

// Where the logits of mlx_lm are compared: after a prefill, and after each of
// 64 steps under teacher forcing.
const paritySteps = 64

// TestParityWithMLX compares logits to those of mlx_lm on the same folder, with
// each backend. Where mlx_lm is not at hand it is skipped, but on CI it fails
// then.
func TestParityWithMLX(t *testing.T) {
	py := needsPython(t)
	all := variants()
	all["tiny"] = Shapes()[0].Config
	linear := small()
	linear.Rope = Rope{Theta: 10000, Scaling: RopeLinear, Factor: 4, Traditional: true}
	all["llama, linear and traditional rope"] = linear
	for _, name := range []string{"qwen3, 4 bits", "llama, with biases"} {
		half := all[name]
		half.DType = mlx.BF16
		half.Rope = Rope{Theta: 10000, Scaling: RopeDefault}
		all[name+", bfloat16"] = half
	}

	if os.Getenv(newMLX) == "" {
		// mlx_lm 0.32.2 calls gather_qmm as MLX has it since 0.32.3.
		delete(all, "qwen3_moe, 4 bits, its router 8")
	}

	var dirs []string
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names {
		dir := filepath.Join(t.TempDir(), "model")
		if err := WriteSynthetic(dir, all[name], 11); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	const prefill = 96
	for i, want := range mlxLogits(t, py, dirs, prefill) {
		t.Run(names[i], func(t *testing.T) { parity(t, dirs[i], prefill, want) })
	}
}

// TestParityOfFolder is the same with a real model, if one is named.
func TestParityOfFolder(t *testing.T) {
	dir := os.Getenv(modelFolder)
	if dir == "" {
		t.Skip(modelFolder + " is not set: make parity names a folder")
	}
	const prefill = 32
	parity(t, dir, prefill, mlxLogits(t, needsPython(t), []string{dir}, prefill)[0])
}

func needsPython(t *testing.T) string {
	py := os.Getenv(python)
	if py == "" {
		why := python + " is not set: give it a Python that has mlx and mlx_lm (pip install 'mlx[cpu]' mlx-lm)"
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return py
}

// parity compares the logits of a folder to those of mlx_lm. In bfloat16 they
// agree only if each operation rounds as mlx_lm's does, so what computes in
// float32 is not compared then.
func parity(t *testing.T, dir string, prefill int, want [][]float32) {
	backends(t, func(t *testing.T, s *mlx.Stream) {
		m, err := LoadFolder(s, dir)
		if err != nil {
			t.Error(err)
			return
		}
		if m.Config.DType != mlx.F32 && !s.Info().KeepsTypes {
			return
		}
		got := logits(m, tokens(11, len(want)), append([]int{prefill}, slices.Repeat([]int{1}, paritySteps)...)...)
		d, off := differ(want, got), apart(want, got)
		t.Logf("largest difference %.1e, over the largest logit %.1e", off, d)
		if !(d < 1e-4*coarse(s) && off < 1e-3*coarse(s)) {
			t.Errorf("logits differ by %g, which is %g of the largest", off, d)
		}
		for i := range want {
			if a, b := best(want[i]), best(got[i]); a != b && want[i][a]-want[i][b] > 2e-3*float32(coarse(s)) {
				t.Errorf("after %d tokens the next is %d, and mlx_lm's %d", i+1, b, a)
			}
		}
	})
}

// apart is the largest difference of two sets of logits.
func apart(a, b [][]float32) (most float64) {
	for i := range a {
		for j, v := range a[i] {
			most = max(most, math.Abs(float64(v-b[i][j])))
		}
	}
	return most
}

// best is the likeliest token.
func best(logits []float32) int {
	at := 0
	for i, v := range logits {
		if v > logits[at] {
			at = i
		}
	}
	return at
}

// mlxLogits are the logits that mlx_lm computes for each folder.
func mlxLogits(t *testing.T, py string, dirs []string, prefill int) (out [][][]float32) {
	t.Helper()
	var list, args, files []string
	for _, id := range tokens(11, prefill+paritySteps) {
		list = append(list, strconv.Itoa(int(id)))
	}
	for _, dir := range dirs {
		file := filepath.Join(t.TempDir(), "logits")
		files = append(files, file)
		args = append(args, dir, strings.Join(list, ","), fmt.Sprint(prefill), file)
	}
	cmd := exec.Command(py, append([]string{"../../scripts/parity_mlx_lm.py"}, args...)...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mlx_lm: %v\n%s", err, said)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		values := make([]float32, len(data)/4)
		mlx.F32.Decode(values, data)
		out = append(out, slices.Collect(slices.Chunk(values, len(values)/len(list))))
	}
	return out
}
