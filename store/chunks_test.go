package store

import (
	"math"
	"reflect"
	"testing"

	"tokwatt/collect"
)

// FuzzUnpackChunks feeds bytes that no packChunks made.
func FuzzUnpackChunks(f *testing.F) {
	f.Add(packChunks(nil))
	f.Add(packChunks(typicalBatch(1, 1, 9).Requests[0].Chunks))
	f.Add([]byte{200, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		cs, err := unpackChunks(b)
		if err != nil {
			return
		}
		again, err := unpackChunks(packChunks(cs))
		if err != nil || !reflect.DeepEqual(again, cs) {
			t.Errorf("%v: %v is not %v", err, again, cs)
		}
	})
}

func TestPackChunks(t *testing.T) {
	r := seeded(t)
	for n := range 200 {
		want := make([]collect.Chunk, n)
		for i := range want {
			random(r, reflect.ValueOf(&want[i]).Elem())
		}
		if n > 2 {
			want[0].T, want[1].T = math.MinInt64, math.MaxInt64
			want[0].Bytes, want[1].Bytes = math.MinInt32, math.MaxInt32
			want[0].Tokens, want[1].Tokens = math.MinInt32, math.MaxInt32
		}
		got, err := unpackChunks(packChunks(want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%d chunks: %v", n, err)
		}
	}
}
