package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/openai"
	"tokwatt/collect/script"
)

// recordedServer answers GETs as a real server was recorded to, its head
// included, and requests for one token with a recorded answer.
func recordedServer(t *testing.T, folder, models string) *script.Server {
	t.Helper()
	gets := map[string]script.Answer{"/v1/models": read(t, transcripts+folder+"/"+models).Answer, "/health": read(t, transcripts+folder+"/health.txt").Answer}
	return listen(t, script.Script{Heads: gets, Answers: []script.Answer{read(t, transcripts+folder+"/chat_stream_usage.txt").Answer}})
}

// TestRecognise: each recorded server is known by what it puts on the wire,
// and none is taken for another.
func TestRecognise(t *testing.T) {
	for _, c := range []struct{ folder, models, asked, engine, version, served string }{
		{"mlx_lm", "models.txt", "smollm2-135m-4bit-f32", "mlx_lm", "0.32.2", "smollm2-135m-4bit-f32"},
		{"mlx_lm", "models_no_hub_cache_dir.txt", "default_model", "mlx_lm", "0.32.2", "default_model"},
		{"llama_cpp_server", "models.txt", "smollm2", "llama_cpp.server", "", "smollm2"},
		{"llama_server", "models.txt", "smollm2", "llama.cpp", "", "smollm2"},
	} {
		t.Run(c.folder+" "+c.models, func(t *testing.T) {
			srv := recordedServer(t, c.folder, c.models)
			tg := target(t, openai.Options{URL: srv.URL()}, c.asked)
			if _, err := tg.Open(t.Context(), collect.NewClock()); err != nil {
				t.Fatal(err)
			}
			info, err := tg.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if info.Engine != c.engine || info.EngineVersion != c.version || info.ServedModel != c.served || info.ModelID != c.asked || info.Unlisted {
				t.Errorf("%+v", info)
			}
			if info.Sampling != `{"sent":{"seed":7,"temperature":0}}` {
				t.Errorf("sampling %s", info.Sampling)
			}
		})
	}
}

// TestServedPath: a path goes over the wire as listed, and nowhere else.
func TestServedPath(t *testing.T) {
	srv := recordedServer(t, "mlx_lm", "models.txt")
	tg := target(t, openai.Options{URL: srv.URL()})
	info, err := tg.Describe(t.Context())
	if err != nil || strings.Contains(info.ModelID+info.ServedModel+strings.Join(tg.Listed(), ""), "/") {
		t.Fatalf("%+v %v %v", info, tg.Listed(), err)
	}
	if _, err := tg.Open(t.Context(), collect.NewClock()); err != nil {
		t.Fatal(err)
	}
	for _, x := range srv.Log() {
		if x.Method == "POST" && string(x.Field("model")) != `"/srv/models/smollm2-135m-4bit-f32"` {
			t.Errorf("asked for %s", x.Field("model"))
		}
	}
}

func TestUnlisted(t *testing.T) {
	srv := listen(t, script.Script{Model: "resident:1b"})
	for asked, unlisted := range map[string]bool{"resident:1b": false, "made-up:99b": true} {
		tg := target(t, openai.Options{URL: srv.URL()}, asked)
		info, err := tg.Describe(t.Context())
		if err != nil || info.Unlisted != unlisted || !slices.Equal(tg.Listed(), []string{"resident:1b"}) || info.Engine != "openai" {
			t.Errorf("%s: %+v, listed %v, %v", asked, info, tg.Listed(), err)
		}
	}
}

// TestWhichModel: without --model there must be exactly one.
func TestWhichModel(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{`{"data":[{"id":"a"}]}`, ""},
		{`{"data":[{"id":"a"},{"id":"/srv/b"}]}`, "a, b"},
		{`{"data":[]}`, "lists no models"},
		{`<html>`, "lists no models"},
	} {
		srv := listen(t, script.Script{Get: map[string]json.RawMessage{"/models": json.RawMessage(c.list)}})
		for tg, err := range (openai.Driver{Options: openai.Options{URL: srv.URL()}}).Targets(t.Context(), collect.Spec{}) {
			if c.want == "" {
				if err != nil || tg == nil {
					t.Errorf("%s: %v", c.list, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--model") {
				t.Errorf("%s: %v", c.list, err)
			}
		}
	}
}

// TestKeyMissing: a server that will not list its models says why.
func TestKeyMissing(t *testing.T) {
	srv := listen(t, script.Script{RequireAuth: "Bearer x"})
	for _, err := range (openai.Driver{Options: openai.Options{URL: srv.URL()}}).Targets(t.Context(), collect.Spec{}) {
		if err == nil || !strings.Contains(err.Error(), "401") || !strings.Contains(err.Error(), "--api-key-env") {
			t.Errorf("%v", err)
		}
	}
}

// TestOnlyModel: mlx_lm.server may list nothing and still have a model.
func TestOnlyModel(t *testing.T) {
	srv := recordedServer(t, "mlx_lm", "models_no_hub_cache_dir.txt")
	info, err := target(t, openai.Options{URL: srv.URL()}).Describe(t.Context())
	if err != nil || info.ModelID != "default_model" {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestRefusedFields: a field that the server refuses is left out of the
// measured request, the others stay, and what is stored says what was sent.
func TestRefusedFields(t *testing.T) {
	all := []string{"ignore_eos", "logit_bias", "seed", "stream_options", "temperature"}
	ends := func(model string) ([]int64, error) {
		if model != "demo-model" {
			return nil, errors.New("asked for " + model)
		}
		return []int64{2, 7}, nil
	}
	for _, c := range []struct {
		refused  []string
		status   int
		sampling string
		ban      string
	}{
		{nil, 400, `{"sent":{"seed":7,"temperature":0}}`, "ignore_eos+logit_bias_unverified"},
		{[]string{"logit_bias"}, 400, `{"sent":{"seed":7,"temperature":0}}`, "ignore_eos_unverified"},
		{[]string{"ignore_eos"}, 400, `{"sent":{"seed":7,"temperature":0}}`, "logit_bias_unverified"},
		{[]string{"seed"}, 422, `{"sent":{"temperature":0}}`, "ignore_eos+logit_bias_unverified"},
		{[]string{"stream_options", "temperature"}, 422, `{"sent":{"seed":7}}`, "ignore_eos+logit_bias_unverified"},
		{all, 501, `{"sent":{}}`, ""},
		{[]string{"model"}, 400, `{"sent":{"seed":7,"temperature":0}}`, "ignore_eos+logit_bias_unverified"}, // nothing helps: all is kept
	} {
		srv := listen(t, script.Script{RejectFields: c.refused, RejectStatus: c.status,
			Answers: []script.Answer{script.Tokens{N: 2, Model: "demo-model", Prompt: 9}.Stream()}})
		tg := target(t, openai.Options{URL: srv.URL(), EndTokens: ends}, "demo-model")
		e, err := tg.Open(t.Context(), collect.NewClock())
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Abilities().EOSBan; got != c.ban {
			t.Errorf("%v refused: ban %q, want %q", c.refused, got, c.ban)
		}
		info, _ := tg.Describe(t.Context())
		if info.Sampling != c.sampling {
			t.Errorf("%v refused: sampling %s", c.refused, info.Sampling)
		}
		zero, seed := 0.0, int64(7)
		s, err := e.Open(t.Context(), collect.Call{MaxTokens: 2, Stream: true, BanEOS: true, Temperature: &zero, Seed: &seed})
		if err != nil {
			t.Fatal(err)
		}
		for range s.Arrivals() {
		}
		s.Close()
		log := srv.Log()
		last := log[len(log)-1]
		for _, f := range all {
			sent, want := last.Field(f) != nil, !slices.Contains(c.refused, f)
			if sent != want {
				t.Errorf("%v refused: %s sent %v, want %v", c.refused, f, sent, want)
			}
		}
		if b := last.Field("logit_bias"); b != nil && string(b) != `{"2":-100,"7":-100}` {
			t.Errorf("logit_bias %s", b)
		}
	}
}

// TestRedirect: it is followed when the target is opened, so that the timed
// request goes straight to its goal.
func TestRedirect(t *testing.T) {
	srv := listen(t, script.Script{
		Redirect: &script.Redirect{From: "/v1/chat/completions", To: "/api/v1/chat/completions", Status: 308},
		OnlyPath: "/api/v1/chat/completions", PoliteProbes: true,
		Answers: []script.Answer{script.Tokens{N: 2, Model: "demo-model"}.Stream()}})
	e, err := target(t, openai.Options{URL: srv.URL()}, "demo-model").Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	before := len(srv.Log())
	s, err := e.Open(t.Context(), collect.Call{MaxTokens: 2, Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, err := range s.Arrivals() {
		if err != nil {
			t.Fatal(err)
		}
	}
	if log := srv.Log()[before:]; len(log) != 1 || log[0].Path != "/api/v1/chat/completions" {
		t.Errorf("the timed request made %d requests", len(log))
	}
}

// TestTLS: a certificate that nobody knows, and plain HTTP where TLS is asked
// for, are failures of kind tls.
func TestTLS(t *testing.T) {
	secure := httptest.NewTLSServer(nil)
	secure.Config.ErrorLog = quiet
	defer secure.Close()
	plain := httptest.NewServer(nil)
	defer plain.Close()
	for _, u := range []string{secure.URL, strings.Replace(plain.URL, "http:", "https:", 1)} {
		_, err := target(t, openai.Options{URL: u}, "m").Describe(t.Context())
		var f *collect.Failure
		if !errors.As(err, &f) || f.Kind != collect.ErrTLS {
			t.Errorf("%s: %v, want kind tls", u, err)
		}
	}
}

func TestFind(t *testing.T) {
	mlx := recordedServer(t, "mlx_lm", "models.txt")
	llama := recordedServer(t, "llama_server", "models.txt")
	slow := listen(t, script.Script{Heads: map[string]script.Answer{"/v1/models": {HeadAt: time.Minute}}})
	other := listen(t, script.Script{Get: map[string]json.RawMessage{"/models": json.RawMessage(`"hello"`)}})
	begun := time.Now()
	got := openai.Find(context.Background(), openai.Options{}, mlx.URL(), llama.URL(), slow.URL(), other.URL(), "http://127.0.0.1:1")
	if took := time.Since(begun); took > 1500*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if f := got[0]; f.Engine != "mlx_lm" || !slices.Equal(f.Models, []string{"smollm2-135m-4bit-f32"}) || !*f.Usage || *f.Timings || f.EOSBan != nil || f.Err != nil {
		t.Errorf("%+v", f)
	}
	if f := got[1]; f.Engine != "llama.cpp" || !*f.Timings || f.EOSBan != nil || f.EOSBy != "ignore_eos_unverified" || f.Cold != "nonce" || f.Err != nil {
		t.Errorf("%+v", f)
	}
	for i := 2; i < 5; i++ {
		if got[i].Err == nil {
			t.Errorf("%+v passes", got[i])
		}
	}
	for _, s := range []*script.Server{mlx, llama} {
		for _, x := range s.Log() {
			if x.Method != "GET" {
				t.Errorf("a look sent %s %s", x.Method, x.Path)
			}
		}
	}
}
