package main

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tokwatt/collect/script"
)

// TestSuiteRuns: two servers and two matrices are one session.
func TestSuiteRuns(t *testing.T) {
	other := steady()
	other.Model = "other-model"
	db := t.TempDir() + "/t.db"
	file := suiteFile(t, fmt.Sprintf(`
tg = 8
repeat = 2
pause = 0
group-pause = 0
tag = ["night"]
[[run]]
url = %q
model = "demo-model"
pp = [32, 64]
[[run]]
url = %q
model = "other-model"
prompt-kind = ["code"]
tg = 4
`, serve(t, steady()), serve(t, other)))
	if r := tokwatt(t, "", "collect", "--db", db, "--suite", file, "--dry-run"); r.code != 0 || !strings.Contains(r.out, "6 batches in all") {
		t.Errorf("dry run: exit %d: %s%s", r.code, r.out, r.err)
	}
	dead := suiteFile(t, "pp = 32\ntg = 8\n[[run]]\nurl = \""+closedPort(t)+"\"\nmodel = \"m\"\n[[run]]\nengine = \"reference\"\n")
	if r := tokwatt(t, "", "collect", "--suite", dead, "--dry-run"); r.code != 0 || !strings.Contains(r.err, "run 1: ") || !strings.Contains(r.out, "6 batches in all") {
		t.Errorf("dry run with a dead server: exit %d: %s%s", r.code, r.out, r.err)
	}
	if r := tokwatt(t, "", "collect", "--db", db, "--suite", file, "--note", "n"); r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	got := fmt.Sprint(rows(t, db, `select model_id, prompt_kind, pp, tg, count(*) as n from runs group by all order by all`))
	want := `[map[model_id:demo-model n:2 pp:32 prompt_kind:sized tg:8] map[model_id:demo-model n:2 pp:64 prompt_kind:sized tg:8] map[model_id:other-model n:2 pp:<nil> prompt_kind:code tg:4]]`
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if s := rows(t, db, "select note, tags from sessions"); fmt.Sprint(s) != "[map[note:n tags:[night]]]" {
		t.Errorf("session %v", s)
	}
	if r := tokwatt(t, "", "collect", "--db", db, "--resume", "last"); r.code != 0 || !strings.Contains(r.err, "nothing is left") {
		t.Errorf("a finished session resumed: exit %d: %s", r.code, r.err)
	}
}

// TestSuiteThatIsADryRun asks for nothing, as the flag does.
func TestSuiteThatIsADryRun(t *testing.T) {
	db := t.TempDir() + "/t.db"
	file := suiteFile(t, fmt.Sprintf("dry-run = true\n[[run]]\nurl = %q\nmodel = \"demo-model\"\npp = 32\ntg = 8\n", serve(t, steady())))
	if r := tokwatt(t, "", "collect", "--db", db, "--suite", file); r.code != 0 || !strings.Contains(r.out, "6 batches in all") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	if _, err := os.Stat(db); err == nil {
		t.Error("something was measured")
	}
}

// TestResume: a bench that was killed goes on where it was, and the session
// then holds each planned batch once.
func TestResume(t *testing.T) {
	for name, kill := range map[string]syscall.Signal{"interrupted": syscall.SIGINT, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, steady())
			db := t.TempDir() + "/t.db"
			cmd := command(t.Context(), "collect", "--db", db, "--url", url, "--model", "demo-model", "--pp", "32,64", "--tg", "8",
				"--repeat", "20", "--pause", "20ms", "--group-pause", "0")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
				r := tokwatt(t, "", "list", "--db", db, "--json")
				if strings.Contains(r.out, `"batches": `) && !strings.Contains(r.out, `"batches": 0,`) && !strings.Contains(r.out, `"batches": 1,`) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("nothing is measured: %s%s", r.out, r.err)
				}
			}
			cmd.Process.Signal(kill)
			cmd.Wait()
			if r := tokwatt(t, "", "collect", "--db", db, "--resume", "last", "--dry-run"); r.code != 0 || !strings.Contains(r.out, "in all left") || strings.Contains(r.out, "40 batches") {
				t.Errorf("what is left: exit %d: %s%s", r.code, r.out, r.err)
			}
			host, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
			r := tokwatt(t, "", "collect", "--db", db, "--resume", "last", "--host", host, "--port", port)
			if r.code != 0 {
				t.Fatalf("exit %d: %s", r.code, r.err)
			}
			if strings.Contains(r.err, "/0]") || !strings.HasPrefix(r.err[strings.Index(r.err, "["):], "[0/") {
				t.Errorf("what is left is not said from the first: %s", r.err)
			}
			got := rows(t, db, `select pp, count(distinct repeat_index) as repeats, count(*) filter (where status = 'ok') as good,
				max(segment) as segments from runs group by pp order by pp`)
			want := "[map[good:20 pp:32 repeats:20 segments:2] map[good:20 pp:64 repeats:20 segments:2]]"
			if fmt.Sprint(got) != want {
				t.Errorf("%v, want %s", got, want)
			}
			if r := tokwatt(t, "", "collect", "--db", db, "--resume", "last", "--pp", "9"); r.code != 2 || !strings.Contains(r.err, "can't be changed") {
				t.Errorf("another matrix: exit %d: %s", r.code, r.err)
			}
		})
	}
}

// TestResumeTriesAgain: batches without a good request are measured once the
// session goes on, in rows of their own.
func TestResumeTriesAgain(t *testing.T) {
	url := serve(t, script.Script{PoliteProbes: true, Answer: func(r script.Request) script.Answer {
		if r.N == 1 || r.N == 3 {
			return status(503, `{"error":"busy"}`)
		}
		return steadyAnswer(r)
	}})
	db := t.TempDir() + "/t.db"
	if r := tokwatt(t, "", "collect", "--db", db, "--url", url, "--model", "demo-model", "--pp", "32", "--tg", "8", "--repeat", "4", "--warmup", "0",
		"--pause", "0", "--group-pause", "0"); r.code != exitFailures {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	resume := []string{"collect", "--db", db, "--resume", "last"}
	if r := tokwatt(t, "", append(resume, "--dry-run")...); !strings.Contains(r.out, "2 batches in all left") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	tokwatt(t, "", resume...)
	got := fmt.Sprint(rows(t, db, "select count(*) as n, count(*) filter (where status = 'ok') as good, count(distinct repeat_index) filter (where status = 'ok') as repeats, count(distinct case_id) as cases from runs"))
	if got != "[map[cases:1 good:4 n:6 repeats:4]]" {
		t.Errorf("%s", got)
	}
	if r := tokwatt(t, "", resume...); !strings.Contains(r.err, "nothing is left") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// TestResumeTellsChanges: a server that is another one by now is measured
// under a target of its own, and the change is told.
func TestResumeTellsChanges(t *testing.T) {
	db, r := collected(t, serve(t, steady()))
	if r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	r = tokwatt(t, "", "collect", "--db", db, "--resume", "last", "--url", serve(t, steady()))
	if r.code != 0 || !strings.Contains(r.err, "endpoint") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if got := fmt.Sprint(rows(t, db, "select count(distinct target_id) as targets, count(*) as n from runs")); got != "[map[n:4 targets:2]]" {
		t.Errorf("%s", got)
	}
}

// TestAFailedProbeCostsNoRow: a server that is busy when a prompt is sized is
// asked again, so that the prompt has its length and its rows count.
func TestAFailedProbeCostsNoRow(t *testing.T) {
	var probes atomic.Int64 // of the whole length
	url := serve(t, script.Script{Model: "demo-model", Answer: func(r script.Request) script.Answer {
		if r.MaxTokens() == 1 && r.PromptTokens() == 32 && probes.Add(1) == 1 {
			return status(503, `{"error":"busy"}`)
		}
		return steadyAnswer(r)
	}})
	db, r := collected(t, url, "--tokenizer", "server")
	if r.code != 0 || strings.Contains(r.err, "could not be verified") {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	got := fmt.Sprint(rows(t, db, "select count(*) as n, count(*) filter (where in_cold_stats) as good, min(prompt_tokens) as prompt, max(flags) as flags from runs"))
	if got != "[map[flags:[] good:2 n:2 prompt:32]]" || probes.Load() != 2 {
		t.Errorf("%s after %d probes", got, probes.Load())
	}
}

// TestProfiles: what a profile makes of a run is in its rows.
func TestProfiles(t *testing.T) {
	url := serve(t, script.Script{PoliteProbes: true, Model: "demo-model", Answer: func(r script.Request) script.Answer {
		return script.Tokens{N: r.MaxTokens(), Prefill: time.Millisecond, Step: 100 * time.Microsecond, Model: "demo-model", Prompt: r.PromptTokens()}.Stream()
	}})
	db := t.TempDir() + "/t.db"
	r := tokwatt(t, "", "collect", "--db", db, "--profile", "asiai", "--url", url, "--model", "demo-model", "--target-pause", "0")
	if r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	got := fmt.Sprint(rows(t, db, `select prompt_kind, tg, count(*) as n, bool_and(streaming) as streamed, min(cache_mode) as cache from runs group by all order by prompt_kind`))
	want := "[map[cache:server n:3 prompt_kind:code streamed:true tg:512] map[cache:server n:3 prompt_kind:context_fill streamed:true tg:256] map[cache:server n:3 prompt_kind:long_gen streamed:true tg:1024] map[cache:server n:3 prompt_kind:reasoning streamed:true tg:384] map[cache:server n:3 prompt_kind:tool_call streamed:true tg:256]]"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	warm := fmt.Sprint(rows(t, db, `select c.tg, count(*) as n from batches b join cases c using (session_id, host, date, case_id) where b.warmup group by c.tg`))
	if warm != "[map[n:1 tg:1]]" {
		t.Errorf("warm-ups %s", warm)
	}
	if p := rows(t, db, "select profile from sessions"); fmt.Sprint(p) != "[map[profile:asiai]]" {
		t.Errorf("%v", p)
	}
}

// TestResultsFile: exo-bench's file of a session of any engine.
func TestResultsFile(t *testing.T) {
	url := serve(t, steady())
	out := t.TempDir() + "/results.json"
	db, r := collected(t, url, "--json-out", out)
	if r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want := string(b)
	if !strings.Contains(want, `"runs"`) || strings.Count(want, `"elapsed_s"`) != 2 {
		t.Errorf("%s", want)
	}
	r = tokwatt(t, "", "collect", "--db", db, "--url", url, "--model", "demo-model", "--pp", "32", "--tg", "8", "--repeat", "1", "--pause", "0", "--stdout")
	if r.code != 0 || strings.Count(r.out, `"elapsed_s"`) != 1 || !strings.HasPrefix(r.out, "{") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	if r := tokwatt(t, "", "collect", "--url", url, "--pp", "32", "--tg", "8", "--json-out", t.TempDir()+"/no/where.json"); r.code != 2 || !strings.Contains(r.err, "no folder") {
		t.Errorf("a file that can't be written: exit %d: %s", r.code, r.err)
	}
}
