package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"tokwatt/collect"
	"tokwatt/collect/openai"
	"tokwatt/collect/script"
)

// gate is a server of some engine behind a gateway: under a path prefix, with
// a key, and with requests redirected to another path.
type gate struct {
	fp   script.Fingerprint
	mu   sync.Mutex
	sent []map[string]json.RawMessage // bodies of the requests that arrived
	keys map[string]bool              // what came as a key
}

const answered = `{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ab"},"finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`

// marks are what answers of some engines have beside that.
var marks = map[string]string{"mlx_lm": `"system_fingerprint": "0.32.2-0.32.2-Linux",`}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keys[r.Header.Get("Authorization")] = true
	switch {
	case r.Method == http.MethodGet:
		http.StripPrefix("/gate", g.fp).ServeHTTP(w, r)
	case r.URL.Path == "/gate/v1/chat/completions":
		http.Redirect(w, r, "/gate/inner/v1/chat/completions", http.StatusTemporaryRedirect)
	case r.URL.Path == "/gate/inner/v1/chat/completions":
		raw, _ := io.ReadAll(r.Body) // what is short is no JSON
		var body map[string]json.RawMessage
		_ = json.Unmarshal(raw, &body) // nil is not what is wanted
		g.sent = append(g.sent, body)
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(strings.Replace(answered, "{", "{"+marks[g.fp.Engine], 1)))
	default:
		http.NotFound(w, r)
	}
}

// extras are the fields of a body that the common API does not have.
func extras(body map[string]json.RawMessage) string {
	common := []string{"model", "messages", "max_tokens", "stream", "stream_options", "temperature", "seed"}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(body)) {
		if !slices.Contains(common, k) {
			out = append(out, k+"="+string(body[k]))
		}
	}
	return strings.Join(out, " ")
}

// askOnce opens the engine and sends it one request, as cold and as long as can be
// had; it returns the engine's abilities.
func askOnce(t *testing.T, o openai.Options, spec collect.Spec) collect.Abilities {
	t.Helper()
	spec.Models = []string{"m"}
	for tg, err := range (openai.Driver{Options: o}).Targets(t.Context(), spec) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := tg.Open(t.Context(), collect.NewClock())
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.Open(t.Context(), collect.Call{Prompt: collect.Prompt{User: "x"}, MaxTokens: 2, Cold: true, BanEOS: true, Streams: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range s.Arrivals() {
			if err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		return e.Abilities()
	}
	t.Fatal("no target")
	return collect.Abilities{}
}

// TestSwitches: what each engine is sent, probe and measured request, behind a
// gateway; and nothing of it where the session wants the server as it is.
func TestSwitches(t *testing.T) {
	const cold, warm = "cache_prompt=false", ""
	all, err := script.Fingerprints("../../testdata/fingerprints.json")
	if err != nil {
		t.Fatal(err)
	}
	bias := `logit_bias={"2":-100,"7":-100}`
	want := map[string]string{
		"exo": "", "ollama": "", "omlx": "", "rapid-mlx": "",
		"lmstudio": bias, "vmlx": bias, "vllm-mlx": bias, "mlx_lm": bias,
		"llama.cpp": cold + " ignore_eos=true", "llama_cpp.server": bias + " min_tokens=2",
		"tokwatt": cold + " ignore_eos=true", "vllm": "cache_salt=* ignore_eos=true", "sglang": "ignore_eos=true", "openai": "ignore_eos=true " + bias,
	}
	t.Setenv("TOKWATT_TEST_KEY", "k")
	ends := func(string) ([]int64, error) { return []int64{2, 7}, nil }
	for _, fp := range all {
		for _, plain := range []bool{false, true} {
			g := &gate{fp: fp, keys: map[string]bool{}}
			srv := httptest.NewServer(g)
			spec := collect.Spec{}
			if plain {
				spec.Cache, spec.NoEOSBan = collect.CacheServer, true
			}
			can := askOnce(t, openai.Options{URL: srv.URL + "/gate", APIKeyEnv: "TOKWATT_TEST_KEY", EndTokens: ends}, spec)
			srv.Close()
			if len(g.sent) != 2 || len(g.keys) != 1 || !g.keys["Bearer k"] {
				t.Fatalf("%s: %d requests, keys %v", fp.Engine, len(g.sent), g.keys)
			}
			salts := map[string]bool{}
			for i, body := range g.sent {
				if salt := string(body["cache_salt"]); salt != "" {
					salts[salt] = true
					body["cache_salt"] = json.RawMessage("*")
				}
				line := want[fp.Engine]
				if i == 0 {
					line = strings.Replace(line, "min_tokens=2", "min_tokens=1", 1)
				}
				if plain {
					line = warm
				}
				if got := extras(body); got != line {
					t.Errorf("%s, plain %v: request %d has %q, want %q", fp.Engine, plain, i, got, line)
				}
			}
			if !plain && fp.Engine == "vllm" && len(salts) != 2 {
				t.Errorf("salts %v: each must be new", salts)
			}
			if plain && can != (collect.Abilities{}) {
				t.Errorf("%s: %+v where nothing is wished for", fp.Engine, can)
			}
		}
	}
}

// TestOldVLLM: a version that would drop the salt is not trusted with it, and
// one that tells none may be another engine.
func TestOldVLLM(t *testing.T) {
	for version, ban := range map[string]string{`{"version":"0.8.5"}`: "ignore_eos", `{}`: "ignore_eos_unverified"} {
		g := &gate{keys: map[string]bool{}}
		raw := `[{"get":{"/v1/models":{"body":{"data":[{"id":"m","owned_by":"vllm"}]}},"/version":{"body":` + version + `}}}]`
		var all []script.Fingerprint
		if err := json.Unmarshal([]byte(raw), &all); err != nil {
			t.Fatal(err)
		}
		g.fp = all[0]
		srv := httptest.NewServer(g)
		can := askOnce(t, openai.Options{URL: srv.URL + "/gate"}, collect.Spec{})
		srv.Close()
		if can != (collect.Abilities{EOSBan: ban}) || extras(g.sent[1]) != "ignore_eos=true" {
			t.Errorf("%s: %+v, sent %s", version, can, extras(g.sent[1]))
		}
	}
}

// TestSelfSigned: every engine behind a certificate that nobody knows is a
// failure of kind tls that says what is wrong with it.
func TestSelfSigned(t *testing.T) {
	all, err := script.Fingerprints("../../testdata/fingerprints.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, fp := range all {
		srv := httptest.NewUnstartedServer(fp)
		srv.Config.ErrorLog = quiet
		srv.StartTLS()
		_, err := target(t, openai.Options{URL: srv.URL}, "m").Describe(t.Context())
		var f *collect.Failure
		if !errors.As(err, &f) || f.Kind != collect.ErrTLS || !strings.Contains(f.Message, "certificate") {
			t.Errorf("%s: %v", fp.Engine, err)
		}
		srv.Close()
	}
}

// TestRecordedBans: the fields that are sent are those that the recorded
// servers obeyed: 20 tokens of 20, though the answer was over before.
func TestRecordedBans(t *testing.T) {
	for _, c := range []struct{ folder, models, answer, sent string }{
		{"llama_server", "models.txt", "chat_ignore_eos.txt", "cache_prompt=false ignore_eos=true"},
		{"llama_cpp_server", "models.txt", "chat_ignore_eos.txt", `logit_bias={"2":-100} min_tokens=20`},
		{"llama_cpp_server", "models.txt", "chat_logit_bias.txt", `logit_bias={"2":-100} min_tokens=20`},
		{"mlx_lm", "models.txt", "chat_logit_bias.txt", `logit_bias={"2":-100}`},
	} {
		recorded := read(t, transcripts+c.folder+"/"+c.answer)
		srv := listen(t, script.Script{
			Heads: map[string]script.Answer{
				"/v1/models": read(t, transcripts+c.folder+"/"+c.models).Answer, "/health": read(t, transcripts+c.folder+"/health.txt").Answer},
			Answers: []script.Answer{recorded.Answer}})
		ends := func(string) ([]int64, error) { return []int64{2}, nil }
		e, err := target(t, openai.Options{URL: srv.URL(), EndTokens: ends}, "smollm2").Open(t.Context(), collect.NewClock())
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.Open(t.Context(), collect.Call{Prompt: collect.Prompt{User: "x"}, MaxTokens: 20, Cold: true, BanEOS: true, Streams: 1})
		if err != nil {
			t.Fatal(err)
		}
		var report *collect.Report
		for a, err := range s.Arrivals() {
			if err != nil {
				t.Fatal(err)
			}
			report = a.Report
		}
		s.Close()
		if report == nil || report.CompletionTokens == nil || *report.CompletionTokens != 20 || report.FinishReason != "length" {
			t.Errorf("%s: %+v", c.folder, report)
		}
		log := srv.Log()
		var body, asked map[string]json.RawMessage
		if err := json.Unmarshal(log[len(log)-1].Body, &body); err != nil {
			t.Fatal(err)
		}
		if got := extras(body); got != c.sent {
			t.Errorf("%s: sent %s, want %s", c.folder, got, c.sent)
		}
		if err := json.Unmarshal(recorded.Request, &asked); err != nil {
			t.Fatal(err)
		}
		shared := false
		for k, v := range asked {
			ban := slices.Contains([]string{"ignore_eos", "min_tokens", "logit_bias"}, k)
			shared = shared || ban && strings.ReplaceAll(string(v), ".0", "") == string(body[k])
		}
		if !shared {
			t.Errorf("%s %s: the recorded request %s has none of the fields sent: %s", c.folder, c.answer, recorded.Request, extras(body))
		}
	}
}
