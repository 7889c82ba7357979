package exo

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// Options say where the cluster is and which placements to measure. Zero is
// exo-bench's default everywhere.
type Options struct {
	// URL of any node of the cluster; empty: DefaultURL().
	URL string
	// APIKeyEnv names the environment variable with a key for what may stand
	// in front of exo, which has none. The key is never stored or printed.
	APIKeyEnv string
	// Headers are sent with every request.
	Headers map[string]string

	InstanceMeta       string // "ring", "jaccl" or "both"; empty: both
	Sharding           string // "pipeline", "tensor" or "both"; empty: both
	MinNodes, MaxNodes int    // 0: 1 and 4
	SkipPipelineJaccl  bool   // where both kinds of both are asked for
	SkipTensorRing     bool   // the same
	// SettleTimeout is how long a cluster that has just started may take to
	// offer a placement, or to tell of its disks; 0: 60 s; negative: it is
	// asked once.
	SettleTimeout time.Duration

	// ReuseInstance measures an instance of the model that is there already,
	// and neither creates nor deletes one. Where there is none, placements
	// are measured as usual.
	ReuseInstance bool
	// ForceDownload adds a model that exo does not list from the hub.
	ForceDownload bool
	// DangerDeleteDownloads deletes other models, the smallest first, where a
	// node's disk is too full. Read-only ones never.
	DangerDeleteDownloads bool

	// Notify is told what is waited for, in lines for people: downloads,
	// loading, other clients' requests. It may be called from several
	// goroutines, and while something is timed only where a request of the
	// same batch was given up. May be nil.
	Notify func(string)
}

// The defaults of Options.
const (
	DefaultHost          = "localhost"
	DefaultPort          = "52415"
	DefaultMinNodes      = 1
	DefaultMaxNodes      = 4
	DefaultSettleTimeout = 60 * time.Second
)

// DefaultURL is the address in the environment variables EXO_HOST and
// EXO_PORT, or this host's own exo.
func DefaultURL() string {
	host := cmp.Or(os.Getenv("EXO_HOST"), DefaultHost)
	return "http://" + net.JoinHostPort(host, cmp.Or(os.Getenv("EXO_PORT"), DefaultPort))
}

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch o.InstanceMeta {
	case "", both, "ring", "jaccl":
	default:
		bad("--instance-meta %s: must be ring, jaccl or both", o.InstanceMeta)
	}
	switch o.Sharding {
	case "", both, "pipeline", "tensor":
	default:
		bad("--sharding %s: must be pipeline, tensor or both", o.Sharding)
	}
	if o.MinNodes < 0 {
		bad("--min-nodes %d: must be at least 1", o.MinNodes)
	}
	if o.MaxNodes < 0 {
		bad("--max-nodes %d: must be at least 1", o.MaxNodes)
	}
	if lo, hi := o.nodes(); o.MinNodes >= 0 && o.MaxNodes >= 0 && lo > hi {
		bad("--min-nodes %d is over --max-nodes %d", lo, hi)
	}
	return errors.Join(errs...)
}

// both is the choice of every kind.
const both = "both"

func (o Options) wantsMeta() string     { return cmp.Or(o.InstanceMeta, both) }
func (o Options) wantsSharding() string { return cmp.Or(o.Sharding, both) }

func (o Options) nodes() (lo, hi int) {
	return cmp.Or(o.MinNodes, DefaultMinNodes), cmp.Or(o.MaxNodes, DefaultMaxNodes)
}

func (o Options) settle() time.Duration {
	return max(0, cmp.Or(o.SettleTimeout, DefaultSettleTimeout))
}

func (o Options) notify(format string, args ...any) {
	if o.Notify != nil {
		o.Notify(fmt.Sprintf(format, args...))
	}
}

// kindIs reports whether a name of exo's ("MlxRing") is of a kind that is
// wanted ("ring").
func kindIs(name, want string, kinds ...string) bool {
	name = strings.ToLower(name)
	if want != both {
		return strings.Contains(name, want)
	}
	for _, k := range kinds {
		if strings.Contains(name, k) {
			return true
		}
	}
	return false
}
