package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tokwatt/mlx/model"
)

// TestMLXInAWorker holds that a worker with MLX answers as one in plain Go does,
// says with what, and takes a batch.
func TestMLXInAWorker(t *testing.T) {
	withMLX(t)
	t.Setenv("MLX_MAX_OPS_PER_BUFFER", "50")
	ask := []Request{
		{ID: 1, Streams: 2, User: "Hello", MaxTokens: 12, BanEOS: true},
		{ID: 2, Streams: 2, User: "Holla", MaxTokens: 12, BanEOS: true},
	}
	w, lines := start(t, Load{Model: DefaultModel, Seed: 5})
	want := answers(t, w, lines, ask...)
	w, lines = start(t, Load{Model: DefaultModel, Seed: 5, Backend: MLX})
	if got := answers(t, w, lines, ask...); got[1] != want[1] || got[2] != want[2] || !strings.HasSuffix(got[1], "batch of 2") {
		t.Errorf("MLX: %v\nplain Go: %v", got, want)
	}
	l := w.Loaded()
	if l.Backend.Name != "mlx" || l.Backend.Version == "" || l.Backend.Library == "" || l.Environment["MLX_MAX_OPS_PER_BUFFER"] != "50" {
		t.Errorf("loaded %+v", l)
	}
}

// TestMLXSaysWhyNot holds that what is missing or damaged is one sentence.
func TestMLXSaysWhyNot(t *testing.T) {
	withMLX(t)
	c := model.Shapes()[0].Config
	c.Layers = 1
	cut, bent := t.TempDir(), t.TempDir()
	for _, dir := range []string{cut, bent} {
		if err := model.WriteSynthetic(dir, c, 3); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(cut, "model.safetensors"), 100000); err != nil {
		t.Fatal(err)
	}
	other := c
	other.Intermediate *= 2
	scratch := t.TempDir()
	if err := model.WriteSynthetic(scratch, other, 3); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(scratch, "config.json"), filepath.Join(bent, "config.json")); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		load Load
		want string
	}{
		{Load{Model: DefaultModel, Library: "/no/such/libmlxc.so"}, "/no/such/libmlxc.so (not there)"},
		{Load{Model: cut}, "cut short"},
		{Load{Model: bent}, "has shape"},
		{Load{Model: "synthetic:none"}, "synthetic:tiny"},
	} {
		x.load.Backend = MLX
		if _, err := Start(t.Context(), x.load); err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v, want %q", x.load, err, x.want)
		}
	}
}

func TestProbe(t *testing.T) {
	withMLX(t)
	info, err := Probe(t.Context(), "")
	if err != nil || info.Name != "mlx" || info.Version == "" || len(info.LibrarySHA) != 64 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := Probe(t.Context(), "/no/such/libmlxc.so"); err == nil || !strings.Contains(err.Error(), "not there") {
		t.Errorf("no library: %v", err)
	}
}

// TestMLXKilled holds that a worker's end while MLX computes is told as any.
func TestMLXKilled(t *testing.T) {
	withMLX(t)
	w, lines := start(t, Load{Model: DefaultModel, Backend: MLX})
	if err := w.Send(Request{ID: 1, Streams: 1, User: "x", MaxTokens: 20000, BanEOS: true}); err != nil {
		t.Fatal(err)
	}
	lines.Scan()
	w.cmd.Process.Signal(syscall.SIGKILL)
	for lines.Scan() {
	}
	var end *ExitError
	if err := w.Wait(); !errors.As(err, &end) || end.Signal != "killed" {
		t.Errorf("got %v", err)
	}
}

// TestCacheIsWrittenInPlace holds that a step takes no memory for a copy of the
// cache, as it would if anything else held the cache's old state.
func TestCacheIsWrittenInPlace(t *testing.T) {
	s := withMLX(t)
	s.Do(func() {
		m := tiny(t, s)
		h := listen(t)
		j := newJob(1, prompt(1, 10), 20000, true)
		var first, most int64
		h.onLine = func(f Frame) {
			if f.Token == nil {
				return
			}
			switch n := len(h.tokens[1]); {
			case n == 5:
				first = *s.Active()
			case n > 5:
				most = max(most, *s.Peak()-first)
				j.cancelled.Store(n > 15)
			}
			s.ResetPeak()
		}
		newGenerator(m, h.write, func(*job) {}).run([]*job{j})
		layer := m.Config.KVBytes() / int64(m.Config.Layers) * 20000
		if most == 0 || most > layer/10 {
			t.Errorf("a step takes up to %d bytes, and a layer's cache is %d", most, layer)
		}
	})
}
