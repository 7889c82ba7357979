package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers is the architecture: for each package of this module, the packages of
// this module that it may import. The data's way is engine → collect → store →
// analyze → plot, and imports run against it. Add a line when you add a
// package.
var layers = map[string]string{
	"mlx/internal/capi":            "",
	"mlx/internal/backend":         "",
	"mlx/internal/host":            "mlx/internal/backend",
	"mlx/internal/lazy":            "mlx/internal/backend mlx/internal/capi",
	"mlx":                          "mlx/internal/backend mlx/internal/host mlx/internal/lazy",
	"mlx/model":                    "mlx",
	"mlx/engine":                   "mlx mlx/model",
	"mlx/serve":                    "mlx/engine mlx/model",
	"mlx/mlxtest":                  "",
	"power":                        "",
	"power/amdgpu":                 "power",
	"power/battery":                "power power/child",
	"power/child":                  "power",
	"power/local":                  "power power/amdgpu power/battery power/ioreport power/macmon power/nvidia power/powermetrics power/rapl",
	"power/macmon":                 "power power/child",
	"power/nvidia":                 "power power/child",
	"power/powermetrics":           "power power/child",
	"power/rapl":                   "power",
	"power/ioreport":               "power",
	"collect":                      "power",
	"collect/host":                 "collect",
	"collect/kinds":                "collect",
	"collect/wire":                 "collect",
	"collect/openai":               "collect collect/wire",
	"collect/ollama":               "collect collect/wire",
	"collect/exo":                  "collect collect/wire collect/openai power",
	"collect/inproc":               "collect mlx/engine",
	"collect/find":                 "collect/ollama collect/openai collect/wire",
	"collect/prompt":               "collect collect/prompt/source collect/prompt/template collect/prompt/tokenizer",
	"collect/prompt/source":        "collect/prompt/template collect/prompt/tokenizer",
	"collect/prompt/template":      "",
	"collect/prompt/tokenizer":     "",
	"collect/exchange":             "collect analyze",
	"collect/script":               "",
	"collect/calibrate":            "collect collect/openai collect/script analyze power",
	"collect/collecttest":          "collect collect/script",
	"store":                        "collect store/internal/boltpage",
	"store/internal/boltpage":      "",
	"analyze":                      "analyze/meter collect power",
	"analyze/meter":                "collect power",
	"analyze/analyzetest":          "collect",
	"analyze/analyzetest/casetest": "analyze collect collect/script",
	"analyze/analyzetest/fleet":    "analyze analyze/analyzetest",
	"analyze/duck":                 "analyze",
	"analyze/duck/arrowio":         "analyze/duck analyze/duck/rowio",
	"analyze/duck/rowio":           "analyze/duck",
	"plot":                         "analyze",
	"plot/report":                  "analyze plot",
	"cmd/tokwatt": "mlx/engine mlx/model mlx/serve collect collect/calibrate collect/exchange collect/exo collect/find collect/host " +
		"collect/inproc collect/kinds collect/ollama collect/openai collect/prompt collect/prompt/source " +
		"power power/local store analyze analyze/duck analyze/duck/arrowio analyze/duck/rowio plot plot/report",
}

// owners says which packages may import a library: one library, one package,
// so that replacing it is a local change.
var owners = map[string]string{
	"codeberg.org/go-fonts/liberation": "plot",
	"codeberg.org/go-pdf/fpdf":         "plot",
	"github.com/BurntSushi/toml":       "cmd/tokwatt",
	"github.com/apache/arrow-go/v18":   "analyze analyze/duck/arrowio",
	"github.com/ardanlabs/jinja":       "collect/prompt/template",
	"github.com/dlclark/regexp2/v2":    "collect/prompt/tokenizer",
	"github.com/duckdb/duckdb-go/v2":   "analyze/duck",
	"github.com/ebitengine/purego":     "mlx/internal/capi power/ioreport power/nvidia",
	"github.com/fxamacker/cbor/v2":     "store",
	"github.com/google/uuid":           "cmd/tokwatt store",
	"github.com/jedib0t/go-pretty/v6":  "cmd/tokwatt",
	"github.com/urfave/cli/v3":         "cmd/tokwatt",
	"github.com/vbauerster/mpb/v8":     "cmd/tokwatt",
	"go.etcd.io/bbolt":                 "store store/internal/boltpage",
	"golang.org/x/image":               "plot",
	"golang.org/x/sys":                 "collect collect/host mlx/engine",
	"golang.org/x/term":                "cmd/tokwatt",
	"golang.org/x/text":                "collect/prompt/tokenizer",
	"gonum.org/v1/gonum":               "mlx/internal/host",
	"gonum.org/v1/plot":                "plot",
}

// TestLayering asks the go command for the imports of every package on both
// systems, so files that only one of them builds are covered.
func TestLayering(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		cmd := exec.Command("go", "list", "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}`, "tokwatt/...")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED="+map[string]string{"linux": "1", "darwin": "0"}[goos])
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		seen := 0
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); seen++ {
			pkg, imp, _ := strings.Cut(lines.Text(), " ")
			if msg := violation(strings.TrimPrefix(pkg, "tokwatt/"), imp); msg != "" {
				t.Errorf("%s: %s", goos, msg)
			}
		}
		if seen < 100 {
			t.Errorf("%s: only %d imports seen", goos, seen)
		}
	}
}

// TestLayeringFires guards the guard: each kind of violation is reported.
func TestLayeringFires(t *testing.T) {
	for _, c := range []struct {
		pkg, imp string
		bad      bool
	}{
		{"store", "tokwatt/collect", false},
		{"store", "go.etcd.io/bbolt", false},
		{"store", "encoding/json", false},
		{"store", "tokwatt/plot", true},
		{"newpkg", "fmt", true},
		{"collect", "go.etcd.io/bbolt", true},
		{"store", "github.com/apache/arrow-go/v18/arrow", true},
		{"store", "github.com/nobody/library", true},
	} {
		if got := violation(c.pkg, c.imp); (got != "") != c.bad {
			t.Errorf("violation(%q, %q) = %q, want one: %t", c.pkg, c.imp, got, c.bad)
		}
	}
}

// violation says what is wrong with pkg importing imp, or nothing.
func violation(pkg, imp string) string {
	allowed, ok := layers[pkg]
	if !ok {
		return pkg + " has no line in layers"
	}
	if dep, ours := strings.CutPrefix(imp, "tokwatt/"); ours {
		if !slices.Contains(strings.Fields(allowed), dep) {
			return pkg + " may not import " + dep
		}
		return ""
	}
	if host, _, _ := strings.Cut(imp, "/"); !strings.Contains(host, ".") {
		return "" // the standard library
	}
	for lib, pkgs := range owners {
		if imp == lib || strings.HasPrefix(imp, lib+"/") {
			if slices.Contains(strings.Fields(pkgs), pkg) {
				return ""
			}
			return pkg + " may not import " + imp
		}
	}
	return imp + " belongs to no package: add it to owners"
}
