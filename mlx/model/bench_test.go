package model

import (
	"fmt"
	"testing"

	"tokwatt/mlx"
	"tokwatt/mlx/mlxtest"
)

// BenchmarkTiny gives the rates of synthetic:tiny: prefill of 512 tokens, and
// decode after them, for one stream and for four.
func BenchmarkTiny(b *testing.B) {
	m := build(b, Shapes()[0].Config, 0)
	const prompt, decode = 512, 64
	for _, streams := range []int{1, 4} {
		ids := tokens(1, streams*prompt)
		b.Run(fmt.Sprintf("prefill/streams=%d", streams), func(b *testing.B) {
			s := m.Stream
			for b.Loop() {
				cache := m.NewCache(streams, prompt)
				s.Scope(func() mlx.Array {
					m.Logits(m.Newest(s.Tokens(ids), cache))
					return nil
				})
			}
			b.ReportMetric(float64(streams*prompt*b.N)/b.Elapsed().Seconds(), "tok/s")
		})
		b.Run(fmt.Sprintf("decode/streams=%d", streams), func(b *testing.B) {
			s := m.Stream
			for b.Loop() {
				b.StopTimer()
				cache := m.NewCache(streams, prompt+decode)
				s.Scope(func() mlx.Array { m.Newest(s.Tokens(ids), cache); return nil })
				b.StartTimer()
				for i := range decode {
					s.Scope(func() mlx.Array {
						s.Argmax(m.Logits(m.Newest(s.Tokens(ids[i*streams:(i+1)*streams]), cache)))
						return nil
					})
				}
			}
			b.ReportMetric(float64(streams*decode*b.N)/b.Elapsed().Seconds(), "tok/s")
		})
	}
}

// BenchmarkGraph is what building the graph of a step costs, for a model of 36
// layers with norms of heads and quantized weights: all that the binding takes
// of a token's time. On a GPU it goes on while the step before is computed.
func BenchmarkGraph(b *testing.B) {
	mlxtest.NeedsLibrary(b)
	s, err := opened()
	if err != nil {
		b.Fatal(err)
	}
	c := variants()["qwen3, 4 bits"]
	c.Layers = 36
	s.Do(func() {
		m, err := Synthetic(s, Shape{"bench", c}, 0)
		if err != nil {
			b.Error(err)
			return
		}
		cache := m.NewCache(1, 100_000)
		b.ReportAllocs()
		for b.Loop() {
			tokens := s.Tokens([]int32{7})
			var next mlx.Tokens
			s.Scope(func() mlx.Array {
				next = s.Argmax(m.Logits(m.Newest(tokens, cache)))
				return nil
			})
			b.StopTimer()
			if _, _, err := s.ReadTokens(next); err != nil {
				b.Error(err)
			}
			s.FreeTokens(tokens)
			s.FreeTokens(next)
			b.StartTimer()
		}
	})
}
