package macmon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"tokwatt/power"
)

// ServeSource asks a running "macmon serve".
//
// Its answer has no age: the stamp in it is the answer's own. Power that
// differs from the answer before is taken for a new reading, which then was
// made between the two; so it is asked more often than it reads. Bounds in time
// are known to an interval only. That is too little for averages that bound the
// energy, so all are given as readings of an instant, the middle of the time
// since the reading before: what is made of them is indicative.
type ServeSource struct {
	node   string
	url    string
	client *http.Client

	life  sync.Mutex         // of what follows: a probe may still run when it is closed
	stop  context.CancelFunc // of the goroutine that asks; nil: there is none
	ended chan struct{}      // closed when it has ended

	mu  sync.Mutex
	got []power.Sample // that nobody has read yet
	bad error          // of the last answer

	// What Probe has, and after it the goroutine that asks alone.
	last    tuple     // what was answered last
	lastAt  time.Time // when it was answered
	renewed time.Time // when an answer last differed from the one before
	still   bool      // counters have stood still: their steps are of unknown lengths
}

var _ power.Source = (*ServeSource)(nil)

const (
	// often is how often it is asked: four times for each reading at its
	// default interval.
	often = 250 * time.Millisecond
	// waiting is how many samples wait for Read, half an hour's.
	waiting = 1 << 14
)

// answerBytes bounds an answer; the longest known has 20 kB.
const answerBytes = 1 << 20

// Serve returns a source that asks the macmon serve at address, like
// "http://127.0.0.1:9090". Another machine's samples carry its host's name as
// Node.
func Serve(address string) (*ServeSource, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no address of a macmon serve: give one like http://127.0.0.1:9090", address)
	}
	if p := strings.TrimSuffix(u.Path, "/"); p == "" || p == "/metrics" {
		u.Path = "/json"
	}
	s := &ServeSource{url: u.String(), client: &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{MaxIdleConns: 1, IdleConnTimeout: time.Minute}}}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		s.node = u.Hostname()
	}
	return s, nil
}

// Name is "macmon".
func (s *ServeSource) Name() string { return name }

// OnDemand is false: an answer is as old as macmon's last reading.
func (s *ServeSource) OnDemand() bool { return false }

// Probe asks once, and if somebody answers goes on asking until Close.
func (s *ServeSource) Probe(ctx context.Context) []power.Channel {
	s.life.Lock()
	defer s.life.Unlock()
	s.end()
	o, err := s.ask(ctx)
	if err != nil && !errors.Is(err, errNoData) {
		return none(s.node, power.ReasonNoChannel, err.Error())
	}
	watching, cancel := context.WithCancel(context.Background())
	s.stop, s.ended = cancel, make(chan struct{})
	go s.watch(watching)
	if err != nil {
		return none(s.node, power.ReasonNoReading, err.Error())
	}
	now := time.Now()
	channels := channelsOf(s.node, o.samples(s.node, span{end: now, sensed: now}))
	for i := range channels {
		if c := &channels[i]; c.Missing == "" {
			c.Note = "of unknown age, up to macmon's interval"
		}
	}
	return channels
}

// watch asks until ctx ends.
func (s *ServeSource) watch(ctx context.Context) {
	defer close(s.ended)
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		s.poll(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// poll asks once and keeps what is a new reading.
func (s *ServeSource) poll(ctx context.Context) {
	o, err := s.ask(ctx)
	var samples []power.Sample
	if err == nil {
		samples = s.take(time.Now(), o)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bad = err
	if len(s.got)+len(samples) > waiting {
		s.got = append(s.got[:0], s.got[len(s.got)/2:]...)
	}
	s.got = append(s.got, samples...)
}

// Read returns the readings that are new since it was last called. The first
// answer and the first that differs have no known time and are none.
func (s *ServeSource) Read(context.Context) ([]power.Sample, error) {
	s.life.Lock()
	asks := s.stop != nil
	s.life.Unlock()
	if !asks {
		return nil, errors.New("macmon serve is not asked: the probe says why")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.got) > 0 {
		got := s.got
		s.got = nil
		return got, nil
	}
	return nil, s.bad
}

// stale is how long two readings may be apart for their middle to mean
// something.
const stale = 5 * time.Second

func (s *ServeSource) take(now time.Time, o *object) []power.Sample {
	if s.still = s.still || o.still; s.still {
		o.forgetSlow()
	}
	was, before, since := s.last, s.lastAt, s.renewed
	s.last, s.lastAt = o.tuple(), now
	if before.IsZero() || s.last == was {
		return nil
	}
	s.renewed = now
	sensed := before.Add(now.Sub(before) / 2) // when macmon read: between two answers
	if since.IsZero() || now.Sub(since) > stale {
		return nil
	}
	middle := since.Add(now.Sub(since) / 2)
	return o.samples(s.node, span{end: middle, sensed: sensed})
}

// Close ends the asking and closes the connection.
func (s *ServeSource) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	s.end()
	return nil
}

func (s *ServeSource) end() {
	if s.stop != nil {
		s.stop()
		<-s.ended
		s.stop = nil
	}
	s.client.CloseIdleConnections()
}

var errNoData = errors.New("macmon serve has no reading yet: ask again")

func (s *ServeSource) ask(ctx context.Context) (*object, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("no macmon serve answers: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerBytes))
	switch {
	case err != nil:
		return nil, fmt.Errorf("macmon serve: %w", err)
	case response.StatusCode == http.StatusServiceUnavailable:
		return nil, errNoData
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s answers %s: it is no macmon serve", s.url, response.Status)
	case strings.TrimSpace(string(body)) == "{}": // what it answers for a path that is none
		return nil, fmt.Errorf("%s answers an empty object: the path is /json", s.url)
	}
	return decode(body)
}

// tuple is what tells one reading from the next.
type tuple struct{ cpu, gpu, ane, all, sys, ram float64 }

func (o *object) tuple() tuple {
	v := func(p *float64) float64 {
		if p == nil {
			return -1
		}
		return *p
	}
	return tuple{v(o.CPUPower), v(o.GPUPower), v(o.ANEPower), v(o.AllPower), v(o.SysPower), v(o.RAMPower)}
}
