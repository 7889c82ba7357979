package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze/duck"
	"tokwatt/collect"
	"tokwatt/collect/exchange"
	"tokwatt/store"
)

// importable puts the files of import's examples into the folder of the test.
func importable(t *testing.T) {
	t.Helper()
	if got := tokwatt(t, "", "archive", "--db", fixture(t), "--to", "archive"); got.code != 0 {
		t.Fatal(got.err)
	}
	for name, from := range map[string]string{"results.json": "exo-results", "bench.txt": "llama-bench-md"} {
		if err := os.WriteFile(name, importCase(t, from), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// casesOfImport is where the cases are, whatever folder a test is in.
var casesOfImport, _ = filepath.Abs("../../testdata/cases/import")

// importCase is the file of one of the cases.
func importCase(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(casesOfImport, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ File string }
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return []byte(c.File)
}

// TestImport runs the command over files that are good, in part good, and not
// good for anything.
func TestImport(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TOKWATT_DB", filepath.Join(t.TempDir(), "t.db"))
	importable(t)
	write := func(name string, text []byte) {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("renamed.json", importCase(t, "exo-results"))
	write("cut.jsonl", importCase(t, "llama-bench-jsonl-cut"))
	write("empty.md", importCase(t, "llama-bench-md-empty"))
	write("nothing.json", nil)
	write("foreign.txt", []byte("hello\n"))
	for _, name := range []string{"own.csv", "own.jsonl", "own.txt"} {
		if got := tokwatt(t, "", "export", "--db", fixture(t), "--out", name); got.code != 0 {
			t.Fatal(got.err)
		}
	}
	for _, c := range []struct {
		args     string
		code     int
		out, err string
	}{
		{"results.json", 0, "results.json: exo-bench, 4 requests in 1 session: 0000", ""},
		{"results.json", 0, "results.json: 1 session already there: 0000", ""},
		{"renamed.json", 0, "renamed.json: 1 session already there", ""},
		{"--label x results.json", 0, "already there", "keeps its label and tags: to change them `tokwatt delete 0000"},
		{"own.csv", 3, "", "own.csv is tokwatt's own export of figures"},
		{"own.jsonl", 3, "", "own.jsonl is tokwatt's own export of figures"},
		{"own.txt", 3, "", "own.txt is tokwatt's own export of figures"},
		{"--format vllm bench.txt", 3, "", "bench.txt: nothing in it reads as vllm; its content looks like llama-bench"},
		{"cut.jsonl", 1, "cut.jsonl: llama-bench b6264-abc1234, 2 requests in 1 session", "cut.jsonl, line 3: it breaks off"},
		{"empty.md", 3, "", "empty.md: llama-bench without any result\ntokwatt: nothing was imported"},
		{"nothing.json", 3, "", "nothing.json is empty"},
		{"foreign.txt", 3, "", "foreign.txt is in no format that import knows"},
		{"foreign.txt bench.txt", 1, "bench.txt: llama-bench b6264-abc1234, 4 requests", "foreign.txt is in no format"},
		{"missing.json", 2, "", "missing.json can't be read: no such file"},
		{"--format nonsense bench.txt", 2, "", "--format nonsense: there is no such format; there are tokwatt, exo"},
		{".", 2, "", ". is a folder"},
		{"", 2, "", "import needs files"},
	} {
		got := tokwatt(t, "", append([]string{"import"}, strings.Fields(c.args)...)...)
		next := strings.Contains(got.out, "next: tokwatt summary 0")
		if next != strings.Contains(got.out, "request") {
			t.Errorf("import %s: what comes next is not told: %s", c.args, got.out)
		}
		if got.code != c.code || !strings.Contains(got.out, c.out) || !strings.Contains(got.err, c.err) || c.err == "" && got.err != "" {
			t.Errorf("import %s: exit %d, want %d\n%s%s", c.args, got.code, c.code, got.out, got.err)
		}
	}
}

// TestImportJSON pins the document, and that stdin is a file too.
func TestImportJSON(t *testing.T) {
	t.Setenv("TOKWATT_DB", filepath.Join(t.TempDir(), "t.db"))
	got := tokwatt(t, string(importCase(t, "llama-bench-csv-cut")), "import", "--json", "-")
	var doc struct {
		Files []importedFile
		Rows  int
		Bad   int
	}
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || got.code != 1 {
		t.Fatalf("exit %d, %v: %s", got.code, err, got.out)
	}
	f := doc.Files[0]
	if doc.Rows != 1 || doc.Bad != 1 || len(f.Sessions) != 1 || f.BadRows[0].Line != 3 || f.Format != "llama-bench" || f.Tool != "llama-bench" {
		t.Errorf("%s", got.out)
	}
}

// TestImportStore copies sessions with their ids, once.
func TestImportStore(t *testing.T) {
	from := copied(t, fixture(t))
	to := filepath.Join(t.TempDir(), "to.db")
	first := tokwatt(t, "", "--db", to, "import", from)
	again := tokwatt(t, "", "--db", to, "import", from)
	if first.code != 0 || again.code != 0 || !strings.Contains(again.out, "already there") {
		t.Errorf("exit %d, %d: %s%s%s", first.code, again.code, first.out, first.err, again.out)
	}
	for _, args := range [][]string{{"list"}, {"show", "--json", "last"}} {
		a, b := tokwatt(t, "", append([]string{"--db", from}, args...)...), tokwatt(t, "", append([]string{"--db", to}, args...)...)
		if a.out != b.out || a.out == "" {
			t.Errorf("%v: %s\nwant %s", args, b.out, a.out)
		}
	}
	if got := tokwatt(t, "", "--db", to, "check"); got.code != 0 {
		t.Error(got.out, got.err)
	}
	if got := tokwatt(t, "", "--db", to, "import", to); got.code != 2 {
		t.Errorf("a store into itself: exit %d", got.code)
	}
}

// TestImportedIsTold looks at the commands that show an imported session.
func TestImportedIsTold(t *testing.T) {
	needsSQL(t)
	t.Chdir(t.TempDir())
	t.Setenv("TOKWATT_DB", filepath.Join(t.TempDir(), "t.db"))
	importable(t)
	if got := tokwatt(t, "", "import", "--host", "mini", "bench.txt"); got.code != 0 {
		t.Fatal(got.err)
	}
	for _, c := range []struct{ args, want string }{
		{"list", "unknown"},
		{"list --json", `"imported_from": "llama-bench b6264-abc1234 bench.txt"`},
		{"show last", "llama-bench b6264-abc1234 bench.txt"},
		{"show last", "mixed"},
		{"show last", "  400  "},
		{"show last", "depth"},
		{"show last", " 4096 "},
		{"summary", "  400  "},
		{"summary", "400±2.0"},
		{"summary", " imported 20"},
		{"summary", "2000±23"},
		{"summary", "±sd where n is 1: as the file states it"},
		{"summary", "measured by llama-bench b6264-abc1234, file bench.txt"},
	} {
		if got := tokwatt(t, "", strings.Fields(c.args)...); got.code != 0 || !strings.Contains(got.out+got.err, c.want) {
			t.Errorf("%s: exit %d, %q is not in\n%s%s", c.args, got.code, c.want, got.out, got.err)
		}
	}
	got := tokwatt(t, "", "query", "--format", "csv",
		"select host, started_at, depth, stated_sd, array_to_string(stated, ' '), generation_tps_source, mixed_tps, stated_rule from runs order by request_id")
	want := strings.Join([]string{
		"host,started_at,depth,stated_sd,\"array_to_string(stated, ' ')\",generation_tps_source,mixed_tps,stated_rule",
		"mini,,,23.4,prompt_tps,,,n / t",
		"mini,,,0.31,generation_tps,import,,n / t",
		"mini,,4096,0.2,generation_tps,import,,n / t",
		"mini,,,2,mixed_tps,,400,n / t", ""}, "\n")
	if strings.ReplaceAll(got.out, "\r", "") != want {
		t.Errorf("%s%s\nwant %s", got.out, got.err, want)
	}
}

// TestImportedAnswersAreHonest: a file with averages alone is no session that
// is still to end, and nobody is told to measure anew what another tool did.
func TestImportedAnswersAreHonest(t *testing.T) {
	needsSQL(t)
	files := filepath.Join(here, "..", "..", "collect", "exchange", "testdata", "import")
	for _, c := range []struct{ file, want string }{
		{"vllm-0.33.0-plain.json", "imported from a file of vllm bench serve, has no single request: `tokwatt show "},
		{"aiperf-0.13.0.jsonl", "imported: measured by aiperf, file aiperf-0.13.0.jsonl"},
		{"guidellm-0.8.1.json", "imported: measured by guidellm 0.8.1"},
	} {
		t.Setenv("TOKWATT_DB", filepath.Join(t.TempDir(), c.file+".db"))
		if got := tokwatt(t, "", "import", "--json", filepath.Join(files, c.file)); got.code != 0 {
			t.Fatal(got.err)
		}
		for _, args := range [][]string{{"summary", "last"}, {"summary", "--asiai", "last"}} {
			got := tokwatt(t, "", args...)
			all := got.out + got.err
			if got.code != 0 || !strings.Contains(strings.Join(strings.Fields(all), " "), c.want) {
				t.Errorf("%s of %s: exit %d, %q is not in\n%s", args, c.file, got.code, c.want, all)
			}
			if strings.Contains(all, "--t") || strings.Contains(all, "NULL") || strings.Contains(all, "NaN") {
				t.Errorf("%s of %s advises, or has no blank where nothing is known:\n%s", args, c.file, all)
			}
		}
	}
	if own, foreign := manyInFirst(0.1).text(2, false), manyInFirst(0.1).text(2, true); !strings.HasPrefix(own, foreign+"; --tokenizer") {
		t.Errorf("%q of ours, %q of another tool's", own, foreign)
	}
}

// TestImportGrown takes a session anew that was resumed in the other store, and
// leaves one alone that has more here.
func TestImportGrown(t *testing.T) {
	at := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	recs := []collect.Record{
		&collect.Session{ID: "019b8d99-6a16-74ec-a123-ff9349242504", StartedAt: at},
		&collect.Segment{Segment: 1, StartedAt: at, PlannedBatches: 2},
		&collect.TargetInfo{TargetID: 1, ModelID: "m"},
		&collect.Case{TargetID: 1, CaseID: 1, Concurrency: 1},
		&collect.Batch{CaseID: 1, BatchID: 1, Segment: 1, Requests: []collect.Request{{RequestID: 1}}},
		&collect.Batch{CaseID: 1, BatchID: 2, Segment: 1, Requests: []collect.Request{{RequestID: 2}}},
		&collect.End{At: at, Status: collect.StatusComplete},
	}
	fill := func(n int) *store.Store {
		db := store.Open(filepath.Join(t.TempDir(), "s.db"), store.Options{})
		if err := db.PutAll(t.Context(), recs[0].(*collect.Session).ID, recs[:n]); err != nil {
			t.Fatal(err)
		}
		return db
	}
	for _, c := range []struct{ here, there, want int }{{5, 6, 2}, {5, 7, 2}, {6, 7, 2}, {6, 5, 2}, {7, 5, 2}, {5, 5, 1}} {
		here, there := fill(c.here), fill(c.there)
		got := tokwatt(t, "", "--db", here.Path(), "import", there.Path())
		all, err := here.Sessions(t.Context())
		if got.code != 0 || err != nil || len(all) != 1 || all[0].Batches != int64(c.want) || (all[0].End == nil) != (max(c.here, c.there) < 7) {
			t.Errorf("%d records here, %d there: exit %d, %v, %+v %s", c.here, c.there, got.code, err, all, got.err)
		}
	}
}

// TestImportInterrupted stops an import: what is whole is kept, and the next
// import of the file has all of it.
func TestImportInterrupted(t *testing.T) {
	run := `{"elapsed_s":1.5,"stats":{"generation_tokens":8},"model_id":"m","placement_instance_meta":"x","tg":8,"repeat_index":%d}`
	var file strings.Builder
	file.WriteString(`{"runs":[`)
	const runs = 3 * flushRequests
	for i := range runs {
		fmt.Fprintf(&file, run+",", i)
	}
	fmt.Fprintf(&file, run+"]}", runs)
	path := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	db := store.Open(filepath.Join(t.TempDir(), "t.db"), store.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	im := &importer{db: db, app: &app{err: io.Discard}, now: &importedFile{File: path, Format: "exo"}, known: map[string]store.SessionInfo{}}
	in := exchange.Input{Name: path, R: strings.NewReader(file.String()), Size: int64(file.Len())}
	err := im.records(ctx, func(yield func(collect.Record, error) bool) {
		for rec, err := range exchange.Read(ctx, in) {
			if b, ok := rec.(*collect.Batch); ok && b.BatchID == flushRequests+10 {
				cancel()
			}
			if !yield(rec, err) {
				return
			}
		}
	})
	all, _ := db.Sessions(t.Context())
	if code := new(coded); !errors.As(err, &code) || code.code != exitInterrupted || len(all) != 1 || all[0].End.Status != collect.StatusInterrupted || all[0].Batches < flushRequests+10 || all[0].Batches > flushRequests+11 {
		t.Fatalf("%v, %+v", err, all)
	}
	if got := tokwatt(t, "", "--db", db.Path(), "import", path); got.code != 0 {
		t.Fatal(got.err)
	}
	if all, _ = db.Sessions(t.Context()); len(all) != 1 || all[0].End.Status != collect.StatusComplete || all[0].Batches != runs+1 {
		t.Errorf("%+v", all)
	}
}

// TestImportTellsNoOldNews copies a store in which something was not measured:
// that was told when it happened.
func TestImportTellsNoOldNews(t *testing.T) {
	from := store.Open(filepath.Join(t.TempDir(), "s.db"), store.Options{})
	recs := []collect.Record{
		&collect.Session{ID: "019b8d99-6a16-74ec-a123-ff9349242504"},
		&collect.Segment{Segment: 1},
		&collect.Lost{Segment: 1, Model: "m", Message: "no memory"},
		&collect.End{Status: collect.StatusFailed},
	}
	if err := from.PutAll(t.Context(), recs[0].(*collect.Session).ID, recs); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "t.db")
	got := tokwatt(t, "", "--db", to, "import", from.Path())
	if got.code != 0 || got.err != "" || !strings.Contains(got.out, "0 requests in 1 session") {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
	if shown := tokwatt(t, "", "--db", to, "show", "last"); !strings.Contains(shown.out, "no memory") {
		t.Error(shown.out, shown.err)
	}
}

// TestImportedRateIsShown: a file without what gen is computed of has the rate
// that everybody looks for all the same, and no length that nobody wanted.
func TestImportedRateIsShown(t *testing.T) {
	needsSQL(t)
	t.Chdir(t.TempDir())
	for name, want := range map[string]string{"ollama-verbose": "5.04", "asiai-export": "50.5"} {
		t.Setenv("TOKWATT_DB", name+".db")
		if err := os.WriteFile(name, importCase(t, name), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := tokwatt(t, "", "import", name); got.code != 0 {
			t.Fatal(got.err)
		}
		for _, c := range []string{"summary", "show"} {
			got := tokwatt(t, "", c, "last")
			if !strings.Contains(got.out, "gen n/t") || !strings.Contains(got.out, want) || !strings.Contains(got.out, "   –     1") {
				t.Errorf("%s of %s: %s%s", c, name, got.out, got.err)
			}
		}
	}
}

// TestImportedAverages: where a file has nothing but averages, show has them and
// summary says where they are.
func TestImportedAverages(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TOKWATT_DB", "t.db")
	text := `{"date":"20260105-100000","endpoint_type":"openai","model_id":"m","num_prompts":10,"completed":10,
		"request_throughput":3.2,"output_throughput":320.5,"mean_ttft_ms":12.25,"percentiles_ttft_ms":[[99,20]],"lora":null}`
	if err := os.WriteFile("plain.json", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := tokwatt(t, "", "import", "plain.json")
	if got.code != 0 || !strings.Contains(got.out, "next: tokwatt show ") || !strings.Contains(got.err, "--save-detailed") {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
	shown := tokwatt(t, "", "show", "last").out
	for _, want := range []string{"mean_ttft_ms", "12.25", "output_throughput", "320.5", "[[99,20]]"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s is not in %s", want, shown)
		}
	}
	if !duck.Available {
		return
	}
	if got := tokwatt(t, "", "summary", "last"); !strings.Contains(got.out+got.err, "no single request") {
		t.Error(got.out, got.err)
	}
}
