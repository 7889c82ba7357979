package openai_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/openai"
	"tokwatt/collect/script"
)

const transcripts = "../../testdata/transcripts/"

func read(t *testing.T, file string) *script.Transcript {
	t.Helper()
	tr, err := script.ReadTranscript(file, time.Millisecond)
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

// recorded is what a second reading of a recording, by patterns, says that the
// driver must see.
type recorded struct {
	outputs int
	text    string
	finish  string
	prompt  string
	tokens  string
	cached  string
}

var (
	// A delta's or a message's content, or a completion's text, not empty.
	spoken   = regexp.MustCompile(`"(?:content|text)": ?("(?:[^"\\]|\\.)+")`)
	finishes = regexp.MustCompile(`"finish_reason": ?"([a-z_]+)"`)
)

func lastOf(body, field string) string {
	all := regexp.MustCompile(`"`+field+`": ?([0-9]+)`).FindAllStringSubmatch(body, -1)
	if len(all) == 0 {
		return "nil"
	}
	return all[len(all)-1][1]
}

func readAgain(t *testing.T, body string) recorded {
	r := recorded{prompt: lastOf(body, "prompt_tokens"), tokens: lastOf(body, "completion_tokens"), cached: lastOf(body, "cached_tokens")}
	if r.tokens == "nil" {
		r.tokens = lastOf(body, "predicted_n")
	}
	if r.cached == "nil" {
		r.cached = lastOf(body, "cache_n")
	}
	for _, m := range spoken.FindAllStringSubmatch(body, -1) {
		var s string
		if err := json.Unmarshal([]byte(m[1]), &s); err != nil {
			t.Fatal(err)
		}
		r.text += s
		r.outputs++
	}
	for _, m := range finishes.FindAllStringSubmatch(body, -1) {
		r.finish = m[1]
	}
	return r
}

// TestTranscripts replays what real servers said to chat and completion
// requests.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob(transcripts + "*/*.txt")
	if err != nil || len(files) < 70 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	played := 0
	for _, file := range files {
		tr := read(t, file)
		if tr.Method != "POST" {
			continue
		}
		played++
		t.Run(strings.TrimPrefix(file, transcripts), func(t *testing.T) { replay(t, tr) })
	}
	if played < 60 {
		t.Errorf("only %d transcripts were played", played)
	}
}

func replay(t *testing.T, tr *script.Transcript) {
	srv := listen(t, script.Script{Answers: []script.Answer{tr.Answer}, PoliteProbes: true})
	e, err := target(t, openai.Options{URL: srv.URL()}, "demo-model").Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	var asked struct{ Stream bool }
	_ = json.Unmarshal(tr.Request, &asked) // some requests were broken on purpose
	s, err := e.Open(t.Context(), collect.Call{Prompt: collect.Prompt{User: "x"}, MaxTokens: 20, Stream: asked.Stream})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got recorded
	var last collect.Arrival
	for a, err := range s.Arrivals() {
		switch {
		case err != nil:
			checkRefused(t, tr, err)
			return
		case a.Report != nil:
			last = a
		case a.Kind.Output():
			got.outputs++
			got.text += a.Text
		}
	}
	if tr.Answer.Status != 200 {
		t.Fatalf("status %d passes for an answer", tr.Answer.Status)
	}
	r := last.Report
	got.finish = r.FinishReason
	got.prompt, got.tokens, got.cached = number(r.PromptTokens), number(r.CompletionTokens), number(r.CachedTokens)
	want := readAgain(t, bodyOf(tr))
	if want.prompt == "nil" && got.prompt != "nil" && lastOf(bodyOf(tr), "prompt_n") != "nil" {
		want.prompt = got.prompt // from llama.cpp's timings: TestTimings has the sum
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if last.NotStreamed == asked.Stream || last.UncleanEnd {
		t.Errorf("not streamed %v, unclean end %v", last.NotStreamed, last.UncleanEnd)
	}
}

// checkRefused: the server's reason reaches the user, its paths do not.
func checkRefused(t *testing.T, tr *script.Transcript, err error) {
	t.Helper()
	var f *collect.Failure
	if !errors.As(err, &f) || f.Kind != collect.ErrHTTP || f.HTTPStatus == nil || int(*f.HTTPStatus) != tr.Answer.Status {
		t.Fatalf("status %d gives %v", tr.Answer.Status, err)
	}
	if strings.Contains(f.Message, "/srv/") || strings.Contains(f.Message, "app.py") {
		t.Errorf("%q names files of the server", f.Message)
	}
	if len(f.Message) < len("the server answered 500: ")+5 {
		t.Errorf("%q lost the server's reason in %s", f.Message, bodyOf(tr))
	}
}

func number(n *int64) string {
	if n == nil {
		return "nil"
	}
	b, _ := json.Marshal(*n) // a number always can
	return string(b)
}

// TestTimings: llama-server's own figures, as recorded.
func TestTimings(t *testing.T) {
	srv := listen(t, script.Script{Answers: []script.Answer{read(t, transcripts+"llama_server/chat_stream_usage.txt").Answer}, PoliteProbes: true})
	e, err := target(t, openai.Options{URL: srv.URL()}, "demo-model").Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Open(t.Context(), collect.Call{Prompt: collect.Prompt{User: "x"}, MaxTokens: 20, Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for a, err := range s.Arrivals() {
		if err != nil {
			t.Fatal(err)
		}
		r := a.Report
		if r == nil {
			continue
		}
		if *r.PromptTPS != 44.99842505512307 || *r.GenerationTPS != 40.87487087256702 || r.GenerationRule != collect.RateIntervals ||
			*r.PromptEvalNS != 22223000 || *r.EvalNS != 269114000 || *r.CachedTokens != 36 || *r.PromptTokens != 37 {
			t.Errorf("%+v", *r)
		}
		if !strings.Contains(r.JSON, `"timings":{"cache_n":36,`) || !json.Valid([]byte(r.JSON)) {
			t.Errorf("JSON %s", r.JSON)
		}
		if r.Model != "smollm2" {
			t.Errorf("model %s", r.Model)
		}
	}
}
