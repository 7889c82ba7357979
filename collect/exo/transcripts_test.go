package exo_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/collecttest"
	"tokwatt/collect/exo"
	"tokwatt/collect/script"
)

// The recordings are of one real node; see README.md there.
const (
	recordings = "../../testdata/transcripts/exo/real/"
	realModel  = "local/TinyQwen3-6L-fp32"
	realNode   = "fa6a96e7a70d67e8d8f259cdc55be665"
	realID     = "e870bfc8-df16-4201-9486-1ab0d37ddf70"
	realRunner = "75c8a75d-6043-4f23-8fd2-536d1da285ff"
)

func recording(t *testing.T, name string) *script.Transcript {
	t.Helper()
	tr, err := script.ReadTranscript(recordings+name+".txt", time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func bodyOf(tr *script.Transcript) string {
	var b strings.Builder
	for _, p := range tr.Answer.Pieces {
		b.Write(p.Data)
	}
	return b.String()
}

// realCluster answers everything as the recorded node did, and each measured
// request with the recording.
func realCluster(t *testing.T, measured *script.Transcript, engine string) *script.Server {
	t.Helper()
	s := script.Script{Heads: map[string]script.Answer{
		"/instance/previews":            recording(t, "04_previews").Answer,
		"/state/instances/" + realID:    recording(t, "16_state_instance").Answer,
		"/state/runners/" + realRunner:  recording(t, "17_state_runner").Answer,
		"/state/nodeIdentities":         recording(t, "08_state_nodeIdentities").Answer,
		"/state/topology":               recording(t, "08_state_topology").Answer,
		"/state/nodeMemory":             recording(t, "08_state_nodeMemory").Answer,
		"/state/nodeSystem":             recording(t, "08_state_nodeSystem").Answer,
		"/state/nodeSystem/" + realNode: recording(t, "11_state_nodeSystem_node").Answer,
		"/instance/" + realID:           recording(t, "13_instance_get_before").Answer,
	}, Get: map[string]json.RawMessage{
		// The list of 124 models and their downloads, cut to the one.
		"/models": json.RawMessage(`{"object":"list","data":[{"id":"` + realModel + `","owned_by":"exo","hugging_face_id":"` + realModel +
			`","name":"TinyQwen3-6L-fp32","storage_size_megabytes":166,"quantization":""}]}`),
		"/state/downloads/" + realNode: json.RawMessage(`[{"DownloadCompleted":{"nodeId":"` + realNode + `","shardMetadata":{"PipelineShardMetadata":{"modelCard":{"modelId":"` + realModel +
			`"}}},"total":{"inBytes":185917873},"readOnly":false}}]`),
	}, Answer: func(r script.Request) script.Answer {
		switch {
		case r.Path == "/download/start":
			return recording(t, "12_download_start").Answer
		case r.Path == "/instance":
			return recording(t, "14_instance_post").Answer
		case isProbe(r):
			return recording(t, engine).Answer
		}
		return measured.Answer
	}}
	return collecttest.Listen(t, s)
}

// found is what the driver made of a recording, and what a second reading of
// it, by patterns, says that it must.
type found struct {
	text, finish, prompt, tokens, cached, promptTPS, tps, peak, hit string
}

var (
	spoken   = regexp.MustCompile(`"content":("(?:[^"\\]|\\.)+")`)
	finishes = regexp.MustCompile(`"finish_reason":"([a-z_]+)"`)
)

// last is the last value of a field; empty where there is none.
func last(body, field string) string {
	all := regexp.MustCompile(`"`+field+`":\{?(?:"in_?[bB]ytes":)?"?([0-9.a-z]+)`).FindAllStringSubmatch(body, -1)
	if len(all) == 0 || all[len(all)-1][1] == "null" {
		return ""
	}
	return all[len(all)-1][1]
}

func readAgain(t *testing.T, body string) found {
	usage, stats := body, body
	if _, after, ok := strings.Cut(body, `"usage":{`); ok {
		usage = after
	}
	if _, after, ok := strings.Cut(body, "generation_stats"); ok {
		stats = after
		usage, _, _ = strings.Cut(usage, "generation_stats")
	} else {
		stats = ""
	}
	f := found{prompt: last(usage, "prompt_tokens"), tokens: last(usage, "completion_tokens"), cached: last(usage, "cached_tokens"),
		promptTPS: last(stats, "prompt_tps"), tps: last(stats, "generation_tps"), peak: last(stats, "peak_memory_usage"), hit: last(stats, "prefix_cache_hit")}
	if f.prompt == "" {
		f.prompt = last(stats, "prompt_tokens")
	}
	if f.tokens == "" {
		f.tokens = last(stats, "generation_tokens")
	}
	for _, m := range spoken.FindAllStringSubmatch(body, -1) {
		var s string
		if err := json.Unmarshal([]byte(m[1]), &s); err != nil {
			t.Fatal(err)
		}
		f.text += s
	}
	for _, m := range finishes.FindAllStringSubmatch(body, -1) {
		f.finish = m[1]
	}
	return f
}

func made(text string, r *collect.Report) found {
	show := func(v any) string {
		raw, _ := json.Marshal(v) // numbers always can
		if string(raw) == "null" {
			return ""
		}
		return string(raw)
	}
	return found{text, r.FinishReason, show(r.PromptTokens), show(r.CompletionTokens), show(r.CachedTokens), show(r.PromptTPS), show(r.GenerationTPS), show(r.PeakMemoryBytes), r.PrefixCacheHit}
}

// failures are the recordings that are no good answers.
var failures = map[string]collect.ErrorKind{
	"40_bench_unknown_model": collect.ErrHTTP, "41_bench_unknown_model_stream": collect.ErrHTTP, "43_bench_no_messages": collect.ErrHTTP,
	"44_bench_bad_type": collect.ErrHTTP, "45_bench_bad_json": collect.ErrHTTP, "49_bench_empty_messages": collect.ErrHTTP,
	"52_bench_to_cancel": collect.ErrTruncated, "71_bench_nonstream_to_cancel": collect.ErrTruncated, "72_bench_stream_instance_deleted": collect.ErrTruncated,
}

// TestTranscripts replays what a real exo said to chats, each on an instance
// that is created and deleted as that exo did it.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob(recordings + "*.txt")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		tr := recording(t, name)
		if !strings.HasSuffix(tr.Path, "/chat/completions") {
			continue
		}
		played++
		t.Run(name, func(t *testing.T) { t.Parallel(); replay(t, name, tr) })
	}
	if played < 20 {
		t.Errorf("only %d recordings were played", played)
	}
}

func replay(t *testing.T, name string, tr *script.Transcript) {
	engine, want := "22_bench_stream", "exo"
	if strings.HasPrefix(name, "no_batch") {
		engine, want = "no_batch_06_bench_stream", "exo-sequential"
	}
	srv := realCluster(t, tr, engine)
	spec := collect.Spec{Models: []string{"tinyqwen3-6l-FP32"}}
	if strings.HasPrefix(tr.Path, "/v1/") {
		spec.Cache = collect.CacheServer
	}
	for tg, err := range (exo.Driver{Options: exo.Options{URL: srv.URL(), Sharding: "pipeline"}}).Targets(t.Context(), spec) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := tg.Open(t.Context(), collect.NewClock())
		if err != nil {
			t.Fatal(err)
		}
		defer tg.Close(t.Context())
		info, err := tg.Describe(t.Context())
		if err != nil || info.Engine != want || info.InstanceID != realID || len(info.Nodes) != 1 || info.Nodes[0] != "node-a" || info.LoadS == nil ||
			strings.Contains(info.Cluster, "nodeSystem") {
			t.Errorf("%+v, %v", info, err)
		}
		checkAnswer(t, name, tr, e, want)
	}
}

func checkAnswer(t *testing.T, name string, tr *script.Transcript, e collect.Engine, engine string) {
	var asked struct{ Stream bool }
	_ = json.Unmarshal(tr.Request, &asked) // some requests were broken on purpose
	s, err := e.Open(t.Context(), collect.Call{Prompt: collect.Prompt{User: "x"}, MaxTokens: 400, Stream: asked.Stream, BanEOS: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text, fault := "", error(nil)
	var end collect.Arrival
	for a, err := range s.Arrivals() {
		switch {
		case err != nil:
			fault = err
		case a.Report != nil:
			end = a
		default:
			text += a.Text
		}
	}
	if kind := failures[name]; kind != "" || fault != nil {
		var f *collect.Failure
		if !errors.As(fault, &f) || f.Kind != kind || f.HTTPStatus == nil || int(*f.HTTPStatus) != tr.Answer.Status {
			t.Errorf("%v, want %q with status %d", fault, kind, tr.Answer.Status)
		}
	}
	if tr.Answer.Status != 200 {
		return
	}
	r := end.Report
	got, want := made(text, r), readAgain(t, bodyOf(tr))
	if engine == "exo-sequential" && !asked.Stream {
		want.prompt = map[string]string{"130": "129", "3": "2"}[want.prompt]
	}
	if got.tps == "0" {
		got.tps = "0.0"
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	rule := map[string]collect.RateRule{"exo": collect.RateIntervals, "exo-sequential": collect.RateTokens}[engine]
	if r.GenerationTPS != nil && r.GenerationRule != rule {
		t.Errorf("rule %q of %s", r.GenerationRule, engine)
	}
}
