package store

import (
	"encoding/binary"
	"errors"

	"tokwatt/collect"
)

// packChunks makes one value of a request's chunks, column by column:
//
//	count    uvarint
//	kinds    runs of (kind, length), uvarint each
//	tokens   runs of (zigzag value, length), uvarint each
//	t        zigzag varint of the difference to the chunk before
//	bytes    the same
//
// Kinds and tokens hardly ever change within a request, lengths change
// little, and times grow by one token's time: about 6 bytes a chunk.
func packChunks(cs []collect.Chunk) []byte {
	b := make([]byte, 0, 16+8*len(cs))
	b = binary.AppendUvarint(b, uint64(len(cs)))
	b = packRuns(b, cs, func(c *collect.Chunk) uint64 { return uint64(c.Kind) })
	b = packRuns(b, cs, func(c *collect.Chunk) uint64 { return zigzag(int64(c.Tokens)) })
	var last int64
	for i := range cs {
		b = binary.AppendUvarint(b, zigzag(cs[i].T-last))
		last = cs[i].T
	}
	last = 0
	for i := range cs {
		b = binary.AppendUvarint(b, zigzag(int64(cs[i].Bytes)-last))
		last = int64(cs[i].Bytes)
	}
	return b
}

func packRuns(b []byte, cs []collect.Chunk, column func(*collect.Chunk) uint64) []byte {
	for i := 0; i < len(cs); {
		v, n := column(&cs[i]), 1
		for i+n < len(cs) && column(&cs[i+n]) == v {
			n++
		}
		b = binary.AppendUvarint(binary.AppendUvarint(b, v), uint64(n))
		i += n
	}
	return b
}

var errChunks = errors.New("its chunks make no sense")

// unpackChunks is the inverse of packChunks.
func unpackChunks(b []byte) ([]collect.Chunk, error) {
	r := varints{b: b}
	n := r.next()
	// Each chunk has at least a byte in t and one in bytes.
	if r.bad || n > uint64(len(r.b))/2 {
		return nil, errChunks
	}
	cs := make([]collect.Chunk, n)
	r.runs(cs, func(c *collect.Chunk, v uint64) { c.Kind = collect.ChunkKind(v) })
	r.runs(cs, func(c *collect.Chunk, v uint64) { c.Tokens = int32(unzigzag(v)) })
	var last int64
	for i := range cs {
		last += unzigzag(r.next())
		cs[i].T = last
	}
	last = 0
	for i := range cs {
		last += unzigzag(r.next())
		cs[i].Bytes = int32(last)
	}
	if r.bad || len(r.b) != 0 {
		return nil, errChunks
	}
	return cs, nil
}

// varints reads one varint after the other; once bad it yields zeros.
type varints struct {
	b   []byte
	bad bool
}

func (r *varints) next() uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		v := r.b[0]
		r.b = r.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *varints) runs(cs []collect.Chunk, set func(*collect.Chunk, uint64)) {
	for i := 0; i < len(cs); {
		v, n := r.next(), r.next()
		if r.bad || n == 0 || n > uint64(len(cs)-i) {
			r.bad = true
			return
		}
		for range n {
			set(&cs[i], v)
			i++
		}
	}
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
