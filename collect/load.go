package collect

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// load probes how busy this process is while a batch runs, so that a batch
// whose figures the client itself may have spoiled can be told.
type load struct {
	wall time.Time
	cpu  time.Duration
	quit chan struct{}
	done sync.WaitGroup
	late []time.Duration
}

// A timer is asked for this often. It costs some microseconds a second.
const wakeEvery = 10 * time.Millisecond

// Under this much wall time a share of CPU time says nothing: the kernel
// counts it in ticks.
const minCPUWall = 20 * time.Millisecond

func startLoad() *load {
	l := &load{wall: time.Now(), cpu: cpuTime(), quit: make(chan struct{})}
	l.done.Go(l.watch)
	return l
}

// watch measures how late this process wakes up.
func (l *load) watch() {
	timer := time.NewTimer(wakeEvery)
	defer timer.Stop()
	for {
		asked := time.Now().Add(wakeEvery)
		timer.Reset(wakeEvery)
		select {
		case <-timer.C:
			l.late = append(l.late, time.Since(asked))
		case <-l.quit:
			return
		}
	}
}

// stop ends the probe and notes in b what it saw.
func (l *load) stop(b *Batch) {
	close(l.quit)
	l.done.Wait()
	wall := time.Since(l.wall)
	b.ClockStepNS = int64(wallStep(l.wall))
	if wall >= minCPUWall {
		pct := 100 * float64(cpuTime()-l.cpu) / float64(wall) / float64(runtime.GOMAXPROCS(0))
		b.ClientCPUPct = &pct
	}
	if n := len(l.late); n > 0 {
		slices.Sort(l.late)
		p99 := int64(l.late[min(n-1, n*99/100)])
		b.WakeupP99NS = &p99
	}
}
