package collect

import (
	"runtime"
	"runtime/metrics"
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

// A timer is asked for this often. Every wake-up of an idle process keeps the
// runtime's own watcher awake for another millisecond, so more often would
// cost more than the streams do.
const wakeEvery = 100 * time.Millisecond

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

// collectGarbage runs a collection where one is half due, so that it is less
// likely to fall into the batch that follows.
func collectGarbage() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/goal:bytes"}}
	metrics.Read(heap)
	if heap[0].Value.Uint64() > heap[1].Value.Uint64()/2 {
		runtime.GC()
	}
}
