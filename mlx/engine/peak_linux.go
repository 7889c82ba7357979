package engine

import (
	"bytes"
	"os"
	"strconv"
)

// peakMemory is the largest resident set that this process ever had, in bytes.
// It is VmHWM and not getrusage's maxrss: that one a process inherits from the
// one that started it.
func peakMemory() *int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	return highWater(text)
}

// highWater reads VmHWM from a /proc/PID/status.
func highWater(status []byte) *int64 {
	for line := range bytes.Lines(status) {
		f := bytes.Fields(line)
		if len(f) != 3 || string(f[0]) != "VmHWM:" {
			continue
		}
		kib, err := strconv.ParseInt(string(f[1]), 10, 64)
		if err != nil {
			return nil
		}
		n := kib << 10
		return &n
	}
	return nil
}
