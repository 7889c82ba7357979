package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tokwatt/power"
)

// server is the program as a server.
type server struct {
	url, log string
	end      func() (code int, stderr string)
}

func startServer(t *testing.T, args ...string) server {
	t.Helper()
	log := filepath.Join(t.TempDir(), "requests.jsonl")
	ctx, kill := context.WithCancel(context.Background())
	cmd := command(ctx, append([]string{"serve", "--listen", "127.0.0.1:0", "--log", log}, args...)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	said, url, _ := strings.Cut(lines.Text(), " at ")
	if !strings.HasPrefix(said, "serving ") {
		kill()
		cmd.Wait()
		t.Fatalf("%q %s", lines.Text(), errs.String())
	}
	var once sync.Once
	end := func() (int, string) {
		once.Do(func() {
			cmd.Process.Signal(syscall.SIGINT)
			late := time.AfterFunc(20*time.Second, kill)
			defer late.Stop()
			io.Copy(io.Discard, out)
			cmd.Wait()
			kill()
		})
		return cmd.ProcessState.ExitCode(), errs.String()
	}
	t.Cleanup(func() { end() })
	return server{url: url, log: log, end: end}
}

// logged are the lines of a server's log.
func logged(t *testing.T, path string) (out []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var x map[string]any
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err, line)
		}
		out = append(out, x)
	}
	return out
}

// TestServe: the program serves, is recognised, is measured by collect in both
// dialects, and ends when it is told to.
func TestServe(t *testing.T) {
	s := startServer(t)
	r := tokwatt(t, "", "engines", "--url", s.url, "--json")
	var rows []engineRow
	if err := json.Unmarshal([]byte(r.out), &rows); err != nil || rows[0].Engine != "tokwatt" || rows[0].Driver != "openai" || rows[0].Models[0] != "synthetic:tiny" || rows[0].Version == "" {
		t.Errorf("%v: %s%s", err, r.out, r.err)
	}
	dir := t.TempDir()
	for _, c := range []struct{ name, path string }{{"exo", "/bench/chat/completions"}, {"openai", "/v1/chat/completions"}} {
		before := len(logged(t, s.log))
		file := filepath.Join(dir, c.name+".json")
		r := tokwatt(t, "", "collect", "--db", filepath.Join(dir, "t.db"), "--engine", c.name, "--url", s.url, "--model", "synthetic:tiny", "--pp", "129", "--tg", "16",
			"--concurrency", "1,4", "--repeat", "2", "--warmup", "0", "--pause", "0s", "--group-pause", "0s", "--no-idle", "--json-out", file)
		if r.code != exitOK {
			t.Fatalf("%s: exit %d: %s%s", c.name, r.code, r.out, r.err)
		}
		var results struct {
			Runs []struct {
				Concurrency int
				PP          int64 `json:"pp_tokens"`
				Stats       struct {
					PromptTPS     float64 `json:"prompt_tps"`
					GenerationTPS float64 `json:"generation_tps"`
					Prompt        int64   `json:"prompt_tokens"`
					Tokens        int64   `json:"generation_tokens"`
					Hit           string  `json:"prefix_cache_hit"`
				}
			}
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &results)
		}
		if err != nil || len(results.Runs) != 10 {
			t.Fatalf("%s: %v, %d runs: %s", c.name, err, len(results.Runs), r.err)
		}
		lines := logged(t, s.log)[before:]
		for _, x := range results.Runs {
			found := false
			for _, line := range lines {
				stats, _ := line["generation_stats"].(map[string]any)
				found = found || line["path"] == c.path && line["outcome"] == "complete" && stats["prompt_tps"] == x.Stats.PromptTPS && stats["generation_tps"] == x.Stats.GenerationTPS
			}
			if !found || x.Stats.Tokens != 16 || x.Stats.Prompt != x.PP || x.Stats.Hit != "none" || math.Abs(float64(x.PP-129)) > 1 {
				t.Errorf("%s: no line of the log has %+v", c.name, x)
			}
		}
	}
	if code, stderr := s.end(); code != exitInterrupted || strings.Contains(stderr, "tokwatt:") || !strings.Contains(stderr, "no power can be read here") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestServeToken: with a token, only those who bear it are answered.
func TestServeToken(t *testing.T) {
	t.Setenv("TOKWATT_TEST_TOKEN", "open sesame")
	s := startServer(t, "--token-env", "TOKWATT_TEST_TOKEN")
	resp, err := http.Get(s.url + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Error(resp.Status)
	}
	r := tokwatt(t, "", "collect", "--db", filepath.Join(t.TempDir(), "t.db"), "--engine", "openai", "--url", s.url, "--api-key-env", "TOKWATT_TEST_TOKEN", "--prompt", "hello", "--tg", "4",
		"--repeat", "1", "--warmup", "0", "--no-idle")
	if r.code != exitOK {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	if _, stderr := s.end(); strings.Contains(stderr, "sesame") {
		t.Error(stderr)
	}
}

// TestServeRefusals: what is found to be wrong before anything is started.
func TestServeRefusals(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--listen", "0.0.0.0:0"}, "needs a token"},
		{[]string{"--listen", ":0"}, "needs a token"},
		{[]string{"--listen", "mac.local:0"}, "needs a token"},
		{[]string{"--listen", "localhost.example:0"}, "needs a token"},
		{[]string{"--listen", "52415"}, "HOST:PORT"},
		{[]string{"--listen", "0.0.0.0:0", "--token-env", "TOKWATT_TEST_UNSET"}, "is not set"},
		{[]string{"--listen", taken.Addr().String()}, "choose another address"},
		{[]string{"--model", "synthetic:none"}, `"none"`},
		{[]string{"--model", "/no/such/folder"}, "no model folder"},
		{[]string{"--log", filepath.Join(t.TempDir(), "none", "log")}, "--log"},
		{[]string{"extra"}, "no argument"},
	} {
		r := tokwatt(t, "", append([]string{"serve"}, c.args...)...)
		if r.code != exitUsage || !strings.Contains(r.err, c.says) || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%v: exit %d: %s", c.args, r.code, r.err)
		}
	}
}

// played is a source of constant power.
type played struct {
	watts  float64
	asked  bool // it counts energy, and can be asked at any time
	origin time.Time
}

func (p *played) Name() string   { return "played" }
func (p *played) OnDemand() bool { return p.asked }
func (p *played) Close() error   { return nil }

func (p *played) channel() power.Channel {
	c := power.Channel{Source: "played:0", Scope: power.ScopeSystem, Metric: power.MetricPower, Unit: "W"}
	if p.asked {
		c.Metric, c.Unit = power.MetricEnergy, "J"
	}
	return c
}

func (p *played) Probe(context.Context) []power.Channel { return []power.Channel{p.channel()} }

func (p *played) Read(context.Context) ([]power.Sample, error) {
	c, now := p.channel(), time.Now()
	s := power.Sample{Source: c.Source, Scope: c.Scope, Metric: c.Metric, Unit: c.Unit, End: now, Value: p.watts}
	if p.asked {
		s.Value *= now.Sub(p.origin).Seconds()
	} else {
		s.End = now.Add(-40 * time.Millisecond) // it is late
	}
	return []power.Sample{s}, nil
}

// TestServeMeter: a window has its energy by a counter that is asked, and by a
// power that is late; without sensors there is no meter.
func TestServeMeter(t *testing.T) {
	if newServeMeter(t.Context(), nil) != nil {
		t.Error("a meter without sensors")
	}
	for _, asked := range []bool{true, false} {
		m := newServeMeter(t.Context(), []power.Source{&played{watts: 30, asked: asked, origin: time.Now()}})
		defer m.close()
		time.Sleep(2 * meterEvery)
		from := time.Now()
		m.Mark()
		time.Sleep(3 * meterEvery)
		to := time.Now()
		m.Mark()
		e, ok := m.Energy(from, to)
		if want := 30 * to.Sub(from).Seconds(); !ok || math.Abs(e.Joules-want) > 1e-3*want || e.Samples < 3 {
			t.Errorf("asked %v: %+v, %v, want %v J", asked, e, ok, want)
		}
		if now, ok := m.System(); !ok || math.Abs(*now.Power-30) > 0.1 || now.Temperature != nil {
			t.Errorf("asked %v: %+v, %v", asked, now, ok)
		}
		if _, ok := m.Energy(from.Add(-time.Hour), to); ok {
			t.Error("an hour that nobody read has an energy")
		}
	}
}
