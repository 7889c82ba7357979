package engine

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
)

// marker is the environment variable that makes a process a worker.
const marker = "TOKWATT_ENGINE_WORKER"

// RunIfWorker does the work of a worker in a process that Start made, and never
// returns there; in any other it returns at once. It must be the first call of
// main, and of TestMain where tests start workers.
func RunIfWorker() {
	if os.Getenv(marker) == "" {
		return
	}
	os.Unsetenv(marker)
	// Ctrl-C goes to every process of the terminal. The parent decides what
	// it ends: it closes our input, which also happens when it dies.
	signal.Ignore(os.Interrupt)
	err := serve(os.Stdin, os.Stdout, func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// headroom is how much garbage may pile up before it is collected, in bytes.
const headroom = 512 << 20

// tune keeps garbage collection out of the measurement once the weights are
// loaded: it runs between batches (see serve), and within one only if headroom
// is full. A token leaves a few kilobytes, as arrays are reused. What there is
// to mark is small, as arrays hold no pointers, so that a collection takes a
// millisecond and not long pauses. MLX's weights are not in Go's heap, and what
// read them goes back to the system.
func tune(l *Loaded) {
	heap := l.WeightBytes
	if l.Backend.KeepsTypes {
		heap = 0
	}
	debug.SetGCPercent(int(max(100, headroom*100/max(heap, 4<<20))))
	debug.FreeOSMemory() // what loading left
}
