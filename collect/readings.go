package collect

import (
	"encoding/binary"
	"iter"
	"math"
)

// readings are samples in the order in which they were taken, packed: a batch
// may take hours, and nothing goes to the disk before it ends. A sample takes
// 10 to 20 bytes here, a [Sample] over 100.
//
//	series      uvarint    which of series it is
//	end         varint     ns since the end of the sample before
//	length      uvarint    0: an instant; else 1 + zigzag of end − start, ns
//	value       8 bytes
type readings struct {
	series []Sample       // each without times and value
	known  map[Sample]int // their places
	blocks [][]byte       // each of whole samples; only the last one grows
	last   int64          // end of the newest sample
	count  int
}

// The blocks are as large as a growing slice may waste.
const (
	blockBytes = 1 << 16
	mostBytes  = 3*binary.MaxVarintLen64 + 8 // of one sample
)

func (r *readings) add(s Sample) {
	of := s
	of.StartNS, of.EndNS, of.Value = nil, 0, 0
	at, ok := r.known[of]
	if !ok {
		if r.known == nil {
			r.known = map[Sample]int{}
		}
		at = len(r.series)
		r.known[of] = at
		r.series = append(r.series, of)
	}
	n := len(r.blocks) - 1
	if n < 0 || len(r.blocks[n])+mostBytes > blockBytes {
		r.blocks = append(r.blocks, make([]byte, 0, r.room()))
		n++
	}
	b := binary.AppendUvarint(r.blocks[n], uint64(at))
	b = binary.AppendVarint(b, s.EndNS-r.last)
	if s.StartNS == nil {
		b = append(b, 0)
	} else {
		length := s.EndNS - *s.StartNS
		b = binary.AppendUvarint(b, 1+uint64(length<<1^length>>63))
	}
	r.blocks[n] = binary.LittleEndian.AppendUint64(b, math.Float64bits(s.Value))
	r.last = s.EndNS
	r.count++
}

// room is how large the next block is made: the first one is small, for few
// batches take hours.
func (r *readings) room() int {
	if len(r.blocks) == 0 {
		return 1 << 10
	}
	return blockBytes
}

// all unpacks the samples.
func (r *readings) all() iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		var end int64
		for _, b := range r.blocks {
			for len(b) > 0 {
				at, n := binary.Uvarint(b)
				b = b[n:]
				since, n := binary.Varint(b)
				b = b[n:]
				length, n := binary.Uvarint(b)
				b = b[n:]
				end += since
				s := r.series[at]
				s.EndNS, s.Value = end, math.Float64frombits(binary.LittleEndian.Uint64(b))
				b = b[8:]
				if length--; length != math.MaxUint64 { // it was not 0
					start := end - (int64(length>>1) ^ -int64(length&1))
					s.StartNS = &start
				}
				if !yield(s) {
					return
				}
			}
		}
	}
}
