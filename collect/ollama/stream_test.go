package ollama

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokwatt/collect"
)

// onPipe is a stream whose server is serve, called when the request was read.
func onPipe(ctx context.Context, clock *collect.Clock, g generate, serve func(c net.Conn)) *stream {
	ours, theirs := net.Pipe()
	srv, err := newServer(Options{URL: "h"})
	if err != nil {
		panic(err) // h is a URL
	}
	srv.Dial = func(context.Context, string, string) (net.Conn, error) { return ours, nil }
	s, err := (&engine{srv: srv, clock: clock, model: "demo", url: srv.At("/api/generate")}).open(ctx, g, false)
	if err != nil {
		panic(err) // the pipe is open
	}
	go func() {
		defer theirs.Close()
		if r, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
			_, _ = io.Copy(io.Discard, r.Body) // a pipe has no buffer: what is not read blocks the client
			serve(theirs)
		}
	}()
	return s
}

const (
	okHead   = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n"
	jsonHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n\r\n"
	lastLine = `{"model":"demo","response":"","done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":2,"eval_duration":1000000}` + "\n"
)

func word(s string) string {
	return fmt.Sprintf(`{"model":"demo","response":%q,"done":false}`+"\n", s)
}

// heard is what a stream said, in short.
func heard(s *stream) string {
	var b strings.Builder
	for a, err := range s.Arrivals() {
		switch {
		case err != nil:
			fmt.Fprintf(&b, "!%s", collect.AsFailure(err, "context").Kind)
		case a.Report != nil:
			fmt.Fprintf(&b, "= %s", a.Report.FinishReason)
			if n := a.Report.CompletionTokens; n != nil {
				fmt.Fprintf(&b, " %d", *n)
			}
			if a.Hidden > 0 {
				fmt.Fprintf(&b, " hidden %d", a.Hidden)
			}
			if a.NotStreamed {
				b.WriteString(" whole")
			}
			if a.UncleanEnd {
				b.WriteString(" unclean")
			}
		default:
			fmt.Fprintf(&b, "%s(%s", a.Kind, a.Text)
			if a.Hidden > 0 {
				fmt.Fprintf(&b, " +%d", a.Hidden)
			}
			b.WriteString(") ")
		}
	}
	return b.String()
}

// TestAnswers: each form that an answer can have, and each way in which it can
// be broken.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct{ sent, want string }{
		"ordinary":             {okHead + word("a ") + word("b") + lastLine, "content(a ) content(b) report() = stop 2"},
		"no last line end":     {okHead + word("a ") + strings.TrimSpace(lastLine), "content(a ) report() = stop 2"},
		"blank lines":          {okHead + "\n\r\n" + word("a ") + "\r\n" + lastLine + "\n", "content(a ) report() = stop 2"},
		"byte order mark":      {okHead + "\xef\xbb\xbf" + word("a ") + lastLine, "content(a ) report() = stop 2"},
		"empty line of text":   {okHead + word("") + word("b") + lastLine, "role() content(b) report() = stop 2"},
		"thinking":             {okHead + `{"response":"","thinking":"hm","done":false}` + "\n" + word("b") + lastLine, "reasoning(hm) content(b) report() = stop 2"},
		"both at once":         {okHead + `{"response":"b","thinking":"hmm","done":false}` + "\n" + lastLine, "content(b +3) report() = stop 2"},
		"chat":                 {okHead + `{"message":{"role":"assistant","content":"a"},"done":false}` + "\n" + `{"message":{"content":""},"done":true,"done_reason":"stop","eval_count":1}`, "content(a) report() = stop 1"},
		"chat thinking":        {okHead + `{"message":{"content":"","thinking":"hm"},"done":false}` + "\n" + lastLine, "reasoning(hm) report() = stop 2"},
		"chat tool call":       {okHead + `{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]},"done":false}` + "\n" + lastLine, `tool(f{"x":1}) report() = stop 2`},
		"tool call":            {okHead + `{"response":"","tool_calls":[{"function":{"name":"f"}}],"done":false}` + "\n" + lastLine, `tool(f) report() = stop 2`},
		"text in the last":     {okHead + word("a ") + strings.Replace(lastLine, `"response":""`, `"response":"b"`, 1), "content(a ) content(b) = stop 2"},
		"whole text repeated":  {okHead + word("a ") + word("b") + strings.Replace(lastLine, `"response":""`, `"response":"a b"`, 1), "content(a ) content(b) report() = stop 2"},
		"after the last":       {okHead + word("a ") + lastLine + word("b") + "<html>\n", "content(a ) report() = stop 2"},
		"joined objects":       {okHead + strings.TrimSpace(word("a ")) + strings.TrimSpace(word("b")) + lastLine, "content(a ) content(b) report() = stop 2"},
		"no done_reason":       {okHead + word("a ") + `{"response":"","done":true,"eval_count":1}`, "content(a ) report() =  1"},
		"odd types":            {okHead + `{"model":7,"response":"a","done":false,"message":3}` + "\n" + `{"response":null,"done":true,"done_reason":5,"eval_count":"x","context":"y"}`, "content(a) report() = "},
		"float counts":         {okHead + word("a") + `{"done":true,"eval_count":2.0,"eval_duration":1e6}`, "content(a) report() =  2"},
		"count, then 0":        {okHead + `{"response":"a","done":false,"eval_count":1}` + "\n" + `{"done":true,"eval_count":0}`, "content(a) report() =  1"},
		"NaN":                  {okHead + word("a") + `{"done":true,"eval_count":2,"eval_duration":NaN}`, "content(a) report() =  2"},
		"cut character":        {okHead + word("x") + `{"response":"\ud83d","done":false}` + "\n" + `{"response":"\ude00","done":false}` + "\n" + lastLine, "content(x) content() content(😀) report() = stop 2"},
		"character never ends": {okHead + `{"response":"\ud83d","done":false}` + "\n" + lastLine, "content() report() = stop 2 hidden 1"},
		"one object":           {jsonHead + strings.Replace(lastLine, `"response":""`, `"response":"a b"`, 1), "content(a b) = stop 2 whole"},
		"one object, no name":  {okHead + strings.Replace(lastLine, `"response":""`, `"response":"a b"`, 1), "content(a b) = stop 2 whole"},
		"indented object":      {jsonHead + "{\n \"response\": \"a b\",\n \"done\": true,\n \"done_reason\": \"stop\",\n \"eval_count\": 2\n}\n", "content(a b) = stop 2 whole"},
		"only the last":        {okHead + lastLine, "report() = stop 2"},
		"load":                 {jsonHead + `{"model":"demo","response":"","done":true,"done_reason":"load"}`, "report() = load whole"},
		"reason, then silence": {okHead + word("a") + `{"response":"","done":false,"done_reason":"stop"}` + "\n", "content(a) role() = stop unclean"},
		"reason, then junk":    {okHead + word("a") + `{"response":"","done":false,"done_reason":"stop"}` + "\n" + "x\n", "content(a) role() = stop unclean"},
		"reason error":         {okHead + word("a") + strings.Replace(lastLine, "stop", "error", 1), "content(a) report() = error 2!server_error"},
		"short of its length":  {"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + word("a") + lastLine, "content(a) report() = stop 2 unclean"},

		"error line":          {okHead + word("a") + `{"error":"out of memory"}` + "\n", "content(a) = !server_error"},
		"error object":        {okHead + `{"error":{"message":"out of memory"}}`, "= !server_error"},
		"indented error":      {jsonHead + "{\n\"error\": \"out of memory\"\n}", "= !server_error"},
		"null error":          {okHead + `{"response":"a","error":null,"done":false}` + "\n" + lastLine, "content(a) report() = stop 2"},
		"ends early":          {okHead + word("a"), "content(a) = !truncated"},
		"line breaks off":     {okHead + word("a") + `{"model":"demo","respo`, "content(a) = !truncated"},
		"first breaks off":    {okHead + `{"model":"demo","respo`, "= !truncated"},
		"empty":               {okHead, "= !truncated"},
		"only blank lines":    {okHead + "\n\n", "= !truncated"},
		"chunk breaks off":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n" + word("a"), "content(a) = !truncated"},
		"indented, cut":       {jsonHead + "{\n \"response\": \"a b\",\n", "= !truncated"},
		"indented, not done":  {jsonHead + "{\n \"response\": \"a b\"\n}", "content(a b) = !truncated"},
		"no answer":           {"", "= !truncated"},
		"half a head":         {"HTTP/1.1 200 OK\r\n", "= !truncated"},
		"page":                {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>Hi</html>", "= !protocol"},
		"page without a name": {okHead + "<html>Hi</html>", "= !protocol"},
		"text":                {okHead + "Ollama is running", "= !protocol"},
		"list":                {okHead + `[{"response":"a"}]` + "\n", "= !protocol"},
		"gzip":                {okHead + "\x1f\x8b\x08\x00", "= !protocol"},
		"broken line":         {okHead + word("a") + `{"response":x}` + "\n" + lastLine, "content(a) = !protocol"},
		"cut line inside":     {okHead + word("a") + `{"response":` + "\n" + lastLine, "content(a) = !protocol"},
		"cut line first":      {okHead + `{"response":` + "\n" + lastLine, "= !truncated"},
		"other API":           {jsonHead + `{"object":"chat.completion","choices":[]}`, "role() = !protocol"},
		"no HTTP":             {"SSH-2.0-OpenSSH\r\n\r\n", "= !protocol"},
		"refused":             {"HTTP/1.1 404 Not Found\r\n\r\n{\"error\":\"model 'demo' not found\"}", "= !http"},
		"moved":               {"HTTP/1.1 301 Moved\r\nLocation: https://h/\r\n\r\n", "= !http"},
	} {
		t.Run(name, func(t *testing.T) {
			s := onPipe(t.Context(), collect.NewClock(), generate{Stream: true, Options: options{NumPredict: 2}}, func(conn net.Conn) { io.WriteString(conn, c.sent) })
			defer s.Close()
			if got := heard(s); got != c.want {
				t.Errorf("heard %q\n  want %q", got, c.want)
			}
		})
	}
}

// TestNotAsked: a stream that was not asked for is heard as one; a body that was
// is one output.
func TestNotAsked(t *testing.T) {
	for sent, want := range map[string]string{
		okHead + word("a ") + word("b") + lastLine:                                 "content(a ) content(b) report() = stop 2",
		okHead + strings.Replace(lastLine, `"response":""`, `"response":"a b"`, 1): "content(a b) = stop 2 whole",
	} {
		s := onPipe(t.Context(), collect.NewClock(), generate{}, func(conn net.Conn) { io.WriteString(conn, sent) })
		if got := heard(s); got != want {
			t.Errorf("heard %q, want %q", got, want)
		}
		s.Close()
	}
}

// TestStamps: on a clock that only moves when everybody waits, each arrival is
// stamped with the instant at which its line was complete, and an answer whose
// connection stays open is over when its last line came, half a second's wait
// for a clean end notwithstanding.
func TestStamps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := collect.NewClock()
		s := onPipe(t.Context(), clock, generate{Stream: true, Options: options{NumPredict: 2}}, func(c net.Conn) {
			io.WriteString(c, okHead)
			for _, piece := range []string{word("a")[:20], word("a")[20:], word("b") + word("c"), lastLine} {
				time.Sleep(time.Second)
				io.WriteString(c, piece)
			}
			_, _ = c.Read(make([]byte, 1)) // until the client goes
		})
		defer s.Close()
		var got []time.Duration
		for a, err := range s.Arrivals() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, time.Duration(a.T))
			if a.Report != nil && !a.UncleanEnd {
				t.Error("the transfer did not end, and the end is called clean")
			}
		}
		if want := "[2s 3s 3s 4s 4s]"; fmt.Sprint(got) != want {
			t.Errorf("stamps %v, want %s", got, want)
		}
		if now := time.Duration(clock.Now()); now != 4500*time.Millisecond {
			t.Errorf("it took %v", now)
		}
	})
}

// TestReport: what the server says is kept as it says it, without the text and
// without the context, which has a number for each token of the prompt.
func TestReport(t *testing.T) {
	last := `{"model":"Demo:latest","created_at":"x","response":"","done":true,"done_reason":"length","context":[` + strings.Repeat("1,", 100_000) + `1],` +
		`"total_duration":30000000.5,"load_duration":1,"prompt_eval_count":0,"prompt_eval_duration":4,"eval_count":5,"eval_duration":6,"prompt_eval_cached_count":7,"power":{"w":1},"long":"` + strings.Repeat("x", 2000) + `"}` + "\n"
	s := onPipe(t.Context(), collect.NewClock(), generate{Stream: true, Options: options{NumPredict: 5}}, func(c net.Conn) { io.WriteString(c, okHead+word("a")+last) })
	defer s.Close()
	var r *collect.Report
	for a, err := range s.Arrivals() {
		if err != nil {
			t.Fatal(err)
		}
		r = a.Report
	}
	if r.Source != collect.ReportServer || r.Model != "demo" || r.FinishReason != "length" || *r.PromptTokens != 0 || *r.CompletionTokens != 5 || *r.CachedTokens != 7 ||
		*r.TotalNS != 30000000.5 || *r.LoadNS != 1 || *r.PromptEvalNS != 4 || *r.EvalNS != 6 || r.GenerationTPS != nil || r.PromptTPS != nil || r.GenerationRule != "" {
		t.Errorf("%+v", r)
	}
	want := `{"done_reason":"length","total_duration":30000000.5,"load_duration":1,"prompt_eval_count":0,"prompt_eval_duration":4,"eval_count":5,"eval_duration":6,"prompt_eval_cached_count":7,"power":{"w":1}}`
	if r.JSON != want {
		t.Errorf("statistics %s", r.JSON)
	}
}

// TestModelNamed: a model that Ollama resolves to the one that was asked is that
// one; one object of another is enough to say that another answered.
func TestModelNamed(t *testing.T) {
	for names, want := range map[string]string{
		"":                           "",
		"demo,demo":                  "demo",
		"demo:latest":                "demo",
		"library/Demo":               "demo",
		"demo,demo:3b,demo":          "demo:3b",
		"demo:3b,demo":               "demo:3b",
		"/srv/models/demo,/srv/demo": "demo",
	} {
		s := stats{asked: "demo"}
		for name := range strings.SplitSeq(names, ",") {
			s.take(&object{Model: name}, nil)
		}
		if got := s.report().Model; got != want {
			t.Errorf("%q gives %q, want %q", names, got, want)
		}
	}
}

// TestEndless: a server that sends without end, wherever it does, is stopped
// with a failure of kind protocol before it has cost much memory.
func TestEndless(t *testing.T) {
	pad := strings.Repeat("x", 64<<10)
	for name, c := range map[string]struct{ once, again, want string }{
		"head":            {"HTTP/1.1 200 OK\r\n", "X: " + pad + "\r\n", "head of the answer"},
		"one line":        {okHead + `{"response":"`, pad, "a line of over"},
		"indented body":   {okHead + "{\n", `"` + pad + `":1,` + "\n", "an answer of over"},
		"output":          {okHead, strings.Repeat(word("a"), 100), "does not stop"},
		"without output":  {okHead, strings.Repeat(word(""), 1000), "does not stop"},
		"behind a reason": {okHead + `{"done_reason":"stop"}` + "\n", strings.Repeat(word(""), 1000), "does not stop"},
	} {
		t.Run(name, func(t *testing.T) {
			s := onPipe(t.Context(), collect.NewClock(), generate{Stream: true, Options: options{NumPredict: 4}}, func(conn net.Conn) {
				_, err := io.WriteString(conn, c.once)
				for err == nil {
					_, err = io.WriteString(conn, c.again)
				}
			})
			defer s.Close()
			chunks := 0
			var failure error
			for a, err := range s.Arrivals() {
				if failure = err; err == nil && a.Bytes > 0 {
					chunks++
				}
			}
			var f *collect.Failure
			if !errors.As(failure, &f) || f.Kind != collect.ErrProtocol || !strings.Contains(f.Message, c.want) {
				t.Errorf("%v", failure)
			}
			if chunks > freeObjects+5*objectsPerToken {
				t.Errorf("%d chunks", chunks)
			}
			var m runtime.MemStats
			if runtime.ReadMemStats(&m); m.HeapAlloc > 8*collect.MaxLine {
				t.Errorf("%d MiB in use", m.HeapAlloc>>20)
			}
		})
	}
}
