package boltpage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"sort"
)

// ErrNoBucket is returned where a bucket is not there.
var ErrNoBucket = errors.New("no such bucket")

// Entry is one key and its value. Both are valid until the next entry.
type Entry struct {
	Key, Value []byte
	Offset     int64 // of the value in the file; of no meaning in an inline bucket
	bucket     bool
}

// Tree is the tree of one bucket.
type Tree struct {
	f      *File
	root   uint64
	inline []byte // the page of a bucket so small that it lies in its parent
}

// Root is the bucket that holds the top buckets.
func (f *File) Root() Tree { return Tree{f: f, root: f.meta.Root} }

// Bucket opens the bucket called name.
func (t Tree) Bucket(name string) (Tree, error) {
	for e, err := range t.From([]byte(name)) {
		if err != nil {
			return Tree{}, err
		}
		if string(e.Key) != name || !e.bucket {
			break
		}
		return t.f.bucket(e.Value)
	}
	return Tree{}, fmt.Errorf("%w: %s", ErrNoBucket, name)
}

func (f *File) bucket(v []byte) (Tree, error) {
	if len(v) < headerSize {
		return Tree{}, &Damage{Page: f.meta.Root, Reason: "a bucket's value is too short"}
	}
	t := Tree{f: f, root: binary.LittleEndian.Uint64(v)}
	if t.root == 0 {
		if len(v) < 2*headerSize {
			return Tree{}, &Damage{Page: f.meta.Root, Reason: "an inline bucket is too short"}
		}
		t.inline = bytes.Clone(v[headerSize:])
	}
	return t, nil
}

// Get returns the value of key, or nil.
func (t Tree) Get(key []byte) ([]byte, error) {
	for e, err := range t.From(key) {
		if err != nil {
			return nil, err
		}
		if bytes.Equal(e.Key, key) {
			return bytes.Clone(e.Value), nil
		}
		break
	}
	return nil, nil
}

// From yields the entries whose keys are at least key, in order. A page that
// is damaged is one *Damage, and the entries behind it follow. In a damaged
// file keys may be wrong or out of order: the caller must check them.
func (t Tree) From(key []byte) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		w := &walk{f: t.f, from: key, yield: yield, seen: map[uint64]bool{}}
		if t.inline != nil {
			w.leaf(parseHeader(t.inline))
			return
		}
		w.page(t.root, nil, 0)
	}
}

// walk is one pass over a tree. Its methods return false to end it.
type walk struct {
	f     *File
	from  []byte // nil once the first leaf is reached
	yield func(Entry, error) bool
	visit func(page) // told of every good page
	order bool       // check that keys ascend
	last  []byte     // the key before, if there is an order to check
	seen  map[uint64]bool
	bufs  [][]byte // one for each level
}

func (w *walk) fail(id uint64, from []byte, format string, args ...any) bool {
	return w.yield(Entry{}, &Damage{Page: id, From: bytes.Clone(from), Reason: fmt.Sprintf(format, args...)})
}

// page walks the page id, whose keys start at first.
func (w *walk) page(id uint64, first []byte, level int) bool {
	// A page that is reached twice means a wrong pointer, and a branch that
	// points to itself would never end.
	if w.seen[id] {
		return w.fail(id, first, "is reached twice")
	}
	w.seen[id] = true
	if level == len(w.bufs) {
		w.bufs = append(w.bufs, nil)
	}
	p, buf, err := w.f.read(id, w.bufs[level])
	w.bufs[level] = buf
	if err != nil {
		d := err.(*Damage)
		return w.fail(id, first, "%s", d.Reason)
	}
	if w.visit != nil {
		w.visit(p)
	}
	switch p.flags {
	case flagBranch:
		return w.branch(p, level)
	case flagLeaf:
		return w.leaf(p)
	}
	return w.fail(id, first, "has flags %#x, neither branch nor leaf", p.flags)
}

func (w *walk) branch(p page, level int) bool {
	if p.count == 0 {
		return w.fail(p.id, nil, "is an empty branch")
	}
	i := 0
	if w.from != nil {
		// The child before the first one whose first key is too great.
		i = sort.Search(p.count, func(i int) bool {
			k, _, err := p.child(i)
			return err != nil || bytes.Compare(k, w.from) > 0
		})
		i = max(i-1, 0)
	}
	for ; i < p.count; i++ {
		key, id, err := p.child(i)
		if err != nil {
			if !w.fail(p.id, nil, "%v", err) {
				return false
			}
			continue
		}
		if !w.page(id, key, level+1) {
			return false
		}
	}
	return true
}

func (w *walk) leaf(p page) bool {
	if p.flags != flagLeaf {
		return w.fail(p.id, nil, "has flags %#x, not a leaf's", p.flags)
	}
	for i := range p.count {
		el, err := p.leaf(i)
		var e Entry
		if err == nil {
			e = w.f.entry(p, el)
			err = w.ordered(i, e.Key)
		}
		if err != nil {
			if !w.fail(p.id, nil, "%v", err) {
				return false
			}
			continue
		}
		if bytes.Compare(e.Key, w.from) >= 0 && !w.yield(e, nil) {
			return false
		}
	}
	w.from = nil
	return true
}

// ordered checks that a key follows the key before it, where order counts.
func (w *walk) ordered(i int, key []byte) error {
	if !w.order {
		return nil
	}
	last := w.last
	w.last = append([]byte{}, key...)
	if last != nil && bytes.Compare(key, last) <= 0 {
		return fmt.Errorf("element %d is out of order", i)
	}
	return nil
}
