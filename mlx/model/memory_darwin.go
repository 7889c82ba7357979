package model

import (
	"encoding/binary"
	"syscall"
)

// availableMemory is the machine's memory in bytes. macOS compresses and frees
// on demand, so what is unused now says little about what can be had.
func availableMemory() int64 {
	text, err := syscall.Sysctl("hw.memsize")
	if err != nil || len(text) > 8 {
		return 0
	}
	// Sysctl takes the value for a string and drops a zero at its end.
	return int64(binary.LittleEndian.Uint64(append([]byte(text), make([]byte, 8-len(text))...)))
}
