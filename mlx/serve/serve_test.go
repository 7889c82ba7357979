package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tokwatt/mlx/engine"
)

func TestMain(m *testing.M) {
	engine.RunIfWorker()
	os.Exit(m.Run())
}

const tiny = "synthetic:tiny"

// lines is a log that can be read while it grows.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// entries waits until there are so many.
func (l *lines) entries(t *testing.T, n int) []entry {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		l.mu.Lock()
		text := l.b.String()
		l.mu.Unlock()
		var out []entry
		for line := range strings.Lines(text) {
			var e entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			out = append(out, e)
		}
		if len(out) >= n {
			return out
		}
		if time.Now().After(end) {
			t.Fatalf("%d lines of the log, want %d: %s", len(out), n, text)
		}
	}
}

// running is a server under test.
type running struct {
	*Server
	url string
	log *lines
}

func start(t *testing.T, o Options) running {
	t.Helper()
	if o.Load.Model == "" {
		o.Load.Model = tiny
	}
	o.Node.Name, o.Version = "here", "1.2.3"
	log := &lines{}
	o.Log = log
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		srv.CloseClientConnections()
		srv.Close()
	})
	return running{s, srv.URL, log}
}

// do sends a request and returns the status and the body.
func (r running) do(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// asked is the body of a request.
func asked(atoms, tokens int, more string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}],"max_tokens":%d%s}`, tiny, strings.Repeat("a", atoms), tokens, more)
}

const (
	bench     = "/bench/chat/completions"
	plainPath = "/v1/chat/completions"
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

// TestRefusals: what is refused, in which form, and that the log has it.
func TestRefusals(t *testing.T) {
	r := start(t, Options{})
	message := func(content string) string {
		return `{"model":"synthetic:tiny","max_tokens":2,"messages":[{"role":"user","content":` + content + `}]}`
	}
	cases := []struct {
		path, body string
		code       int
		says       string
	}{
		{bench, `{"a`, 422, `{"detail":[{"type":"json_invalid","loc":["body",3],"msg":"JSON decode error","input":{},"ctx":{"error":"unexpected end of JSON input"}}]}`},
		{bench, `[]`, 422, `"type":"model_attributes_type"`},
		{bench, `{"messages":[]}`, 422, `{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required","input":null}]}`},
		{bench, `{"model":"x"}`, 422, `"loc":["body","messages"],"msg":"Field required"`},
		{bench, `{"model":7,"messages":[]}`, 422, `"loc":["body","model"],"msg":"Input should be a valid string","input":7`},
		{bench, `{"model":"synthetic:tiny","messages":[],"max_tokens":"many"}`, 422, `"loc":["body","max_tokens"],"msg":"Input should be a valid integer","input":"many"`},
		{bench, `{"model":"synthetic:tiny","messages":[],"max_tokens":1e99}`, 422, `"loc":["body","max_tokens"]`},
		{bench, `{"model":"synthetic:tiny","messages":[],"stream":"yes"}`, 422, `"loc":["body","stream"]`},
		{bench, `{"model":"synthetic:tiny","messages":{}}`, 422, `"loc":["body","messages"],"msg":"Input should be a valid list"`},
		{bench, `{"model":"synthetic:tiny","messages":[{"role":"king","content":"x"}]}`, 422, `"loc":["body","messages",0,"role"]`},
		{bench, message(`7`), 422, `"loc":["body","messages",0,"content"]`},
		{bench, message(`[{"type":"image_url"}]`), 422, `"loc":["body","messages",0,"content",0,"type"]`},
		{bench, `{"model":"synthetic:tiny","messages":[],"max_tokens":2}`, 400, `{"error":{"message":"messages is empty: send at least one","type":"Bad Request","param":null,"code":400}}`},
		{bench, `{"model":"synthetic:tiny","messages":[{"role":"user","content":"x"}]}`, 400, "max_tokens is missing"},
		{bench, asked(1, 0, ""), 400, "it must be at least 1"},
		{bench, asked(1, -5, ""), 400, "it must be at least 1"},
		{bench, asked(131072, 1, ""), 400, "the model takes at most 131072"},
		{bench, asked(131000, 100, ""), 400, "make 131103 tokens, and the model takes at most 131072"},
		{bench, asked(1, 2, `,"n":2`), 400, "n: "},
		{bench, asked(1, 2, `,"stop":["x"]`), 400, "stop: "},
		{bench, asked(1, 2, `,"logprobs":true`), 400, "logprobs: "},
		{bench, asked(1, 2, `,"logit_bias":{"257":-100}`), 400, "logit_bias: "},
		{bench, asked(1, 2, `,"response_format":{"type":"json_object"}`), 400, "response_format: "},
		{bench, `{"model":"other","max_tokens":2,"messages":[{"role":"user","content":"x"}]}`, 404, `{"error":{"message":"No instance found for model other","type":"Not Found","param":null,"code":404}}`},
		{plainPath, `{"model":"other","stream":true,"messages":[{"role":"user","content":"x"}]}`, 404, "No instance found"},
		{bench, message(`"` + strings.Repeat("x", MaxBody) + `"`), 413, "larger than"},
	}
	for _, c := range cases {
		code, body := r.do(t, "POST", c.path, c.body)
		if code != c.code || !strings.Contains(body, c.says) || len(body) > 1000 {
			t.Errorf("%.100s: %d %.300s, want %d %s", c.body, code, body, c.code, c.says)
		}
	}
	for i, e := range r.log.entries(t, len(cases)) {
		if e.Outcome != "refused" || *e.Status != cases[i].code || e.Error == nil || e.Power != nil {
			t.Errorf("%.100s: %+v", cases[i].body, e)
		}
	}
	// What asks for nothing is no wish.
	if code, body := r.do(t, "POST", bench, asked(1, 2, `,"n":1,"stop":[],"logprobs":false,"logit_bias":{},"presence_penalty":0.0,"unknown":7,"tools":[],"stream":null`)); code != 200 {
		t.Error(code, body)
	}
}

// TestConcurrent: requests that are alike and come together are one batch;
// others wait their turn.
func TestConcurrent(t *testing.T) {
	r := start(t, Options{})
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			body := asked(61, 40, "")
			if i >= 8 {
				body = asked(29, 20, "")
			}
			if code, answer := r.do(t, "POST", bench, body); code != 200 {
				t.Error(code, answer)
			}
		})
	}
	wg.Wait()
	sizes := map[int64]map[int]int{}
	for _, e := range r.log.entries(t, 12) {
		n := e.Stats.PromptTokens
		if sizes[n] == nil {
			sizes[n] = map[int]int{}
		}
		sizes[n][*e.Streams]++
	}
	// On a busy machine one may come late; it never runs with others unlike it.
	if sizes[64][8]+sizes[64][7]+sizes[64][6] < 6 || len(sizes) != 2 {
		t.Errorf("batch sizes by prompt length: %v", sizes)
	}
	for n, of := range sizes {
		for size := range of {
			if size > map[int64]int{64: 8, 32: 4}[n] {
				t.Errorf("%d requests of %d tokens in a batch", size, n)
			}
		}
	}
}

// TestClientLeaves: whoever goes away ends the request, whole or streamed,
// running or waiting.
func TestClientLeaves(t *testing.T) {
	r := start(t, Options{})
	for _, stream := range []string{"true", "false"} {
		long := asked(61, 100000, `,"stream":`+stream)
		ctx, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, body := range []string{long, strings.Replace(long, "100000", "99999", 1)} {
			wg.Go(func() {
				req, _ := http.NewRequestWithContext(ctx, "POST", r.url+bench, strings.NewReader(body))
				if resp, err := http.DefaultClient.Do(req); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		}
		until(t, "one runs and one waits", func() bool {
			states := map[string]int{}
			for _, c := range r.calls() {
				begun, first := c.times()
				states[fmt.Sprint(!begun.IsZero(), !first.IsZero())]++
			}
			return states["true true"] == 1 && states["false false"] == 1
		})
		leave()
		wg.Wait()
		until(t, "nothing runs", func() bool { return len(r.calls()) == 0 })
		began := time.Now()
		if code, body := r.do(t, "POST", bench, asked(5, 2, "")); code != 200 || time.Since(began) > 5*time.Second {
			t.Errorf("after %v: %d %s", time.Since(began), code, body)
		}
	}
	for i, e := range r.log.entries(t, 6) {
		if want := []string{"left", "left", "complete"}[i%3]; e.Outcome != want || (e.Stats == nil) != (want == "left") {
			t.Errorf("%d: %+v", i, e)
		}
	}
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to be that %s", what)
		}
	}
}

// TestCancel: a command ends a request as exo does: a stream just ends, a whole
// answer has no finish reason and no statistics.
func TestCancel(t *testing.T) {
	r := start(t, Options{})
	for _, stream := range []bool{true, false} {
		answer := make(chan string)
		go func() {
			code, body := r.do(t, "POST", bench, asked(5, 100000, fmt.Sprintf(`,"stream":%v`, stream)))
			answer <- fmt.Sprint(code, " ", body)
		}()
		var id string
		until(t, "the task runs", func() bool {
			_, body := r.do(t, "GET", "/state/tasks", "")
			var all map[string]struct {
				TextGeneration struct {
					TaskStatus, CommandID string
				}
			}
			if err := json.Unmarshal([]byte(body), &all); err != nil {
				t.Fatal(err, body)
			}
			for _, x := range all {
				id = x.TextGeneration.CommandID
				return x.TextGeneration.TaskStatus == "Running"
			}
			return false
		})
		until(t, "there is a token", func() bool {
			_, first := r.calls()[0].times()
			return !first.IsZero()
		})
		if code, body := r.do(t, "POST", "/v1/cancel/"+id, ""); code != 200 || body != `{"message":"Command cancelled.","command_id":"`+id+`"}` {
			t.Error(code, body)
		}
		body := <-answer
		if stream && (strings.Contains(body, "[DONE]") || strings.Contains(body, "error") || strings.Contains(body, "generation_stats") || !strings.Contains(body, "data: {")) {
			t.Errorf("the stream ends in %s", body[max(0, len(body)-300):])
		}
		if !stream && (!strings.HasPrefix(body, "200 ") || !strings.Contains(body, `"finish_reason":null`) || !strings.Contains(body, `"generation_stats":null,"power_usage":{`)) {
			t.Errorf("the answer is %s", body)
		}
		if code, body := r.do(t, "POST", "/v1/cancel/"+id, ""); code != 404 || !strings.Contains(body, "Command not found or already completed") {
			t.Error(code, body)
		}
	}
}

// TestFull: behind those that wait no more are let in, and told when to come
// again.
func TestFull(t *testing.T) {
	r := start(t, Options{})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer leave()
	send := func(tokens int) {
		wg.Go(func() {
			req, _ := http.NewRequestWithContext(ctx, "POST", r.url+bench, strings.NewReader(asked(5, tokens, "")))
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
			}
		})
	}
	send(100000)
	until(t, "the first runs", func() bool {
		all := r.calls()
		if len(all) == 0 {
			return false
		}
		begun, _ := all[0].times()
		return !begun.IsZero()
	})
	for range MaxWaiting {
		send(99999)
	}
	until(t, "the others wait", func() bool { return len(r.calls()) == MaxWaiting+1 })
	resp, err := http.Post(r.url+bench, "application/json", strings.NewReader(asked(5, 2, "")))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" || !strings.Contains(string(body), `"type":"Service Unavailable","param":null,"code":503`) {
		t.Error(resp.StatusCode, resp.Header, string(body))
	}
}

// TestWorkerDies: the requests that it ran fail with its last words, and the
// next one is answered by another worker.
func TestWorkerDies(t *testing.T) {
	r := start(t, Options{})
	for _, stream := range []bool{true, false} {
		answer := make(chan string)
		go func() {
			code, body := r.do(t, "POST", bench, asked(5, 100000, fmt.Sprintf(`,"stream":%v`, stream)))
			answer <- fmt.Sprint(code, " ", body)
		}()
		until(t, "it runs", func() bool {
			all := r.calls()
			if len(all) == 0 {
				return false
			}
			_, first := all[0].times()
			return !first.IsZero()
		})
		r.runner.mu.Lock()
		pid := r.runner.worker.PID()
		r.runner.mu.Unlock()
		p, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		p.Kill()
		body := <-answer
		const says = `{"error":{"message":"the engine's worker was ended by signal killed, by somebody or for want of memory","type":"Internal Server Error","param":null,"code":500}}`
		if stream && !strings.HasSuffix(body, "data: "+says+"\n\ndata: [DONE]\n\n") || !stream && body != "500 "+says {
			t.Errorf("stream %v: %s", stream, body[max(0, len(body)-500):])
		}
		if _, body := r.do(t, "GET", "/state/runners", ""); !strings.Contains(body, `{"RunnerFailed":{"diagnostics":[],"errorMessage":"the engine's worker was ended`) {
			t.Error(body)
		}
		if code, body := r.do(t, "POST", bench, asked(5, 2, "")); code != 200 {
			t.Error(code, body)
		}
		if _, body := r.do(t, "GET", "/state/runners", ""); !strings.Contains(body, `RunnerReady`) {
			t.Error(body)
		}
	}
	if e := r.log.entries(t, 4); e[0].Outcome != "failed" || e[1].Outcome != "complete" || !strings.Contains(*e[2].Error, "signal killed") {
		t.Errorf("%+v", e)
	}
}

// TestEnd: when the server ends, every request is told, and it takes no time.
func TestEnd(t *testing.T) {
	s, err := New(t.Context(), Options{Load: engine.Load{Model: tiny}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- s.Serve(ctx, ln) }()
	r := running{Server: s, url: "http://" + ln.Addr().String()}
	answers := make(chan string)
	for i := range 3 { // a stream, a whole answer, and one that waits
		go func() {
			code, body := r.do(t, "POST", bench, asked(5, 100000-i/2, fmt.Sprintf(`,"stream":%v`, i == 0)))
			answers <- fmt.Sprint(code, " ", body)
		}()
	}
	until(t, "all are there", func() bool { return len(s.calls()) == 3 })
	idle, err := net.Dial("tcp", ln.Addr().String()) // says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	began := time.Now()
	end()
	if err := <-over; err != nil || time.Since(began) > 5*time.Second { // scripts/serve_parity.py holds it to one
		t.Errorf("it took %v: %v", time.Since(began), err)
	}
	const says = `{"error":{"message":"the server is shutting down","type":"Service Unavailable","param":null,"code":503}}`
	for range 3 {
		if a := <-answers; a != "503 "+says && !strings.HasSuffix(a, "data: "+says+"\n\ndata: [DONE]\n\n") {
			t.Errorf("%s", a[max(0, len(a)-300):])
		}
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
