// Package host says what the machine is that measures.
//
// Describe and BootID say what it is, Heat whether it is slowed, KeepAwake
// keeps it from sleeping. What each system tells is in apple.go, procfs.go and
// heat.go, which take it as text and so are tested everywhere; host_darwin.go
// and host_linux.go fetch that text. What is not known stays empty or nil.
package host

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"tokwatt/collect"
)

// describeTimeout bounds Describe: a tool of the system that hangs must not
// keep a bench from starting.
const describeTimeout = 3 * time.Second

// Describe says what is known of this machine. It takes some tens of
// milliseconds, and three seconds at most.
func Describe(ctx context.Context) collect.Host {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	h := describe(ctx)
	if h.Name == "" {
		h.Name = hostname()
	}
	return h
}

// BootID names this boot of the machine: a process id means something beside
// it alone. Empty where it is not known.
func BootID() string { return bootID() }

// Heat returns what asks this machine how far it is slowed by heat or a power
// limit. An answer takes some milliseconds, a second at most, and nil in it is
// unknown; it is about the time since the answer before. Not to be called from
// two goroutines at once.
func Heat(ctx context.Context) func() collect.Heat { return heat(ctx) }

// hostname is the machine's own name, without the domain that a network gives.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	short, _, _ := strings.Cut(name, ".")
	return short
}

// number reads a whole number, nil where s is none.
func number(s string) *int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}
