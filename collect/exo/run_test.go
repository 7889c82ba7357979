package exo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tokwatt/analyze/analyzetest/casetest"
	"tokwatt/collect"
)

// ran is a whole run, taken apart.
type ran struct {
	targets []*collect.TargetInfo
	cases   []*collect.Case
	batches []*collect.Batch
	end     *collect.End
	errs    []error
	told    []string // by the driver
}

func (r *ran) requests() []collect.Request {
	var out []collect.Request
	for _, b := range r.batches {
		out = append(out, b.Requests...)
	}
	return out
}

// heard reports whether the driver said something with these words.
func (r *ran) heard(words string) bool {
	return slices.ContainsFunc(r.told, func(s string) bool { return strings.Contains(s, words) })
}

// measure runs a spec on the fake; it fills in what most tests do not care
// about.
func (f *fake) measure(ctx context.Context, o Options, spec collect.Spec) *ran {
	out := &ran{}
	var mu sync.Mutex
	o.Notify = func(s string) {
		mu.Lock()
		out.told = append(out.told, s)
		mu.Unlock()
	}
	none := 0
	if spec.Models == nil {
		spec.Models = []string{"demo-3b-4BIT"}
	}
	if spec.TG == nil {
		spec.TG = []int64{8}
	}
	spec.PP, spec.Warmup, spec.Repeat, spec.Pause, spec.NoIdle = []int64{64}, &none, max(1, spec.Repeat), -1, true
	r := collect.Runner{Prompts: func(collect.TargetInfo, collect.Engine, bool) (collect.Prompter, string) { return casetest.Words{}, "" }}
	for rec, err := range r.Run(ctx, collect.Job{Driver: f.serve(o), Spec: spec}) {
		switch rec := rec.(type) {
		case *collect.TargetInfo:
			out.targets = append(out.targets, rec)
		case *collect.Case:
			out.cases = append(out.cases, rec)
		case *collect.Batch:
			out.batches = append(out.batches, rec)
		case *collect.End:
			out.end = rec
		}
		if err != nil {
			out.errs = append(out.errs, err)
		}
	}
	return out
}

// bubble runs a test in fake time on a fake cluster.
func bubble(t *testing.T, names []string, test func(t *testing.T, f *fake)) {
	synctest.Test(t, func(t *testing.T) { test(t, newFake(t, names...)) })
}

var (
	oneNode  = []string{"studio"}
	twoNodes = []string{"studio", "studio"}
)

// TestWholeRun: the placements in exo-bench's order, each created as it was
// previewed and deleted again, and nobody else's instance touched.
func TestWholeRun(t *testing.T) {
	bubble(t, twoNodes, func(t *testing.T, f *fake) {
		f.put("theirs")
		got := f.measure(t.Context(), Options{}, collect.Spec{Concurrency: []int64{1, 2}})
		if len(got.errs) > 0 || got.end == nil || got.end.Status != collect.StatusComplete {
			t.Fatalf("%v, %+v", got.errs, got.end)
		}
		var order, commands []string
		want := []string{"Tensor/MlxRing/2", "Pipeline/MlxRing/2", "Pipeline/MlxRing/1", "Tensor/MlxJaccl/2", "Pipeline/MlxJaccl/2"}
		for _, info := range got.targets {
			order = append(order, fmt.Sprintf("%s/%s/%d", info.Sharding, info.InstanceMeta, len(info.Nodes)))
			for range info.Nodes {
				commands = append(commands, "POST /download/start")
			}
			commands = append(commands, "POST /instance", "DELETE /instance/"+info.InstanceID)
		}
		if !slices.Equal(order, want) {
			t.Errorf("order %q, want %q", order, want)
		}
		if c := f.commands(); !slices.Equal(c, commands) {
			t.Errorf("commands %q,\nwant %q", c, commands)
		}
		body := f.bodies["POST /instance"][0]
		if want := `{"instance":` + f.placed("Tensor-MlxRing-2-1", "Tensor", "MlxRing", 2) + "}"; body != want {
			t.Errorf("posted %s\nwant   %s", body, want)
		}
		checkInfo(t, got.targets[0])
		if !got.heard("studio (2) warming up") {
			t.Errorf("told %q", got.told)
		}
		if n := len(f.bodies["GET /state/topology"]); n != 1 {
			t.Errorf("%d snapshots of the cluster", n)
		}
		for _, q := range got.requests() {
			checkRequest(t, q)
		}
		if c := got.cases[0]; c.ColdMethod != "use_prefix_cache=false" || c.EOSBan != "bench endpoint" {
			t.Errorf("case %+v", *c)
		}
	})
}

func checkInfo(t *testing.T, info *collect.TargetInfo) {
	t.Helper()
	if info.Engine != "exo" || info.Driver != "exo" || info.Endpoint != "http://exo.test:52415" || info.ModelID != fakeModel || info.Quantization != "4bit" ||
		*info.MaxStreams != 8 || info.DownloadS != nil || *info.LoadS < 3.5 || *info.LoadS > 3.7 {
		t.Errorf("target %+v, load %v", *info, *info.LoadS)
	}
	if !slices.Equal(info.Nodes, []string{"studio", "studio (2)"}) {
		t.Errorf("nodes %q", info.Nodes)
	}
	var cluster map[string]json.RawMessage
	if err := json.Unmarshal([]byte(info.Cluster), &cluster); err != nil || len(cluster) != 3 || cluster["nodeMemory"] != nil {
		t.Errorf("cluster %s, %v", info.Cluster, err)
	}
	if want := `{"effective":{"temperature":0.6,"top_p":0.95},"sent":{}}`; info.Sampling != want {
		t.Errorf("sampling %s, want %s", info.Sampling, want)
	}
}

func checkRequest(t *testing.T, q collect.Request) {
	t.Helper()
	r := q.Report
	if q.Failure != nil || !q.Streamed || q.UncleanEnd || *q.HTTPStatus != 200 || time.Duration(q.EndNS-q.StartNS) != 450*time.Millisecond {
		t.Errorf("request %+v, %v", q, q.Failure)
	}
	if *r.PromptTPS != 1000.5 || *r.GenerationTPS != 20 || r.GenerationRule != collect.RateIntervals || *r.PromptTokens != 64 || *r.CompletionTokens != 8 ||
		*r.PeakMemoryBytes != 2469606195 || r.PrefixCacheHit != "none" || r.FinishReason != "length" || r.Source != collect.ReportServer {
		t.Errorf("report %+v", r)
	}
	var kinds []string
	for _, c := range q.Chunks {
		kinds = append(kinds, c.Kind.String())
	}
	if want := "progress" + strings.Repeat(" content", 8) + " report"; strings.Join(kinds, " ") != want {
		t.Errorf("chunks %q", kinds)
	}
}

// TestPlacements: exo-bench's filter and order, by table.
func TestPlacements(t *testing.T) {
	for _, c := range []struct {
		nodes []string
		o     Options
		want  string
	}{
		{oneNode, Options{}, "Pipeline/MlxRing/1"},
		{oneNode, Options{Sharding: "tensor"}, "Tensor/MlxRing/1"},
		{oneNode, Options{InstanceMeta: "jaccl"}, ""},
		{twoNodes, Options{Sharding: "tensor", InstanceMeta: "jaccl"}, "Tensor/MlxJaccl/2 Tensor/MlxJaccl/1"},
		{twoNodes, Options{InstanceMeta: "jaccl"}, "Tensor/MlxJaccl/2 Pipeline/MlxJaccl/2 Pipeline/MlxJaccl/1"},
		{twoNodes, Options{InstanceMeta: "ring", Sharding: "both"}, "Tensor/MlxRing/2 Pipeline/MlxRing/2 Pipeline/MlxRing/1"},
		{twoNodes, Options{SkipTensorRing: true, SkipPipelineJaccl: true}, "Pipeline/MlxRing/2 Pipeline/MlxRing/1 Tensor/MlxJaccl/2"},
		{twoNodes, Options{SkipTensorRing: true, Sharding: "tensor", InstanceMeta: "ring"}, "Tensor/MlxRing/2 Tensor/MlxRing/1"},
		{twoNodes, Options{MaxNodes: 1}, "Pipeline/MlxRing/1"},
		{twoNodes, Options{MinNodes: 2, Sharding: "pipeline"}, "Pipeline/MlxRing/2 Pipeline/MlxJaccl/2"},
		{twoNodes, Options{MinNodes: 3}, ""},
	} {
		bubble(t, c.nodes, func(t *testing.T, f *fake) {
			c.o.SettleTimeout = -1
			var got []string
			for tg, err := range f.serve(c.o).Targets(t.Context(), collect.Spec{Models: []string{fakeModel}}) {
				if err != nil {
					if c.want != "" || !strings.Contains(err.Error(), "no placement of "+fakeModel+" fits") {
						t.Errorf("%+v: %v", c.o, err)
					}
					continue
				}
				p := tg.(*Target).placement
				got = append(got, fmt.Sprintf("%s/%s/%d", p.sharding, p.meta, len(p.nodes)))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%+v gives %s, want %s", c.o, s, c.want)
			}
			if cmds := f.commands(); len(cmds) > 0 || f.chats > 0 {
				t.Errorf("finding targets sent %q", cmds)
			}
		})
	}
}

// TestSettling: a young cluster is asked after 1, 2, 4 … s, until its time is
// over.
func TestSettling(t *testing.T) {
	for _, c := range []struct {
		after, timeout, took time.Duration
		asked                int
	}{
		{0, 0, 0, 1},
		{10 * time.Second, 0, 15 * time.Second, 5}, // 0 1 3 7 15
		{time.Hour, 0, 60 * time.Second, 7},        // … 31 60
		{time.Hour, 3 * time.Minute, 180 * time.Second, 9},
		{time.Hour, -1, 0, 1},
	} {
		bubble(t, oneNode, func(t *testing.T, f *fake) {
			f.settleAfter = c.after
			got := f.measure(t.Context(), Options{SettleTimeout: c.timeout, InstanceMeta: "ring"}, collect.Spec{})

			if f.previews != c.asked {
				t.Errorf("%+v: asked %d times", c, f.previews)
			}
			if c.after < time.Hour {
				return
			}
			if took := f.age(); took != c.took {
				t.Errorf("%+v: took %v", c, took)
			}
			if len(got.errs) != 1 || !strings.Contains(got.errs[0].Error(), "sufficient memory") || got.end != nil {
				t.Errorf("%+v: %v", c, got.errs)
			}
		})
	}
}

// TestReuse: an instance that is there is measured as it is, and stays.
func TestReuse(t *testing.T) {
	bubble(t, oneNode, func(t *testing.T, f *fake) {
		f.put("theirs")
		got := f.measure(t.Context(), Options{ReuseInstance: true}, collect.Spec{})
		info := got.targets[0]
		if len(got.errs) > 0 || len(got.targets) != 1 || info.InstanceID != "theirs" || info.Sharding != "Tensor" || info.InstanceMeta != "MlxRing" || info.LoadS != nil || len(info.Nodes) != 1 {
			t.Errorf("%v, %+v", got.errs, *info)
		}
		if cmds := f.commands(); len(cmds) > 0 {
			t.Errorf("commands %q", cmds)
		}
		checkRequest(t, got.requests()[0])
	})
	bubble(t, oneNode, func(t *testing.T, f *fake) {
		got := f.measure(t.Context(), Options{ReuseInstance: true}, collect.Spec{})
		if len(got.targets) != 1 || got.targets[0].LoadS == nil || !got.heard("there is no instance") {
			t.Errorf("%v, told %q", got.errs, got.told)
		}
	})
}

// TestModels: by short name in any case, by exact id, or a sentence.
func TestModels(t *testing.T) {
	for _, c := range []struct {
		asked    string
		o        Options
		unlisted bool
		want     string // in the error
	}{
		{"Demo-3B-4bit", Options{}, false, ""},
		{"DEMO-3B-4BIT", Options{}, false, ""},
		{fakeModel, Options{}, false, ""},
		{"ORG/Demo-3B-4bit", Options{}, false, "exo does not list ORG/Demo-3B-4bit: add it from the hub with --force-download, or name one that it lists (org/Demo-3B-4bit)"},
		{"Demo-3B", Options{ForceDownload: true}, false, "does not list Demo-3B: name one that it lists (org/Demo-3B-4bit)"},
		{"-", Options{}, false, "does not list"},
		{fakeModel, Options{ForceDownload: true}, true, ""},
		{fakeModel, Options{}, true, "--force-download"},
	} {
		bubble(t, oneNode, func(t *testing.T, f *fake) {
			f.unlisted = c.unlisted
			got := f.measure(t.Context(), c.o, collect.Spec{Models: []string{c.asked}})
			if c.want != "" {
				if len(got.errs) != 1 || !strings.Contains(got.errs[0].Error(), c.want) {
					t.Errorf("%q: %v", c.asked, got.errs)
				}
				return
			}
			if len(got.errs) > 0 || got.targets[0].ModelID != fakeModel || got.targets[0].Quantization != "4bit" {
				t.Errorf("%q: %v", c.asked, got.errs)
			}
			if added := slices.Contains(f.commands(), "POST /models/add"); added != c.unlisted {
				t.Errorf("%q: commands %q", c.asked, f.commands())
			}
		})
	}
	bubble(t, oneNode, func(t *testing.T, f *fake) {
		for _, err := range f.serve(Options{}).Targets(t.Context(), collect.Spec{}) {
			if err == nil || !strings.Contains(err.Error(), "--model") {
				t.Errorf("no model: %v", err)
			}
		}
	})
}

// TestInterrupted: when the user has enough, the instance does not stay.
func TestInterrupted(t *testing.T) {
	for _, after := range []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 2 * time.Second, 3300 * time.Millisecond, 5 * time.Second} {
		for _, streaming := range []collect.Streaming{collect.StreamAll, collect.StreamNone} {
			bubble(t, oneNode, func(t *testing.T, f *fake) {
				ctx, cancel := context.WithCancel(t.Context())
				defer time.AfterFunc(after, cancel).Stop()
				defer cancel()
				got := f.measure(ctx, Options{}, collect.Spec{TG: []int64{400}, Streaming: streaming})
				time.Sleep(time.Second) // what was posted late would be there now
				if f.mu.Lock(); len(f.alive()) > 0 {
					t.Errorf("after %v: %d instances stay", after, len(f.alive()))
				}
				f.mu.Unlock()
				for _, q := range got.requests() {
					if q.Failure == nil || q.Failure.Kind != collect.ErrCancelled {
						t.Errorf("after %v: %v", after, q.Failure)
					}
				}
				if after == 5*time.Second && (len(got.batches) != 1 || got.end.Status != collect.StatusInterrupted) {
					t.Errorf("%d batches", len(got.batches))
				}
				if streaming == collect.StreamNone && after == 5*time.Second && len(f.cancelled) != 1 {
					t.Errorf("cancelled %q", f.cancelled)
				}
				if streaming == collect.StreamAll && len(f.cancelled) > 0 {
					t.Errorf("cancelled %q", f.cancelled)
				}
			})
		}
	}
}
