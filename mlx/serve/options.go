package serve

import (
	"io"

	"tokwatt/mlx/engine"
)

// Options are a server's. Load is needed.
type Options struct {
	Load    engine.Load    // the model, and who computes
	Name    string         // of the model; empty: as Load or its folder is called
	Encode  Encode         // nil: the engine makes tokens itself, which it does for models of the byte tokenizer
	Decode  func() Decoder // makes text of the tokens of an answer; nil: the engine does
	Token   string         // every request must bear it; empty: none needs to
	Version string         // of this program
	Node    Node           // this machine
	Meter   Meter          // nil: no power is measured
	Log     io.Writer      // gets a line of JSON a request; nil: none
	Notify  func(string)   // is told what goes wrong beside the requests, in a sentence; nil: nobody is
}

// Encode makes the tokens of a conversation, by the model's own tokenizer and
// chat template, up to where the answer begins.
type Encode func([]Message) ([]int32, error)

// Decoder makes text of the tokens of one answer.
type Decoder interface {
	Next(id int32) string // the text that a token completes, which may be none
	End() string          // what was held back
}

// Message is one turn of a conversation.
type Message struct {
	Role string // "system", "developer", "user", "assistant", "tool" or "function"
	Text string
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
	// maxCommand is the same of bodies that are no chat.
	maxCommand = 64 << 10
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
