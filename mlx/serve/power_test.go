package serve

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// constant is a meter of constant power, which knows windows of a least length.
type constant struct {
	watts float64
	least time.Duration

	mu    sync.Mutex
	marks []time.Time
}

func (m *constant) Mark() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marks = append(m.marks, time.Now())
}

func (m *constant) Energy(from, to time.Time) (Energy, bool) {
	d := to.Sub(from)
	return Energy{Joules: m.watts * d.Seconds(), Samples: 3}, d >= m.least && d > 0
}

func (m *constant) System() (System, bool) { return System{Power: &m.watts}, true }

// TestUsageOf: the split is at the first token, the parts make the whole, and
// what the meter does not know is null.
func TestUsageOf(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * 1e9)) }
	for name, c := range map[string]struct {
		meter Meter
		first time.Time
		ended float64
		want  string
	}{
		"split":        {&constant{watts: 50}, at(1), 3, `{"elapsed_seconds":3,"nodes":[{"node_id":"n","samples":3,"avg_sys_power":50,"prefill_avg_sys_power":50,"generation_avg_sys_power":50,"prefill_energy_joules":50,"generation_energy_joules":100}],"total_avg_sys_power_watts":50,"total_energy_joules":150,"prefill_seconds":1,"generation_seconds":2,"prefill_energy_joules":50,"generation_energy_joules":100,"prefill_avg_sys_power_watts":50,"generation_avg_sys_power_watts":50}`},
		"no token":     {&constant{watts: 50}, time.Time{}, 3, `{"elapsed_seconds":3,"nodes":[{"node_id":"n","samples":3,"avg_sys_power":50,"prefill_avg_sys_power":50,"generation_avg_sys_power":null,"prefill_energy_joules":150,"generation_energy_joules":null}],"total_avg_sys_power_watts":50,"total_energy_joules":150,"prefill_seconds":3,"generation_seconds":0,"prefill_energy_joules":150,"generation_energy_joules":null,"prefill_avg_sys_power_watts":50,"generation_avg_sys_power_watts":null}`},
		"a short part": {&constant{watts: 10, least: 1500 * time.Millisecond}, at(1), 3, `{"elapsed_seconds":3,"nodes":[{"node_id":"n","samples":3,"avg_sys_power":10,"prefill_avg_sys_power":null,"generation_avg_sys_power":10,"prefill_energy_joules":null,"generation_energy_joules":20}],"total_avg_sys_power_watts":10,"total_energy_joules":30,"prefill_seconds":1,"generation_seconds":2,"prefill_energy_joules":null,"generation_energy_joules":20,"prefill_avg_sys_power_watts":null,"generation_avg_sys_power_watts":10}`},
		"too short":    {&constant{watts: 10, least: time.Hour}, at(1), 3, `{"elapsed_seconds":3,"nodes":[],"total_avg_sys_power_watts":null,"total_energy_joules":null,"prefill_seconds":1,"generation_seconds":2,"prefill_energy_joules":null,"generation_energy_joules":null,"prefill_avg_sys_power_watts":null,"generation_avg_sys_power_watts":null}`},
		"no meter":     {nil, at(1), 3, `{"elapsed_seconds":3,"nodes":[],"total_avg_sys_power_watts":null,"total_energy_joules":null,"prefill_seconds":1,"generation_seconds":2,"prefill_energy_joules":null,"generation_energy_joules":null,"prefill_avg_sys_power_watts":null,"generation_avg_sys_power_watts":null}`},
	} {
		if got := string(document(usageOf(c.meter, "n", at(0), c.first, at(c.ended)))); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestMetered: an answer has the meter's figures, which are asked for at the
// edges of the request and at its first token, and the state has its newest.
func TestMetered(t *testing.T) {
	m := &constant{watts: 40}
	r := start(t, Options{Meter: m})
	code, body := r.do(t, "POST", bench, asked(61, 20, ""))
	var a whole
	if err := json.Unmarshal([]byte(body), &a); err != nil || code != 200 {
		t.Fatal(code, err, body)
	}
	p := a.Power
	if len(p.Nodes) != 1 || p.Nodes[0].Node != r.node || !near(*p.Energy, 40*p.Elapsed) || !near(*p.PrefillEnergy, 40*p.PrefillSeconds) || !near(*p.GenerationEnergy, 40*p.GenerationSeconds) {
		t.Error(body)
	}
	rate := float64(a.Stats.GenerationTokens-1) / a.Stats.GenerationTPS
	if p.Elapsed < rate+float64(a.Stats.PromptTokens)/a.Stats.PromptTPS || p.PrefillSeconds <= 0 || p.GenerationSeconds <= 0 {
		t.Errorf("prefill %v s, generation %v s: by the engine %+v", p.PrefillSeconds, p.GenerationSeconds, a.Stats)
	}
	if len(m.marks) != 3 {
		t.Errorf("%d readings were asked for, want 3", len(m.marks))
	}
	if _, body := r.do(t, "GET", "/state/nodeSystem/"+r.node, ""); body != `{"sysPower":40}` {
		t.Error(body)
	}
}

// TestGather: calls that are alike and close are one batch, the longest waiting
// first; a full one does not wait.
func TestGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		fresh := func(prompt, tokens int) *call {
			return newCall(request{prompt: prompt0(prompt), maxTokens: tokens}, time.Now())
		}
		add := func(c *call) {
			if err := q.add(c); err != nil {
				t.Fatal(err)
			}
		}
		next := func(wait time.Duration) []*call {
			began := time.Now()
			batch := q.next(t.Context())
			if took := time.Since(began); took != wait {
				t.Errorf("a batch of %d came after %v, want %v", len(batch), took, wait)
			}
			return batch
		}
		a, b, c := fresh(5, 9), fresh(6, 9), fresh(5, 9)
		add(a)
		go func() {
			time.Sleep(2 * time.Millisecond)
			add(b)
			time.Sleep(2 * time.Millisecond)
			add(c)
		}()
		if got := next(4*time.Millisecond + gatherOthers); len(got) != 2 || got[0] != a || got[1] != c {
			t.Errorf("%d calls", len(got))
		}
		if got := next(0); len(got) != 1 || got[0] != b {
			t.Errorf("%d calls", len(got))
		}
		go func() { // one after the other, and never whole
			add(fresh(5, 9))
			time.Sleep(time.Millisecond)
			for range MaxBatch - 3 {
				add(fresh(5, 9))
				time.Sleep(gatherOthers - 1)
			}
		}()
		if got := next(gatherMost); len(got) != 6 {
			t.Errorf("%d calls", len(got))
		}
		time.Sleep(time.Second)
		for range MaxBatch + 1 {
			add(fresh(5, 9))
		}
		if got := next(0); len(got) != MaxBatch {
			t.Errorf("%d calls", len(got))
		}
		if got := next(gatherAlone); len(got) != 1 {
			t.Errorf("%d calls", len(got))
		}
		d := fresh(5, 9)
		add(d)
		q.drop(d)
		for range MaxWaiting {
			add(fresh(5, 9))
		}
		q.done(2500 * time.Millisecond)
		if f, _ := q.add(fresh(5, 9)).(*fault); f == nil || f.status != 503 || f.wait != 2500*time.Millisecond {
			t.Errorf("%+v", f)
		}
		q.close()
		if f, _ := q.add(fresh(5, 9)).(*fault); f == nil || f.status != 503 || f.wait != 0 {
			t.Errorf("%+v", f)
		}
	})
}

func prompt0(tokens int) prompt { return prompt{tokens: tokens} }

// TestKeepAlive: silence is broken every ten seconds, and only silence.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{}
		c := newCall(request{}, time.Now())
		began := time.Now()
		var ticks []time.Duration
		go func() {
			time.Sleep(25 * time.Second)
			c.put(event{token: true, text: "x", at: time.Now()})
			time.Sleep(11 * time.Second)
			c.put(event{ending: complete, at: time.Now()})
			c.put(event{ending: failed})
		}()
		o := s.follow(t.Context(), c, nil, func() error {
			ticks = append(ticks, time.Since(began))
			return nil
		})
		want := []time.Duration{10 * time.Second, 20 * time.Second, 35 * time.Second}
		if !slices.Equal(ticks, want) || o.ending != complete || o.text.String() != "x" || o.ended.Sub(began) != 36*time.Second {
			t.Errorf("ticks at %v, %+v", ticks, o.ending)
		}
	})
}
