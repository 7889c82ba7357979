//go:build !nvml || !linux

package nvidia

import "tokwatt/power"

// New returns the source of this machine's GPUs.
func New() power.Source { return NewSMI("nvidia-smi") }
