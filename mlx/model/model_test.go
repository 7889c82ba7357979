package model

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tokwatt/mlx"
	"tokwatt/mlx/mlxtest"
)

// small is a model with everything that the tests turn: three query heads a KV
// head, biases, llama3 rope.
func small() Config {
	c := Shapes()[0].Config
	c.Hidden, c.Layers, c.Intermediate, c.Heads, c.KVHeads, c.HeadDim = 48, 3, 80, 6, 2, 16
	c.AttentionBias, c.MLPBias = true, true
	c.Rope = Rope{Theta: 500, Scaling: RopeLlama3, Factor: 8, LowFreq: 1, HighFreq: 4, OldPosition: 32}
	return c
}

func build(t testing.TB, c Config, seed uint64) *Model {
	t.Helper()
	m, err := Synthetic(mlx.NewStream(), Shape{"test", c}, seed)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func tokens(seed uint64, n int) []int32 {
	r := rand.New(rand.NewPCG(seed, 9))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = r.Int32N(256)
	}
	return ids
}

// logits runs ids in chunks of the given lengths, one stream, and returns the
// logits of each token.
func logits(m *Model, ids []int32, chunks ...int) [][]float32 {
	cache := m.NewCache(1, len(ids))
	defer cache.Free()
	var out [][]float32
	for _, n := range chunks {
		out = append(out, rowsOf(m, func(t mlx.Tokens) mlx.Array { return m.Logits(m.Forward(t, cache)) }, ids[:n])...)
		ids = ids[n:]
	}
	return out
}

// rowsOf are the rows of what f makes of tokens.
func rowsOf(m *Model, f func(mlx.Tokens) mlx.Array, ids []int32) [][]float32 {
	var out [][]float32
	m.Stream.Scope(func() mlx.Array {
		tokens := m.Stream.Tokens(ids)
		defer m.Stream.FreeTokens(tokens)
		made := f(tokens)
		data, err := m.Stream.Read(made)
		if err != nil {
			panic(err)
		}
		out = slices.Collect(slices.Chunk(data, made.Cols()))
		return nil
	})
	return out
}

// differ is the largest difference of two sets of logits, relative to the
// largest logit.
func differ(a, b [][]float32) float64 {
	var diff, top float64
	for i := range a {
		for j, v := range a[i] {
			diff = max(diff, math.Abs(float64(v-b[i][j])))
			top = max(top, math.Abs(float64(v)))
		}
	}
	return diff / top
}

// opened is MLX, once for all tests.
var opened = sync.OnceValues(func() (*mlx.Stream, error) { return mlx.Open("") })

// backends runs f with each backend. MLX is skipped where it is not at hand, but
// on CI its absence is a failure. f must not end its goroutine: MLX's thread
// would go with it.
func backends(t *testing.T, f func(t *testing.T, s *mlx.Stream)) {
	t.Run("host", func(t *testing.T) { f(t, mlx.NewStream()) })
	t.Run("mlx", func(t *testing.T) {
		mlxtest.NeedsLibrary(t)
		s, err := opened()
		if errors.Is(err, mlx.ErrBuild) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Do(func() { f(t, s) })
	})
}

// coarse is how much further off than a CPU's logits may be: GPUs multiply
// float32 with fewer bits.
func coarse(s *mlx.Stream) float64 {
	if s.Info().Device == "gpu" {
		return 1000
	}
	return 1
}

// variants are small models of each architecture, and what else changes a pass.
func variants() map[string]Config {
	out := map[string]Config{"llama, with biases": small()}
	vary := func(name string, set func(c *Config)) {
		c := small()
		set(&c)
		out[name] = c
	}
	packed := func(c *Config) {
		c.Hidden, c.Intermediate, c.HeadDim = 64, 96, 32
		c.Quant = Quantization{Group: 32, Bits: 4}
	}
	vary("llama, traditional rope, tied", func(c *Config) { c.Rope.Traditional, c.Tied = true, true })
	vary("llama, 4 bits, some 8, some none", func(c *Config) {
		packed(c)
		c.Except = map[string]Quantization{"model.embed_tokens": {Group: 64, Bits: 8}, "model.layers.1.mlp.up_proj": {}}
		c.Tied = true
	})
	vary("qwen2", func(c *Config) { c.ModelType, c.AttentionBias, c.MLPBias, c.HeadDim = "qwen2", false, false, 8 })
	vary("qwen3", func(c *Config) { c.ModelType, c.AttentionBias, c.MLPBias = "qwen3", false, false })
	vary("qwen3, 4 bits", func(c *Config) {
		packed(c)
		c.ModelType, c.AttentionBias, c.MLPBias = "qwen3", false, false
	})
	experts := func(c *Config) {
		c.ModelType, c.AttentionBias, c.MLPBias = "qwen3_moe", false, false
		c.Rope = Rope{Theta: 10000, Scaling: RopeDefault} // mlx_lm has no other for it
		c.Experts = Experts{Count: 8, Chosen: 3, Intermediate: 32, Normalize: true, Step: 1, Plain: []int{1}}
	}
	vary("qwen3_moe", experts)
	vary("qwen3_moe, 4 bits, its router 8", func(c *Config) {
		packed(c)
		experts(c)
		c.Experts.Normalize, c.Experts.Step, c.Experts.Plain = false, 2, nil
		c.Except = map[string]Quantization{"model.layers.1.mlp.gate": {Group: 64, Bits: 8}}
	})
	return out
}

// TestAgainstDefinition compares a whole pass to the definition of the
// architectures, written in float64 from the weights.
func TestAgainstDefinition(t *testing.T) {
	ids, want := tokens(3, 24), map[string][][]float32{}
	for name, c := range variants() {
		want[name] = naiveLogits(c, 3, ids)
	}
	backends(t, func(t *testing.T, s *mlx.Stream) {
		for name, c := range variants() {
			m, err := Synthetic(s, Shape{"test", c}, 3)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			before := s.Live()
			for _, chunks := range [][]int{{24}, {18, 5, 1}} {
				if d := differ(logits(m, ids, chunks...), want[name]); !(d < 1e-5*coarse(s)) {
					t.Errorf("%s: logits in %v differ by %g", name, chunks, d)
				}
			}
			if left := s.Live(); left != before {
				t.Errorf("%s: %d arrays are left of %d passes", name, left-before, 2)
			}
		}
	})
}

// TestChunksAndCache holds that it does not matter how a prompt is cut: all at
// once (nothing cached), in chunks, and token by token (all cached).
func TestChunksAndCache(t *testing.T) {
	m := build(t, small(), 1)
	ids := tokens(1, 150)
	whole := logits(m, ids, 150)
	ones := slices.Repeat([]int{1}, 150)
	for _, chunks := range [][]int{ones, {64, 64, 22}, {1, 148, 1}, {149, 1}} {
		if d := differ(whole, logits(m, ids, chunks...)); d > 1e-5 {
			t.Errorf("in %d chunks the logits differ by %g", len(chunks), d)
		}
	}
}

func TestBatchEqualsSingle(t *testing.T) {
	m := build(t, small(), 2)
	const streams, seq = 3, 70
	all := tokens(2, streams*seq)
	next := tokens(5, streams)
	cache := m.NewCache(streams, seq+1)
	newest := func(t mlx.Tokens) mlx.Array { return m.Logits(m.Newest(t, cache)) }
	prefill := rowsOf(m, newest, all)
	decode := rowsOf(m, newest, next)
	for i := range streams {
		ids := append(slices.Clone(all[i*seq:(i+1)*seq]), next[i])
		single := logits(m, ids, seq, 1)
		batch := [][]float32{prefill[i], decode[i]}
		if d := differ(single[seq-1:], batch); d > 1e-6 {
			t.Errorf("stream %d differs by %g", i, d)
		}
	}
}

// TestTheFutureIsHidden holds that a token does not change what came before it.
func TestTheFutureIsHidden(t *testing.T) {
	m := build(t, small(), 1)
	ids := tokens(1, 90)
	before := logits(m, ids, 90)
	ids[80]++
	after := logits(m, ids, 90)
	if d := differ(before[:80], after[:80]); d != 0 {
		t.Errorf("tokens before the change differ by %g", d)
	}
	if d := differ(before[80:], after[80:]); d == 0 {
		t.Error("the change had no effect")
	}
}

func TestActivationsStaySane(t *testing.T) {
	m := build(t, Shapes()[0].Config, 0)
	last := logits(m, tokens(0, 64), 64)[63]
	var square float64
	for _, v := range last {
		square += float64(v) * float64(v) / float64(len(last))
	}
	if rms := math.Sqrt(square); !(rms > 0.2 && rms < 5) {
		t.Errorf("logits have an rms of %g", rms)
	}
}

// TestWeightsArePinned holds the synthetic weights of every machine to the
// same bits: runs on two Macs must measure one model.
func TestWeightsArePinned(t *testing.T) {
	w := TensorSpec{Name: "model.layers.0.self_attn.q_proj.weight", Shape: []int{4, 3}}.floats(Config{}, 7)
	n := TensorSpec{Name: "model.norm.weight", Shape: []int{3}}.floats(Config{}, 7)
	var got []uint32
	for _, v := range append(w[:3], n...) {
		got = append(got, math.Float32bits(v))
	}
	want := []uint32{0x3e828840, 0x3f2aa2a8, 0xbdff3c20, 0x3f8631b0, 0x3f8a2f02, 0x3f683a9e}
	if !slices.Equal(got, want) {
		t.Errorf("weights are %#x, want %#x", got, want)
	}
}

func TestFolderRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd [name]")
	c := small()
	if err := WriteSynthetic(dir, c, 4); err != nil {
		t.Fatal(err)
	}
	m, err := LoadFolder(mlx.NewStream(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ids := tokens(4, 20)
	if d := differ(logits(build(t, c, 4), ids, 20), logits(m, ids, 20)); d != 0 {
		t.Errorf("the loaded model differs by %g", d)
	}
	if !m.Config.ByteTokenizer || !slices.Equal(m.Config.EOS, c.EOS) {
		t.Errorf("config %+v", m.Config)
	}
}

// f32 is a tensor of float32.
func f32(t TensorSpec, values []float32) Tensor {
	return Tensor{t.Name, "F32", t.Shape, mlx.F32.Append(nil, values)}
}

func TestFolderRefusals(t *testing.T) {
	c := small()
	spec := func(name string, shape ...int) Tensor {
		return f32(TensorSpec{Name: name, Shape: shape}, make([]float32, TensorSpec{Shape: shape}.elements()))
	}
	for want, tensors := range map[string][]Tensor{
		"is missing":       {spec("model.norm.weight", c.Hidden)},
		"has shape":        {spec("model.norm.weight", c.Hidden+1)},
		"no place for":     {spec("model.layers.0.self_attn.q_norm.weight", 16)},
		"does not say how": {spec("model.layers.0.mlp.up_proj.scales", 1)},
	} {
		dir := t.TempDir()
		if err := WriteSynthetic(dir, c, 0); err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := WriteSafetensors(&file, tensors); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "model.safetensors"), file.Bytes())
		if _, err := LoadFolder(mlx.NewStream(), dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	dir := t.TempDir()
	if _, err := LoadFolder(mlx.NewStream(), dir); err == nil || !strings.Contains(err.Error(), "no config.json") {
		t.Errorf("an empty folder: %v", err)
	}
	write(t, filepath.Join(dir, "config.json"), []byte(minimal+"}"))
	if _, err := LoadFolder(mlx.NewStream(), dir); err == nil || !strings.Contains(err.Error(), "no *.safetensors") {
		t.Errorf("a folder without weights: %v", err)
	}
	write(t, filepath.Join(dir, "a.safetensors"), binary.LittleEndian.AppendUint64(nil, 1000))
	if _, err := LoadFolder(mlx.NewStream(), dir); err == nil || !strings.Contains(err.Error(), "a.safetensors: the file is cut short") {
		t.Errorf("a cut file: %v", err)
	}
	if _, err := LoadFolder(mlx.NewStream(), filepath.Join(dir, "none")); err == nil || errors.Is(err, os.ErrExist) {
		t.Errorf("no folder: %v", err)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestTokenizer(t *testing.T) {
	for _, c := range []struct {
		system, user string
		want         []int32
	}{
		{"", "", []int32{TokenBOS, TokenUser, TokenAssistant}},
		{"", "hé", []int32{TokenBOS, TokenUser, 'h', 0xc3, 0xa9, TokenAssistant}},
		{"s", "\x00", []int32{TokenBOS, TokenSystem, 's', TokenUser, 0, TokenAssistant}},
	} {
		got := EncodeChat(c.system, c.user)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q %q: %v, want %v", c.system, c.user, got, c.want)
		}
		if n := CountChat(c.system, c.user); n != len(c.want) {
			t.Errorf("%q %q: count %d, want %d", c.system, c.user, n, len(c.want))
		}
	}
	if got := EncodeChat("", "x"); got[ChatHead] != 'x' || len(got) != ChatHead+1+ChatTail {
		t.Errorf("head and tail don't fit %v", got)
	}
	for id, want := range map[int32]string{'a': "a", ' ': " ", '\n': `\x0a`, 0xff: `\xff`, TokenEOS: "<eos>", TokenAssistant: "<assistant>", 49151: "<49151>"} {
		if got := TokenText(id); got != want {
			t.Errorf("token %d prints as %q, want %q", id, got, want)
		}
	}
}
