package source

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"tokwatt/collect/prompt/template"
	"tokwatt/collect/prompt/tokenizer"
)

// openGGUF reads the metadata of a GGUF file. The model it returns beside an
// *UnsupportedError has its end tokens.
func openGGUF(path string) (*Model, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file: name a GGUF file, or the folder of a model", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the model can't be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("the model can't be read: %w", err)
	}
	meta, err := readMetadata(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return meta.model(path)
}

// metadata is what is kept of a GGUF file's.
type metadata struct {
	texts   map[string]string
	numbers map[string]int64
	lists   map[string][]string
	types   []int32
}

const prefix = "tokenizer.ggml."

func (g *metadata) model(path string) (*Model, error) {
	m := &Model{Path: path, ChatTemplate: g.texts["tokenizer.chat_template"], AddBOS: g.numbers[prefix+"add_bos_token"] != 0}
	for _, key := range []string{"eos_token_id", "eot_token_id", "eom_token_id"} {
		if id, ok := g.numbers[prefix+key]; ok {
			m.EOS = append(m.EOS, id)
		}
	}
	slices.Sort(m.EOS)
	m.EOS = slices.Compact(m.EOS)
	tokens := g.lists[prefix+"tokens"]
	special := func(key string) string {
		id, ok := g.numbers[prefix+key]
		if !ok || id < 0 || id >= int64(len(tokens)) {
			return ""
		}
		return tokens[id]
	}
	m.Special = template.Special{
		BOS: special("bos_token_id"), EOS: special("eos_token_id"), UNK: special("unknown_token_id"), PAD: special("padding_token_id"),
		SEP: special("seperator_token_id"), CLS: special("cls_token_id"), Mask: special("mask_token_id"),
	}
	m.vocabulary = &tokenizer.Vocabulary{
		Model: g.texts[prefix+"model"], Pre: g.texts[prefix+"pre"],
		Tokens: tokens, Merges: g.lists[prefix+"merges"], Types: g.types,
	}
	if m.ChatTemplate == "" {
		return m, &UnsupportedError{Model: name(path), What: "it has no chat template"}
	}
	return m, nil
}

// maxHeader bounds what a damaged file can make us read. Large vocabularies take
// some ten megabytes.
const maxHeader = 256 << 20

// maxPairs and maxKey bound what is kept of a header beside its vocabulary. The
// format has keys end at 65535 bytes.
const (
	maxPairs = 1 << 14
	maxKey   = 1 << 16
)

// readMetadata reads the header of a GGUF file of that size. Its layout:
//
//	"GGUF"  version u32  tensors u64  pairs u64  then each pair:
//	key string  type u32  value
//
// all little-endian; a string is its length as u64 and its bytes, an array the
// type of its elements u32, their number u64, and the elements. No length is
// believed that reaches beyond the end of the file, or maxHeader.
func readMetadata(r io.Reader, size int64) (*metadata, error) {
	g := &ggufReader{r: bufio.NewReaderSize(r, 1<<16), left: min(size, maxHeader)}
	if string(g.bytes(4)) != "GGUF" {
		return nil, errors.New("it is no GGUF file")
	}
	if v := g.u32(); v != 2 && v != 3 {
		return nil, fmt.Errorf("it is a GGUF file of version %d, not 2 or 3", v)
	}
	g.u64()
	m := &metadata{texts: map[string]string{}, numbers: map[string]int64{}, lists: map[string][]string{}}
	pairs := g.u64()
	if pairs > maxPairs {
		g.fail("%d values, of which no known file has a hundred", pairs)
	}
	for ; pairs > 0 && g.err == nil; pairs-- {
		g.pair(m)
	}
	if g.err != nil {
		return nil, fmt.Errorf("it is a damaged GGUF file: %w", g.err)
	}
	return m, nil
}

// The types of values.
const (
	typeBool   = 7
	typeString = 8
	typeArray  = 9
)

// widths are the bytes of the types of one size.
var widths = map[uint32]int64{0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, typeBool: 1, 10: 8, 11: 8, 12: 8}

// wanted are the lists that are kept. Of single values all are: they are few.
var wanted = map[string]bool{prefix + "tokens": true, prefix + "merges": true}

// ggufReader reads values. After the first error it gives zeros.
type ggufReader struct {
	r    *bufio.Reader
	left int64 // bytes that may still be read
	err  error
}

func (g *ggufReader) fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(format, args...)
	}
}

// take says whether n more elements of so many bytes can be in the file.
func (g *ggufReader) take(n uint64, width int64) bool {
	if g.err == nil && n > uint64(g.left/width) {
		g.fail("%d values of %d bytes with %d bytes left", n, width, g.left)
	}
	return g.err == nil
}

func (g *ggufReader) bytes(n uint64) []byte {
	if !g.take(n, 1) {
		return nil
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(g.r, b); err != nil {
		g.fail("%w", err)
	}
	g.left -= int64(n)
	return b
}

func (g *ggufReader) skip(n int64) {
	if _, err := g.r.Discard(int(n)); err != nil {
		g.fail("%w", err)
	}
	g.left -= n
}

func (g *ggufReader) u32() uint32 {
	if b := g.bytes(4); g.err == nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (g *ggufReader) u64() uint64 {
	if b := g.bytes(8); g.err == nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (g *ggufReader) text() string { return string(g.bytes(g.u64())) }

func (g *ggufReader) pair(m *metadata) {
	length := g.u64()
	if length > maxKey {
		g.fail("a key of %d bytes", length)
	}
	key, kind := string(g.bytes(length)), g.u32()
	switch {
	case kind == typeString:
		m.texts[key] = g.text()
	case kind == typeArray:
		g.array(m, key)
	case widths[kind] > 0:
		b := g.bytes(uint64(widths[kind]))
		if n, ok := number(kind, b); ok && g.err == nil {
			m.numbers[key] = n
		}
	default:
		g.fail("the value of %q is of a type %d that is not known", key[:min(len(key), 100)], kind)
	}
}

func (g *ggufReader) array(m *metadata, key string) {
	kind, n := g.u32(), g.u64()
	switch {
	case kind == typeString && g.take(n, 8): // at least the length of each
		var list []string
		if wanted[key] {
			list = make([]string, 0, min(n, 1<<20))
		}
		for ; n > 0 && g.err == nil; n-- {
			if wanted[key] {
				list = append(list, g.text())
			} else if length := g.u64(); g.take(length, 1) {
				g.skip(int64(length))
			}
		}
		if wanted[key] {
			m.lists[key] = list
		}
	case widths[kind] > 0 && g.take(n, widths[kind]):
		if key != prefix+"token_type" || widths[kind] != 4 {
			g.skip(int64(n) * widths[kind])
			return
		}
		raw := g.bytes(n * 4)
		m.types = make([]int32, len(raw)/4)
		for i := range m.types {
			m.types[i] = int32(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	default:
		g.fail("the array %q has elements of a type %d that is not known", key[:min(len(key), 100)], kind)
	}
}

// number is a value as a number; one with a fraction is none.
func number(kind uint32, b []byte) (int64, bool) {
	if kind == 6 || kind == 12 {
		return 0, false
	}
	var wide [8]byte
	copy(wide[:], b)
	n := binary.LittleEndian.Uint64(wide[:])
	return int64(min(n, math.MaxInt64)), true
}
