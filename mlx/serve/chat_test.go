package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestWhole: a whole answer has exo's keys in exo's order, and the log its
// figures.
func TestWhole(t *testing.T) {
	r := start(t, Options{})
	code, body := r.do(t, "POST", bench, asked(61, 5, `,"stream":false,"logprobs":false,"use_prefix_cache":false`))
	var a whole
	if err := json.Unmarshal([]byte(body), &a); err != nil || code != 200 {
		t.Fatal(code, err, body)
	}
	want := "id object created model choices index message role content reasoning_content name tool_calls tool_call_id function_call logprobs finish_reason " +
		"usage service_tier generation_stats prompt_tps generation_tps prompt_tokens generation_tokens peak_memory_usage inBytes prefix_cache_hit " +
		"power_usage elapsed_seconds nodes total_avg_sys_power_watts total_energy_joules prefill_seconds generation_seconds prefill_energy_joules " +
		"generation_energy_joules prefill_avg_sys_power_watts generation_avg_sys_power_watts"
	if got := strings.Join(keys(t, body), " "); got != want {
		t.Errorf("keys %s", got)
	}
	s := a.Stats
	if s.PromptTokens != 64 || s.GenerationTokens != 5 || s.PromptTPS <= 0 || s.GenerationTPS <= 0 || *s.PeakMemory.Bytes <= 0 || s.CacheHit != "none" ||
		*a.Choices[0].Finish != "length" || a.Choices[0].Message.Content == "" || a.Usage != nil {
		t.Error(body)
	}
	p := a.Power
	if len(p.Nodes) != 0 || p.Energy != nil || p.PrefillEnergy != nil || p.PrefillSeconds <= 0 || p.GenerationSeconds <= 0 ||
		!near(p.PrefillSeconds+p.GenerationSeconds, p.Elapsed) {
		t.Errorf("%+v", *p)
	}
	e := r.log.entries(t, 1)[0]
	if !same(e.Stats, a.Stats) || !same(e.Power, a.Power) || *e.ID != a.ID || e.Outcome != "complete" || *e.Status != 200 || *e.Streams != 1 || !e.BanEOS {
		t.Errorf("%+v", e)
	}
}

// keys are those of a document, in order and with their depth left out.
func keys(t *testing.T, doc string) []string {
	t.Helper()
	var out []string
	d := json.NewDecoder(strings.NewReader(doc))
	var down func(v json.Token)
	down = func(v json.Token) {
		switch v {
		case json.Delim('{'):
			for d.More() {
				k, _ := d.Token()
				out = append(out, k.(string))
				v, _ := d.Token()
				down(v)
			}
			d.Token()
		case json.Delim('['):
			for d.More() {
				v, _ := d.Token()
				down(v)
			}
			d.Token()
		}
	}
	v, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	down(v)
	return out
}

func same(a, b any) bool { return bytes.Equal(document(a), document(b)) }

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// TestStream: the events of a stream, in exo's order and words.
func TestStream(t *testing.T) {
	r := start(t, Options{})
	resp, err := http.Post(r.url+bench, "application/json", strings.NewReader(asked(697, 3, `,"stream":true`)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if h := resp.Header; h.Get("Content-Type") != "text/event-stream; charset=utf-8" || h.Get("Cache-Control") != "no-cache" || resp.TransferEncoding == nil {
		t.Errorf("%v", h)
	}
	var got []string
	var text strings.Builder
	var last chunk
	var told stats
	for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
		line := sc.Text()
		name, rest, _ := strings.Cut(line, "{")
		if line != "" {
			got = append(got, strings.TrimSpace(name))
		}
		switch {
		case strings.HasPrefix(line, "data: {"):
			last = chunk{}
			if err := json.Unmarshal([]byte("{"+rest), &last); err != nil {
				t.Fatal(err)
			}
			text.WriteString(last.Choices[0].Delta.Content)
		case strings.HasPrefix(line, ": prefill_progress"):
			got = append(got, rest[strings.Index(rest, `"processed`):])
		case strings.HasPrefix(line, ": generation_stats"):
			if err := json.Unmarshal([]byte("{"+rest), &told); err != nil {
				t.Fatal(err)
			}
		}
	}
	const total = `,"total_tokens":699}}`
	want := []string{": keep-alive", ": prefill_progress", `"processed_tokens":0` + total, ": prefill_progress", `"processed_tokens":512` + total,
		": prefill_progress", `"processed_tokens":699` + total, "data:", "data:", "data:", ": generation_stats", "data: [DONE]"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("events %q", got)
	}
	if last.Choices[0].Finish != "length" || last.Usage.Prompt != 700 || last.Usage.Completion != 3 || last.Choices[0].Delta.Content == "" || last.Object != "chat.completion" {
		t.Errorf("the last chunk is %+v", last)
	}
	if told.PeakMemory.StreamBytes == nil || told.PeakMemory.Bytes != nil {
		t.Errorf("%+v", told)
	}
	e := r.log.entries(t, 1)[0]
	if !same(e.Stats.streamed(), told) {
		t.Errorf("%+v, %+v", *e.Stats, told)
	}
	_, body := r.do(t, "POST", bench, asked(697, 3, ""))
	var a whole
	if json.Unmarshal([]byte(body), &a) != nil || a.Choices[0].Message.Content != text.String() {
		t.Errorf("streamed %q, whole %s", text.String(), body)
	}
}

// TestPlain: an OpenAI client's answers, and what it may leave out.
func TestPlain(t *testing.T) {
	r := start(t, Options{})
	code, body := r.do(t, "POST", plainPath, `{"model":"synthetic:tiny","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":"v"},{"role":"user","content":[{"type":"text","text":"w"}]}],"max_completion_tokens":4,"ignore_eos":true,"temperature":0.7}`)
	var a sparse
	if err := json.Unmarshal([]byte(body), &a); err != nil || code != 200 {
		t.Fatal(code, err, body)
	}
	if a.Usage.Prompt != 11 || a.Usage.Completion != 4 || a.Usage.Total != 15 || a.Choices[0].Finish != "length" || a.Stats.PromptTokens != 11 || strings.Contains(body, "null,\"name") {
		t.Error(body)
	}
	code, body = r.do(t, "POST", plainPath, `{"model":"synthetic:tiny","messages":[{"role":"user","content":"u"}],"stream":true,"max_tokens":2}`)
	if code != 200 || !strings.Contains(body, `"object":"chat.completion.chunk"`) || !strings.Contains(body, `"usage":{"prompt_tokens":4,`) || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Error(code, body)
	}
	_, body = r.do(t, "POST", plainPath, `{"model":"synthetic:tiny","messages":[{"role":"user","content":"u"}]}`)
	if json.Unmarshal([]byte(body), &a) != nil || a.Usage.Completion > defaultTokens || a.Usage.Completion < 1 {
		t.Error(body)
	}
}

// TestPrefixCache: what one request left serves the next that asks for it, in
// either endpoint's words, and no other.
func TestPrefixCache(t *testing.T) {
	r := start(t, Options{})
	for i, c := range []struct{ path, more, hit, cached string }{
		{bench, `,"use_prefix_cache":true`, "none", ""},
		{bench, `,"use_prefix_cache":true`, "exact", ""},
		{plainPath, `,"cache_prompt":true`, "exact", `"cached_tokens":99,`},
		{plainPath, `,"cache_prompt":false`, "none", `"cached_tokens":0,`},
		{bench, `,"use_prefix_cache":false`, "none", ""},
		{bench, "", "none", ""},
	} {
		if code, body := r.do(t, "POST", c.path, asked(97, 3, c.more)); code != 200 || !strings.Contains(body, `"prefix_cache_hit":"`+c.hit+`"`) || !strings.Contains(body, c.cached) {
			t.Errorf("request %d: %d %s", i, code, body)
		}
	}
	if all := r.log.entries(t, 6); !all[1].Warm || all[4].Warm || all[1].Stats.CacheHit != "exact" {
		t.Errorf("%+v", all)
	}
}
