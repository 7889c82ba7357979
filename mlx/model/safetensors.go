package model

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// A safetensors file is
//
//	u64 little-endian  length of the header, padded with spaces to 8 bytes
//	header             JSON: {"NAME": {"dtype", "shape", "data_offsets": [begin, end]}, …}
//	data               the tensors, row-major, little-endian, without gaps
//
// with offsets counted from the start of the data. "__metadata__" is a map of
// strings among the names.

// maxHeader is the longest header taken, as in the reference implementation.
const maxHeader = 100 << 20

// dtypeSize is the element size in bytes of each type the format knows.
var dtypeSize = map[string]int64{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
	"U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8, "C64": 8,
}

// tensorEntry is a tensor as the header has it.
type tensorEntry struct {
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// Safetensors is an open safetensors file whose header has been checked: every
// tensor lies within the file, and together they fill it.
type Safetensors struct {
	file    io.ReaderAt
	close   func() error
	data    int64 // where the data starts
	tensors map[string]tensorEntry
}

// OpenSafetensors opens a file and checks its header.
func OpenSafetensors(path string) (*Safetensors, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		var s *Safetensors
		if s, err = newSafetensors(f, info.Size()); err == nil {
			s.close = f.Close
			return s, nil
		}
		err = fmt.Errorf("%s: %w", info.Name(), err)
	}
	f.Close()
	return nil, err
}

// newSafetensors reads the header of a file of the given size.
func newSafetensors(file io.ReaderAt, size int64) (*Safetensors, error) {
	var length [8]byte
	if size < 8 {
		return nil, fmt.Errorf("%d bytes are too few for a safetensors file: download it again", size)
	}
	if _, err := file.ReadAt(length[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n < 2 || n > maxHeader {
		return nil, fmt.Errorf("not a safetensors file: its header would be %d bytes long", n)
	}
	if int64(n) > size-8 {
		return nil, fmt.Errorf("the file is cut short: the header has %d bytes, the file %d: download it again", n, size)
	}
	header := make([]byte, n)
	if _, err := file.ReadAt(header, 8); err != nil {
		return nil, err
	}
	s := &Safetensors{file: file, data: 8 + int64(n), close: func() error { return nil }}
	var err error
	s.tensors, err = parseHeader(header, size-s.data)
	return s, err
}

// parseHeader reads a header and checks it against the size of the data.
func parseHeader(header []byte, size int64) (map[string]tensorEntry, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, fmt.Errorf("the header is no JSON object: %w", err)
	}
	delete(raw, "__metadata__")
	tensors := make(map[string]tensorEntry, len(raw))
	for name, text := range raw {
		var t tensorEntry
		if err := json.Unmarshal(text, &t); err != nil {
			return nil, fmt.Errorf("the header's entry of tensor %q can't be read: %w", name, err)
		}
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		tensors[name] = t
	}
	return tensors, checkLayout(tensors, size)
}

// check compares the tensor's shape and type to the bytes it takes.
func (t tensorEntry) check() error {
	bytes, ok := dtypeSize[t.DType]
	if !ok {
		return fmt.Errorf("the dtype %q is not known", t.DType)
	}
	for _, d := range t.Shape {
		if d < 0 || d > 0 && bytes > math.MaxInt64/d {
			return fmt.Errorf("the shape %v makes no sense", t.Shape)
		}
		bytes *= d
	}
	begin, end := t.Offsets[0], t.Offsets[1]
	if begin < 0 || end < begin || end-begin != bytes {
		return fmt.Errorf("bytes %d to %d don't hold %s %v, which takes %d", begin, end, t.DType, t.Shape, bytes)
	}
	return nil
}

// checkLayout holds that the tensors fill the data, without gap or overlap.
func checkLayout(tensors map[string]tensorEntry, size int64) error {
	type span struct {
		name       string
		begin, end int64
	}
	var spans []span
	for name, t := range tensors {
		spans = append(spans, span{name, t.Offsets[0], t.Offsets[1]})
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.name, b.name))
	})
	var at int64
	for _, s := range spans {
		if s.begin != at {
			return fmt.Errorf("tensor %q starts at byte %d of the data, but the one before it ends at %d", s.name, s.begin, at)
		}
		at = s.end
	}
	if at > size {
		return fmt.Errorf("the file is cut short: its tensors need %d bytes, it has %d: download it again", at, size)
	}
	if at < size {
		return fmt.Errorf("%d bytes after the last tensor belong to none", size-at)
	}
	return nil
}

// Close closes the file.
func (s *Safetensors) Close() error { return s.close() }

// Names lists the tensors, sorted.
func (s *Safetensors) Names() []string {
	names := make([]string, 0, len(s.tensors))
	for name := range s.tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Shape is the shape of a tensor, nil where there is none of that name.
func (s *Safetensors) Shape(name string) []int {
	t, ok := s.tensors[name]
	if !ok {
		return nil
	}
	shape := make([]int, len(t.Shape))
	for i, d := range t.Shape {
		shape[i] = int(d)
	}
	return shape
}

// Read is a tensor's elements as float32. F32, F16 and BF16 are read, each
// exactly.
func (s *Safetensors) Read(name string) ([]float32, error) {
	t, ok := s.tensors[name]
	if !ok {
		return nil, fmt.Errorf("there is no tensor %q", name)
	}
	decode := decoders[t.DType]
	if decode == nil {
		return nil, fmt.Errorf("tensor %q is of dtype %s: the reference engine reads F32, F16 and BF16", name, t.DType)
	}
	size := dtypeSize[t.DType]
	out := make([]float32, (t.Offsets[1]-t.Offsets[0])/size)
	buf := make([]byte, min(1<<20, t.Offsets[1]-t.Offsets[0]))
	for at, i := t.Offsets[0], 0; at < t.Offsets[1]; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), t.Offsets[1]-at)]
		if _, err := s.file.ReadAt(buf, s.data+at); err != nil {
			return nil, fmt.Errorf("tensor %q can't be read: %w", name, err)
		}
		decode(out[i:], buf)
		i += len(buf) / int(size)
	}
	return out, nil
}

var decoders = map[string]func(out []float32, in []byte){
	"F32": func(out []float32, in []byte) {
		for i := range len(in) / 4 {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(in[4*i:]))
		}
	},
	"BF16": func(out []float32, in []byte) {
		for i := range len(in) / 2 {
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(in[2*i:])) << 16)
		}
	},
	"F16": func(out []float32, in []byte) {
		for i := range len(in) / 2 {
			out[i] = fromF16(binary.LittleEndian.Uint16(in[2*i:]))
		}
	},
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

// Tensor is a named array on its way to a file.
type Tensor struct {
	TensorSpec
	Data []float32
}

// WriteSafetensors writes tensors as F32, in their order.
func WriteSafetensors(w io.Writer, tensors []Tensor) error {
	var header bytes.Buffer
	header.WriteString(`{"__metadata__":{"format":"mlx"}`)
	var at int64
	for _, t := range tensors {
		if len(t.Data) != t.elements() {
			return fmt.Errorf("tensor %q has %d elements, its shape %v has %d", t.Name, len(t.Data), t.Shape, t.elements())
		}
		name, err := json.Marshal(t.Name)
		if err != nil {
			return err
		}
		shape, err := json.Marshal(append([]int{}, t.Shape...))
		if err != nil {
			return err
		}
		end := at + 4*int64(len(t.Data))
		fmt.Fprintf(&header, `,%s:{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, name, shape, at, end)
		at = end
	}
	header.WriteString("}")
	for header.Len()%8 != 0 {
		header.WriteByte(' ')
	}
	var errs []error
	write := func(b []byte) {
		_, err := w.Write(b)
		errs = append(errs, err)
	}
	write(binary.LittleEndian.AppendUint64(nil, uint64(header.Len())))
	write(header.Bytes())
	var buf []byte
	for _, t := range tensors {
		for part := range slices.Chunk(t.Data, 1<<16) {
			buf = buf[:0]
			for _, v := range part {
				buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
			}
			write(buf)
		}
	}
	return errors.Join(errs...)
}
