// Package boltpage reads a bbolt file page by page, with plain reads.
//
// bbolt itself maps the file and trusts it: on a file that was cut short it
// dies with SIGBUS, a wrong page header panics, a wrong offset reads foreign
// memory, and a branch that points to itself never ends. A reader that must
// say what is damaged, and go on, checks each number before it uses it. That
// is all this package does; writing is bbolt's.
//
// The format (bbolt's own, little-endian):
//
//	page     id u64 | flags u16 | count u16 | overflow u32 | elements | data
//	branch   pos u32 | ksize u32 | child u64             (16 bytes each)
//	leaf     flags u32 | pos u32 | ksize u32 | vsize u32 (16 bytes each)
//	bucket   root u64 | sequence u64 [| inline page, where root is 0]
//	meta     magic u32 | version u32 | page size u32 | flags u32 | root bucket
//	         | freelist u64 | high water u64 | txid u64 | FNV-1a u64
//
// pos counts from the element's own first byte. Pages 0 and 1 are metas; the
// valid one with the higher txid rules.
package boltpage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// Page flags.
const (
	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagMeta     = 0x04
	flagFreelist = 0x10
)

const (
	headerSize  = 16
	elementSize = 16
	metaSize    = 64 // without the checksum
	magic       = 0xED0CDAED
	version     = 2
	noFreelist  = 1<<64 - 1
	// maxPageBytes bounds what a wrong overflow count can make us read.
	maxPageBytes = 1 << 30
)

// ErrNotBolt is returned for a file without any trace of a bbolt meta page.
var ErrNotBolt = errors.New("not a store file")

// Meta is the newest valid meta page.
type Meta struct {
	PageSize  int64
	Root      uint64 // page of the root bucket
	Freelist  uint64
	HighWater uint64 // pages of the file that are in use, or free for use
	TxID      uint64
}

// Damage is one thing that is wrong with the pages.
type Damage struct {
	Page   uint64
	Reason string
	From   []byte // the first key that the page should hold, where known
}

func (d *Damage) Error() string { return fmt.Sprintf("page %d: %s", d.Page, d.Reason) }

// File is a bbolt file that is read with ReadAt alone.
type File struct {
	r    io.ReaderAt
	size int64
	meta Meta
}

// Open reads and checks the meta pages of a file of size bytes: that both
// are valid, and that the file is as long as they say. With one of them the
// file could be read, but its last commit may be the one that is gone.
func Open(r io.ReaderAt, size int64) (*File, error) {
	m, err := readMeta(r, size)
	if err != nil {
		return nil, err
	}
	f := &File{r: r, size: size, meta: m}
	if want := int64(m.HighWater) * m.PageSize; m.HighWater > 1<<40 || want > size {
		return f, &Damage{Reason: fmt.Sprintf("the file is cut short: %d bytes of %d", size, want)}
	}
	if m.Root >= m.HighWater || m.Root < 2 {
		return f, &Damage{Reason: fmt.Sprintf("the root page %d is outside the file", m.Root)}
	}
	return f, nil
}

// Meta returns the meta page that rules.
func (f *File) Meta() Meta { return f.meta }

// pageSizes are those of the systems bbolt runs on; the second meta page can
// only be found by trying them when the first one is gone.
var pageSizes = []int64{4096, 16384, 8192, 32768, 65536, 1024, 2048}

// readMeta finds the meta page that rules. With an error the Meta may still
// be of use: its PageSize is not 0 then.
func readMeta(r io.ReaderAt, size int64) (Meta, error) {
	if size == 0 {
		return Meta{}, io.ErrUnexpectedEOF
	}
	first, traces, err := metaAt(r, 0)
	if err == nil {
		second, _, err := metaAt(r, first.PageSize)
		if err != nil {
			return first, &Damage{Page: 1, Reason: "the meta page is not valid: " + err.Error()}
		}
		if second.TxID > first.TxID {
			return second, nil
		}
		return first, nil
	}
	damage := &Damage{Page: 0, Reason: "the meta page is not valid: " + err.Error()}
	for _, ps := range pageSizes {
		second, more, err := metaAt(r, ps)
		if err == nil {
			return second, damage
		}
		traces = traces || more
	}
	if traces {
		return Meta{}, damage
	}
	return Meta{}, ErrNotBolt
}

// metaAt reads one meta page; traces says whether it looks like one at all.
func metaAt(r io.ReaderAt, off int64) (m Meta, traces bool, err error) {
	var b [headerSize + metaSize + 8]byte
	if _, err := r.ReadAt(b[:], off); err != nil {
		return m, false, err
	}
	p := b[headerSize:]
	traces = binary.LittleEndian.Uint32(p) == magic ||
		binary.LittleEndian.Uint16(b[8:]) == flagMeta && binary.LittleEndian.Uint32(p[4:]) == version
	if binary.LittleEndian.Uint32(p) != magic {
		return m, traces, errors.New("wrong magic number")
	}
	h := fnv.New64a()
	h.Write(p[:56])
	if binary.LittleEndian.Uint64(p[56:]) != h.Sum64() {
		return m, traces, errors.New("wrong checksum")
	}
	if v := binary.LittleEndian.Uint32(p[4:]); v != version {
		return m, traces, fmt.Errorf("bbolt format %d, not %d", v, version)
	}
	m = Meta{
		PageSize:  int64(binary.LittleEndian.Uint32(p[8:])),
		Root:      binary.LittleEndian.Uint64(p[16:]),
		Freelist:  binary.LittleEndian.Uint64(p[32:]),
		HighWater: binary.LittleEndian.Uint64(p[40:]),
		TxID:      binary.LittleEndian.Uint64(p[48:]),
	}
	if m.PageSize < 512 || m.PageSize > 1<<20 || m.PageSize&(m.PageSize-1) != 0 {
		return Meta{}, traces, fmt.Errorf("page size %d", m.PageSize)
	}
	return m, traces, nil
}

// page is a checked page: its header is sound and its bytes are all there.
type page struct {
	id    uint64
	flags uint16
	count int
	data  []byte // from the header on
}

// read reads page id into buf, which grows as needed.
func (f *File) read(id uint64, buf []byte) (page, []byte, error) {
	bad := func(format string, args ...any) (page, []byte, error) {
		return page{}, buf, &Damage{Page: id, Reason: fmt.Sprintf(format, args...)}
	}
	if id < 2 || id >= f.meta.HighWater {
		return bad("outside the file's %d pages", f.meta.HighWater)
	}
	buf = grown(buf, f.meta.PageSize)
	off := int64(id) * f.meta.PageSize
	if _, err := f.r.ReadAt(buf, off); err != nil {
		return bad("cannot be read: %v", err)
	}
	p := parseHeader(buf)
	if p.id != id {
		return bad("says it is page %d", p.id)
	}
	over := int64(binary.LittleEndian.Uint32(buf[12:]))
	if over == 0 {
		p.data = buf
		return p, buf, nil
	}
	total := (over + 1) * f.meta.PageSize
	if total > maxPageBytes || uint64(over) >= f.meta.HighWater-id {
		return bad("has an overflow of %d pages", over)
	}
	buf = grown(buf, total)
	if _, err := f.r.ReadAt(buf, off); err != nil {
		return bad("cannot be read: %v", err)
	}
	p.data = buf
	return p, buf, nil
}

func parseHeader(b []byte) page {
	return page{
		id:    binary.LittleEndian.Uint64(b),
		flags: binary.LittleEndian.Uint16(b[8:]),
		count: int(binary.LittleEndian.Uint16(b[10:])),
		data:  b,
	}
}

// pages is how many pages of the file p takes.
func (f *File) pages(p page) uint64 { return uint64(int64(len(p.data)) / f.meta.PageSize) }

func grown(buf []byte, n int64) []byte {
	if int64(cap(buf)) < n {
		return make([]byte, n)
	}
	return buf[:n]
}

// element says where the i-th key and value of a leaf stand in its page.
type element struct {
	flags         uint32
	key, val, end int64
}

func (p page) leaf(i int) (element, error) {
	at := headerSize + i*elementSize
	if at+elementSize > len(p.data) {
		return element{}, fmt.Errorf("element %d of %d lies outside", i, p.count)
	}
	e := element{flags: binary.LittleEndian.Uint32(p.data[at:])}
	e.key = int64(at) + int64(binary.LittleEndian.Uint32(p.data[at+4:]))
	e.val = e.key + int64(binary.LittleEndian.Uint32(p.data[at+8:]))
	e.end = e.val + int64(binary.LittleEndian.Uint32(p.data[at+12:]))
	if e.end > int64(len(p.data)) {
		return element{}, fmt.Errorf("element %d of %d reaches outside", i, p.count)
	}
	return e, nil
}

// entry is the key and value of an element; both alias the page.
func (f *File) entry(p page, e element) Entry {
	return Entry{
		Key:    p.data[e.key:e.val:e.val],
		Value:  p.data[e.val:e.end:e.end],
		Offset: int64(p.id)*f.meta.PageSize + e.val,
		bucket: e.flags&1 != 0,
	}
}

// child returns the i-th first key and child page of a branch.
func (p page) child(i int) (key []byte, id uint64, err error) {
	e := headerSize + i*elementSize
	if e+elementSize > len(p.data) {
		return nil, 0, fmt.Errorf("element %d of %d lies outside", i, p.count)
	}
	k := int64(e) + int64(binary.LittleEndian.Uint32(p.data[e:]))
	end := k + int64(binary.LittleEndian.Uint32(p.data[e+4:]))
	if end > int64(len(p.data)) {
		return nil, 0, fmt.Errorf("element %d of %d reaches outside", i, p.count)
	}
	return p.data[k:end:end], binary.LittleEndian.Uint64(p.data[e+8:]), nil
}
