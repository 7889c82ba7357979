package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// benchFile is an example of a file that import reads.
func benchFile(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../collect/exchange/testdata/import/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestImportedIsDrawn: cases of llama-bench differ in depth and in the length of
// the answer alone, and some of its files have no day.
func TestImportedIsDrawn(t *testing.T) {
	needsSQL(t)
	dated, again, undated, targets := benchFile(t, "llama-bench-11434.json"), benchFile(t, "llama-bench-11434.csv"), benchFile(t, "llama-bench-11434.md"), benchFile(t, "llama-bench-bde7cd3.json")
	t.Chdir(t.TempDir())
	t.Setenv("TOKWATT_DB", filepath.Join(t.TempDir(), "t.db"))
	for _, file := range []string{undated, again, dated} {
		if got := tokwatt(t, "", "import", file); got.code != 0 {
			t.Fatal(got.err)
		}
	}
	for _, c := range []struct {
		args string
		want []string
	}{
		{"plot scaling last --out p.svg", []string{">pp 32 · depth 64<", ">depth 64 · no prompt<"}},
		{"plot history --out p.svg", []string{"over 2 sessions", "1 session left out", "llama-bench b0-unknown"}},
		{"plot history --by depth --out p.svg --where import_tool=llama-bench,engine=llama.cpp", []string{">depth 64<"}},
	} {
		got := tokwatt(t, "", strings.Fields(c.args)...)
		svg, err := os.ReadFile("p.svg")
		if got.code != 0 || err != nil {
			t.Errorf("%s: exit %d, %v\n%s", c.args, got.code, err, got.err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(svg), want) {
				t.Errorf("%s: no %q in the picture", c.args, want)
			}
		}
		if strings.Contains(string(svg), "tokwatt llama-bench") {
			t.Errorf("%s: llama-bench is told as a version of tokwatt", c.args)
		}
	}
	if got := tokwatt(t, "", "import", targets); got.code != 0 {
		t.Fatal(got.err)
	}
	captionsDiffer(t)
}

// captionsDiffer reads the report of each session: of two targets of one name, and
// of two cases, none may be told as the other.
func captionsDiffer(t *testing.T) {
	t.Helper()
	for _, line := range strings.Split(tokwatt(t, "", "query", "--format", "csv", "select session_id from sessions order by session_id").out, "\n")[1:] {
		id := strings.TrimSpace(line)
		if id == "" {
			continue
		}
		if got := tokwatt(t, "", "report", id, "--out", id+".html"); got.code != 0 {
			t.Fatal(got.err)
		}
		text, err := os.ReadFile(id + ".html")
		if err != nil {
			t.Fatal(err)
		}
		page, err := parsePage(string(text))
		if err != nil {
			t.Fatal(err)
		}
		var captions []string
		for _, c := range page.all("caption") {
			if slices.Contains(captions, c.text) {
				t.Errorf("%s: two tables are %q", id, c.text)
			}
			captions = append(captions, c.text)
			if !strings.HasPrefix(c.text, "Every metric") {
				continue
			}
			seen := map[string]bool{}
			for _, row := range page.table(t, c.text) {
				if key := row["case"] + " " + row["metric"]; seen[key] {
					t.Errorf("%s: %s is there twice in %q", id, key, c.text)
				} else {
					seen[key] = true
				}
			}
		}
		if len(captions) == 0 {
			t.Errorf("%s: the report has no table", id)
		}
	}
}
