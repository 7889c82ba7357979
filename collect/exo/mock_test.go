package exo_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze/analyzetest/casetest"
	"tokwatt/collect"
	"tokwatt/collect/collecttest"
	"tokwatt/collect/exo"
)

// mock starts scripts/exo_mock.py, whose every figure follows from its
// arguments, and returns its address and the requests that it has seen so far.
func mock(t *testing.T, args ...string) (url string, seen func() []string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("python3 is needed here")
	}
	if err != nil {
		t.Skip("there is no python3, which the mock of exo needs")
	}
	addr := collecttest.Deserted(t)
	log := filepath.Join(t.TempDir(), "requests.jsonl")
	_, port, _ := strings.Cut(addr, ":")
	cmd := exec.CommandContext(t.Context(), python, append([]string{"../../scripts/exo_mock.py", "--port", port, "--log", log}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal("the mock does not listen")
		}
	}
	return "http://" + addr, func() []string {
		raw, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for line := range strings.Lines(string(raw)) {
			var x struct{ Method, Path string }
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				t.Fatal(err)
			}
			out = append(out, x.Method+" "+x.Path)
		}
		return out
	}
}

// TestMock measures the mock as exo-bench does, whole answers and a stream,
// and finds every figure that its schedule gives.
func TestMock(t *testing.T) {
	t.Parallel()
	url, seen := mock(t, "--load-s", "0.4", "--gone-s", "0.1", "--prefill-tps", "1000", "--decode-tps", "100", "--nodes", "2")
	none := 0
	spec := collect.Spec{Models: []string{"mock-3b-4bit"}, PP: []int64{64}, TG: []int64{11}, Concurrency: []int64{1, 2}, Repeat: 1, Warmup: &none, Pause: -1,
		Streaming: collect.StreamSingle}
	driver := exo.Driver{Options: exo.Options{URL: url, MaxNodes: 1}}
	runner := collect.Runner{Prompts: func(collect.TargetInfo, collect.Engine, bool) (collect.Prompter, string) { return atoms{}, "" }}
	var batches []*collect.Batch
	for rec, err := range runner.Run(t.Context(), collect.Job{Driver: driver, Spec: spec}) {
		if err != nil {
			t.Fatal(err)
		}
		switch rec := rec.(type) {
		case *collect.TargetInfo:
			if rec.Sharding != "Pipeline" || rec.InstanceMeta != "MlxRing" || fmt.Sprint(rec.Nodes) != "[mock-1]" || *rec.LoadS < 0.4 || rec.DownloadS != nil {
				t.Errorf("%+v", *rec)
			}
		case *collect.Batch:
			batches = append(batches, rec)
		}
	}
	if len(batches) != 2 {
		t.Fatalf("%d batches", len(batches))
	}
	for _, b := range batches {
		rate := 100 / (1 + 0.25*float64(len(b.Requests)-1))
		for _, q := range b.Requests {
			r := q.Report
			if q.Failure != nil || *r.PromptTPS != 1000 || *r.GenerationTPS != rate || *r.PromptTokens != 64 || *r.CompletionTokens != 11 || *r.PeakMemoryBytes != 2469606195 {
				t.Errorf("%d at once: %v, %+v", len(b.Requests), q.Failure, r)
			}
			if q.Streamed != (len(b.Requests) == 1) || strings.Contains(r.JSON, `"power_usage":{`) == q.Streamed {
				t.Errorf("streamed %v, %s", q.Streamed, r.JSON)
			}
		}
	}
	all := seen()
	if end := all[len(all)-1]; !strings.HasPrefix(end, "GET /instance/") {
		t.Errorf("the last request is %s", end)
	}
}

// atoms makes prompts that the mock counts as pp tokens, 9 of them for the
// template.
type atoms struct{ casetest.Words }

func (atoms) Build(pp int64) (collect.Prompt, *int64) {
	return collect.Prompt{User: strings.Repeat("a ", int(pp-9))}, &pp
}

// TestMockFaults: what the mock does wrong comes out as what it is.
func TestMockFaults(t *testing.T) {
	t.Parallel()
	url, _ := mock(t, "--load-s", "0.3", "--gone-s", "0.1", "--prefill-tps", "10000", "--decode-tps", "1000", "--fault", "stream-cut")
	none := 0
	spec := collect.Spec{Models: []string{"mock-3b-4bit"}, PP: []int64{64}, TG: []int64{8}, Repeat: 1, Warmup: &none, Pause: -1}
	runner := collect.Runner{Prompts: func(collect.TargetInfo, collect.Engine, bool) (collect.Prompter, string) { return atoms{}, "" }}
	for rec, err := range runner.Run(t.Context(), collect.Job{Driver: exo.Driver{Options: exo.Options{URL: url}}, Spec: spec}) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := rec.(*collect.Batch); ok {
			if f := b.Requests[0].Failure; f == nil || f.Kind != collect.ErrTruncated || len(b.Requests[0].Chunks) < 4 {
				t.Errorf("%v with %d chunks", f, len(b.Requests[0].Chunks))
			}
		}
	}
}
