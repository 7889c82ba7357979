package model

import (
	"encoding/binary"
	"fmt"
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

// TestParityWithMLX compares the logits of a prefill and of 16 steps under
// teacher forcing to those of mlx_lm on the same folder. Where mlx_lm is not at
// hand it is skipped, but on CI it fails then.
func TestParityWithMLX(t *testing.T) {
	py := os.Getenv(python)
	if py == "" {
		why := python + " is not set: give it a Python that has mlx and mlx_lm (pip install 'mlx[cpu]' mlx-lm)"
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	tiny := Shapes()[0].Config
	tied, llama3 := tiny, small()
	tied.Tied = true
	linear := small()
	linear.Rope = Rope{Theta: 10000, Scaling: RopeLinear, Factor: 4, Traditional: true}
	for name, c := range map[string]Config{"tiny": tiny, "tied": tied, "llama3 and biases": llama3, "linear and traditional": linear} {
		t.Run(name, func(t *testing.T) { parity(t, py, c) })
	}
}

func parity(t *testing.T, py string, c Config) {
	const prefill, steps = 96, 16
	dir := t.TempDir()
	if err := WriteSynthetic(dir, c, 11); err != nil {
		t.Fatal(err)
	}
	ids := tokens(11, prefill+steps)
	want := mlxLogits(t, py, dir, ids, prefill, c.Vocab)
	m, err := LoadFolder(mlx.NewStream(), dir)
	if err != nil {
		t.Fatal(err)
	}
	got := logits(m, ids, append([]int{prefill}, slices.Repeat([]int{1}, steps)...)...)
	if len(want) != len(got) {
		t.Fatalf("%d rows of logits, want %d", len(want), len(got))
	}
	d := differ(want, got)
	t.Logf("largest difference over largest logit: %.1e", d)
	if !(d < 1e-4) {
		t.Errorf("logits differ by %g of the largest", d)
	}
}

// mlxLogits are the logits that mlx_lm computes.
func mlxLogits(t *testing.T, py, dir string, ids []int32, prefill, vocab int) [][]float32 {
	t.Helper()
	var list []string
	for _, id := range ids {
		list = append(list, strconv.Itoa(int(id)))
	}
	out := filepath.Join(t.TempDir(), "logits")
	cmd := exec.Command(py, "../../scripts/parity_mlx_lm.py", dir, strings.Join(list, ","), fmt.Sprint(prefill), out)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mlx_lm: %v\n%s", err, said)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]float32
	for row := range slices.Chunk(raw, 4*vocab) {
		var values []float32
		for b := range slices.Chunk(row, 4) {
			values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
		rows = append(rows, values)
	}
	return rows
}
