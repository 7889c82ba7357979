package model

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
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

// DType is the type of a tensor as the format names it, empty where there is
// none of that name.
func (s *Safetensors) DType(name string) string { return s.tensors[name].DType }

// Bytes is the size of a tensor.
func (s *Safetensors) Bytes(name string) int64 {
	t := s.tensors[name]
	return t.Offsets[1] - t.Offsets[0]
}

// Read is a tensor's elements as the file has them.
func (s *Safetensors) Read(name string) ([]byte, error) {
	t, ok := s.tensors[name]
	if !ok {
		return nil, fmt.Errorf("there is no tensor %q", name)
	}
	raw := make([]byte, t.Offsets[1]-t.Offsets[0])
	if _, err := s.file.ReadAt(raw, s.data+t.Offsets[0]); err != nil && len(raw) > 0 {
		return nil, fmt.Errorf("tensor %q can't be read: %w", name, err)
	}
	return raw, nil
}

// Tensor is a tensor on its way to a file.
type Tensor struct {
	Name  string
	DType string
	Shape []int
	Data  []byte // little-endian
}

// WriteSafetensors writes tensors in the order given.
func WriteSafetensors(w io.Writer, tensors []Tensor) error {
	var header bytes.Buffer
	header.WriteString(`{"__metadata__":{"format":"mlx"}`)
	var at int64
	for _, t := range tensors {
		if n := dtypeSize[t.DType] * int64((TensorSpec{Shape: t.Shape}).elements()); int64(len(t.Data)) != n {
			return fmt.Errorf("tensor %q has %d bytes, its shape %v of %s has %d", t.Name, len(t.Data), t.Shape, t.DType, n)
		}
		name, err := json.Marshal(t.Name)
		if err != nil {
			return err
		}
		shape, err := json.Marshal(append([]int{}, t.Shape...))
		if err != nil {
			return err
		}
		end := at + int64(len(t.Data))
		fmt.Fprintf(&header, `,%s:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, t.DType, shape, at, end)
		at = end
	}
	header.WriteString("}")
	for header.Len()%8 != 0 {
		header.WriteByte(' ')
	}
	_, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(header.Len())))
	if err == nil {
		_, err = w.Write(header.Bytes())
	}
	for i := 0; i < len(tensors) && err == nil; i++ {
		_, err = w.Write(tensors[i].Data)
	}
	return err
}
