package store

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func TestCalibration(t *testing.T) {
	s := temp(t)
	if _, err := s.Calibration(t.Context(), "a"); !errors.Is(err, ErrMissing) {
		t.Errorf("a store that is not there: %v", err)
	}
	want := map[string]string{}
	for i, host := range []string{"a", "b", "a/b", "", strings.Repeat("x", maxHost), "a"} {
		want[host] = strings.Repeat("[", 3000*i) // more than a page in all
		if err := s.PutCalibration(t.Context(), host, want[host]); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, goldenID, goldenRecords()...)
	to := Open(filepath.Join(t.TempDir(), "to.db"), Options{})
	if _, err := s.RepairTo(t.Context(), to.Path()); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{s, to} {
		for host, result := range want {
			if got, err := s.Calibration(t.Context(), host); got != result || err != nil {
				t.Errorf("host %q: %d bytes, %v", host, len(got), err)
			}
		}
		if got, err := s.Calibration(t.Context(), "c"); got != "" || err != nil {
			t.Errorf("no calibration: %q, %v", got, err)
		}
		clean(t, s)
	}
	if err := s.PutCalibration(t.Context(), strings.Repeat("x", maxHost+1), "{}"); err == nil {
		t.Error("a host name of any length")
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Calibration(t.Context(), "b"); got != want["b"] || err != nil {
		t.Errorf("after Compact: %d bytes, %v", len(got), err)
	}
}

// TestCheckSeesCalibrations: what is wrong with a calibration is said, and the
// sessions are saved all the same.
func TestCheckSeesCalibrations(t *testing.T) {
	key := calibrationKey("a")
	for _, c := range []struct {
		name, says string
		change     func(*bolt.Bucket) error
	}{
		{"nothing", "", func(*bolt.Bucket) error { return nil }},
		{"checksum", "checksum is wrong", func(b *bolt.Bucket) error {
			v := bytes.Clone(b.Get(key))
			v[5] ^= 1
			return b.Put(key, v)
		}},
		{"payload", "EOF", func(b *bolt.Bucket) error { return b.Put(key, seal(key, kindCalibration, b.Get(key)[2:9])) }},
		{"kind", "of kind 8", func(b *bolt.Bucket) error { return b.Put(key, seal(key, kindEnd, nil)) }},
		{"another host's", `of host "a"`, func(b *bolt.Bucket) error {
			v := b.Get(key)
			other := calibrationKey("z")
			return b.Put(other, seal(other, kindCalibration, v[2:len(v)-4]))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := temp(t)
			put(t, s, goldenID, goldenRecords()...)
			if err := s.PutCalibration(t.Context(), "a", "{}"); err != nil {
				t.Fatal(err)
			}
			edit(t, s.Path(), func(tx *bolt.Tx) error { return c.change(tx.Bucket([]byte(bucketMeta))) })
			r, err := s.Check(t.Context())
			if err != nil || r.OK() != (c.says == "") || !r.OK() && !strings.Contains(r.Problems[0].Error(), c.says) {
				t.Errorf("%v, %v", r.Problems, err)
			}
			to := Open(filepath.Join(t.TempDir(), "to.db"), Options{})
			if _, err := s.RepairTo(t.Context(), to.Path()); err != nil {
				t.Fatal(err)
			}
			if r := clean(t, to); r.Sessions != 1 {
				t.Errorf("%d sessions saved", r.Sessions)
			}
		})
	}
	// What a newer program may keep there is passed over.
	s := temp(t)
	if err := s.PutCalibration(t.Context(), "a", "{}"); err != nil {
		t.Fatal(err)
	}
	edit(t, s.Path(), func(tx *bolt.Tx) error { return tx.Bucket([]byte(bucketMeta)).Put([]byte("future"), []byte("?")) })
	if r := clean(t, s); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "future") {
		t.Errorf("notes: %q", r.Notes)
	}
}
