package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// parse reads a command line of collect into its options.
func parse(t *testing.T, args ...string) options {
	t.Helper()
	var o options
	cmd := &cli.Command{Name: "collect", Flags: collectFlags(), Action: func(_ context.Context, cmd *cli.Command) error {
		o = optionsOf(cmd)
		return nil
	}}
	if err := cmd.Run(context.Background(), append([]string{"collect"}, args...)); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOptionsRoundTrip: what a session keeps, read back and made a command
// line again, asks for the same.
func TestOptionsRoundTrip(t *testing.T) {
	for _, line := range [][]string{
		{},
		{"--pp", "128,512", "--pp", "4096", "--tg", "64"},
		{"--prompt", "one, two\nthree", "--prompt", "--odd=\"x\"", "--tag", "a,b"},
		{"--no-stream", "--use-prefix-cache", "--repeat", "1", "--warmup", "0"},
		{"--stream", "--temperature", "0.7", "--seed", "0", "--pause", "0", "--timeout", "90", "--settle-timeout", "1.5"},
		{"--profile", "asiai", "--prompt-kind", "code,reasoning", "--context-size", "8192"},
		{"--danger-delete-downloads", "--sharding", "tensor", "--model", "a/b", "--model", "c"},
	} {
		want := parse(t, line...)
		doc, err := stored{options: want.kept()}.document()
		if err != nil {
			t.Fatal(err)
		}
		s, err := readStored(doc)
		if err != nil {
			t.Fatal(err)
		}
		if got := parse(t, s.args()...); !reflect.DeepEqual(got, want) {
			t.Errorf("%q gives %v, want %v, by way of %s", line, got, want, doc)
		}
	}
}

// TestNothingSecretIsKept: of a command line with secrets.
func TestNothingSecretIsKept(t *testing.T) {
	o := parse(t, "--url", "http://u:hush@h/?key=hush", "--header", "X=hush", "--api-key-env", "NAME", "--json-out", "f")
	doc, err := stored{options: o.kept(), Runs: []options{o.kept()}}.document()
	if err != nil || strings.Contains(doc, "hush") || !strings.Contains(doc, "NAME") {
		t.Errorf("%s, %v", doc, err)
	}
}

func suiteFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSuite: what stands at the top holds where a run does not say otherwise,
// and the command line over both.
func TestSuite(t *testing.T) {
	s, err := readSuite(suiteFile(t, `
note = "three machines"
tg = 64
pp = [128, 512]
[[run]]
engine = "ollama"
model = "a"
[[run]]
engine = "reference"
pp = 32
stream = false
temperature = 0.5
pause = "500ms"
`))
	if err != nil {
		t.Fatal(err)
	}
	if s.text("note") != "three machines" || len(s.Runs) != 2 {
		t.Fatalf("%+v", s)
	}
	for i, want := range []string{
		"--engine=ollama --model=a --pp=128 --pp=512 --tg=64",
		"--engine=reference --pause=500ms --pp=32 --no-stream --temperature=0.5 --tg=64",
	} {
		if got := strings.Join(s.Runs[i].args(), " "); got != want {
			t.Errorf("run %d: %s, want %s", i+1, got, want)
		}
	}
	_, over := parse(t, "--pp", "7", "--note", "x").split()
	if got := strings.Join(s.Runs[0].over(over).args(), " "); !strings.Contains(got, "--pp=7 ") || strings.Contains(got, "128") {
		t.Errorf("the command line does not win: %s", got)
	}
}

// TestSuiteRefusals: each fault is named with its place.
func TestSuiteRefusals(t *testing.T) {
	for text, say := range map[string]string{
		"pp = 1":                        "[[run]]",
		"[[run]]\nppp = 1":              "did you mean pp?",
		"[[run]]\nnote = \"x\"":         "whole session",
		"resume = \"x\"\n[[run]]":       "whole session",
		"pp = \n[[run]]":                "line 1",
		"[[run]]\npp = 1\n[[runs]]\n":   "runs",
		"engines = \"mlx\"\n[[run]]\n":  "engine",
		"[[run]]\npp = 1\n[other]\nx=1": "other",
	} {
		if _, err := readSuite(suiteFile(t, text)); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v, want %q", text, err, say)
		}
	}
	if _, err := readSuite(filepath.Join(t.TempDir(), "none.toml")); err == nil || !strings.Contains(err.Error(), "none.toml") {
		t.Errorf("%v", err)
	}
}

// TestSuiteValues: each flag takes a value of its own kind and no other, at the
// top as in a run, and none swallows what follows it.
func TestSuiteValues(t *testing.T) {
	good := map[string][]string{"bool": {"true", "false"}, "list": {`"7"`, "7", `["7", 8]`}, "one": {`"7"`, "7"}}
	bad := map[string][]string{
		"bool": {"1", `"true"`, "[true]", "[]", "{a = 1}"},
		"list": {"true", "false", "[]", "[[7]]", "[true]", "{a = 1}", "1979-05-27T07:32:00Z"},
		"one":  {"true", "false", "[]", `["7"]`, "{a = 1}", "1979-05-27"},
	}
	for _, f := range collectFlags() {
		name, kind := f.Names()[0], "one"
		switch f.(type) {
		case *cli.BoolFlag, *cli.BoolWithInverseFlag:
			kind = "bool"
		case *intsFlag, *wordsFlag, *textsFlag:
			kind = "list"
		}
		if name == "suite" || name == "resume" {
			continue // for the command line alone
		}
		suite := name + " = %s\n[[run]]\n"
		if !slices.Contains(sessionFlags, name) && kind != "bool" {
			suite = "[[run]]\n" + name + " = %s\nuse-prefix-cache = true\n"
		}
		for _, v := range good[kind] {
			s, err := readSuite(suiteFile(t, fmt.Sprintf(suite, v)))
			if err != nil {
				t.Errorf("%s = %s: %v", name, v, err)
				continue
			}
			line := strings.Join(append(s.args(), s.Runs[0].args()...), " ")
			if want := map[bool]string{true: "--" + name + "=7", false: "--" + name}[kind != "bool"]; v != "false" && !strings.Contains(line, want) {
				t.Errorf("%s = %s gives %s", name, v, line)
			}
		}
		for _, v := range bad[kind] {
			if _, err := readSuite(suiteFile(t, fmt.Sprintf(suite, v))); err == nil || !strings.Contains(err.Error(), strconv.Quote(name)+" must be") {
				t.Errorf("%s = %s: %v", name, v, err)
			}
		}
	}
}

// TestSuiteSaysWhatFlagsSay of values of the right kind, whoever reads them.
func TestSuiteSaysWhatFlagsSay(t *testing.T) {
	for text, say := range map[string]string{
		"metrics-interval = -1\n[[run]]":              "--metrics-interval -1: must be a duration",
		"[[run]]\npp = 64.5":                          "--pp 64.5: must be whole numbers",
		"[[run]]\nrepeat = \"x\"":                     "--repeat x: must be a whole number of at least 1",
		"[[run]]\nPP = 2":                             "did you mean pp?",
		"[[run]]\nuse_prefix_cache = true":            "did you mean use-prefix-cache?",
		"[[run]]\nHelp = true":                        "\"Help\" is no flag",
		"db = \"x\"\n[[run]]":                         "--db",
		"[[run]]\nno-stream = 1":                      "true or false",
		"[[run]]\nno-stream = true\nstream = true":    "exclude each other",
		"[[run]]\nqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq = 1": "--help",
	} {
		_, err := readSuite(suiteFile(t, text))
		if err == nil || !strings.Contains(err.Error(), say) || strings.Contains(err.Error(), `mean ""`) || strings.Contains(err.Error(), "mean ?") {
			t.Errorf("%q: %v, want %q", text, err, say)
		}
	}
	for text, want := range map[string]string{"no-stream = true": "--no-stream", "no-stream = false": "--stream", "stream = false": "--no-stream"} {
		s, err := readSuite(suiteFile(t, text+"\n[[run]]"))
		if err != nil || strings.Join(s.Runs[0].args(), " ") != want {
			t.Errorf("%s: %v, %v", text, s.Runs, err)
		}
	}
}
