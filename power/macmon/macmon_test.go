package macmon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tokwatt/power"
)

// What each version prints, in our figures.
const (
	v040 = `{"temp":{"cpu_temp_avg":51.5,"gpu_temp_avg":48.25},"memory":{"ram_total":34359738368,"ram_usage":20000000000,"swap_total":0,"swap_usage":0},` +
		`"ecpu_usage":[1310,0.14],"pcpu_usage":[2980,0.09],"gpu_usage":[1380,0.9],"cpu_power":4.5,"gpu_power":20.5,"ane_power":0.0,"all_power":25.0,"sys_power":41.5}`
	v060 = `{"temp":{"cpu_temp_avg":51.5,"gpu_temp_avg":48.25},"memory":{},"ecpu_usage":[1310,0.14],"pcpu_usage":[2980,0.09],"gpu_usage":[1380,0.9],` +
		`"cpu_power":4.5,"gpu_power":20.5,"ane_power":0.0,"all_power":25.0,"sys_power":41.5,"ram_power":3.5,"gpu_ram_power":0.25,"timestamp":"2026-08-10T09:00:01.000123+00:00"}`
	v070 = `{"temp":{"cpu_temp_avg":51.5,"gpu_temp_avg":48.25},"memory":{},"cpu_usage_pct":0.11,"ecpu_usage":[1310,0.14],"pcpu_usage":[2980,0.09],"gpu_usage":[1380,0.9],` +
		`"cpu_power":4.5,"gpu_power":20.5,"ane_power":0.0,"all_power":25.0,"sys_power":41.5,"ram_power":3.5,"gpu_ram_power":0.25,"timestamp":"2026-08-10T09:00:01.000123+00:00",` +
		`"soc":{"mac_model":"Mac16,5","gpu_freqs":[338,618,1380]}}`
	v080 = `{"temp":{"cpu_temp_avg":51.5,"gpu_temp_avg":48.25},"memory":{},"fans":[{"name":"fan0","rpm":2310,"max_rpm":5777}],"cpu_usage_ratio":0.11,"cpu_active_ratio":0.17,` +
		`"gpu_freq_mhz":1380,"gpu_usage_ratio":0.9,"gpu_active_ratio":0.97,"ecpu_cores":[{"die_id":0,"core_id":0,"freq_mhz":1310}],"pcpu_cores":[],` +
		`"cpu_power":4.5,"gpu_power":20.5,"ane_power":0.0,"all_power":25.0,"sys_power":41.5,"ram_power":3.5,"gpu_ram_power":0.25,"timestamp":"2026-08-10T09:00:01.000123+00:00"}`
	v082 = `{"temp":{"cpu_temp_avg":51.5,"gpu_temp_avg":48.25},"memory":{},"fans":[],"cpu_scaled_ratio":0.11,"cpu_active_ratio":0.17,` +
		`"gpu_freq_mhz":1380,"gpu_scaled_ratio":0.9,"gpu_active_ratio":0.97,"ecpu_cores":[],"pcpu_cores":[],` +
		`"cpu_power":4.5,"gpu_power":20.5,"ane_power":0.0,"all_power":25.0,"sys_power":41.5,"ram_power":3.5,"gpu_ram_power":0.25,` +
		`"cpu_usage_pct":0.11,"ecpu_usage":[1310,0.14],"pcpu_usage":[2980,0.09],"gpu_usage":[1380,0.9],"timestamp":"2026-08-10T09:00:01.000123+00:00"}`
)

type figures map[string]float64

// said is what samples say, by "scope metric".
func said(t *testing.T, samples []power.Sample) figures {
	t.Helper()
	got := figures{}
	for _, x := range samples {
		key := string(x.Scope) + " " + string(x.Metric)
		if _, twice := got[key]; twice || x.Unit == "" || x.Source != "macmon" || x.End.IsZero() || math.IsNaN(x.Value) {
			t.Errorf("%+v", x)
		}
		got[key] = x.Value
	}
	return got
}

func same(t *testing.T, what string, got, want figures) {
	t.Helper()
	for k, v := range want {
		if g, ok := got[k]; !ok || math.Abs(g-v) > 1e-9*math.Max(1, math.Abs(v)) {
			t.Errorf("%s: %s is %v (%t), want %v", what, k, g, ok, v)
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s: %s is %v, want none", what, k, got[k])
		}
	}
}

func plus(base figures, change figures) figures {
	all := figures{}
	for k, v := range base {
		all[k] = v
	}
	for k, v := range change {
		if v == gone {
			delete(all, k)
		} else {
			all[k] = v
		}
	}
	return all
}

const gone = -1

var first040 = figures{
	"cpu power": 4.5, "gpu power": 20.5, "ane power": 0, "soc power": 25, "system power": 41.5,
	"gpu usage_scaled": 0.9, "gpu frequency": 1380, "cpu temperature": 51.5, "gpu temperature": 48.25,
}

func TestVersions(t *testing.T) {
	v6 := plus(first040, figures{"dram power": 3.5})
	v8 := plus(v6, figures{"cpu usage": 0.17, "gpu usage": 0.97})
	for name, c := range map[string]struct {
		line string
		want figures
	}{
		"0.4.0": {v040, first040},
		"0.4.2": {strings.Replace(v040, `"sys_power":41.5`, `"sys_power":41.5,"ram_power":3.5,"gpu_ram_power":0.2`, 1), v6},
		"0.6.0": {v060, v6},
		"0.7.0": {v070, v6},
		"0.8.0": {v080, v8},
		"0.8.2": {v082, v8},
	} {
		samples, err := new(clock).parse(time.Now(), []byte(c.line))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		same(t, name, said(t, samples), c.want)
	}
}

// change sets fields of an object by "name": value.
func change(t *testing.T, line string, fields map[string]any) string {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(line), &o); err != nil {
		t.Fatal(err)
	}
	for k, v := range fields {
		o[k] = v
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestNoReading(t *testing.T) {
	all, err := new(clock).parse(time.Now(), []byte(v082))
	if err != nil {
		t.Fatal(err)
	}
	base := said(t, all)
	type m = map[string]any
	for name, c := range map[string]struct {
		fields m
		want   figures
	}{
		"sensor of the machine can't be read": {m{"sys_power": 0.0}, figures{"system power": gone}},
		"… and the sum stands in for it":      {m{"sys_power": 25.0}, figures{"system power": gone}},
		"no temperatures":                     {m{"temp": m{"cpu_temp_avg": 0.0, "gpu_temp_avg": 0.0}}, figures{"cpu temperature": gone, "gpu temperature": gone}},
		"bogus temperature":                   {m{"temp": m{"cpu_temp_avg": 44.0, "gpu_temp_avg": 2300.0}}, figures{"cpu temperature": 44, "gpu temperature": gone}},
		"M1 has no counter of its memory":     {m{"ram_power": 0.0}, figures{"dram power": gone}},
		"GPU rests":                           {m{"gpu_power": 0.0, "gpu_freq_mhz": 0, "gpu_usage": []any{0, 0}, "gpu_active_ratio": 0, "gpu_scaled_ratio": 0, "all_power": 4.5}, figures{"gpu power": 0, "gpu usage": 0, "gpu usage_scaled": 0, "gpu frequency": gone, "soc power": 4.5}},
		"counters stand still":                {m{"cpu_power": 0.0, "ram_power": 0.0, "all_power": 20.5}, figures{"cpu power": gone, "ane power": gone, "dram power": gone, "soc power": gone}},
		"nothing moves":                       {m{"cpu_power": 0.0, "ram_power": 0.0, "gpu_power": 0.0, "all_power": 0.0, "sys_power": 0.0}, figures{"cpu power": gone, "ane power": gone, "dram power": gone, "soc power": gone, "system power": gone, "gpu power": 0}},
		"negative":                            {m{"gpu_power": -3.0}, figures{"gpu power": gone}},
		"absurd":                              {m{"gpu_power": 1e9, "gpu_active_ratio": 1.5}, figures{"gpu power": gone, "gpu usage": gone}},
		"null":                                {m{"gpu_power": nil, "temp": nil}, figures{"gpu power": gone, "cpu temperature": gone, "gpu temperature": gone}},
	} {
		samples, err := new(clock).parse(time.Now(), []byte(change(t, v082, c.fields)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		same(t, name, said(t, samples), plus(base, c.want))
	}
	for _, line := range []string{"not json", "[]", "{}", `{"error":"x"}`, `{"cpu_power":"4 W"}`} {
		if got, err := new(clock).parse(time.Now(), []byte(line)); err == nil || got != nil {
			t.Errorf("%s: %v, %v", line, got, err)
		}
	}
	if got, err := new(clock).parse(time.Now(), []byte(" \r")); err != nil || got != nil {
		t.Errorf("an empty line: %v, %v", got, err)
	}
}

func TestKinds(t *testing.T) {
	samples, err := new(clock).parse(time.Now(), []byte(v082))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range samples {
		instant := x.Scope == power.ScopeSystem || x.Metric == power.MetricTemperature
		if x.Start.IsZero() != instant {
			t.Errorf("%+v", x)
		}
		if !instant && x.End.Sub(x.Start) != interval {
			t.Errorf("%s %s is of %v", x.Scope, x.Metric, x.End.Sub(x.Start))
		}
	}
}

func TestPlace(t *testing.T) {
	const ms = time.Millisecond
	begin := time.Now()
	wall := func(after time.Duration) string { return begin.Round(0).Add(after).UTC().Format(time.RFC3339Nano) }
	type object struct {
		at         time.Duration
		stamp      string
		start, end time.Duration // wanted
	}
	for name, objects := range map[string][]object{
		"no stamps":        {{500 * ms, "", 0, 500 * ms}, {1005 * ms, "", 500 * ms, 1005 * ms}},
		"stamps":           {{503 * ms, wall(500 * ms), 0, 500 * ms}, {1009 * ms, wall(1002 * ms), 500 * ms, 1002 * ms}},
		"read late":        {{1600 * ms, wall(500 * ms), 0, 500 * ms}, {1600 * ms, wall(1000 * ms), 500 * ms, 1000 * ms}, {1600 * ms, wall(1500 * ms), 1000 * ms, 1500 * ms}},
		"one was lost":     {{500 * ms, "", 0, 500 * ms}, {1500 * ms, "", 1000 * ms, 1500 * ms}},
		"clock was set":    {{500 * ms, wall(-time.Hour), 0, 500 * ms}, {1000 * ms, wall(time.Hour), 500 * ms, 1000 * ms}},
		"no time between":  {{500 * ms, "", 0, 500 * ms}, {500 * ms, "", 500 * ms, 500*ms + time.Microsecond}},
		"stamp is no time": {{500 * ms, "yesterday", 0, 500 * ms}},
	} {
		c := new(clock)
		for i, o := range objects {
			start, end := c.place(begin.Add(o.at), o.stamp)
			if s, e := start.Sub(begin), end.Sub(begin); s != o.start || e != o.end {
				t.Errorf("%s, object %d: %v to %v, want %v to %v", name, i, s, e, o.start, o.end)
			}
		}
	}
}

// joules adds up a channel's averages.
func joules(samples []power.Sample, scope power.Scope) float64 {
	var sum float64
	for _, x := range samples {
		if x.Scope == scope && x.Metric == power.MetricPower {
			sum += x.Value * x.End.Sub(x.Start).Seconds()
		}
	}
	return sum
}

// macOS 27 renews the counters of CPU, ANE and memory every 2.1 s: three
// intervals of 0 and one of fourfold power. The energy must come out right, and
// nowhere more than was drawn.
func TestCountersInBatches(t *testing.T) {
	origin := time.Now()
	c, at := new(clock), origin
	var samples []power.Sample
	feed := func(cpu, gpu, ram float64) {
		at = at.Add(interval)
		line := change(t, v082, map[string]any{"cpu_power": cpu, "gpu_power": gpu, "ane_power": cpu / 10, "ram_power": ram, "all_power": cpu*1.1 + gpu, "timestamp": nil})
		got, err := c.parse(at, []byte(line))
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, got...)
	}
	feed(5, 20, 2) // moves
	for range 10 {
		feed(0, 20, 0)
		feed(0, 30, 0)
		feed(0, 10, 0)
		feed(20, 20, 8)
	}
	for scope, want := range map[power.Scope]float64{
		"cpu": 0.5 * (5 + 10*20), "dram": 0.5 * (2 + 10*8), "ane": 0.05 * (5 + 10*20), "gpu": 0.5 * (20 + 10*80), "soc": 0.5 * (25.5 + 10*(22+80)),
	} {
		if got := joules(samples, scope); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: %v J, want %v", scope, got, want)
		}
	}
	for _, series := range power.SeriesOf(nil, samples, origin) {
		if series.Channel.Scope != power.ScopeCPU || series.Channel.Metric != power.MetricPower {
			continue
		}
		w := series.Curve(interval).Energy(int64(3*time.Second), int64(17*time.Second))
		if w.EnergyJ == nil || math.Abs(*w.EnergyJ-70) > 1e-6 || w.Indicative {
			t.Errorf("%+v, want 5 W over 14 s", w)
		}
	}
	for _, x := range samples {
		if x.Scope == power.ScopeCPU && x.Metric == power.MetricPower && (x.Value != 5 || x.Start.IsZero()) {
			t.Errorf("%+v", x)
		}
	}
}

// A step of counters that never moved before, or not for long, says nothing.
func TestStepAfterUnknownTime(t *testing.T) {
	still := change(t, v082, map[string]any{"cpu_power": 0.0, "ram_power": 0.0, "timestamp": nil})
	moves := change(t, v082, map[string]any{"timestamp": nil})
	for name, c := range map[string]struct {
		before bool
		stills int
		want   bool
	}{"never moved": {false, 2, false}, "for 11 s": {true, 22, false}, "for 2 s": {true, 4, true}} {
		clk, at := new(clock), time.Now()
		parse := func(line string) figures {
			at = at.Add(interval)
			samples, err := clk.parse(at, []byte(line))
			if err != nil {
				t.Fatal(err)
			}
			return said(t, samples)
		}
		if c.before {
			parse(moves)
		}
		for range c.stills {
			parse(still)
		}
		if _, ok := parse(moves)["cpu power"]; ok != c.want {
			t.Errorf("%s: a reading %t", name, ok)
		}
		if got := parse(moves)["cpu power"]; got != 4.5 {
			t.Errorf("%s: then %v W", name, got)
		}
	}
}

// fake is a macmon that runs script with what it was asked as arguments.
func fake(t *testing.T, script string) *PipeSource {
	t.Helper()
	file := filepath.Join(t.TempDir(), "macmon")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	s := Pipe("sh", file)
	t.Cleanup(func() { s.Close() })
	return s
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestPipe(t *testing.T) {
	s := fake(t, `[ "$*" = "pipe --interval 500" ] || { echo "asked $*" >&2; exit 1; }
while :; do echo '`+v070+`'; sleep 0.1; done`)
	if _, err := s.Read(t.Context()); err == nil {
		t.Error("read before it was probed")
	}
	channels := s.Probe(patient(t))
	missing := map[string]bool{}
	for _, c := range channels {
		if c.Missing != "" {
			if c.Missing != power.ReasonNoReading || c.Note == "" {
				t.Errorf("%+v", c)
			}
			missing[string(c.Scope)+" "+string(c.Metric)] = true
		}
	}
	if len(channels) != len(quantities) || len(missing) != 2 || !missing["gpu usage"] || !missing["cpu usage"] {
		t.Errorf("missing %v of %d", missing, len(channels))
	}
	got, err := s.Read(t.Context())
	if err != nil || len(got) < 10 {
		t.Errorf("%v, %v", got, err)
	}
	if again := s.Probe(patient(t)); len(again) != len(channels) {
		t.Errorf("again: %v", again)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Whoever gives up on a probe closes the source while it still runs.
func TestCloseDuringProbe(t *testing.T) {
	s := fake(t, "sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	probed := make(chan []power.Channel)
	go func() { probed <- s.Probe(ctx) }()
	time.Sleep(50 * time.Millisecond)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := <-probed; got[0].Missing == "" {
		t.Errorf("%+v", got[0])
	}
	if err := s.Close(); err != nil || s.run.Pid() != 0 {
		t.Errorf("process %d, %v", s.run.Pid(), err)
	}
}

func TestPipeFails(t *testing.T) {
	for name, c := range map[string]struct {
		s    *PipeSource
		want power.Reason
		note string
	}{
		"not installed": {Pipe("/there/is/no/macmon"), power.ReasonNoChannel, "brew install"},
		"no program":    {Pipe(), power.ReasonNoChannel, ""},
		"aborts":        {fake(t, "echo 'thread main panicked' >&2; exit 134"), power.ReasonNoReading, "panicked"},
		"says nonsense": {fake(t, "echo 'Usage: macmon'; exit 2"), power.ReasonNoReading, ""},
	} {
		got := c.s.Probe(patient(t))
		if len(got) == 0 || got[0].Missing != c.want || !strings.Contains(got[0].Note, c.note) {
			t.Errorf("%s: %+v", name, got)
		}
		if _, err := c.s.Read(t.Context()); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

// server is a macmon serve; what it answers can be set.
func server(t *testing.T) (address string, set func(status int, text string)) {
	t.Helper()
	var mu sync.Mutex
	status, text := http.StatusServiceUnavailable, `{"error":"no data yet"}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path != "/json" {
			fmt.Fprint(w, "{}")
			return
		}
		w.WriteHeader(status)
		io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL, func(code int, body string) {
		mu.Lock()
		defer mu.Unlock()
		status, text = code, body
	}
}

func TestServe(t *testing.T) {
	address, set := server(t)
	s, err := Serve(address)
	if err != nil {
		t.Fatal(err)
	}
	s.stop = func() {} // this test asks, not the source
	s.poll(t.Context())
	if _, err := s.Read(t.Context()); !errors.Is(err, errNoData) {
		t.Error(err)
	}
	// The first answer and the first that differs have no known time.
	for i, c := range []struct {
		gpu float64
		n   int
	}{{20.5, 0}, {20.5, 0}, {21.5, 0}, {21.5, 0}, {22.5, 10}, {22.5, 0}, {23.5, 10}} {
		set(http.StatusOK, change(t, v070, map[string]any{"gpu_power": c.gpu, "timestamp": time.Now().Format(time.RFC3339)}))
		s.poll(t.Context())
		got, err := s.Read(t.Context())
		if err != nil || len(got) != c.n {
			t.Errorf("answer %d: %v, %v", i, got, err)
		}
		for _, x := range got {
			if !x.Start.IsZero() || x.End.After(time.Now()) {
				t.Errorf("answer %d: %+v", i, x)
			}
		}
	}
	set(http.StatusNotFound, "no")
	s.poll(t.Context())
	if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "no macmon serve") {
		t.Error(err)
	}
}

// Probe begins to ask and Close ends it.
func TestServeAsks(t *testing.T) {
	address, set := server(t)
	s, err := Serve(address + "/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context()); err == nil {
		t.Error("read before it was probed")
	}
	if got := s.Probe(t.Context()); got[0].Missing != power.ReasonNoReading {
		t.Errorf("%+v", got[0])
	}
	set(http.StatusOK, v070)
	if got := s.Probe(t.Context()); got[0].Missing != "" || got[0].Node != "" || got[0].Note == "" {
		t.Errorf("%+v", got[0])
	}
	goroutines := runtime.NumGoroutine()
	for range 5 {
		s.Probe(t.Context())
	}
	gpu := 1.0
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(often) {
		gpu++
		set(http.StatusOK, change(t, v070, map[string]any{"gpu_power": gpu}))
		if got, _ := s.Read(t.Context()); len(got) > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no reading")
		}
	}
	if n := runtime.NumGoroutine(); n > goroutines+4 { // connections may linger
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if s, _ = Serve("http://127.0.0.1:1"); s.Probe(t.Context())[0].Missing != power.ReasonNoChannel || s.stop != nil {
		t.Error("asks where nobody answers")
	}
}

func TestServeMiddle(t *testing.T) {
	s, err := Serve("http://studio.local:9090/")
	if err != nil {
		t.Fatal(err)
	}
	if s.node != "studio.local" || s.url != "http://studio.local:9090/json" {
		t.Errorf("%s, %s", s.node, s.url)
	}
	begin := time.Now()
	var got []power.Sample
	for i := range 13 { // asked each 250 ms, new each second
		o, err := decode([]byte(change(t, v082, map[string]any{"gpu_power": float64(10 + i/4)})))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s.take(begin.Add(time.Duration(i)*250*time.Millisecond), o)...)
	}
	var at []time.Duration
	for _, x := range got {
		if x.Node != "studio.local" {
			t.Errorf("%+v", x)
		}
		if x.Scope == power.ScopeGPU && x.Metric == power.MetricPower {
			at = append(at, x.End.Sub(begin))
		}
	}
	if len(at) != 2 || at[0] != 1500*time.Millisecond || at[1] != 2500*time.Millisecond {
		t.Errorf("%v", at)
	}
	for _, address := range []string{"", "127.0.0.1:9090", "ftp://host", "http://", "://"} {
		if _, err := Serve(address); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

// Steps of unknown length are nothing that instants can carry.
func TestServeInBatches(t *testing.T) {
	s, err := Serve("http://127.0.0.1:9090")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	for i := range 20 {
		fields := map[string]any{"gpu_power": float64(i)}
		if i%4 != 3 {
			fields["cpu_power"], fields["ram_power"] = 0.0, 0.0
		}
		o, err := decode([]byte(change(t, v082, fields)))
		if err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
		for _, x := range s.take(at, o) {
			if x.Scope == power.ScopeCPU && x.Metric == power.MetricPower {
				t.Errorf("answer %d: %+v", i, x)
			}
		}
	}
}

// A day of objects at 2 Hz: what a clock keeps does not grow.
func TestADay(t *testing.T) {
	c, at := new(clock), time.Now()
	run := func(n int) uint64 {
		for range n {
			at = at.Add(interval)
			if _, err := c.parse(at, []byte(v040)); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := run(1000)
	if after := run(2 * 86400 / 4); after > before+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{v040, v060, v082, "{}", `{"cpu_power":0,"gpu_usage":[1]}`, `{"sys_power":1e999}`, `{"cpu_power":1,"timestamp":"2026-08-10T09:00:01Z"}`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, at := new(clock), time.Now()
		var last time.Time
		for range 3 {
			at = at.Add(interval)
			samples, _ := c.parse(at, []byte(line))
			for _, x := range samples {
				if !(x.Value >= 0 && x.Value <= 1e5) || x.Start.After(x.End) || x.End.After(at) {
					t.Errorf("%+v", x)
				}
			}
			if len(samples) > 0 && samples[0].End.Before(last) {
				t.Error("time runs back")
			} else if len(samples) > 0 {
				last = samples[0].End
			}
		}
	})
}
