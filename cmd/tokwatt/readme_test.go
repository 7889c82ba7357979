package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// TestReadme runs every command line of the README, in its order, in one
// folder. Those for exo, Ollama and MLX, which are not here, must come as far as
// that; none may be bad usage.
func TestReadme(t *testing.T) {
	needsSQL(t)
	page := "\n" + readme(t) + "\n"
	t.Chdir(t.TempDir())
	importable(t)
	t.Setenv("TOKWATT_DB", filepath.Join(t.TempDir(), "t.db"))
	nobody := strings.TrimPrefix(closedPort(t), "http://")
	host, port, _ := strings.Cut(nobody, ":")
	for name, value := range map[string]string{"EXO_HOST": host, "EXO_PORT": port, "OLLAMA_HOST": nobody, "TOKWATT_MLX_LIB": ""} {
		t.Setenv(name, value)
	}
	there := strings.NewReplacer("http://127.0.0.1:8080", serve(t, steady()), "/Volumes/share/dataset", "dataset")
	suite := regexp.MustCompile(`(?s)\n    # night.toml.*?\n\n    tokwatt`).FindString(page)
	files := map[string][]byte{
		"night.toml":  []byte(there.Replace(strings.TrimSuffix(suite, "tokwatt"))),
		"bench.jsonl": importCase(t, "aiperf-jsonl"),
		"other.db":    read(t, copied(t, fixture(t))),
	}
	for name, text := range files {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for line := range strings.SplitSeq(page, "\n") {
		command, _, _ := strings.Cut(line, "  #")
		rest, found := strings.CutPrefix(command, "    tokwatt ")
		if !found || strings.HasPrefix(rest, "demo") { // TestDemo
			continue
		}
		ran++
		args := words(there.Replace(rest))
		if args[0] == "collect" && !slices.Contains(args, "--resume") {
			args = append(args, "--pause=0", "--group-pause=0")
		}
		got := tokwatt(t, "", args...)
		said := strings.Join(strings.Fields(got.out+got.err), " ")
		away := strings.Contains(said, "no connection to "+nobody) || strings.Contains(rest, "--engine mlx") && strings.Contains(said, "MLX")
		if got.code != 0 && !away {
			t.Errorf("tokwatt %s: exit %d: %s", rest, got.code, got.err)
		}
	}
	if ran < 20 {
		t.Errorf("%d commands", ran)
	}
}

// TestReadmeNamesFlags: those that commands in a sentence have are theirs.
func TestReadmeNamesFlags(t *testing.T) {
	all := allCommands()
	for _, span := range regexp.MustCompile("`tokwatt ([^`]+)`").FindAllStringSubmatch(readme(t), -1) {
		args := words(span[1])
		cmd := all[args[0]]
		if cmd == nil {
			t.Errorf("%s: there is no such command", span[0])
			continue
		}
		for _, a := range args {
			name, isFlag := strings.CutPrefix(a, "--")
			if isFlag && name != "help" && !slices.ContainsFunc(cmd.VisibleFlags(), func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }) {
				t.Errorf("%s: %s has no --%s", span[0], args[0], name)
			}
		}
	}
}

func readme(t *testing.T) string {
	t.Helper()
	return string(bytes.TrimSpace(read(t, filepath.Join(here, "..", "..", "README.md"))))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
