package openai

import (
	"context"
	"net/url"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// Chat is a chat endpoint of an engine that has a driver of its own, which
// makes the bodies and judges the reports, and leaves the dialogue to this
// package.
type Chat struct {
	Server *wire.Server
	Clock  *collect.Clock
	URL    *url.URL // of the endpoint itself
	Model  string   // as asked for: that another one answered is told
}

// Open dials, and prepares to send the body; of the call it takes what to
// expect of the answer: Stream, Streams and MaxTokens. The error is a
// *collect.Failure or the context's.
func (c Chat) Open(ctx context.Context, call collect.Call, body []byte) (collect.Stream, error) {
	e := engine{srv: server{c.Server}, clock: c.Clock, model: c.Model, url: c.URL}
	s, err := e.open(ctx, call.Stream, call.Streams > 1, body)
	if err != nil {
		return nil, err
	}
	s.tokens = call.MaxTokens
	return s, nil
}
