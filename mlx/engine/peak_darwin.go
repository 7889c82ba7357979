package engine

import "syscall"

// peakMemory is the largest resident set that this process ever had, in bytes.
func peakMemory() *int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return nil
	}
	n := int64(u.Maxrss) // bytes on macOS
	return &n
}
