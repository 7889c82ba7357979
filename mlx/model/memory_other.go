//go:build !linux && !darwin

package model

func availableMemory() int64 { return 0 }
