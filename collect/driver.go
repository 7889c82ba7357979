package collect

import (
	"context"
	"errors"
	"iter"

	"tokwatt/power"
)

// A Driver knows one way to reach engines.
type Driver interface {
	// Targets yields what the spec names, one target per model, placement or
	// folder. It changes nothing anywhere: a dry run ends here. An error
	// item stands for a target that could not be found; the sequence may go on.
	Targets(ctx context.Context, spec Spec) iter.Seq2[Target, error]
}

// A Target is something that can be measured.
type Target interface {
	// Describe says what the target is. It fails when nothing answers. It is
	// called again after Open, and then knows what only an open engine
	// knows: how long it loaded, what it is sent.
	Describe(ctx context.Context) (TargetInfo, error)
	// Open makes the target ready: posts an instance, loads a model, starts
	// the worker. All stamps of its streams are taken with clock.
	Open(ctx context.Context, clock *Clock) (Engine, error)
	// Close undoes what Open did, and nothing else.
	Close(ctx context.Context) error
}

// A Lister is a Target that knows what else its server offers.
type Lister interface {
	// Listed are the models to choose from, after Describe.
	Listed() []string
}

// An Engine takes requests.
type Engine interface {
	// Abilities says how the engine meets the protocol's wishes.
	Abilities() Abilities
	// Open dials and encodes, so that all that is left to do after the
	// barrier is one write. The call is bound to ctx until Stream.Close.
	Open(ctx context.Context, call Call) (Stream, error)
}

// Abilities says how an engine meets the wishes of a Call. An empty string
// means that it can't.
type Abilities struct {
	ColdMethod string // how Call.Cold is met
	EOSBan     string // how Call.BanEOS is met
	InProcess  bool   // no network between us: no pauses are needed
	Atom       string // what costs one token each time it is repeated; empty: not known
}

// A Counter is an Engine that can say how long a prompt is once rendered.
type Counter interface {
	// Count returns the token counts of a prompt. It costs a request of one
	// token where the engine is a server. A server that answers without a
	// count returns ErrNoCount.
	Count(ctx context.Context, p Prompt) (Counted, error)
}

// A Sensed is an Engine that has sensors of its own, as a cluster has them on
// its nodes.
type Sensed interface {
	// Sources are read during the whole measurement of the target. What they
	// start ends with the target's Close.
	Sources() []power.Source
}

// ErrNoCount is what a Counter returns when the engine answers without saying
// how long the prompt was: then no prompt of an exact length can be made.
var ErrNoCount = errors.New("the server does not say how many tokens a prompt has, so none of an exact length can be made: give your own text with --prompt")

// Counted is an engine's own count of a rendered prompt.
type Counted struct {
	PromptTokens int64
	CachedTokens *int64 // how many of them it had in its prefix cache
}

// A Stream is one request. Its connection stands when Engine.Open returns.
type Stream interface {
	// Arrivals writes the request at the first pull and yields what comes
	// back, in order, each with its stamp. What the server says of itself
	// comes last, as one arrival with a Report; of a complete answer its
	// stamp is when the end was known, whatever was waited for after that. The only errors are
	// *Failure and those of the context; an error ends the sequence, after
	// the report of what was received until then.
	Arrivals() iter.Seq2[Arrival, error]
	// Close frees the connection. It may be called at any time.
	Close() error
}

// Arrival is one chunk on its way to the record.
type Arrival struct {
	Chunk          // T is on the segment's clock
	Text   string  // the output text it brought; with the report, what an engine held back of it
	Hidden int64   // code points of output that came with Text and is not of its kind
	Report *Report // non-nil in the last arrival only
	// The rest is said with the report.
	HTTPStatus  *int64
	NotStreamed bool // a single body, whether asked for or not
	UncleanEnd  bool
	Stamps      StampSource // who stamped the arrivals of this stream
}

// Call is one request as an engine is asked to make it.
type Call struct {
	Prompt      Prompt
	MaxTokens   int64
	Temperature *float64 // nil: the server's default
	Seed        *int64   // nil: none sent
	Stream      bool
	Cold        bool  // nothing may be reused from earlier requests
	BanEOS      bool  // generate MaxTokens tokens, whatever the model says
	Streams     int64 // how many calls are released together, this one included
}

// A TextCounter is a Prompter that has the model's own tokenizer.
type TextCounter interface {
	// CountText is the number of tokens of a text by itself, -1 where it can't
	// be had.
	CountText(text string) int64
}

// Prompt is one conversation of at most a system and a user message.
type Prompt struct {
	System string
	User   string
}

// A Prompter makes prompts of an exact length for one engine.
type Prompter interface {
	// Size prepares prompts of pp tokens. It may ask the engine, so it is
	// called before anything is timed. After a *Failure, Build still gives a
	// prompt, of about that length; after any other error the length can't
	// be had.
	Size(ctx context.Context, pp int64) error
	// Build returns a prompt that Size has prepared, and its verified length
	// in tokens, nil where it could not be verified. It does no I/O.
	Build(pp int64) (Prompt, *int64)
	// Head is the number of tokens of the chat template before the prompt,
	// nil where it is not known.
	Head() *int64
	// Source says how the lengths are known.
	Source() PromptSource
}
