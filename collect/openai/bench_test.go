package openai

import (
	"bytes"
	"testing"

	"tokwatt/collect"
)

var oneToken = []byte("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1767225600,\"model\":\"demo-model\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"token \"},\"logprobs\":null,\"finish_reason\":null}]}\n\n")

// BenchmarkEvents is the processor time of one token behind the socket.
func BenchmarkEvents(b *testing.B) {
	b.SetBytes(int64(len(oneToken)))
	b.ReportAllocs()
	d := &decoder{lines: collect.NewLineReader(collect.NewClock(), &endless{})}
	a := &answer{streamed: true, tokens: 1 << 40, emit: func(collect.Arrival) bool { return true }}
	for b.Loop() {
		ev, err := d.next()
		if err != nil {
			b.Fatal(err)
		}
		if err := a.event(ev); err != nil {
			b.Fatal(err)
		}
	}
}

// endless gives one event a read, as a server does.
type endless struct{}

func (e *endless) Read(p []byte) (int, error) { return copy(p, oneToken), nil }

// BenchmarkDecoder is the share of the framing in it.
func BenchmarkDecoder(b *testing.B) {
	b.SetBytes(int64(len(oneToken)))
	b.ReportAllocs()
	d := &decoder{lines: collect.NewLineReader(collect.NewClock(), &endless{})}
	for b.Loop() {
		ev, err := d.next()
		if err != nil || !bytes.HasPrefix(ev.data, []byte("{")) {
			b.Fatal(err)
		}
	}
}
