//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package capi

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tokwatt/mlx/mlxtest"
)

// library is MLX for a test. It is skipped where there is none, but on CI it
// fails then.
func library(t testing.TB) *Library {
	t.Helper()
	mlxtest.NeedsLibrary(t)
	l, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOpen(t *testing.T) {
	l := library(t)
	i := l.Info()
	if i.Version == "" || len(i.SHA256) != 64 || !filepath.IsAbs(i.Path) {
		t.Errorf("%+v", i)
	}
	if !i.GPU && i.Device == "" {
		t.Errorf("a CPU without a name: %+v", i)
	}
	l.Do(func() {
		if l.Live() != 0 {
			t.Errorf("opening left %d arrays", l.Live())
		}
	})
	t.Logf("%+v", i)
}

// TestFailuresAreKept holds that the first failure is told, in a sentence
// without a path, and that what is built on it fails quietly.
func TestFailuresAreKept(t *testing.T) {
	l := library(t)
	l.Do(func() {
		a, b := l.floats(make([]float32, 6), 2, 3), l.floats(make([]float32, 8), 2, 4)
		y := l.Add(l.Sigmoid(l.Matmul(a, b)), a)
		l.Eval(y)
		err := l.Err()
		var e *Error
		if y != None || !errors.As(err, &e) || e.Op != "mlx_matmul" {
			t.Errorf("%v, %v", y, err)
		}
		if err != nil && strings.Contains(err.Error(), "/") {
			t.Errorf("a path in %q", err)
		}
		if err := l.Err(); err != nil {
			t.Errorf("told twice: %v", err)
		}
		l.Free(a)
		l.Free(b)
		if l.Live() != 0 {
			t.Errorf("%d arrays left", l.Live())
		}
	})
}

// TestEvalTakesAnyNumber evaluates more arrays than fit at once.
func TestEvalTakesAnyNumber(t *testing.T) {
	l := library(t)
	l.Do(func() {
		one := l.floats([]float32{1}, 1)
		var all []Handle
		for range 2*len(l.many) + 3 {
			all = append(all, l.Add(one, one))
		}
		l.Eval(all...)
		for _, a := range append(all, one) {
			l.Free(a)
		}
		l.ClearCache()
		if n := l.ActiveMemory(); n != 0 {
			t.Errorf("%d bytes are still taken", n)
		}
		if err := l.Err(); err != nil || l.Live() != 0 {
			t.Errorf("%d arrays left, %v", l.Live(), err)
		}
	})
}

// TestOneThread holds that work elsewhere than in Do fails, from the version on
// that has this rule, instead of being computed by luck.
func TestOneThread(t *testing.T) {
	l := library(t)
	if strings.HasPrefix(l.Info().Version, "0.31") {
		t.Skip("MLX 0.31 allows it")
	}
	other := newThread()
	if err := other.do(func() {
		a := l.floats([]float32{1, 2}, 2)
		b := l.Add(a, a)
		l.Eval(b)
		if err := l.Err(); err == nil {
			t.Error("another thread's work was taken")
		}
		l.Free(a)
		l.Free(b)
	}); err != nil {
		t.Fatal(err)
	}
}

func TestPlaces(t *testing.T) {
	t.Setenv(Variable, "/from/environment.so")
	if got := places("/from/flag.so"); !slices.Equal(got, []string{"/from/flag.so"}) {
		t.Errorf("named: %q", got)
	}
	if got := places(""); !slices.Equal(got, []string{"/from/environment.so"}) {
		t.Errorf("by environment: %q", got)
	}
	t.Setenv(Variable, "")
	got := places("")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) < 4 || filepath.Dir(got[0]) != filepath.Dir(exe) || filepath.Dir(got[1]) != "/opt/homebrew/lib" || got[len(got)-1] != filepath.Base(got[0]) {
		t.Errorf("places: %q", got)
	}
	_, err = open("", func(path string) (uintptr, error) { return 0, errors.New("refused") })
	var none *NotFoundError
	if !errors.As(err, &none) || len(none.Tried) != len(got) || !strings.Contains(err.Error(), "/opt/homebrew/opt/mlx-c/lib") || !strings.Contains(err.Error(), Variable) {
		t.Errorf("not found: %v", err)
	}
}

func TestOpenSaysWhyNot(t *testing.T) {
	text := filepath.Join(t.TempDir(), "100%s.so")
	if err := os.WriteFile(text, []byte("no library"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"/no/such/libmlxc.so": "not there", text: "100%s.so"} {
		if _, err := Open(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := map[string]string{"linux": "libc.so.6", "darwin": "libSystem.B.dylib"}[runtime.GOOS]
	if _, err := Open(other); err == nil || !strings.Contains(err.Error(), "mlx_add") || !strings.Contains(err.Error(), "mlx_zeros") {
		t.Errorf("another library: %v", err)
	}
}

// TestDifference guards the self-check: it sees what is off.
func TestDifference(t *testing.T) {
	if d := (check{got: []float32{1, 2}, want: []float64{1, 2.5}}).difference(); d != 0.2 {
		t.Errorf("difference %g", d)
	}
	if d := (check{want: []float64{1}}).difference(); d < 1 {
		t.Errorf("nothing computed: %g", d)
	}
}

// BenchmarkCall is the cost of one operation: built and given up.
func BenchmarkCall(b *testing.B) {
	l := library(b)
	l.Do(func() {
		x := l.floats(make([]float32, 64), 1, 64)
		w := l.floats(make([]float32, 64), 64)
		b.Run("nothing", func(b *testing.B) { // the call itself
			b.ReportAllocs()
			for b.Loop() {
				l.TypeOf(x)
			}
		})
		b.Run("add", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Free(l.Add(x, x))
			}
		})
		b.Run("rms_norm", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Free(l.RMSNorm(x, w, 1e-5))
			}
		})
	})
}

func BenchmarkOpen(b *testing.B) {
	library(b)
	for b.Loop() {
		if _, err := Open(""); err != nil {
			b.Fatal(err)
		}
	}
}
