package host

import (
	"sync"
	"sync/atomic"
)

// splitFrom is the work, in multiply-adds, from which a second thread gains:
// 512 k are about 35 µs on one core, and waking a thread costs 2 to 10.
const splitFrom = 512 << 10

// A CPU computes on a number of threads. Its methods must not be called
// concurrently.
type CPU struct {
	threads int
	scores  [][]float32 // attention's scratch, one per thread
}

// NewCPU makes a CPU of at least one thread.
func NewCPU(threads int) *CPU {
	threads = max(threads, 1)
	return &CPU{threads: threads, scores: make([][]float32, threads)}
}

// each calls f for every task in [0, tasks), on several threads if the whole
// work, in multiply-adds, is worth it. Tasks must not touch each other's
// results; those of one thread run one after the other.
func (c *CPU) each(tasks, work int, f func(thread, task int)) {
	n := min(c.threads, tasks)
	if n < 2 || work < splitFrom {
		for t := range tasks {
			f(0, t)
		}
		return
	}
	var next atomic.Int64
	run := func(thread int) {
		for t := int(next.Add(1)) - 1; t < tasks; t = int(next.Add(1)) - 1 {
			f(thread, t)
		}
	}
	var wg sync.WaitGroup
	for thread := 1; thread < n; thread++ {
		wg.Go(func() { run(thread) })
	}
	run(0)
	wg.Wait()
}

// rows calls f for spans of the rows [0, n) whose work, in multiply-adds or
// what costs as much, is given per row.
func (c *CPU) rows(n, work int, f func(lo, hi int)) {
	const span = 32
	c.each((n+span-1)/span, n*work, func(_, t int) {
		f(t*span, min((t+1)*span, n))
	})
}

// Threads is the number of threads.
func (c *CPU) Threads() int { return c.threads }
