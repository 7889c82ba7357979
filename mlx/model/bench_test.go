package model

import (
	"fmt"
	"testing"

	"tokwatt/mlx"
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
