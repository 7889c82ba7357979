package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tokwatt/collect"
	"tokwatt/collect/openai"
)

// alike is a server that looks like one of the known engines in some way.
type alike struct {
	server string // header
	models string // the model list's data
	get    map[string]string
	extra  string // fields of an answer
	usage  string // further fields of its usage
	status int    // of answers; 0: 200

	sent []string // bodies
}

func (a *alike) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.server != "" {
		w.Header().Set("Server", a.server)
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodPost:
		raw, _ := io.ReadAll(r.Body) // what is short is not what is wanted
		a.sent = append(a.sent, string(raw))
		if a.status != 0 {
			w.WriteHeader(a.status)
			return
		}
		io.WriteString(w, `{`+a.extra+`"model":"m","choices":[{"index":0,"message":{"content":"ab"},"finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":2`+a.usage+`}}`)
	case r.URL.Path == "/v1/models":
		io.WriteString(w, `{"object":"list","data":[`+a.models+`]}`)
	case a.get[r.URL.Path] != "":
		io.WriteString(w, a.get[r.URL.Path])
	default:
		http.NotFound(w, r)
	}
}

// TestLookAlikes: no server is sent switches that are trusted because another
// one has them; what may be another engine is measured as one that nobody knows.
func TestLookAlikes(t *testing.T) {
	const (
		python, me = "BaseHTTP/0.6 Python/3.12.1", `{"id":"m","owned_by":"me","permissions":[]}`
		nobody     = `{"id":"m"}`
		both       = "ignore_eos+logit_bias_unverified"
		chilled    = `"cache_prompt":false`
		prints     = `"system_fingerprint": "0.32.2-0.32.2-Linux",`
	)
	owned := func(owner string) string { return `{"id":"m","owned_by":"` + owner + `"}` }
	other := func(owner string) string { return `{"id":"other","owned_by":"` + owner + `"},` }
	health := map[string]string{"/health": `{"status":"ok"}`}
	version := map[string]string{"/version": `{"version":"0.11.0"}`}
	props := map[string]string{"/props": `{"build_info":"b1","total_slots":4}`}
	for _, c := range []struct {
		name               string
		srv                alike
		engine, ban, cold  string
		with, without, ver string // in the measured request, as it is sent
	}{
		{"a name that begins like llama.cpp's", alike{server: "llama.cpp-router", models: owned("acme")}, "openai", both, "", "ignore_eos", chilled, ""},
		{"llama.cpp's own, and another owner", alike{server: "llama.cpp", models: owned("acme"), get: props}, "openai", both, "", "ignore_eos", chilled, ""},
		{"llama.cpp's own and no owner", alike{server: "llama.cpp", models: nobody, get: props}, "llama.cpp", "ignore_eos", "cache_prompt=false", chilled, "bias", "b1"},
		{"llama.cpp's owner and nothing else", alike{models: owned("llamacpp")}, "llama.cpp", "ignore_eos_unverified", "", chilled, "bias", ""},
		{"which tells what it had cached", alike{models: owned("llamacpp"), usage: `,"prompt_tokens_details":{"cached_tokens": 0}`}, "llama.cpp", "ignore_eos_unverified", "cache_prompt=false", chilled, "bias", ""},
		{"which does not say how much", alike{models: owned("llamacpp"), usage: `,"prompt_tokens_details":{"cached_tokens":null}`}, "llama.cpp", "ignore_eos_unverified", "", chilled, "bias", ""},
		{"with llama.cpp's timings", alike{models: owned("llamacpp"), extra: `"timings":{"prompt_n":3,"prompt_per_second":7.5},`}, "llama.cpp", "ignore_eos", "cache_prompt=false", chilled, "bias", ""},
		{"a toy owned by me", alike{server: "uvicorn", models: owned("me")}, "openai", both, "", "ignore_eos", "min_tokens", ""},
		{"behind a proxy", alike{server: "uvicorn-h11", models: me}, "openai", both, "", "ignore_eos", "min_tokens", ""},
		{"llama_cpp.server", alike{server: "uvicorn", models: me}, "llama_cpp.server", "logit_bias+min_tokens", "", "min_tokens", "ignore_eos", ""},
		{"which has a fingerprint", alike{server: "uvicorn", models: me, extra: `"system_fingerprint": "fp_1",`}, "openai", both, "", "ignore_eos", "min_tokens", ""},
		{"which has no fingerprint", alike{server: "uvicorn", models: me, extra: `"system_fingerprint":null,`}, "llama_cpp.server", "logit_bias+min_tokens", "", "min_tokens", "ignore_eos", ""},
		{"Python's server", alike{server: python, models: nobody, get: health}, "openai", both, "", "ignore_eos", "min_tokens", ""},
		{"with a fingerprint of another form", alike{server: python, models: nobody, get: health, extra: `"system_fingerprint":"fp",`}, "openai", both, "", "ignore_eos", "min_tokens", ""},
		{"mlx_lm", alike{server: python, models: nobody, get: health, extra: prints}, "mlx_lm", "logit_bias", "", "bias", "ignore_eos", "0.32.2"},
		{"a gateway, vLLM's model", alike{models: other("llamacpp") + owned("vllm"), get: version}, "vllm", "ignore_eos", "cache_salt", "cache_salt", "bias", "0.11.0"},
		{"a gateway, llama.cpp's model", alike{models: other("vllm") + owned("llamacpp"), get: props}, "llama.cpp", "ignore_eos", "cache_prompt=false", chilled, "bias", "b1"},
		{"a gateway, somebody's model", alike{models: other("vllm") + owned("acme"), get: version}, "openai", both, "", "ignore_eos", "cache_salt", ""},
		{"a gateway, nobody's model", alike{models: other("vllm") + nobody, get: version}, "openai", both, "", "ignore_eos", "cache_salt", ""},
		{"a gateway, a model that it does not list", alike{models: other("vllm") + `{"id":"x","owned_by":"acme"}`, get: version}, "openai", both, "", "ignore_eos", "cache_salt", ""},
		{"vLLM's name alone", alike{models: owned("vllm")}, "vllm", "ignore_eos_unverified", "", "ignore_eos", "cache_salt", ""},
		{"SGLang's name alone", alike{models: owned("sglang")}, "sglang", "ignore_eos_unverified", "", "ignore_eos", "cache", ""},
	} {
		srv := httptest.NewServer(&c.srv)
		tg := target(t, openai.Options{URL: srv.URL, EndTokens: func(string) ([]int64, error) { return []int64{2}, nil }}, "m")
		e, err := tg.Open(t.Context(), collect.NewClock())
		if err != nil {
			t.Fatal(err)
		}
		info, err := tg.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if can := e.Abilities(); info.Engine != c.engine || info.EngineVersion != c.ver || can.EOSBan != c.ban || can.ColdMethod != c.cold {
			t.Errorf("%s: %s %q, ban %s, cold %q; want %s %q, %s, %q", c.name, info.Engine, info.EngineVersion, can.EOSBan, can.ColdMethod, c.engine, c.ver, c.ban, c.cold)
		}
		if (info.ModelFormat != "" || info.MaxStreams != nil) && c.engine == "openai" {
			t.Errorf("%s: of an unknown engine %q, %v streams", c.name, info.ModelFormat, info.MaxStreams)
		}
		s, err := e.Open(t.Context(), collect.Call{Prompt: collect.Prompt{User: "x"}, MaxTokens: 2, Cold: true, BanEOS: true, Streams: 1})
		if err != nil {
			t.Fatal(err)
		}
		for range s.Arrivals() {
		}
		s.Close()
		srv.Close()
		if body := c.srv.sent[len(c.srv.sent)-1]; !strings.Contains(body, c.with) || strings.Contains(body, c.without) || !json.Valid([]byte(body)) {
			t.Errorf("%s: sent %s, want %s in it and not %s", c.name, body, c.with, c.without)
		}
	}
}

// TestLookAlikeSilent: where the probe is refused, nothing is proved either way.
func TestLookAlikeSilent(t *testing.T) {
	srv := httptest.NewServer(&alike{server: "BaseHTTP/0.6 Python/3.12.1", models: `{"id":"m"}`, get: map[string]string{"/health": `{"status":"ok"}`}, status: 503})
	defer srv.Close()
	tg := target(t, openai.Options{URL: srv.URL, EndTokens: func(string) ([]int64, error) { return []int64{2}, nil }}, "m")
	e, err := tg.Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := tg.Describe(t.Context()); err != nil || info.Engine != "mlx_lm" || e.Abilities().EOSBan != "logit_bias_unverified" {
		t.Errorf("%s, %+v, %v", info.Engine, e.Abilities(), err)
	}
}
