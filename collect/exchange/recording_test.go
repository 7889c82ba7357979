package exchange_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tokwatt/collect"
	"tokwatt/collect/exchange"
)

// recordings holds results files that exo-bench itself wrote, and with which
// arguments.
const recordings = "../../testdata/transcripts/exo/results"

// scenario is one of exo-bench's runs against the scripted server.
type scenario struct {
	Mock        []string `json:"mock"`
	Bench       []string `json:"bench"`
	Completions int      `json:"completions"` // requests that the server saw
	Result      bool     `json:"result"`      // exo-bench wrote a file
}

// TestRecordings makes the records of a run out of each file that exo-bench
// wrote, and expects the same file from them: the same keys in the same order
// and of the same types, equal values, times to the nanosecond.
func TestRecordings(t *testing.T) {
	var all map[string]scenario
	unmarshal(t, read(t, "scenarios.json"), &all)
	compared := 0
	for name, sc := range all {
		if !sc.Result {
			continue
		}
		compared++
		t.Run(name, func(t *testing.T) {
			want := read(t, name+".json")
			recs := recordsOf(t, sc, want)
			if got := completions(recs); got != sc.Completions {
				t.Errorf("%d requests in the records, the server saw %d", got, sc.Completions)
			}
			var got bytes.Buffer
			if err := exchange.ExoResults(&got, values(recs)); err != nil {
				t.Fatal(err)
			}
			if name == "fault_stream_cut" { // exo-bench took half an answer for a whole one
				want = withoutRuns(t, want)
			}
			if name == "fault_no_power" && bytes.Contains(got.Bytes(), []byte("system_metrics")) {
				t.Error("system_metrics without samples")
			}
			sameTokens(t, tokens(t, got.Bytes()), tokens(t, want))
			sameLines(t, got.String(), string(want))
		})
	}
	if compared != 18 {
		t.Errorf("%d recordings compared, want 18", compared)
	}
}

// resultsFile is exo-bench's file as far as records are made of it.
type resultsFile struct {
	Runs    []resultsRun    `json:"runs"`
	Cluster json.RawMessage `json:"cluster"`
	Metrics map[string]map[string]struct {
		Min, Max, Mean float64
		Samples        int
	} `json:"system_metrics"`
}

type resultsRun struct {
	ElapsedS    float64         `json:"elapsed_s"`
	Preview     string          `json:"output_text_preview"`
	Stats       json.RawMessage `json:"stats"`
	PowerUsage  json.RawMessage `json:"power_usage"`
	ShortID     string          `json:"model_short_id"`
	ModelID     string          `json:"model_id"`
	Sharding    string          `json:"placement_sharding"`
	Meta        string          `json:"placement_instance_meta"`
	Nodes       int             `json:"placement_nodes"`
	InstanceID  string          `json:"instance_id"`
	PPTokens    int64           `json:"pp_tokens"`
	TG          int64           `json:"tg"`
	Repeat      int64           `json:"repeat_index"`
	Concurrency int64           `json:"concurrency"`
	Index       *int64          `json:"concurrent_index"`
	DownloadS   *float64        `json:"download_duration_s"`
}

// maker makes records out of a results file.
type maker struct {
	t        *testing.T
	sc       scenario
	rnd      *rand.Rand
	recs     []collect.Record
	metered  int // nodes with sensors
	instance string
	target   collect.TargetInfo
	c        collect.Case
	cases    int64
	batches  int64
	requests int64
	now      int64
}

// recordsOf are the records of a run of tokwatt that saw what exo-bench saw:
// warm-ups and failures, which the file lacks, among them.
func recordsOf(t *testing.T, sc scenario, file []byte) []collect.Record {
	var f resultsFile
	unmarshal(t, file, &f)
	m := &maker{t: t, sc: sc, rnd: rand.New(rand.NewPCG(1, 2)), metered: len(f.Metrics)}
	m.put(&collect.Session{ID: "s", Profile: "exo"}, &collect.Segment{Segment: 1})
	if len(f.Runs) == 0 {
		m.place(resultsRun{InstanceID: "i", Nodes: 1}, f.Cluster)
	}
	for i := 0; i < len(f.Runs); {
		n := 1 // entries of this batch
		for i+n < len(f.Runs) && f.Runs[i+n].Index != nil && *f.Runs[i+n].Index > 0 {
			n++
		}
		m.batch(f.Runs[i:i+n], f.Cluster)
		i += n
	}
	m.samples(f)
	m.put(&collect.End{Status: collect.StatusComplete})
	return m.recs
}

func (m *maker) put(recs ...collect.Record) { m.recs = append(m.recs, recs...) }

func (m *maker) place(r resultsRun, cluster json.RawMessage) {
	m.instance = r.InstanceID
	m.target.TargetID++
	t := collect.TargetInfo{
		TargetID: m.target.TargetID, Engine: "exo", Driver: "exo", ModelID: r.ShortID, ServedModel: r.ModelID,
		Sharding: r.Sharding, InstanceMeta: r.Meta, InstanceID: r.InstanceID, Cluster: string(cluster), DownloadS: r.DownloadS,
	}
	for i := range max(1, r.Nodes) {
		t.Nodes = append(t.Nodes, fmt.Sprintf("mock-%d", i+1))
	}
	if r.Sharding == "reused" { // we know where it is, and did not load it
		t.Sharding, t.InstanceMeta = "Pipeline", "MlxRing"
	} else {
		t.LoadS = ptr(2.5)
	}
	m.target = t
	m.put(&t)
	if slices.Contains(m.sc.Bench, "--warmup") {
		c := m.newCase(r)
		m.put(&collect.Batch{CaseID: c.CaseID, BatchID: m.batchID(), Segment: 1, Warmup: true, Requests: []collect.Request{m.request(r)}})
	}
	// What the sensors say of a placement before the last is gone in the end.
	for i := range m.metered {
		m.put(&collect.Samples{Segment: 1, Samples: []collect.Sample{sample(fmt.Sprintf("mock-%d", i+1), "power", "W", 999)}})
	}
}

// batch makes one batch of rs, its entries, and a failed one for each that is
// missing before it.
func (m *maker) batch(rs []resultsRun, cluster json.RawMessage) {
	r := rs[0]
	if r.InstanceID != m.instance {
		m.place(r, cluster)
	}
	if m.c.CaseID == 0 || m.c.TargetID != m.target.TargetID || *m.c.PP != r.PPTokens || m.c.TG != r.TG || m.c.Concurrency != r.Concurrency || r.Repeat == 0 {
		m.c = m.newCase(r)
	}
	m.now += 3e9
	b := &collect.Batch{CaseID: m.c.CaseID, BatchID: m.batchID(), Segment: 1, StartNS: m.now, RepeatIndex: r.Repeat}
	for _, r := range rs {
		b.Requests = append(b.Requests, m.request(r))
	}
	// The streams' numbers are no order of completion.
	m.rnd.Shuffle(len(b.Requests), func(i, j int) { b.Requests[i], b.Requests[j] = b.Requests[j], b.Requests[i] })
	m.put(b)
	if slices.Contains(m.sc.Mock, "error-500") && r.Repeat == 1 {
		m.put(&collect.Batch{CaseID: m.c.CaseID, BatchID: m.batchID(), Segment: 1, StartNS: m.now, RepeatIndex: 2, Requests: []collect.Request{{
			RequestID: m.requestID(), StartNS: m.now, EndNS: m.now + 1e6, Failure: collect.Failf(collect.ErrHTTP, "mock: runner crashed"),
		}}})
	}
}

func (m *maker) newCase(r resultsRun) collect.Case {
	m.cases++
	c := collect.Case{TargetID: m.target.TargetID, CaseID: m.cases, PP: &r.PPTokens, TG: r.TG, TGWanted: true, Concurrency: r.Concurrency,
		CacheMode: collect.CacheCold, PromptKind: "sized", PromptSource: collect.PromptTokenizer}
	m.put(&c)
	return c
}

func (m *maker) batchID() int64   { m.batches++; return m.batches }
func (m *maker) requestID() int64 { m.requests++; return m.requests }

func (m *maker) request(r resultsRun) collect.Request {
	said := map[string]json.RawMessage{"generation_stats": r.Stats, "power_usage": r.PowerUsage}
	streamed := slices.Contains(m.sc.Bench, "--stream")
	if streamed {
		delete(said, "power_usage") // a stream says nothing of it
		said["usage"] = json.RawMessage(`{"prompt_tokens":128}`)
	}
	text, err := json.Marshal(said)
	if err != nil {
		m.t.Fatal(err)
	}
	req := collect.Request{
		RequestID: m.requestID(), StartNS: m.now + 1000, EndNS: m.now + int64(math.Round(r.ElapsedS*1e9)),
		PPTokens: &r.PPTokens, Streamed: streamed, OutputChars: int64(len(r.Preview)), Preview: r.Preview,
		Report: collect.Report{Source: collect.ReportServer, Model: r.ModelID, FinishReason: "length", CompletionTokens: &r.TG, JSON: string(text)},
	}
	if slices.Contains(m.sc.Mock, "stream-cut") {
		req.Failure = collect.Failf(collect.ErrTruncated, "the stream ended without its end mark")
	}
	return req
}

// samples of every node, as many as the file says, with the least, the greatest
// and the mean of each metric that it gives.
func (m *maker) samples(f resultsFile) {
	names := map[string]string{}
	var c struct {
		Nodes map[string]struct {
			Name string `json:"friendlyName"`
		} `json:"nodeIdentities"`
	}
	unmarshal(m.t, f.Cluster, &c)
	for id, n := range c.Nodes {
		names[id] = n.Name
	}
	if m.target.LoadS != nil {
		// The last placement begins anew, whatever came before.
		m.target.TargetID++
		m.target.InstanceID += "x"
		t := m.target
		t.Nodes = append(t.Nodes, "once more")
		m.put(&t)
	}
	units := map[string][2]string{"gpuUsage": {"gpu_usage", "ratio"}, "temp": {"temperature", "celsius"}, "sysPower": {"power", "W"},
		"pcpuUsage": {"pcpu_usage", "ratio"}, "ecpuUsage": {"ecpu_usage", "ratio"}}
	ids := make([]string, 0, len(f.Metrics))
	for id := range f.Metrics {
		ids = append(ids, id)
	}
	slices.Sort(ids) // the order in which they are read, and in the file
	out := &collect.Samples{Segment: 1}
	for _, id := range ids {
		for metric, s := range f.Metrics[id] {
			rest := (s.Mean*float64(s.Samples) - s.Min - s.Max) / float64(s.Samples-2)
			rest = min(max(rest, s.Min), s.Max) // the mean that the file gives is rounded
			for i := range s.Samples {
				v := rest
				switch i {
				case 0:
					v = s.Max
				case s.Samples - 1:
					v = s.Min
				}
				out.Samples = append(out.Samples, sample(names[id], units[metric][0], units[metric][1], v))
			}
		}
	}
	if m.target.LoadS == nil {
		out.Samples = append(out.Samples, sample("mock-1", "power", "W", 20))
	}
	m.put(out)
}

func sample(node, metric, unit string, v float64) collect.Sample {
	s := collect.Sample{Node: node, Source: "exo", Metric: metric, Unit: unit, Value: v}
	if metric == "power" {
		s.Scope = "system"
	}
	return s
}

func completions(recs []collect.Record) int {
	n := 0
	for _, r := range recs {
		if b, ok := r.(*collect.Batch); ok {
			n += len(b.Requests)
		}
	}
	return n
}

func values(recs []collect.Record) iter.Seq2[collect.Record, error] {
	return func(yield func(collect.Record, error) bool) {
		for _, r := range recs {
			if !yield(r, nil) {
				return
			}
		}
	}
}
