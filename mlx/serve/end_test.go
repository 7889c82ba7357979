package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tokwatt/mlx/engine"
)

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
