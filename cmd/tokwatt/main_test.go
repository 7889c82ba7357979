package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze/analyzetest"
	"tokwatt/analyze/duck"
	"tokwatt/collect/calibrate"
	"tokwatt/mlx/engine"
	"tokwatt/store"
)

var update = flag.Bool("update", false, "write the golden files anew")

// beProgram makes this test binary be the program, so that commands are tested
// as processes, with their real exit codes and signals.
const beProgram = "TOKWATT_TEST_BE_PROGRAM"

func TestMain(m *testing.M) {
	engine.RunIfWorker()
	calibrate.RunIfServer()
	if os.Getenv(beProgram) != "" {
		main()
	}
	// Whatever this machine can read takes time: a quiet window before each target.
	os.Setenv("TOKWATT_POWER", "off")
	var err error
	if here, err = os.Getwd(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// here is the package's folder, from which tests move away.
var here string

// result is what a command printed and how it ended.
type result struct {
	out, err string
	code     int
}

// command makes a process of the program.
func command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), beProgram+"=1", "TZ=UTC", "NO_COLOR=1")
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// tokwatt runs the program to its end.
func tokwatt(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	cmd := command(t.Context(), args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// needsSQL leaves a test out of a build that has no SQL engine;
// TestWithoutSQL holds what such a build says.
func needsSQL(t *testing.T) {
	t.Helper()
	if !duck.Available {
		t.Skip("this build is without cgo, so it has no SQL engine")
	}
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(here, "testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; -update writes it anew\n--- got\n%s\n--- want\n%s", path, got, want)
	}
}

// fixture is a store with two sessions that are the same each time.
func fixture(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fixture.db")
	db := store.Open(path, store.Options{})
	for o := range analyzetest.Fleet(2, 1, analyzetest.Options{Seed: 7, Power: true}) {
		for rec, err := range analyzetest.Records(o) {
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Put(t.Context(), o.ID(), rec); err != nil {
				t.Fatal(err)
			}
		}
	}
	return path
}
