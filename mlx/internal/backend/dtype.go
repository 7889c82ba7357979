package backend

import (
	"encoding/binary"
	"math"
)

// DType is the type of an array's elements.
type DType uint8

// The types that weights come in.
const (
	F32 DType = iota
	F16
	BF16
)

// Size is the size of an element in bytes.
func (t DType) Size() int {
	if t == F32 {
		return 4
	}
	return 2
}

// Decode reads elements of a type, exactly. out has one for each of raw's.
func (t DType) Decode(out []float32, raw []byte) {
	switch t {
	case F32:
		for i := range len(raw) / 4 {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	case F16:
		for i := range len(raw) / 2 {
			out[i] = fromF16(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	case BF16:
		for i := range len(raw) / 2 {
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16)
		}
	}
}

// fromF16 is an IEEE 754 half: 1 sign bit, 5 of exponent, 10 of fraction.
func fromF16(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exp {
	case 0: // zero or subnormal: frac · 2⁻²⁴, exact
		v := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

// Append appends values in a type, F32 or BF16, rounded to nearest even.
func (t DType) Append(raw []byte, values []float32) []byte {
	for _, v := range values {
		bits := math.Float32bits(v)
		if t == F32 {
			raw = binary.LittleEndian.AppendUint32(raw, bits)
			continue
		}
		bits += 0x7fff + bits>>16&1 // no NaN is made here
		raw = binary.LittleEndian.AppendUint16(raw, uint16(bits>>16))
	}
	return raw
}
