package serve

import (
	"io"

	"tokwatt/mlx/engine"
)

// Options are a server's. Model is needed.
type Options struct {
	Model   string       // as [engine.Load] takes it
	Token   string       // every request must bear it; empty: none needs to
	Version string       // of this program
	Node    Node         // this machine
	Meter   Meter        // nil: no power is measured
	Log     io.Writer    // gets a line of JSON a request; nil: none
	Notify  func(string) // is told what goes wrong beside the requests, in a sentence; nil: nobody is
}

// Node is what there is to say of this machine. What is not known is empty.
type Node struct {
	Name      string // as its owner calls it
	Model     string
	Chip      string
	OS        string
	OSVersion string
	RAM       int64        // bytes
	Available func() int64 // bytes that can be had now; nil: not known
}

func (o *Options) notify(text string) {
	if o.Notify != nil {
		o.Notify(text)
	}
}

// Bounds of what clients may take.
const (
	// MaxBatch is the most requests that run as one batch, as many as exo admits.
	MaxBatch = 8
	// MaxWaiting is the most requests that wait behind those that run.
	MaxWaiting = 64
	// MaxBody is the largest body that is read, in bytes: the longest context
	// of the models that there are, each byte of it escaped.
	MaxBody = 4 << 20
	// MaxInstances is how many handles there may be at once.
	MaxInstances = 16
	// maxConnections is how many connections are served at once; more wait to
	// be accepted.
	maxConnections = 128
	// maxTokens bounds max_tokens where the model names no limit.
	maxTokens = 131_072
	// defaultTokens is max_tokens of /v1/chat/completions where it is not sent.
	defaultTokens = 512
)

// load is what the engine loads.
func (o *Options) load() engine.Load { return engine.Load{Model: o.Model} }
