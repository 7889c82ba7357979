package ollama_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/ollama"
	"tokwatt/collect/prompt"
	"tokwatt/collect/script"
)

var sweep = collect.Spec{PP: []int64{64, 5000}, TG: []int64{8}}

// TestDescribe: what the server tells is told, and nothing is loaded for it.
func TestDescribe(t *testing.T) {
	f := &fake{models: []string{"llama3.2:3b", "llama3.2:1b"}, version: "0.12.6", context: 131072}
	u := f.start(t)
	for asked, want := range map[string]struct {
		served   string
		unlisted bool
	}{"llama3.2:1b": {"llama3.2:1b", false}, "LLAMA3.2:3b": {"llama3.2:3b", false}, "llama3.2": {"llama3.2", true}, "llama3.2:1": {"llama3.2:1", true}} {
		tg := target(t, ollama.Options{URL: u}, sweep, asked)
		info, err := tg.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info.Engine != "ollama" || info.EngineVersion != "0.12.6" || info.Driver != "ollama" || info.Endpoint != u ||
			info.ModelID != asked || info.ServedModel != want.served || info.Unlisted != want.unlisted ||
			info.ModelFormat != "gguf" || info.Quantization != "Q4_K_M" || info.LoadS != nil || info.ContextTokens != nil || info.MaxStreams != nil {
			t.Errorf("%s: %+v", asked, info)
		}
		if !slices.Equal(tg.Listed(), f.models) {
			t.Errorf("lists %v", tg.Listed())
		}
		if err := tg.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	for _, x := range f.log() {
		if !strings.HasPrefix(x, "GET ") && x != "POST /api/show" {
			t.Errorf("describing sent %s", x)
		}
	}
}

// TestOpen: the model is loaded once, with a window for the whole matrix, and
// what it takes is told.
func TestOpen(t *testing.T) {
	zero, seed := 0.0, int64(7)
	spec := sweep
	spec.Temperature, spec.Seed = &zero, &seed
	f := &fake{models: []string{"demo:latest"}, context: 131072, params: "temperature 0.6\nstop \"x\""}
	tg := target(t, ollama.Options{URL: f.start(t)}, spec)
	if _, err := tg.Open(t.Context(), collect.NewClock()); err != nil {
		t.Fatal(err)
	}
	info, err := tg.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if *info.ContextTokens != 6144 || *info.ModelBytes != 3000 || *info.ModelGPUBytes != 2000 || info.LoadS == nil || *info.LoadS <= 0 {
		t.Errorf("%+v", info)
	}
	want := `{"model":{"context_length":131072,"digest":"d1","parameter_size":"1.2B","parameters":"temperature 0.6 stop \"x\""},` +
		`"sent":{"keep_alive_s":300,"num_ctx":6144,"seed":7,"temperature":0}}`
	if info.Sampling != want {
		t.Errorf("sampling %s", info.Sampling)
	}
	if b := f.sent(); len(b) != 1 || b[0].Prompt != "" || *b[0].KeepAlive != 300 {
		t.Errorf("loaded with %+v", b)
	}
	// Open again finds the model there: then there is no time of loading.
	again := target(t, ollama.Options{URL: f.start(t)}, spec)
	if _, err := again.Open(t.Context(), collect.NewClock()); err != nil {
		t.Fatal(err)
	}
	if info, _ = again.Describe(t.Context()); info.LoadS != nil {
		t.Errorf("loading a loaded model took %g s", *info.LoadS)
	}
}

// TestRequests: every request of a target has one window and one keep_alive, so
// that none loads the model anew, and the sampling that its call wants; what
// would reuse an answer or skip the template is never sent.
func TestRequests(t *testing.T) {
	f := &fake{models: []string{"demo"}}
	e, err := target(t, ollama.Options{URL: f.start(t)}, sweep).Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	if a := e.Abilities(); a != (collect.Abilities{}) {
		t.Errorf("abilities %+v", a)
	}
	zero, seed := 0.0, int64(7)
	calls := []collect.Call{
		{Prompt: collect.Prompt{System: "Be brief.", User: "Hi"}, MaxTokens: 5, Stream: true, Temperature: &zero, Seed: &seed},
		{Prompt: collect.Prompt{User: "Hi"}, MaxTokens: 8, BanEOS: true, Cold: true},
	}
	for _, c := range calls {
		s, err := e.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range s.Arrivals() {
			if err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
	}
	if _, err := e.(collect.Counter).Count(t.Context(), collect.Prompt{User: "a b"}); err != nil {
		t.Fatal(err)
	}
	for _, b := range f.sent() {
		if b.Options["num_ctx"] != 6144.0 || *b.KeepAlive != 300 || b.Stream == nil || b.Raw != nil || b.Context != nil || b.Model != "demo" {
			t.Errorf("sent %+v", b)
		}
	}
	all := f.sent()
	first, second := all[1], all[2]
	if first.System != "Be brief." || first.Prompt != "Hi" || !*first.Stream || first.Options["num_predict"] != 5.0 || first.Options["temperature"] != 0.0 || first.Options["seed"] != 7.0 {
		t.Errorf("sent %+v", first)
	}
	if *second.Stream || len(second.Options) != 2 || second.Options["num_predict"] != 8.0 {
		t.Errorf("sent %+v", second)
	}
}

// TestTooShort: a pair that the model is too short for is refused before
// anything is loaded.
func TestTooShort(t *testing.T) {
	f := &fake{models: []string{"demo"}, context: 4096}
	_, err := target(t, ollama.Options{URL: f.start(t)}, sweep).Open(t.Context(), collect.NewClock())
	if err == nil || !strings.Contains(err.Error(), "4096") || !strings.Contains(err.Error(), "--pp 5000") || len(f.sent()) > 0 {
		t.Errorf("%v, %d requests", err, len(f.sent()))
	}
}

// TestUnload: Close frees the model where the spec says so, and comes back when
// it is gone.
func TestUnload(t *testing.T) {
	spec := sweep
	spec.Unload = true
	f := &fake{models: []string{"demo"}, lazy: 2}
	tg := target(t, ollama.Options{URL: f.start(t)}, spec)
	if _, err := tg.Open(t.Context(), collect.NewClock()); err != nil {
		t.Fatal(err)
	}
	if err := tg.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := f.sent()
	last := all[len(all)-1]
	resident, lingers := f.memory()
	if last.Prompt != "" || last.KeepAlive == nil || *last.KeepAlive != 0 || lingers != 0 || resident != "" {
		t.Errorf("sent %+v, %d times more", last, lingers)
	}
	if err := tg.Close(t.Context()); err != nil || len(f.sent()) != len(all) {
		t.Errorf("closed twice: %v", err)
	}
	f.spoil("busy")
	if _, err := tg.Open(t.Context(), collect.NewClock()); err != nil {
		t.Fatal(err)
	}
	if err := tg.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "demo may still be") || !strings.Contains(err.Error(), "busy") {
		t.Errorf("%v", err)
	}
}

// TestLeave: without that, a model stays for Ollama's own time, or for as long
// as it was to stay when it was found.
func TestLeave(t *testing.T) {
	for name, c := range map[string]struct {
		resident, expires string
		want              []float64 // keep_alive of each request
	}{
		"not loaded":  {"", "", []float64{300}},
		"pinned":      {"demo", "2318-04-24T09:00:21Z", []float64{300, -1}},
		"short":       {"demo", time.Now().Add(time.Minute).Format(time.RFC3339), []float64{300}},
		"other model": {"demo:1b", "2318-04-24T09:00:21Z", []float64{300}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{models: []string{"demo"}, resident: c.resident, expires: c.expires}
			tg := target(t, ollama.Options{URL: f.start(t)}, sweep)
			if _, err := tg.Open(t.Context(), collect.NewClock()); err != nil {
				t.Fatal(err)
			}
			if err := tg.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			var got []float64
			for _, b := range f.sent() {
				got = append(got, *b.KeepAlive)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("keep_alive %v, want %v", got, c.want)
			}
		})
	}
}

// TestCantLoad: a model that can't be loaded is measured all the same: the row
// says why.
func TestCantLoad(t *testing.T) {
	f := &fake{models: []string{"demo"}, refuse: "model requires more system memory"}
	e, err := target(t, ollama.Options{URL: f.start(t)}, sweep).Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Open(t.Context(), collect.Call{Prompt: collect.Prompt{User: "x"}, MaxTokens: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var last error
	for _, err := range s.Arrivals() {
		last = err
	}
	var failure *collect.Failure
	if !errors.As(last, &failure) || failure.Kind != collect.ErrHTTP || *failure.HTTPStatus != 500 || !strings.Contains(failure.Message, "more system memory") {
		t.Errorf("%v", last)
	}
}

// TestWhichModel: without --model there must be exactly one.
func TestWhichModel(t *testing.T) {
	for _, c := range []struct {
		tags, auth, want string
	}{
		{`{"models":[{"name":"a:1b"}]}`, "", ""},
		{`{"models":[{"model":"a:1b"}]}`, "", ""},
		{`{"models":[{"name":"a:1b"},{"name":"b"}]}`, "", "a:1b, b"},
		{`{"models":[]}`, "", "ollama pull"},
		{`"hello"`, "", "has no models"},
		{`{}`, "Bearer x", "--api-key-env"},
	} {
		srv := listen(t, script.Script{RequireAuth: c.auth, Get: map[string]json.RawMessage{"/api/tags": json.RawMessage(c.tags)}})
		for tg, err := range (ollama.Driver{Options: ollama.Options{URL: srv.URL()}}).Targets(t.Context(), collect.Spec{}) {
			if c.want == "" {
				if err != nil || tg == nil {
					t.Errorf("%s: %v", c.tags, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q in it", c.tags, err, c.want)
			}
		}
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for _, err := range (ollama.Driver{Options: ollama.Options{URL: other.URL}}).Targets(t.Context(), collect.Spec{}) {
		if err == nil || !strings.Contains(err.Error(), "404") || !strings.Contains(err.Error(), "--url") {
			t.Errorf("%v", err)
		}
	}
}

// TestFind: an Ollama is found with what it has, and nothing else is taken for
// one.
func TestFind(t *testing.T) {
	f := &fake{models: []string{"a:1b", "b:latest"}, version: "0.12.6", resident: "b:latest"}
	empty := &fake{version: "0.12.6"}
	other := listen(t, script.Script{Get: map[string]json.RawMessage{"/api/version": json.RawMessage(`{"version":"1"}`), "/api/tags": json.RawMessage(`{"tags":[]}`)}})
	slow := listen(t, script.Script{Heads: map[string]script.Answer{"/api/version": {HeadAt: time.Minute}}})
	begun := time.Now()
	got := ollama.Find(t.Context(), ollama.Options{}, f.start(t), empty.start(t), other.URL(), listen(t, script.Script{}).URL(), slow.URL(), "http://127.0.0.1:1")
	if took := time.Since(begun); took > 1500*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if g := got[0]; g.Err != nil || g.Version != "0.12.6" || !slices.Equal(g.Models, f.models) || !slices.Equal(g.Loaded, []string{"another:1b", "b:latest"}) {
		t.Errorf("%+v", g)
	}
	if g := got[1]; g.Err != nil || len(g.Models) > 0 || len(g.Loaded) > 0 {
		t.Errorf("%+v", g)
	}
	for _, g := range got[2:] {
		if g.Err == nil || g.Version != "" {
			t.Errorf("%+v passes", g)
		}
	}
	for _, x := range f.log() {
		if !strings.HasPrefix(x, "GET ") {
			t.Errorf("a look sent %s", x)
		}
	}
}

// TestKey: the key goes out with all requests, and without it the row says 401.
func TestKey(t *testing.T) {
	t.Setenv("TOKWATT_TEST_KEY", "hush")
	srv := listen(t, script.Script{RequireAuth: "Bearer hush", Model: "demo", Answer: func(r script.Request) script.Answer {
		return script.OllamaTokens{N: 2, Model: "demo", Prompt: 9}.Stream()
	}})
	for env, ok := range map[string]bool{"TOKWATT_TEST_KEY": true, "": false} {
		e, err := target(t, ollama.Options{URL: srv.URL(), APIKeyEnv: env}, sweep, "demo").Open(t.Context(), collect.NewClock())
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.(collect.Counter).Count(t.Context(), collect.Prompt{User: "x"})
		var f *collect.Failure
		if ok && err != nil || !ok && (!errors.As(err, &f) || f.Kind != collect.ErrHTTP || *f.HTTPStatus != 401) {
			t.Errorf("key %q: %v", env, err)
		}
	}
}

// TestRedirect: it is followed when the model is loaded, so that the timed
// request goes straight to its goal.
func TestRedirect(t *testing.T) {
	srv := listen(t, script.Script{Model: "demo",
		Redirect: &script.Redirect{From: "/api/generate", To: "/llm/api/generate", Status: 308}, OnlyPath: "/llm/api/generate",
		Answer: func(r script.Request) script.Answer {
			return script.OllamaTokens{N: 2, Model: "demo", Prompt: 9}.Stream()
		}})
	e, err := target(t, ollama.Options{URL: srv.URL()}, sweep, "demo").Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	before := len(srv.Log())
	if _, err := e.(collect.Counter).Count(t.Context(), collect.Prompt{User: "x"}); err != nil {
		t.Fatal(err)
	}
	if log := srv.Log()[before:]; len(log) != 1 || log[0].Path != "/llm/api/generate" {
		t.Errorf("the request made %d requests", len(log))
	}
}

// TestNoCount: a count of 0 is how some versions tell of a prompt that they had
// cached whole; it is no length.
func TestNoCount(t *testing.T) {
	srv := listen(t, script.Script{Model: "demo", Answer: func(script.Request) script.Answer {
		return script.Answer{Pieces: []script.Piece{{Data: []byte(`{"response":"a","done":true,"prompt_eval_count":0,"eval_count":1}`)}}}
	}})
	e, err := target(t, ollama.Options{URL: srv.URL()}, sweep, "demo").Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := e.(collect.Counter).Count(t.Context(), collect.Prompt{User: "x"}); err != collect.ErrNoCount {
		t.Errorf("counted %d, %v", n.PromptTokens, err)
	}
}

// TestExactPrompts: a whole run over a server that counts words: every prompt
// has the length that was asked for, and the server's figures arrive in the rows.
func TestExactPrompts(t *testing.T) {
	f := &fake{models: []string{"demo"}, context: 131072}
	spec := collect.Spec{PP: []int64{64, 5000}, TG: []int64{8, 16}, Repeat: 1, Pause: -1, GroupPause: -1}
	runner := collect.Runner{Prompts: func(_ collect.TargetInfo, e collect.Engine, fresh bool) (collect.Prompter, string) {
		return prompt.New(e.(collect.Counter).Count, prompt.Options{Fresh: fresh}), ""
	}}
	rows := 0
	for rec, err := range runner.Run(t.Context(), collect.Job{Driver: ollama.Driver{Options: ollama.Options{URL: f.start(t)}}, Spec: spec}) {
		if err != nil {
			t.Fatal(err)
		}
		b, ok := rec.(*collect.Batch)
		if !ok || b.Warmup {
			continue
		}
		rows++
		r := b.Requests[0]
		if r.Failure != nil || *r.PPTokens != *r.Report.PromptTokens || *r.Report.EvalNS != 9e6 || *r.Report.LoadNS != 1e6 || *r.Report.TotalNS != 30e6 || *r.Report.PromptEvalNS != 10e6 {
			t.Errorf("%+v", r)
		}
	}
	if rows != 2 {
		t.Errorf("%d rows", rows)
	}
	for _, b := range f.sent() {
		if b.Options["num_ctx"] != 6144.0 {
			t.Errorf("num_ctx %v", b.Options["num_ctx"])
		}
	}
}
