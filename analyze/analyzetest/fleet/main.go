// Fleet writes the dataset of a fleet of hosts that never were, to measure
// what many sessions cost:
//
//	go run ./analyze/analyzetest/fleet --out DIR --sessions 1000 --hosts 50 --requests 5000000
//
// The sessions are those of package analyzetest, so each comes through
// analyze.Export and has what a real one has: several engines and models,
// faults, cache hits, sensors. They lie over months. What is
// written follows from the flags alone; a session that is there already is not
// written again, so that a run that was cut short goes on.
//
// Five million requests take some two minutes on two cores and 1.5 GB: a
// request has four tokens unless --tokens says otherwise.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	out                       string
	sessions, hosts, requests int
	seed                      uint64
	days, tokens, workers     int
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.StringVar(&o.out, "out", "", "`DIR` of the dataset")
	flags.IntVar(&o.sessions, "sessions", 1000, "how many sessions, in turn on each host")
	flags.IntVar(&o.hosts, "hosts", 50, "how many hosts")
	flags.IntVar(&o.requests, "requests", 5_000_000, "about how many requests, in all")
	flags.Uint64Var(&o.seed, "seed", 1, "of everything that is drawn")
	flags.IntVar(&o.days, "days", 180, "from the first session of a host to its last")
	flags.IntVar(&o.tokens, "tokens", 4, "output tokens of a request, each a row of chunks")
	flags.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "sessions written at a time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.out == "" || o.sessions < 1 || o.hosts < 1 || o.days < 1 || o.tokens < 1 || o.workers < 1 || o.requests < o.sessions {
		return fmt.Errorf("give --out DIR, and at least one session, host, day, token, worker, and request a session")
	}
	start := time.Now()
	sum, err := o.write(ctx)
	fmt.Printf("%d sessions written, %d requests, %d rows, in %.1f s\n", sum.sessions, sum.requests, sum.rows, time.Since(start).Seconds())
	return err
}

// written is what a run wrote.
type written struct{ sessions, requests, rows int64 }

// write writes the sessions, some at a time; the first fault ends it.
func (o options) write(ctx context.Context) (written, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan analyzetest.Options)
	go func() {
		defer close(todo)
		for i := range o.sessions {
			select {
			case todo <- o.session(i):
			case <-ctx.Done():
				return
			}
		}
	}()
	var mu sync.Mutex
	var sum written
	var workers sync.WaitGroup
	for range o.workers {
		workers.Go(func() {
			for s := range todo {
				done, err := o.export(ctx, s)
				if err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				sum.add(done)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return sum, err
	}
	return sum, analyze.Bundle(ctx, o.out, false)
}

func (w *written) add(rows map[string]int64) {
	if rows == nil {
		return
	}
	w.sessions++
	w.requests += rows["requests"]
	for _, n := range rows {
		w.rows += n
	}
}

// export writes a session and counts its rows by table: none where it is there.
func (o options) export(ctx context.Context, s analyzetest.Options) (map[string]int64, error) {
	m, err := analyze.ReadManifest(o.out, s.ID())
	if err == nil && m != nil && m.Verify(o.out) == nil {
		return nil, nil
	}
	done, err := analyze.Export(ctx, analyzetest.Records(s), o.out, analyze.ExportOptions{})
	return done.Rows, err
}

// session is the i-th session. Its engines and models differ from host to host,
// and from one session of a host to its next.
func (o options) session(i int) analyzetest.Options {
	host, turn, turns := i%o.hosts, i/o.hosts, (o.sessions+o.hosts-1)/o.hosts
	start := time.Date(2025, 9, 1, 8, 0, 0, 0, time.UTC).AddDate(0, 0, turn*o.days/turns)
	s := analyzetest.Options{
		Seed: o.seed + uint64(i), Host: analyzetest.HostName(host), Tokens: o.tokens, Power: true,
		Start:   start.Add(time.Duration(host*7+turn) * time.Minute),
		Targets: 2, First: host + turn, PP: []int64{128, 512, 1024, 4096, 16384}, Concurrency: []int64{1, 2, 4, 8},
	}
	batch := s.Targets * len(s.PP) * (1 + 2 + 4 + 8) // requests of one repeat
	each := o.requests / o.sessions
	if each < 2*batch { // few requests: fewer cases, not fewer repeats
		s.PP, s.Concurrency = s.PP[:2], s.Concurrency[:1]
		batch = s.Targets * len(s.PP)
	}
	s.Repeats = max(1, (each+batch/2)/batch-1) // the warm-up is one more
	return s
}
