package boltpage

import (
	"encoding/binary"
	"io"
	"slices"
)

// Verify walks every page that can be reached and the list of free pages,
// and yields what is wrong with them.
func (f *File) Verify() []error {
	var errs []error
	used := map[uint64]bool{0: true, 1: true}
	mark := func(p page) {
		for i := range f.pages(p) {
			if used[p.id+i] {
				errs = append(errs, &Damage{Page: p.id + i, Reason: "is in use twice"})
			}
			used[p.id+i] = true
		}
	}
	f.verifyTree(f.Root(), mark, &errs, 0)
	free, p, err := f.freelist()
	if err != nil {
		return append(errs, err)
	}
	if p.data != nil {
		mark(p)
	}
	for _, id := range free {
		if used[id] {
			errs = append(errs, &Damage{Page: id, Reason: "is in use and in the list of free pages"})
		}
	}
	return errs
}

func (f *File) verifyTree(t Tree, mark func(page), errs *[]error, depth int) {
	if depth > 8 {
		*errs = append(*errs, &Damage{Page: t.root, Reason: "buckets are nested too deep"})
		return
	}
	w := &walk{f: f, seen: map[uint64]bool{}, visit: mark, order: true}
	var inner []Tree
	w.yield = func(e Entry, err error) bool {
		if err == nil && e.bucket {
			var b Tree
			if b, err = f.bucket(e.Value); err == nil {
				inner = append(inner, b)
			}
		}
		if err != nil {
			*errs = append(*errs, err)
		}
		return true
	}
	if t.inline != nil {
		w.leaf(parseHeader(t.inline))
	} else {
		w.page(t.root, nil, 0)
	}
	for _, b := range inner {
		f.verifyTree(b, mark, errs, depth+1)
	}
}

// Freelist checks the list of free pages, which bbolt trusts when it writes.
func (f *File) Freelist() error {
	_, _, err := f.freelist()
	return err
}

func (f *File) freelist() ([]uint64, page, error) {
	if f.meta.Freelist == noFreelist {
		return nil, page{}, nil
	}
	bad := func(reason string) ([]uint64, page, error) {
		return nil, page{}, &Damage{Page: f.meta.Freelist, Reason: "the list of free pages " + reason}
	}
	p, _, err := f.read(f.meta.Freelist, nil)
	if err != nil {
		return nil, page{}, err
	}
	if p.flags != flagFreelist {
		return bad("is not where it should be")
	}
	b, n := p.data[headerSize:], uint64(p.count)
	if n == 0xFFFF && len(b) >= 8 {
		n, b = binary.LittleEndian.Uint64(b), b[8:]
	}
	if n > uint64(len(b)/8) {
		return bad("is longer than its page")
	}
	free := make([]uint64, n)
	for i := range free {
		free[i] = binary.LittleEndian.Uint64(b[8*i:])
		if free[i] < 2 || free[i] >= f.meta.HighWater {
			return bad("names a page outside the file")
		}
	}
	slices.Sort(free)
	if len(slices.Compact(slices.Clone(free))) != len(free) {
		return bad("names a page twice")
	}
	return free, p, nil
}

// Salvage opens a file that Open refuses, for Scan alone. Where a meta page
// is not valid, the list of free pages may be older than what is saved from
// them, so none is used; the page size is then that of the other meta page,
// or the one that most pages agree with.
func Salvage(r io.ReaderAt, size int64) *File {
	f := &File{r: r, size: size}
	m, err := readMeta(r, size)
	f.meta = m
	if err != nil {
		f.meta.Freelist = noFreelist
	}
	if m.PageSize == 0 {
		f.meta.PageSize = likelyPageSize(r, size)
	}
	f.meta.HighWater = uint64(size / f.meta.PageSize)
	return f
}

// likelyPageSize counts for each size how many of the first pages bear their
// own number.
func likelyPageSize(r io.ReaderAt, size int64) int64 {
	best, most := pageSizes[0], 0
	for _, ps := range pageSizes {
		n := 0
		for id := int64(2); id < 256 && (id+1)*ps <= size; id++ {
			var b [headerSize]byte
			if _, err := r.ReadAt(b[:], id*ps); err == nil && parseHeader(b[:]).id == uint64(id) {
				n++
			}
		}
		if n > most {
			best, most = ps, n
		}
	}
	return best
}

// Scan tells visit of every entry of every page that is a leaf by its own
// word and is not known to be free, reachable or not. Entries come in no
// order, may be there twice, and may be older than the state of the file
// where the list of free pages cannot be read: the caller must check them.
func (f *File) Scan(visit func(Entry)) {
	free, _, err := f.freelist()
	if err != nil {
		free = nil
	}
	var buf []byte
	for id := uint64(2); id < f.meta.HighWater; id++ {
		if _, isFree := slices.BinarySearch(free, id); isFree {
			continue
		}
		var p page
		p, buf, err = f.read(id, buf)
		if err != nil || p.flags != flagLeaf {
			continue
		}
		for i := range p.count {
			if e, err := p.leaf(i); err == nil {
				visit(f.entry(p, e))
			}
		}
	}
}

// ReadAt reads from the file itself.
func (f *File) ReadAt(b []byte, off int64) (int, error) { return f.r.ReadAt(b, off) }

// FreeBytes is how much of a file of size bytes holds nothing.
func (f *File) FreeBytes(size int64) int64 {
	free, _, err := f.freelist()
	if err != nil {
		return 0
	}
	return size - (int64(f.meta.HighWater)-int64(len(free)))*f.meta.PageSize
}
