package exchange_test

import "runtime"

// liveHeap counts what is written to it, and looks at the heap now and then.
type liveHeap struct {
	bytes, writes int
	first, most   uint64
}

func (l *liveHeap) Write(p []byte) (int, error) {
	if l.writes%256 == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if l.first == 0 {
			l.first = m.HeapAlloc
		}
		l.most = max(l.most, m.HeapAlloc)
	}
	l.writes++
	l.bytes += len(p)
	return len(p), nil
}
