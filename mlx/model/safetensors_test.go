package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestSafetensorsRoundTrip writes and reads random sets of tensors; the bits
// must come back.
func TestSafetensorsRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var tensors []Tensor
		for i := range r.IntN(6) {
			spec := TensorSpec{Name: fmt.Sprintf("t\"%d\n", i)}
			for range r.IntN(4) {
				spec.Shape = append(spec.Shape, r.IntN(5))
			}
			data := make([]float32, spec.elements())
			for j := range data {
				data[j] = math.Float32frombits(r.Uint32())
			}
			tensors = append(tensors, f32(spec, data))
		}
		var file bytes.Buffer
		if err := WriteSafetensors(&file, tensors); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		s, err := newSafetensors(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatalf("seed %d: %v\n%q", seed, err, file.Bytes())
		}
		if len(s.Names()) != len(tensors) {
			t.Fatalf("seed %d: %d tensors of %d", seed, len(s.Names()), len(tensors))
		}
		for _, want := range tensors {
			got, err := s.Read(want.Name)
			if err != nil || !slices.Equal(s.Shape(want.Name), want.Shape) {
				t.Fatalf("seed %d: %q: %v, shape %v", seed, want.Name, err, s.Shape(want.Name))
			}
			if !bytes.Equal(got, want.Data) {
				t.Fatalf("seed %d: %q differs", seed, want.Name)
			}
		}
	}
}

// raw is a file of a header and data.
func raw(header string, data []byte) []byte {
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), []byte(header), data)
}

func open(file []byte) (*Safetensors, error) {
	return newSafetensors(bytes.NewReader(file), int64(len(file)))
}

func TestSafetensorsTypes(t *testing.T) {
	file := raw(`{"h":{"dtype":"F16","shape":[7],"data_offsets":[0,14]},"b":{"dtype":"BF16","shape":[2,1],"data_offsets":[14,18]},`+
		`"u":{"dtype":"U32","shape":[],"data_offsets":[18,22]}}`,
		[]byte{0, 0x3c, 0, 0xc0, 1, 0, 0xff, 3, 0xff, 0x7b, 0, 0xfc, 0, 0x80, 0x80, 0x3f, 0x49, 0xc0, 1, 2, 3, 4})
	s, err := open(file)
	if err != nil {
		t.Fatal(err)
	}
	floats := func(name string) ([]float32, error) {
		raw, err := s.Read(name)
		kind := floatTypes[s.DType(name)]
		out := make([]float32, len(raw)/kind.Size())
		kind.Decode(out, raw)
		return out, err
	}
	h, err := floats("h")
	want := []float32{1, -2, 1.0 / (1 << 24), 1023.0 / (1 << 24), 65504, float32(math.Inf(-1)), 0}
	if err != nil || !slices.Equal(h, want) || !math.Signbit(float64(h[6])) {
		t.Errorf("F16: %v, %v, want %v and a negative zero", h, err, want)
	}
	if b, err := floats("b"); err != nil || !slices.Equal(b, []float32{1, -3.140625}) {
		t.Errorf("BF16: %v, %v", b, err)
	}
	if u, err := s.Read("u"); err != nil || s.DType("u") != "U32" || !slices.Equal(u, []byte{1, 2, 3, 4}) || s.Bytes("u") != 4 {
		t.Errorf("U32: %v, %v", u, err)
	}
	if _, err := s.Read("none"); err == nil {
		t.Error("a tensor that is not there was read")
	}
}

func TestSafetensorsRefusals(t *testing.T) {
	entry := func(dtype, shape, offsets string) string {
		return fmt.Sprintf(`{"a":{"dtype":%q,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
	}
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "too few"},
		{[]byte("<!DOCTYPE html>"), "not a safetensors file"},
		{raw(`{}`, nil)[:9], "cut short"},
		{raw(`[]`, nil), "no JSON object"},
		{raw(`{"a":1}`, nil), `tensor "a"`},
		{raw(entry("F31", "[1]", "[0,4]"), make([]byte, 4)), `dtype "F31"`},
		{raw(entry("F32", "[-1]", "[0,4]"), make([]byte, 4)), "makes no sense"},
		{raw(entry("F32", "[4294967296,4294967296]", "[0,4]"), make([]byte, 4)), "makes no sense"},
		{raw(entry("F32", "[2]", "[0,4]"), make([]byte, 4)), "takes 8"},
		{raw(entry("F32", "[1]", "[4,0]"), make([]byte, 4)), "takes 4"},
		{raw(entry("F32", "[1]", "[-4,0]"), make([]byte, 4)), "takes 4"},
		{raw(entry("F32", "[1]", "[4,8]"), make([]byte, 8)), "starts at byte 4"},
		{raw(entry("F32", "[2]", "[0,8]"), make([]byte, 7)), "cut short"},
		{raw(entry("F32", "[1]", "[0,4]"), make([]byte, 5)), "belong to none"},
	} {
		if _, err := open(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want an error with %q", c.file, err, c.want)
		}
	}
}

// TestSafetensorsCutAnywhere holds that a file cut at any byte is refused.
func TestSafetensorsCutAnywhere(t *testing.T) {
	var file bytes.Buffer
	spec := TensorSpec{Name: "w", Shape: []int{2, 3}}
	if err := WriteSafetensors(&file, []Tensor{f32(spec, make([]float32, 6))}); err != nil {
		t.Fatal(err)
	}
	for n := range file.Len() {
		if _, err := open(file.Bytes()[:n]); err == nil {
			t.Fatalf("a file of %d bytes cut to %d was taken", file.Len(), n)
		}
	}
}

func FuzzSafetensors(f *testing.F) {
	f.Add(raw(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 4)))
	f.Add(raw(`{"__metadata__":{"x":"y"},"h":{"dtype":"F16","shape":[2,0],"data_offsets":[0,0]}}`, nil))
	f.Add(raw(`{"a":{"dtype":"BF16","shape":[9223372036854775807,2],"data_offsets":[0,-4]}}`, nil))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := open(file)
		if err != nil {
			return
		}
		for _, name := range s.Names() {
			n := dtypeSize[s.DType(name)]
			for _, d := range s.Shape(name) {
				n *= int64(d)
			}
			if data, err := s.Read(name); err == nil && int64(len(data)) != n {
				t.Fatalf("%q has %d bytes in a shape of %d", name, len(data), n)
			}
		}
	})
}

func FuzzParseConfig(f *testing.F) {
	for _, s := range Shapes() {
		text, err := s.Config.marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"model_type":"llama","eos_token_id":[1,2],"rope_scaling":{"type":"linear","factor":2}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseConfig(text)
		if err != nil || c.Layers > 8 {
			return
		}
		if c.WeightBytes() < 0 || c.KVBytes() < 0 {
			t.Fatal("a size overflowed")
		}
		out, err := c.marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseConfig(out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		a, _ := json.Marshal(c)
		b, _ := json.Marshal(again)
		if !bytes.Equal(a, b) {
			t.Fatalf("config changed:\n%s\n%s", a, b)
		}
	})
}
