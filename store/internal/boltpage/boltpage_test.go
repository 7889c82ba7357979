package boltpage

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// sample makes a bbolt file of random buckets: inline ones, deep ones, values
// of many pages, nested buckets, and holes where keys were deleted.
func sample(t testing.TB, r *rand.Rand, pageSize int) (path string, content []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sample.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: pageSize, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		err = db.Update(func(tx *bolt.Tx) error {
			for _, name := range []string{"few", "many", "large", "nested"} {
				b, err := tx.CreateBucketIfNotExists([]byte(name))
				if err != nil {
					return err
				}
				if err := grow(r, b, name, round); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	content, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, content
}

func grow(r *rand.Rand, b *bolt.Bucket, name string, round int) error {
	n, size := 3, 20
	switch name {
	case "many":
		n, size = 2000, 40
	case "large":
		n, size = 20, 30_000
	case "nested":
		inner, err := b.CreateBucketIfNotExists(fmt.Appendf(nil, "inner%d", round))
		if err != nil {
			return err
		}
		return grow(r, inner, "many", round)
	}
	for range n {
		k, v := make([]byte, 1+r.IntN(30)), make([]byte, r.IntN(size))
		for i := range k {
			k[i] = byte(r.UintN(256))
		}
		if err := b.Put(k, v); err != nil {
			return err
		}
		if r.UintN(3) == 0 {
			if k, _ := b.Cursor().Seek(k[:1]); k != nil && b.Bucket(k) == nil {
				if err := b.Delete(bytes.Clone(k)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func seeded(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestAgainstBolt reads files as bbolt reads them, from any key on, for the
// page sizes of Linux and of Apple silicon.
func TestAgainstBolt(t *testing.T) {
	r := seeded(t)
	for _, pageSize := range []int{4096, 16384} {
		path, content := sample(t, r, pageSize)
		f, err := Open(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		if f.Meta().PageSize != int64(pageSize) {
			t.Errorf("page size %d", f.Meta().PageSize)
		}
		if errs := f.Verify(); len(errs) > 0 {
			t.Errorf("a sound file: %v", errs)
		}
		db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		db.View(func(tx *bolt.Tx) error {
			for _, name := range []string{"few", "many", "large"} {
				tree, err := f.Root().Bucket(name)
				if err != nil {
					t.Fatal(err)
				}
				for range 30 {
					from := []byte{byte(r.UintN(256)), byte(r.UintN(256))}
					same(t, tree, tx.Bucket([]byte(name)).Cursor(), from)
				}
				same(t, tree, tx.Bucket([]byte(name)).Cursor(), nil)
			}
			return nil
		})
		db.Close()
		if _, err := f.Root().Bucket("none"); !errors.Is(err, ErrNoBucket) {
			t.Error(err)
		}
	}
}

func same(t *testing.T, tree Tree, c *bolt.Cursor, from []byte) {
	t.Helper()
	k, v := c.Seek(from)
	for e, err := range tree.From(from) {
		if err != nil || !bytes.Equal(e.Key, k) || !bytes.Equal(e.Value, v) {
			t.Fatalf("from %x: %x, %v; bbolt has %x", from, e.Key, err, k)
		}
		k, v = c.Next()
	}
	if k != nil {
		t.Fatalf("from %x: bbolt goes on with %x", from, k)
	}
}

// Verify must see what is wrong; each row is shown to fail.
func TestVerifySees(t *testing.T) {
	_, content := sample(t, seeded(t), 4096)
	f, err := Open(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	free, _, err := f.freelist()
	if err != nil || len(free) == 0 {
		t.Fatal(len(free), err)
	}
	root := int(f.meta.Root) * 4096
	list := int(f.meta.Freelist) * 4096
	for _, c := range []struct {
		name string
		at   int
		to   byte
	}{
		{"page number", root, content[root] + 1},
		{"flags", root + 8, 0x40},
		{"element outside", root + 16 + 4 + 2, 0xff},
		{"key outside", root + 16 + 8 + 2, 0xff},
		{"overflow", root + 14, 0xff},
		{"free page in use", list + 16, byte(f.meta.Root)},
		{"free page outside", list + 16 + 6, 0xff},
		{"freelist's flags", list + 8, 2},
		{"freelist too long", list + 11, 0xfe},
	} {
		changed := bytes.Clone(content)
		changed[c.at] = c.to
		f, err := Open(bytes.NewReader(changed), int64(len(changed)))
		if err != nil {
			t.Fatal(err)
		}
		if errs := f.Verify(); len(errs) == 0 {
			t.Errorf("%s: nothing was seen", c.name)
		}
	}
}

func TestMeta(t *testing.T) {
	_, content := sample(t, seeded(t), 4096)
	for _, c := range []struct {
		name string
		cut  int
		at   []int
		want error
	}{
		{"first meta", 0, []int{20 + 16}, new(Damage)},
		{"second meta", 0, []int{4096 + 70}, new(Damage)},
		{"both", 0, []int{40, 4096 + 40}, new(Damage)},
		{"cut", 3 * 4096, nil, new(Damage)},
		{"one page", 4096, nil, new(Damage)},
		{"half a page", 50, nil, ErrNotBolt},
	} {
		changed := bytes.Clone(content)
		if c.cut > 0 {
			changed = changed[:c.cut]
		}
		for _, at := range c.at {
			changed[at] ^= 0x10
		}
		_, err := Open(bytes.NewReader(changed), int64(len(changed)))
		var d *Damage
		if _, damage := c.want.(*Damage); damage != errors.As(err, &d) || err == nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// FuzzOpen must never panic, and never end in a loop, whatever the bytes:
// each input changes a sound file in three places.
func FuzzOpen(f *testing.F) {
	_, content := sample(f, rand.New(rand.NewPCG(1, 2)), 4096)
	f.Add(uint32(4096*3), byte(1), uint32(17), byte(9), uint32(9000), byte(255))
	f.Fuzz(func(t *testing.T, a uint32, x byte, b uint32, y byte, c uint32, z byte) {
		changed := bytes.Clone(content)
		changed[int(a)%len(changed)] = x
		changed[int(b)%len(changed)] = y
		changed[int(c)%len(changed)] = z
		p, err := Open(bytes.NewReader(changed), int64(len(changed)))
		if err == nil {
			p.Verify()
			for range p.Root().From(nil) {
			}
		}
		n := 0
		Salvage(bytes.NewReader(changed), int64(len(changed))).Scan(func(Entry) { n++ })
		if n == 0 {
			t.Error("nothing can be saved of a file with three changes")
		}
	})
}
