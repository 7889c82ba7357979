// Package calibrate finds out how wrong this client's own times are on this
// host: it measures a server whose times are known.
//
//  1. [Run] starts this program again as a scripted server (server.go), so
//     that neither shares a scheduler or a garbage collector with the other.
//     main and TestMain call [RunIfServer] first.
//  2. It measures that server with the driver and the runner of every bench,
//     at each number of streams (calibrate.go).
//  3. Where sensors are given, it does so once more while they are read, and
//     reads them with nothing else to do.
//  4. It ends the server, which hands over when it really sent what, and
//     compares that with what analyze makes of the client's stamps, request
//     by request (compare.go). The n-th answer begins with the word n.
//
// Both sides count from the request: the client from just before its write,
// the server from the kernel's stamp of it, on Linux, and elsewhere from when
// it had read it; there the server's own waking up is charged to the client.
// What the server sends late is no error: its log says when it was. An instant
// of the log is taken just before the write, which is charged to the client.
//
// Client and server share the machine, as with a local model.
package calibrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/openai"
	"tokwatt/power"
)

// The plan of each answer. 5 ms a token is faster than most models.
const (
	tokens  = 16
	prefill = 20 * time.Millisecond
	step    = 5 * time.Millisecond
	model   = "calibration"
)

// minBatches is how often a number of streams is released at least, where
// enough requests are asked for.
const minBatches = 20

// Options of Run. The zero value is the default.
type Options struct {
	Streams  []int64 // default 1, 8, 32
	Requests int64   // of each number of streams at least; default 100, the fewest that have a p99
	// Notify is told when a batch is over, and counts those of all numbers of
	// streams. May be nil.
	Notify func(streams, done, planned int64)
	// Sources are sensors whose cost is to be known: then each number of
	// streams is measured once without and once with reading them. They are
	// left open.
	Sources []power.Source
}

// batches is how often a number of streams is released.
func (o *Options) batches(streams int64) int64 {
	n := (o.Requests + streams - 1) / streams
	if o.Requests < DefaultRequests {
		return n
	}
	return max(n, minBatches)
}

// DefaultRequests is Options.Requests where it is 0.
const DefaultRequests = 100

// DefaultStreams is Options.Streams where it is empty.
func DefaultStreams() []int64 { return []int64{1, 8, 32} }

// Result says how wrong this client's times are.
type Result struct {
	At     time.Time           `json:"at"`     // UTC, in seconds
	Stamps collect.StampSource `json:"stamps"` // kernel: all of them
	Levels []Level             `json:"levels"`
	Power  *Sampling           `json:"power,omitempty"` // nil: not asked for
}

// Sampling says what reading sensors costs: the CPU time of this process with
// nothing else to do, and the levels measured once more while they are read.
type Sampling struct {
	Sources []string `json:"sources"`
	Samples int      `json:"samples"`
	WallS   float64  `json:"wall_s"`
	CPUS    float64  `json:"cpu_s"`
	Levels  []Level  `json:"levels"`
}

// Level is the result at one number of streams. An error is what the client
// said less what the server did, of the same request. Nil is too few values.
type Level struct {
	Streams      int64    `json:"streams"`
	Requests     int64    `json:"requests"`
	TTFTErrP50MS *float64 `json:"ttft_err_p50_ms"`
	TTFTErrP99MS *float64 `json:"ttft_err_p99_ms"`
	ITLErrMeanMS *float64 `json:"itl_err_mean_ms"`     // of a request's mean interval
	GapSDMS      *float64 `json:"itl_gap_sd_ms"`       // of single gaps, as the client saw them
	GapSDTrueMS  *float64 `json:"itl_gap_sd_true_ms"`  // as the server made them
	SpreadUS     *float64 `json:"dispatch_spread_us"`  // median over the batches
	CPUS         *float64 `json:"cpu_s_per_1k_tokens"` // of this process, while batches ran
	LateP99MS    *float64 `json:"server_late_p99_ms"`  // how late the server sent, by its own plan
}

// Run calibrates; with the defaults it takes some 15 s. It fails when a request
// fails: then there is nothing to compare.
func Run(ctx context.Context, opts Options) (Result, error) {
	if len(opts.Streams) == 0 {
		opts.Streams = DefaultStreams()
	}
	if opts.Requests == 0 {
		opts.Requests = DefaultRequests
	}
	srv, err := startServer(ctx)
	if err != nil {
		return Result{}, err
	}
	defer srv.kill()
	runs, sampled, err := measureAll(ctx, srv.url, opts)
	if err != nil {
		return Result{}, err
	}
	var cost *Sampling
	if len(opts.Sources) > 0 {
		cost = sampling(ctx, opts.Sources)
	}
	sent, err := srv.finish()
	if err != nil {
		return Result{}, err
	}
	res := Result{At: time.Now().UTC().Truncate(time.Second), Stamps: collect.StampKernel, Power: cost}
	if res.Levels, err = res.levels(runs, sent); err == nil && cost != nil {
		cost.Levels, err = res.levels(sampled, sent)
	}
	return res, err
}

// levels compares runs with what the server did, and notes whose stamps they
// have.
func (res *Result) levels(runs []run, sent map[int][]time.Duration) ([]Level, error) {
	var out []Level
	for _, r := range runs {
		level, stamps, err := r.compare(sent)
		if err != nil {
			return nil, err
		}
		out = append(out, level)
		if stamps != collect.StampKernel {
			res.Stamps = stamps
		}
	}
	return out, nil
}

// samplingTime is how long the sensors are read alone.
const samplingTime = 3 * time.Second

func sampling(ctx context.Context, sources []power.Source) *Sampling {
	c := collect.MeasureSampling(ctx, sources, 0, samplingTime)
	out := &Sampling{Sources: []string{}, Samples: c.Samples, WallS: c.Wall.Seconds(), CPUS: c.CPU.Seconds()}
	for _, s := range sources {
		out.Sources = append(out.Sources, s.Name())
	}
	return out
}

// measureAll makes the requests of all numbers of streams, and where there are
// sources, right after each those that they are read beside.
func measureAll(ctx context.Context, url string, opts Options) (runs, sampled []run, err error) {
	var done, planned int64
	for _, n := range opts.Streams {
		planned += opts.batches(n)
	}
	if len(opts.Sources) > 0 {
		planned *= 2
	}
	for _, n := range opts.Streams {
		over := func() {
			done++
			if opts.Notify != nil {
				opts.Notify(n, done, planned)
			}
		}
		r, err := measure(ctx, url, n, opts.batches(n), nil, over)
		if err != nil {
			return nil, nil, err
		}
		runs = append(runs, r)
		if len(opts.Sources) == 0 {
			continue
		}
		if r, err = measure(ctx, url, n, opts.batches(n), opts.Sources, over); err != nil {
			return nil, nil, err
		}
		sampled = append(sampled, r)
	}
	return runs, sampled, nil
}

// run is what was measured at one number of streams.
type run struct {
	streams int64
	target  *collect.TargetInfo
	case_   *collect.Case
	batches []*collect.Batch
}

// measure makes the requests of one number of streams while sources, if any,
// are read.
func measure(ctx context.Context, url string, streams, batches int64, sources []power.Source, over func()) (run, error) {
	spec := collect.Spec{
		Models: []string{model}, Prompts: []collect.Text{{Text: "calibrate"}}, TG: []int64{tokens},
		Concurrency: []int64{streams}, Repeat: int(batches), Cache: collect.CacheServer, NoEOSBan: true,
		NoIdle: true, Pause: -1, GroupPause: -1, Timeout: time.Minute,
	}
	runner := collect.Runner{Sources: sources, Notify: func(p collect.Progress) {
		if p.Phase == collect.PhaseMeasured {
			over()
		}
	}}
	r := run{streams: streams}
	for rec, err := range runner.Run(ctx, collect.Job{Driver: openai.Driver{Options: openai.Options{URL: url}}, Spec: spec}) {
		if err != nil {
			return r, err
		}
		switch rec := rec.(type) {
		case *collect.TargetInfo:
			r.target = rec
		case *collect.Case:
			r.case_ = rec
		case *collect.Batch:
			if !rec.Warmup {
				r.batches = append(r.batches, rec)
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case r.target == nil || r.case_ == nil || len(r.batches) == 0:
		return r, errors.New("the calibration measured nothing")
	}
	return r, r.failure()
}

// failure is the first failure of a request.
func (r *run) failure() error {
	for _, b := range r.batches {
		if i := slices.IndexFunc(b.Requests, func(q collect.Request) bool { return q.Failure != nil }); i >= 0 {
			return fmt.Errorf("with %d streams a request to the calibration's own server failed: %w", r.streams, b.Requests[i].Failure)
		}
	}
	return nil
}
