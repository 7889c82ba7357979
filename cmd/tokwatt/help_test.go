package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// One screen, for a help text.
const (
	screenLines   = 52
	screenColumns = 80
)

// allCommands are the root and its commands, by the words that call them.
func allCommands() map[string]*cli.Command {
	root := (&app{}).root()
	all := map[string]*cli.Command{"": root}
	for _, c := range root.Commands {
		all[c.Name] = c
		for _, sub := range c.Commands {
			all[c.Name+" "+sub.Name] = sub
		}
	}
	return all
}

func TestHelpFitsAScreen(t *testing.T) {
	for name := range allCommands() {
		got := tokwatt(t, "", append(strings.Fields(name), "--help")...)
		if got.code != 0 || got.err != "" {
			t.Errorf("%s --help: exit %d, stderr %q", name, got.code, got.err)
		}
		lines := strings.Split(strings.TrimRight(got.out, "\n"), "\n")
		if len(lines) > screenLines {
			t.Errorf("%s --help has %d lines, over %d", name, len(lines), screenLines)
		}
		for _, l := range lines {
			if n := len([]rune(l)); n > screenColumns && !strings.HasPrefix(strings.TrimSpace(l), "tokwatt ") {
				t.Errorf("%s --help: a line of %d columns: %s", name, n, l)
			}
		}
		golden(t, "help/"+called(name)+".txt", got.out)
	}
}

func called(name string) string {
	if name == "" {
		return "tokwatt"
	}
	return name
}

// measured are the figures in an answer that differ from run to run.
var measured = regexp.MustCompile(`[0-9][0-9a-f]{7}-[0-9a-f-]{4,}|\d+(\.\d+)?`)

// inexact are the commands whose answers hold measured figures: their digits
// are not compared, nor the widths that follow from them.
var inexact = []string{"collect", "demo", "engines", "version", "status"}

// TestHelpExamples runs the examples of every help screen, in one folder and
// in their order, and compares what they print.
func TestHelpExamples(t *testing.T) {
	db := fixture(t)
	for name, cmd := range allCommands() {
		if slices.Contains([]string{"demo", "calibrate", "power", "serve"}, name) {
			continue // TestDemo, TestCalibrateExamples, TestServe, TestPowerExamples
		}
		t.Run(called(name), func(t *testing.T) {
			if first, _, _ := strings.Cut(name, " "); slices.Contains([]string{"summary", "compare", "query", "plot", "report", "archive", "version", ""}, first) {
				needsSQL(t)
			}
			t.Chdir(t.TempDir())
			importable(t)
			t.Setenv("TOKWATT_DB", copied(t, db))
			lines, _ := cmd.Metadata["examples"].([]string)
			if len(lines) != 2 {
				t.Fatalf("%d examples, want 2", len(lines))
			}
			if name == "" {
				lines = lines[1:] // the other is demo
			}
			var printed strings.Builder
			for _, line := range lines {
				args := words(line)
				if args[0] != "tokwatt" {
					t.Fatalf("example %q does not call tokwatt", line)
				}
				got := tokwatt(t, "", args[1:]...)
				if got.code != 0 {
					t.Errorf("%s: exit %d: %s", line, got.code, got.err)
				}
				printed.WriteString("$ " + line + "\n" + got.out)
			}
			text := printed.String()
			if slices.Contains(inexact, called(name)) || name == "" {
				text = regexp.MustCompile(`[ ─]+`).ReplaceAllString(measured.ReplaceAllString(text, "N"), " ")
			}
			golden(t, "examples/"+called(name)+".txt", text)
		})
	}
}

// words splits a line as a shell does, double quotes included.
func words(line string) []string {
	var out []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}

func copied(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir() + "/tokwatt.db"
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestSpread(t *testing.T) {
	for in, want := range map[string]string{
		"collect --pp 512 4096 --tg 128":          "collect --pp 512 --pp 4096 --tg 128",
		"collect --pp 512,1024 4096 --tg 128 256": "collect --pp 512,1024 --pp 4096 --tg 128 --tg 256",
		"collect --concurrency 1 2 4 extra 5":     "collect --concurrency 1 --concurrency 2 --concurrency 4 extra 5",
		"collect --pp 512 -- 4 5":                 "collect --pp 512 -- 4 5",
		"collect --repeat 3 4":                    "collect --repeat 3 4",
		"collect -pp 512 1024":                    "collect -pp 512 -pp 1024",
		"collect --pp=512 --tg 8":                 "collect --pp=512 --tg 8",
	} {
		if got := strings.Join(spread(strings.Fields(in), "pp", "tg", "concurrency"), " "); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
