package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tokwatt/collect"
)

// pieces reads n bytes at a time.
type pieces struct {
	left []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left[:min(p.n, len(p.left))])
	p.left = p.left[n:]
	return n, nil
}

// decoded is all that an answer of these bytes yields, in words.
func decoded(t *testing.T, in []byte, n int) string {
	var b strings.Builder
	a := &answer{asked: true, tokens: 100, stats: stats{asked: "demo"}, emit: func(x collect.Arrival) bool {
		if !utf8.ValidString(x.Text) {
			t.Errorf("text %q is no UTF-8", x.Text)
		}
		fmt.Fprintf(&b, "%s %q %d %d\n", x.Kind, x.Text, x.Hidden, x.Bytes)
		return true
	}}
	s := &stream{hurry: func(time.Duration) {}}
	err := s.read(collect.NewLineReader(collect.NewClock(), &pieces{in, n}), a)
	last := a.last()
	if err == nil && last.Report.FinishReason == "" && !a.done {
		t.Errorf("%q is complete without an end", in)
	}
	if raw := last.Report.JSON; raw != "" && !json.Valid([]byte(raw)) {
		t.Errorf("statistics %q are no JSON", raw)
	}
	if err != nil {
		f := collect.AsFailure(err, "none")
		if f.Kind == "none" || f.Message == "" || !utf8.ValidString(f.Message) {
			t.Errorf("failure %v", err)
		}
		fmt.Fprintf(&b, "%v\n", f)
	}
	fmt.Fprintf(&b, "%s %q %d %v %v\n", last.Report.Model, last.Report.JSON, last.Hidden, last.NotStreamed, last.UncleanEnd)
	return b.String()
}

// FuzzAnswer: nothing that a server sends is fatal, and what it says does not
// hang on how its bytes are cut.
func FuzzAnswer(f *testing.F) {
	files, err := filepath.Glob("../../testdata/cases/ollama/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var c struct {
			Server struct{ Chunks []struct{ Text string } }
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			f.Fatal(err)
		}
		var all bytes.Buffer
		for _, ch := range c.Server.Chunks {
			all.WriteString(ch.Text)
		}
		f.Add(all.Bytes(), uint8(7))
	}
	f.Add([]byte(`{"message":{"content":"a","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":false}{"done":true,"eval_count":NaN,"x":[1]}`), uint8(1))
	f.Add([]byte("{\n\"response\":\"\\ud83d\",\n\"done\":true}\n"), uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, n uint8) {
		whole := decoded(t, in, 1<<20)
		if cut := decoded(t, in, int(n%32)+1); cut != whole {
			t.Errorf("%q, whole:\n%s\ncut:\n%s", in, whole, cut)
		}
	})
}

// TestStatistics: every kept field comes verbatim, whatever its kind.
func TestStatistics(t *testing.T) {
	for in, want := range map[string]string{
		`{"eval_count":7,"response":"x"}`:              `{"eval_count":7}`,
		`{"eval_count": 7.50, "x" : {"a": [1, 2]} }`:   `{"eval_count":7.50,"x":{"a": [1, 2]}}`,
		`{"eval_duration":NaN}`:                        `{"eval_duration":"NaN"}`,
		`{"a\"b":1}`:                                   `{"a\"b":1}`,
		`{"response":"x","context":[1,2],"done":true}`: ``,
		`{}`:               ``,
		`[1]`:              ``,
		`{"eval_count":7,`: ``,
		`{"big":"` + strings.Repeat("x", maxField) + `"}`:   ``,
		`{"a":1,"a":2,"message":{"content":"x"},"b":false}`: `{"a":1,"a":2,"b":false}`,
	} {
		if got := string(statistics([]byte(in))); got != want {
			t.Errorf("%.60s gives %s, want %s", in, got, want)
		}
	}
}

// TestWithoutContext: only the numbers of a real context are left out.
func TestWithoutContext(t *testing.T) {
	pad := strings.Repeat("x", longLine)
	for in, want := range map[string]string{
		`{"r":"P","context":[1,2,3],"n":1}`:   `{"r":"P","context":[],"n":1}`,
		`{"context":[1,2,3],"r":"P"}`:         `{"context":[],"r":"P"}`,
		`{"r":"P\"context\":[1]","n":1}`:      `{"r":"P\"context\":[1]","n":1}`,
		`{"r":"P","context":["]"],"n":1}`:     `{"r":"P","context":["]"],"n":1}`,
		`{"r":"P","context":[[1],[2]],"n":1}`: `{"r":"P","context":[[1],[2]],"n":1}`,
		`{"r":"P","context":[1,2`:             `{"r":"P","context":[1,2`,
		`{"r":"P","context":[]}`:              `{"r":"P","context":[]}`,
		`{"r":"P","n":1}`:                     `{"r":"P","n":1}`,
	} {
		in, want = strings.Replace(in, "P", pad, 1), strings.Replace(want, "P", pad, 1)
		if got := string(withoutContext([]byte(in))); got != want {
			t.Errorf("%.40s… gives %s", in, strings.Replace(got, pad, "P", 1))
		}
	}
}

var oneToken = []byte(`{"model":"demo:3b","created_at":"2026-01-01T00:00:00.123456789Z","response":" token","done":false}` + "\n")

// endless gives one line a read, as a server does.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, oneToken), nil }

// BenchmarkLines is the processor time of one token behind the socket; its
// inverse is lines a second.
func BenchmarkLines(b *testing.B) {
	b.SetBytes(int64(len(oneToken)))
	b.ReportAllocs()
	lines := collect.NewLineReader(collect.NewClock(), endless{})
	a := &answer{asked: true, tokens: 1 << 40, stats: stats{asked: "demo:3b"}, emit: func(collect.Arrival) bool { return true }}
	for b.Loop() {
		line, at, err := lines.Next()
		if err != nil {
			b.Fatal(err)
		}
		if err := a.line(line, at); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

// BenchmarkLastLine is the time of a last line whose context has 100,000
// numbers: it falls into the batch.
func BenchmarkLastLine(b *testing.B) {
	line := []byte(`{"model":"demo:3b","response":"","done":true,"done_reason":"stop","context":[` + strings.Repeat("123456,", 100_000) + `1],"eval_count":5,"eval_duration":6}`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		a := &answer{asked: true, tokens: 5, stats: stats{asked: "demo:3b"}, emit: func(collect.Arrival) bool { return true }}
		if err := a.line(line, 1); err != nil {
			b.Fatal(err)
		}
	}
}
