package calibrate_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/calibrate"
	"tokwatt/power"
)

func TestMain(m *testing.M) {
	calibrate.RunIfServer()
	os.Exit(m.Run())
}

// TestRun calibrates with few requests. How wrong a client may be is not for a
// test on a machine that others use; that the figures are of this client and
// this server is.
func TestRun(t *testing.T) {
	told := map[int64]int{}
	last := int64(0)
	res, err := calibrate.Run(t.Context(), calibrate.Options{
		Streams: []int64{1, 5}, Requests: 10,
		Notify: func(streams, done, planned int64) {
			if told[streams]++; done != last+1 || planned != 12 {
				t.Errorf("%d streams: %d of %d after %d", streams, done, planned, last)
			}
			last = done
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if told[1] != 10 || told[5] != 2 || len(res.Levels) != 2 || res.At.IsZero() {
		t.Fatalf("told %v, result %+v", told, res)
	}
	if res.Stamps != collect.StampKernel && res.Stamps != collect.StampUser {
		t.Errorf("stamped by %q", res.Stamps)
	}
	for i, l := range res.Levels {
		if l.Streams != []int64{1, 5}[i] || l.Requests != 10 {
			t.Errorf("%d requests with %d streams", l.Requests, l.Streams)
		}
		if l.TTFTErrP50MS == nil || l.ITLErrMeanMS == nil || l.GapSDMS == nil || l.GapSDTrueMS == nil || l.SpreadUS == nil || l.LateP99MS == nil || l.CPUS == nil {
			t.Fatalf("%d streams: %+v", l.Streams, l)
		}
		// A request leaves before it comes in, and a token comes in after it
		// was sent.
		if e := *l.TTFTErrP50MS; e < 0 || e > 50 {
			t.Errorf("%d streams: TTFT is off by %g ms", l.Streams, e)
		}
		if e := *l.ITLErrMeanMS; e < -10 || e > 10 {
			t.Errorf("%d streams: ITL is off by %g ms", l.Streams, e)
		}
		if l.TTFTErrP99MS != nil {
			t.Errorf("%d streams: a p99 of 10 values", l.Streams)
		}
		if late := *l.LateP99MS; late < 0 {
			t.Errorf("%d streams: the server was early by %g ms", l.Streams, -late)
		}
	}
	if s := *res.Levels[0].SpreadUS; s != 0 {
		t.Errorf("one stream is spread over %g µs", s)
	}
	raw, err := json.Marshal(res)
	var back map[string]any
	if err != nil || json.Unmarshal(raw, &back) != nil || back["stamps"] != string(res.Stamps) {
		t.Errorf("%s, %v", raw, err)
	}
	t.Logf("%s", raw)
}

func TestRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := calibrate.Run(ctx, calibrate.Options{Streams: []int64{1}, Requests: 1000, Notify: func(_, done, _ int64) {
		if done == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// busySensors take five milliseconds of CPU a reading.
type busySensors struct{ reads atomic.Int64 }

func (*busySensors) Name() string   { return "busy" }
func (*busySensors) OnDemand() bool { return true }
func (*busySensors) Close() error   { return nil }
func (*busySensors) Probe(context.Context) []power.Channel {
	return []power.Channel{{Scope: power.ScopePackage, Metric: power.MetricEnergy, Unit: "J"}}
}

func (s *busySensors) Read(context.Context) ([]power.Sample, error) {
	n := s.reads.Add(1)
	for start := time.Now(); time.Since(start) < 5*time.Millisecond; {
	}
	return []power.Sample{{Scope: power.ScopePackage, Metric: power.MetricEnergy, Unit: "J", End: time.Now(), Value: float64(n)}}, nil
}

// TestPower measures each level without and with sensors, and the sensors
// alone.
func TestPower(t *testing.T) {
	src := &busySensors{}
	last := int64(0)
	res, err := calibrate.Run(t.Context(), calibrate.Options{Streams: []int64{1, 2}, Requests: 4, Sources: []power.Source{src},
		Notify: func(_, done, planned int64) {
			if last++; done != last || planned != 12 {
				t.Errorf("%d of %d after %d", done, planned, last-1)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	p := res.Power
	if last != 12 || p == nil || len(p.Levels) != 2 || p.Levels[1].Streams != 2 || p.Levels[1].Requests != 4 || len(res.Levels) != 2 || p.Sources[0] != "busy" {
		t.Fatalf("%d batches, %+v, %+v", last, res, p)
	}
	// Twelve readings and the first in 3 s, 5 ms each, on a machine that others use.
	if p.Samples < 8 || p.Samples > 14 || p.WallS < 3 || p.CPUS < 0.02 || p.CPUS > 1 {
		t.Errorf("%+v", p)
	}
	if res, err := calibrate.Run(t.Context(), calibrate.Options{Streams: []int64{1}, Requests: 2}); err != nil || res.Power != nil {
		t.Errorf("not asked for: %+v, %v", res.Power, err)
	}
}
