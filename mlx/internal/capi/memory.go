//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package capi

// ActiveMemory is the memory that arrays take, in bytes.
func (l *Library) ActiveMemory() int64 {
	return l.number("mlx_get_active_memory", l.fn.mlx_get_active_memory)
}

// PeakMemory is the most that ActiveMemory was since ResetPeakMemory.
func (l *Library) PeakMemory() int64 {
	return l.number("mlx_get_peak_memory", l.fn.mlx_get_peak_memory)
}

func (l *Library) number(name string, f proc) int64 {
	l.slot = 0
	l.try(name, f, l.out())
	return int64(l.slot)
}

// ResetPeakMemory sets the peak to zero.
func (l *Library) ResetPeakMemory() { l.try("mlx_reset_peak_memory", l.fn.mlx_reset_peak_memory) }

// ClearCache gives freed memory back to the system.
func (l *Library) ClearCache() { l.try("mlx_clear_cache", l.fn.mlx_clear_cache) }

// SetWiredLimit keeps up to that many bytes from being swapped. It does nothing
// without a GPU.
func (l *Library) SetWiredLimit(bytes uint64) {
	l.slot = 0
	l.try("mlx_set_wired_limit", l.fn.mlx_set_wired_limit, l.out(), uintptr(bytes))
}

// Synchronize waits until all that was started is done.
func (l *Library) Synchronize() { l.try("mlx_synchronize", l.fn.mlx_synchronize, l.stream) }
