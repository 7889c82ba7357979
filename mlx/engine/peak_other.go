//go:build !linux && !darwin

package engine

// peakMemory is not known here.
func peakMemory() *int64 { return nil }
