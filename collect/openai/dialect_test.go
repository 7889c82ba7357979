package openai

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tokwatt/collect"
	"tokwatt/collect/script"
)

func fingerprints(t *testing.T) []script.Fingerprint {
	t.Helper()
	all, err := script.Fingerprints("../../testdata/fingerprints.json")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// serve plays a server's answers to GETs behind a path prefix.
func serve(t *testing.T, f script.Fingerprint) string {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestOnlyItself: of every server and every row, only the server's own row
// finds a sign in it.
func TestOnlyItself(t *testing.T) {
	covered := map[string]bool{}
	for _, fp := range fingerprints(t) {
		covered[fp.Engine] = true
		srv, err := newServer(Options{URL: serve(t, fp)})
		if err != nil {
			t.Fatal(err)
		}
		f, err := srv.learn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range dialects {
			hit := slices.ContainsFunc(d.signs, func(s sign) bool { return f.shows(t.Context(), f.list.models, d, s) })
			if hit != (d.engine == fp.Engine) {
				t.Errorf("%s (%s) shows a sign of %s: %v", fp.Engine, fp.Facts, d.engine, hit)
			}
		}
		d := f.recognise(t.Context(), f.list.models)
		if got := f.version(t.Context(), d); d.engine != fp.Engine || got != fp.Version {
			t.Errorf("%s (%s) is taken for %s %q, want version %q", fp.Engine, fp.Facts, d.engine, got, fp.Version)
		}
		if got := f.loaded(t.Context(), d); fp.Driver == "openai" && (!slices.Equal(got, fp.Loaded) || (got == nil) != (fp.Loaded == nil)) {
			t.Errorf("%s (%s) has %q in memory, want %q", fp.Engine, fp.Facts, got, fp.Loaded)
		}
	}
	for _, d := range dialects {
		if !covered[d.engine] {
			t.Errorf("%s has no fingerprint", d.engine)
		}
	}
}

// TestSignsFire: without the one thing that tells a server, it is unknown.
func TestSignsFire(t *testing.T) {
	for _, fp := range fingerprints(t) {
		if len(fp.Transcripts) > 0 || fp.Driver != "openai" || fp.Engine == unknownEngine {
			continue
		}
		list := fp.Get["/v1/models"]
		list.Headers = nil
		for _, d := range dialects {
			for _, s := range d.signs {
				if s.owner != "" {
					list.Body = []byte(strings.ReplaceAll(string(list.Body), `"`+s.owner+`"`, `"acme"`))
				}
			}
		}
		fp.Get["/v1/models"] = list
		delete(fp.Get, "/") // what imitates Ollama would be taken for it
		got := Find(t.Context(), Options{}, serve(t, fp))[0]
		if got.Engine != unknownEngine {
			t.Errorf("%s (%s) under another name is taken for %s", fp.Engine, fp.Facts, got.Engine)
		}
	}
}

// TestDialects: what is sent to each engine, with and without its end tokens
// at hand, and how that is stored.
func TestDialects(t *testing.T) {
	yet := wishes{keepOn: true, fresh: true}
	known := yet
	known.ends = []int64{2}
	for engine, want := range map[string][4]string{ // ban without and with end tokens; cold; counts the end token
		"exo":              {"", "", "", "?"},
		"lmstudio":         {"", "logit_bias_unverified", "", "?"},
		"llama.cpp":        {"ignore_eos", "ignore_eos", "cache_prompt=false", "yes"},
		"llama_cpp.server": {"min_tokens", "logit_bias+min_tokens", "", "no"},
		"mlx_lm":           {"", "logit_bias", "", "yes"},
		"vllm-mlx":         {"", "logit_bias_unverified", "", "?"},
		"vmlx":             {"", "logit_bias_unverified", "", "yes"},
		"omlx":             {"", "", "", "?"},
		"rapid-mlx":        {"", "", "", "yes"},
		"vllm":             {"ignore_eos", "ignore_eos", "cache_salt", "?"},
		"sglang":           {"ignore_eos", "ignore_eos", "", "?"},
		"ollama":           {"", "", "", "?"},
		"tokwatt":          {"ignore_eos", "ignore_eos", "cache_prompt=false", "no"},
		"openai":           {"ignore_eos_unverified", "ignore_eos+logit_bias_unverified", "", "?"},
	} {
		i := slices.IndexFunc(dialects, func(d dialect) bool { return d.engine == engine })
		d := unknown
		if engine != unknownEngine {
			d = dialects[i]
		}
		counts := map[*bool]string{nil: "?", &yes: "yes", &no: "no"}[d.eos]
		without, with := d.abilities(d.wishes(yet, "0.9.1")), d.abilities(d.wishes(known, "0.9.1"))
		if got := [4]string{without.EOSBan, with.EOSBan, with.ColdMethod, counts}; got != want {
			t.Errorf("%s: %q, want %q", engine, got, want)
		}
		if got := d.abilities(d.wishes(wishes{ends: known.ends}, "0.9.1")); got != (collect.Abilities{}) {
			t.Errorf("%s: %+v where neither is wished for", engine, got)
		}
	}
	if len(dialects) != 13 {
		t.Errorf("%d rows, of which this test knows 13", len(dialects))
	}
}

// TestNativeBase: LM Studio's own API is a base as good as the other, and its
// list tells by itself what is in memory.
func TestNativeBase(t *testing.T) {
	for _, fp := range fingerprints(t) {
		if fp.Engine != "lmstudio" || fp.Version == "" {
			continue
		}
		got := Find(t.Context(), Options{}, serve(t, fp)+"/api/v0")[0]
		if got.Engine != "lmstudio" || !slices.Equal(got.Loaded, fp.Loaded) || len(got.Models) != 2 {
			t.Errorf("%+v", got)
		}
	}
}

// TestFindNoKey: a server that will not list its models says what it lacks.
func TestFindNoKey(t *testing.T) {
	for _, status := range []int{401, 403, 404} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		got := Find(t.Context(), Options{}, srv.URL)[0]
		if got.Err == nil || strings.Contains(got.Err.Error(), "--api-key-env") != (status != 404) {
			t.Errorf("%d: %v", status, got.Err)
		}
		srv.Close()
	}
}

// FuzzRecognise: whatever a server answers, it is one engine or unknown, and
// nothing is shown of it that would not fit on a line.
func FuzzRecognise(f *testing.F) {
	all, err := script.Fingerprints("../../testdata/fingerprints.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, fp := range all {
		f.Add([]byte(fp.Get["/v1/models"].Body), []byte(fp.Get["/"].Body), fp.Get["/v1/models"].Headers["Server"])
	}
	f.Add([]byte(`{"data":[{"id":"x","owned_by":"vllm"}]}`), []byte(`{"version":"1\n\u001b[31m2"}`), "")
	f.Add([]byte(`{"data":[{"id":1,"status":[],"meta":5,"owned_by":{}},null,{"id":"x","state":"loaded","status":{"value":7}}]}`), []byte(`[`), "BaseHTTP/")
	f.Fuzz(func(t *testing.T, list, other []byte, server string) {
		srv, err := newServer(Options{URL: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		l := listing{models: parseModels(list), status: 200, header: http.Header{"Server": {server}}}
		facts := &facts{srv: srv, list: l, got: map[string][]byte{}}
		for _, p := range []string{"/", "/health", "/props", "/version", "/api/version", "/api/status", "/admin/info", "/server_info", "/get_server_info", "/lms/version", "/api/v0/models"} {
			facts.got[p] = other
		}
		d := facts.recognise(t.Context(), l.models)
		v := facts.version(t.Context(), d)
		if strings.ContainsAny(v, "\n\x00\x1b") || len(v) > 1000 {
			t.Errorf("version %q", v)
		}
		for _, name := range facts.loaded(t.Context(), d) {
			if d.inMemory == (place{}) && !slices.Contains(l.names(), name) {
				t.Errorf("%q is in memory, of %q", name, l.names())
			}
		}
		if n := facts.streams(t.Context(), d); n != nil && *n < 1 {
			t.Errorf("%d streams", *n)
		}
		if len(facts.got) != 11 {
			t.Errorf("asked for more than is known: %d", len(facts.got))
		}
	})
}

func TestAtLeast(t *testing.T) {
	for _, c := range []struct {
		version, least string
		want           bool
	}{
		{"0.9.0", "0.9.0", true}, {"0.10.1", "0.9.0", true}, {"0.8.5.post1", "0.9.0", false}, {"0.9.0rc1", "0.9.0", true},
		{"v1.0", "0.9.0", true}, {"0.9.1.dev8+gabc", "0.9.0", true}, {"1", "0.9.0", true}, {"0.9", "0.9.0", false},
		{"", "0.9.0", false}, {"dev", "0.9.0", false}, {"", "", true},
	} {
		if got := atLeast(c.version, c.least); got != c.want {
			t.Errorf("%q is at least %q: %v", c.version, c.least, got)
		}
	}
}

func TestFingerprinted(t *testing.T) {
	for answer, want := range map[string]string{
		`{"id": 1, "system_fingerprint": "0.32.2-0.32.2-Linux-x86-cpu", "a": 1}`: "0.32.2",
		`{"system_fingerprint":"0.30-x"}`:                                        "0.30",
		`{"system_fingerprint": null, "x": "a-b"}`:                               "",
		`{"system_fingerprint": "fp", "x": "a-b"}`:                               "",
		`{}`: "",
	} {
		if got := fingerprinted(answer); got != want {
			t.Errorf("%s tells %q, want %q", answer, got, want)
		}
	}
}
