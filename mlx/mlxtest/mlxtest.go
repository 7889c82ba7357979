// Package mlxtest says which tests of MLX can run: those that have its library.
package mlxtest

import (
	"os"
	"testing"
)

// NeedsLibrary skips a test where no library of MLX is named, which CI does:
// there it fails.
func NeedsLibrary(t testing.TB) {
	t.Helper()
	if os.Getenv("TOKWATT_MLX_LIB") != "" {
		return
	}
	const why = "TOKWATT_MLX_LIB is not set: give it what make mlx-lib prints"
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
