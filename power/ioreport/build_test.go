package ioreport

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestBuilds: only a build for macOS has purego in it, which would tie the
// binary for Linux to the C library.
func TestBuilds(t *testing.T) {
	for goos, want := range map[string]bool{"linux": false, "darwin": true} {
		cmd := exec.Command("go", "list", "-deps", ".")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=arm64", "CGO_ENABLED=0", "GOFLAGS=")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(out), "ebitengine/purego"); got != want {
			t.Errorf("%s: purego is in the build: %t, want %t", goos, got, want)
		}
	}
}
