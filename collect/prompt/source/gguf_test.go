package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tokwatt/collect/prompt/template"
)

// ggufWriter makes headers.
type ggufWriter struct{ bytes.Buffer }

func (w *ggufWriter) put(v any) { binary.Write(&w.Buffer, binary.LittleEndian, v) }

func (w *ggufWriter) text(s string) {
	w.put(uint64(len(s)))
	w.WriteString(s)
}

func (w *ggufWriter) pair(key string, v any) {
	w.text(key)
	switch v := v.(type) {
	case string:
		w.put(uint32(typeString))
		w.text(v)
	case []string:
		w.put(uint32(typeArray))
		w.put(uint32(typeString))
		w.put(uint64(len(v)))
		for _, s := range v {
			w.text(s)
		}
	case []int32:
		w.put(uint32(typeArray))
		w.put(uint32(5))
		w.put(uint64(len(v)))
		w.put(v)
	case []float32:
		w.put(uint32(typeArray))
		w.put(uint32(6))
		w.put(uint64(len(v)))
		w.put(v)
	case bool:
		w.put(uint32(typeBool))
		w.put(v)
	case uint32:
		w.put(uint32(4))
		w.put(v)
	case uint64:
		w.put(uint32(10))
		w.put(v)
	case float32:
		w.put(uint32(6))
		w.put(v)
	}
}

type pair struct {
	key   string
	value any
}

func header(pairs ...pair) []byte {
	var w ggufWriter
	w.WriteString("GGUF")
	w.put(uint32(3))
	w.put(uint64(0))
	w.put(uint64(len(pairs)))
	for _, p := range pairs {
		w.pair(p.key, p.value)
	}
	return w.Bytes()
}

// small is a header with everything that is wanted, and more.
var small = header(
	pair{"general.architecture", "llama"},
	pair{"llama.rope.freq_base", float32(10000)},
	pair{"general.tags", []string{"chat", "en"}},
	pair{"tokenizer.ggml.model", "gpt2"},
	pair{"tokenizer.ggml.pre", "smollm"},
	pair{"tokenizer.ggml.tokens", []string{"<s>", "</s>", "a", "b", "ab"}},
	pair{"tokenizer.ggml.scores", []float32{0, 0, 0, 0, 0}},
	pair{"tokenizer.ggml.token_type", []int32{3, 3, 1, 1, 1}},
	pair{"tokenizer.ggml.merges", []string{"a b"}},
	pair{"tokenizer.ggml.bos_token_id", uint32(0)},
	pair{"tokenizer.ggml.eos_token_id", uint32(1)},
	pair{"tokenizer.ggml.eot_token_id", uint64(0)},
	pair{"tokenizer.ggml.padding_token_id", uint32(99)},
	pair{"tokenizer.ggml.add_bos_token", true},
	pair{"tokenizer.chat_template", "{{ messages[0].content }}"},
)

func gguf(t *testing.T, header []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, append(header, "tensors"...), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestGGUF(t *testing.T) {
	m, err := Open(gguf(t, small))
	if err != nil {
		t.Fatal(err)
	}
	if m.ChatTemplate != "{{ messages[0].content }}" || !m.AddBOS || !slices.Equal(m.EOS, []int64{0, 1}) {
		t.Errorf("%+v", m)
	}
	if m.Special != (template.Special{BOS: "<s>", EOS: "</s>"}) {
		t.Errorf("%+v", m.Special)
	}
	tok, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("<s>abba"); !slices.Equal(got, []int32{0, 4, 3, 2}) {
		t.Errorf("%v", got)
	}
	if !reflect.DeepEqual(m.vocabulary.Types, []int32{3, 3, 1, 1, 1}) {
		t.Errorf("types %v", m.vocabulary.Types)
	}
}

func TestGGUFWithoutTemplate(t *testing.T) {
	path := gguf(t, header(pair{"tokenizer.ggml.eos_token_id", uint32(5)}))
	var u *UnsupportedError
	if _, err := Open(path); !errors.As(err, &u) {
		t.Errorf("error %v", err)
	}
	if ids, err := EndTokens(path); err != nil || !slices.Equal(ids, []int64{5}) {
		t.Errorf("%v, %v", ids, err)
	}
}

// TestGGUFCut: a header that ends anywhere before its end is an error.
func TestGGUFCut(t *testing.T) {
	for n := range small {
		if _, err := readMetadata(bytes.NewReader(small[:n]), int64(n)); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for a header", n, len(small))
		}
		// The file is shorter than it was when its size was asked.
		if _, err := readMetadata(bytes.NewReader(small[:n]), int64(len(small))); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for a header", n, len(small))
		}
	}
}

func TestGGUFRefusals(t *testing.T) {
	var unknown ggufWriter
	unknown.WriteString("GGUF")
	unknown.put(uint32(3))
	unknown.put(uint64(0))
	unknown.put(uint64(1))
	unknown.text("key")
	unknown.put(uint32(13))
	huge := bytes.Clone(small)
	binary.LittleEndian.PutUint64(huge[24+8+len("general.architecture")+4:], 1<<62) // the length of the first value
	long, many := bytes.Clone(small), bytes.Clone(small)
	binary.LittleEndian.PutUint64(long[24:], 1<<20) // the length of the first key
	binary.LittleEndian.PutUint64(many[16:], 1<<30) // the number of pairs
	for name, c := range map[string]struct {
		raw  []byte
		want string
	}{
		"no GGUF":      {[]byte("GGML and more"), "no GGUF file"},
		"version":      {append([]byte("GGUF"), 1, 0, 0, 0), "version 1"},
		"unknown type": {unknown.Bytes(), "type 13"},
		"huge length":  {huge, "values of 1 bytes"},
		"long key":     {long, "key of 1048576 bytes"},
		"many pairs":   {many, "1073741824 values"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(gguf(t, c.raw)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// FuzzGGUF: no header makes the reader fall over, or take what is not there.
func FuzzGGUF(f *testing.F) {
	f.Add(small)
	f.Add(header(pair{"a", []int32{1}}, pair{"tokenizer.ggml.tokens", []string{}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := readMetadata(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		total := 0
		for _, list := range m.lists {
			for _, s := range list {
				total += 8 + len(s)
			}
		}
		if total+4*len(m.types) > len(raw) {
			t.Errorf("%d bytes of lists from %d bytes", total, len(raw))
		}
	})
}
