package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// TestCompare asks for the fixture's newest session in several ways: the exit
// code, and what is said.
func TestCompare(t *testing.T) {
	needsSQL(t)
	db := fixture(t)
	both := fmt.Sprint(rows(t, db, "select min(session_id) as id from sessions")[0]["id"]) + "+last"
	for _, c := range []struct {
		args string
		code int
		out  string
		err  string
	}{
		{"last,engine=mlx_lm last,engine=llama.cpp", 0, "model: demo-8b against demo-1b", ""},
		{"last,engine=mlx_lm last,engine=llama.cpp --metric generation_tps --fail-on 5%", 1, "worse", "worse by more than 5 %: generation_tps, pp 128, concurrency 1 (−50.4 %)"},
		{"last,engine=mlx_lm last,engine=llama.cpp --metric generation_tps --fail-on 60%", 0, "worse", ""},
		{"last,engine=llama.cpp last,engine=mlx_lm --metric generation_tps --fail-on 0%", 0, "better", ""},
		{"last,engine=llama.cpp last,engine=mlx_lm --metric j_per_output_token --fail-on 900%", 3, "not enough runs", "not enough runs to judge by (5 batches a side are needed for 3 tests): j_per_output_token, pp 128, concurrency 1 (n 6/3)"},
		{"last last", 2, "", "is on both sides"},
		{"last", 2, "", "compare takes two selections, A and B, and here are 1"},
		{"last,engine=mlx_lm last,engine=llama.cpp --metric j_per_output_token", 0, "mind: B: 51 requests with few_power_samples", ""},
		{"last,engine=mlx_lm last,engine=llama.cpp --metric ttft_ms", 0, "mind: A: 15 requests with throttled", ""},
		{"last engine=mlx", 2, "", "no case has engine=mlx: did you mean engine=mlx_lm? there is"},
		{"last engin=mlx", 2, "", "engin=mlx: did you mean engine? The keys are"},
		{"last last,", 2, "", "nothing behind the comma"},
		{"last ffff", 2, "", "ffff"},
		{"last,pp=128 last,pp=512 --metric ttft", 2, "", `there is no metric "ttft": did you mean ttft_ms?`},
		{"last,pp=128 last,pp=512 --fail-on 5", 2, "", "must be a percentage such as 5%"},
		{"last,pp=128 last,pp=512 --fail-on 5% --metric avg_power_w", 2, "", "avg_power_w is neither better high nor low"},
		{"last,pp=128,engine=mlx_lm last,tg=999", 2, "", "no case has tg=999: "},
		{"last,prefix_cache_hit=exact,concurrency=1 last,prefix_cache_hit=none,concurrency=1 --metric ttft_ms", 0, "ttft_ms", ""},
		{"last,cache_mode=cold,engine=llama.cpp,pp=4096,concurrency=1 last,prefix_cache_hit=exact,concurrency=1 --metric ttft_ms", 0, "cache_mode: cold against prefix", ""},
		{"last,cache_mode=cold,engine=llama.cpp,pp=4096 last,cache_mode=prefix", 2, "", "They differ in prefix_cache_hit (no value against "},
		{both + ",pp=128 " + both + ",pp=512 --metric ttft_ms", 0, "host", ""},
	} {
		r := tokwatt(t, "", append([]string{"compare", "--db", db}, strings.Fields(c.args)...)...)
		if r.code != c.code || !strings.Contains(r.out, c.out) || !strings.Contains(r.err, c.err) || c.err == "" && r.err != "" {
			t.Errorf("compare %s: exit %d, want %d with %q and %q; got\n%s%s", c.args, r.code, c.code, c.out, c.err, r.out, r.err)
		}
		if w := widest(r.out); w > 100 {
			t.Errorf("compare %s: %d columns", c.args, w)
		}
	}
}

// TestCompareFormats: all forms have the same pairs, and the JSON is the type
// that plots take.
func TestCompareFormats(t *testing.T) {
	needsSQL(t)
	db := fixture(t)
	ask := func(flags ...string) string {
		r := tokwatt(t, "", append([]string{"compare", "--db", db, "last,engine=mlx_lm", "last,engine=llama.cpp"}, flags...)...)
		if r.code != 0 {
			t.Fatalf("%v: exit %d: %s", flags, r.code, r.err)
		}
		return r.out
	}
	var set analyze.CompareSet
	if err := json.Unmarshal([]byte(ask("--json")), &set); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(ask("--format", "csv"))).ReadAll()
	if err != nil || len(lines) != len(set.Pairs)+1 || len(set.Pairs) < 20 {
		t.Errorf("%d pairs, %d lines of CSV, %v", len(set.Pairs), len(lines), err)
	}
	if got := strings.Count(ask("--format", "markdown"), "\n|"); got != len(set.Pairs)+2 {
		t.Errorf("%d lines in Markdown for %d pairs", got, len(set.Pairs))
	}
	if len(set.OnlyA) != 6 || len(set.OnlyB) != 2 {
		t.Errorf("only in A %q, only in B %q", set.OnlyA, set.OnlyB)
	}
}

// TestCompareWithoutGenerationRate: sessions of which only the rate of all tokens
// is known are compared by that; a loss of it is not passed over for a time that
// is alike.
func TestCompareWithoutGenerationRate(t *testing.T) {
	needsSQL(t)
	db, dir := filepath.Join(t.TempDir(), "t.db"), t.TempDir()
	for i, scale := range []float64{1, 0.8} {
		var runs []string
		for n := range 6 {
			runs = append(runs, fmt.Sprintf(`{"run_index":%d,"prompt_type":"code","tok_per_sec":%v,"ttft_ms":%d,"tokens_generated":400,"total_duration_ms":8000}`, n, scale*(50+float64(n)/10), 80+n))
		}
		file := filepath.Join(dir, fmt.Sprint(i, ".json"))
		text := fmt.Sprintf(`{"schema_version":2,"asiai_version":"1.15.0","timestamp":%d,"machine":{"chip":"Demo M9"},"benchmark":{"model":"demo:3b","prompts":["code"],`+
			`"engines":{"ollama":{"engine_version":"0.12.0","raw_runs":[%s]}}}}`, 1767607200+1000*i, strings.Join(runs, ","))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := tokwatt(t, "", "import", "--db", db, file); r.code != 0 {
			t.Fatalf("import: exit %d: %s", r.code, r.err)
		}
	}
	ids := rows(t, db, "select session_id as id from sessions order by started_at")
	r := tokwatt(t, "", "compare", "--db", db, "--fail-on", "5%", fmt.Sprint(ids[0]["id"]), fmt.Sprint(ids[1]["id"]))
	if r.code != 1 || !strings.Contains(r.err, "tok_per_sec, the only case (−20.0 %)") || !strings.Contains(r.out, "ttft_ms") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := tokwatt(t, "", "compare", "--db", fixture(t), "last,engine=mlx_lm", "last,engine=llama.cpp"); strings.Contains(r.out, "tok_per_sec") {
		t.Errorf("where the generation rate is known nothing stands in for it:\n%s", r.out)
	}
}

// TestCompareAverages: of llama-bench's means there is no test, and it is said which
// of its forms have the runs.
func TestCompareAverages(t *testing.T) {
	needsSQL(t)
	db, dir := filepath.Join(t.TempDir(), "t.db"), t.TempDir()
	const head = "| model | size | params | backend | threads | test | t/s |\n| --- | --- | --- | --- | --- | --- | --- |\n"
	for i, rate := range []string{"500.00 ± 1.00", "400.00 ± 1.00"} {
		file := filepath.Join(dir, fmt.Sprint(i, ".md"))
		if err := os.WriteFile(file, []byte(head+"| llama 1B Q4_0 | 0.7 GiB | 1.1 B | CPU | 4 | pp512 | "+rate+" |\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := tokwatt(t, "", "import", "--db", db, file); r.code != 0 {
			t.Fatalf("import: exit %d: %s", r.code, r.err)
		}
	}
	ids := rows(t, db, "select session_id as id from sessions order by session_id")
	r := tokwatt(t, "", "compare", "--db", db, fmt.Sprint(ids[0]["id"]), fmt.Sprint(ids[1]["id"]))
	if r.code != 0 || !strings.Contains(flat(r.out), "mind: averages of llama-bench, which tell no number of runs, in A and B: its -o json") || !strings.Contains(r.out, "not enough runs") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// TestGateSeesWhatWasLost: what failed is in no figure, and still a loss.
func TestGateSeesWhatWasLost(t *testing.T) {
	needsSQL(t)
	runs := slices.Repeat([]float64{100, 101, 102}, 4)
	for every, code := range map[int64]int{2: exitFailures, 12: exitOK, 100: exitOK} { // of B's 12 requests each such one fails
		db := storeOf(t, kindsOf(collect.TargetInfo{Engine: "lmstudio", Driver: "openai", ModelID: "demo"}, func(r *collect.Request) {
			if n := r.RequestID - int64(len(runs)); n > 0 && n%every == 0 {
				r.Failure = collect.Failf(collect.ErrHTTP, "the server answered 500")
			}
		}, runs, runs)...)
		args := []string{"compare", "--db", db, "--metric", "tok_per_sec", "--fail-on", "5%", "last,prompt_kind=code", "last,prompt_kind=reasoning"}
		r := tokwatt(t, "", args...)
		if r.code != code || (code == exitFailures) != strings.Contains(r.err, "worse by more than 5 %: requests lost in 6 of 12 batches, against 0 of 12") {
			t.Errorf("each %dth fails: exit %d, want %d\n%s%s", every, r.code, code, r.out, r.err)
		}
		if other := tokwatt(t, "", append(slices.Clone(args[:7]), args[8], args[7])...); other.code != exitOK {
			t.Errorf("the other way round: exit %d: %s", other.code, other.err)
		}
	}
}

// TestGateOutlivesItsReader: the exit code is the verdict's, also where stdout was
// closed before all was written, as head does it, or is full.
func TestGateOutlivesItsReader(t *testing.T) {
	needsSQL(t)
	args := []string{"compare", "--db", fixture(t), "last,engine=mlx_lm", "last,engine=llama.cpp", "--metric", "generation_tps", "--fail-on"}
	for limit, code := range map[string]int{"5%": exitFailures, "60%": exitOK} {
		cmd := command(t.Context(), append(args, limit)...)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var errs strings.Builder
		cmd.Stdout, cmd.Stderr = w, &errs
		err = cmd.Run()
		w.Close()
		if got := cmd.ProcessState.ExitCode(); got != code || (code == exitOK) != (errs.Len() == 0) || strings.Contains(errs.String(), "pipe") {
			t.Errorf("--fail-on %s into a closed pipe: exit %d, want %d: %v: %s", limit, got, code, err, &errs)
		}
	}
}

// TestEmptyLimit: a limit that a script left empty is no gate that lets all pass.
func TestEmptyLimit(t *testing.T) {
	needsSQL(t)
	db := fixture(t)
	for _, args := range [][]string{
		{"compare", "last,pp=128", "last,pp=512", "--fail-on", ""},
		{"compare", "last,pp=128", "last,pp=512", "--fail-on="},
		{"summary", "--goodput", ""},
	} {
		if r := tokwatt(t, "", append(args, "--db", db)...); r.code != exitUsage || r.out != "" {
			t.Errorf("%q: exit %d: %s", args, r.code, r.err)
		}
	}
}

// TestCompareDataset: an archive is asked like the store.
func TestCompareDataset(t *testing.T) {
	needsSQL(t)
	db, dir := fixture(t), t.TempDir()
	if r := tokwatt(t, "", "archive", "--db", db, "--to", dir); r.code != 0 {
		t.Fatalf("archive: exit %d: %s", r.code, r.err)
	}
	args := []string{"compare", "engine=mlx_lm,pp=128", "engine=llama.cpp,pp=128"}
	store, archive := tokwatt(t, "", append(args, "--db", db)...), tokwatt(t, "", append(args, "--dataset", dir)...)
	if store.code != 0 || store.out != archive.out {
		t.Errorf("store: exit %d\n%s%s\narchive: exit %d\n%s%s", store.code, store.out, store.err, archive.code, archive.out, archive.err)
	}
}

func TestSigned(t *testing.T) {
	for x, want := range map[float64]string{0: "0.0", 0.0004: "0.0", -0.0004: "0.0", 0.1234: "+12.3", -0.1234: "−12.3", 1.5: "+150", 0.9999: "+100"} {
		if got := signed(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
}
