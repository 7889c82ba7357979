package store

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"tokwatt/collect"
)

// TestCheckSees breaks each invariant that a file with sound pages can break,
// and has Check say so.
func TestCheckSees(t *testing.T) {
	id := uuid.MustParse(goldenID)
	at := func(seq uint64) []byte { k := keyOf(id, seq); return k[:] }
	// reseal puts payload at key with a right checksum.
	reseal := func(b *bolt.Bucket, key []byte, k kind, payload []byte) error {
		return b.Put(key, seal(key, k, payload))
	}
	payload := func(b *bolt.Bucket, key []byte) []byte {
		v := b.Get(key)
		return bytes.Clone(v[2 : len(v)-4])
	}
	for _, c := range []struct {
		name, says string
		change     func(records, sums *bolt.Bucket) error
	}{
		{"nothing", "", func(r, s *bolt.Bucket) error { return nil }},
		{"checksum", "checksum is wrong", func(r, s *bolt.Bucket) error {
			v := bytes.Clone(r.Get(at(2)))
			v[5] ^= 1
			return r.Put(at(2), v)
		}},
		{"value in another place", "checksum is wrong", func(r, s *bolt.Bucket) error { return r.Put(at(2), bytes.Clone(r.Get(at(3)))) }},
		{"payload", "EOF", func(r, s *bolt.Bucket) error { return reseal(r, at(2), kindTarget, payload(r, at(2))[:9]) }},
		{"gap", "missing", func(r, s *bolt.Bucket) error { return r.Delete(at(2)) }},
		{"end lost", "missing at the end", func(r, s *bolt.Bucket) error { return r.Delete(at(12)) }},
		{"more than the summary", "the summary says", func(r, s *bolt.Bucket) error { return reseal(r, at(13), kindEnd, payload(r, at(12))) }},
		{"no session record", "does not begin with its own record", func(r, s *bolt.Bucket) error { return reseal(r, at(0), kindSegment, payload(r, at(1))) }},
		{"two session records", "stands within a session", func(r, s *bolt.Bucket) error { return reseal(r, at(1), kindSession, payload(r, at(0))) }},
		{"another session's record", "is the record of session", func(r, s *bolt.Bucket) error {
			return reseal(r, at(0), kindSession, bytes.Replace(payload(r, at(0)), []byte("8057"), []byte("8058"), 1))
		}},
		{"record within a batch", "not a part of a batch", func(r, s *bolt.Bucket) error { return reseal(r, at(6), kindSegment, payload(r, at(1))) }},
		{"chunks before the request", "chunks make no sense", func(r, s *bolt.Bucket) error { return reseal(r, at(5), kindChunks, payload(r, at(6))) }},
		{"request without a batch", "belongs to a batch", func(r, s *bolt.Bucket) error { return reseal(r, at(8), kindRequest, payload(r, at(7))) }},
		{"summary's counts", "the summary says", func(r, s *bolt.Bucket) error {
			p := bytes.Replace(payload(s, id[:]), []byte("batches\x01"), []byte("batches\x02"), 1)
			return reseal(s, id[:], kindSummary, p)
		}},
		{"batch again", "batch 2 comes behind batch 2", repeated(4, 8)},
		{"segment again", "segment 1 comes behind segment 1", repeated(1, 2)},
		{"summary lost", "the summary of session", func(r, s *bolt.Bucket) error { return s.Delete(id[:]) }},
		{"summary without a session", "without records", func(r, s *bolt.Bucket) error {
			other := uuid.MustParse(strings.Replace(goldenID, "8057", "8058", 1))
			return reseal(s, other[:], kindSummary, payload(s, id[:]))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := temp(t)
			put(t, s, goldenID, goldenRecords()...)
			edit(t, s.Path(), func(tx *bolt.Tx) error {
				return c.change(tx.Bucket([]byte(bucketRecords)), tx.Bucket([]byte(bucketSummaries)))
			})
			r, err := s.Check(t.Context())
			var said strings.Builder
			for _, p := range r.Problems {
				said.WriteString(p.Error() + "\n")
			}
			if err != nil || r.OK() != (c.says == "") || !strings.Contains(said.String(), c.says) {
				t.Errorf("%v, want %q:\n%s", err, c.says, said.String())
			}
			to := Open(filepath.Join(t.TempDir(), "to.db"), Options{})
			saved, err := s.RepairTo(t.Context(), to.Path())
			if err != nil {
				t.Fatal(err)
			}
			if got := clean(t, to); got.Batches != saved.Batches {
				t.Errorf("%d batches saved of %d", got.Batches, saved.Batches)
			}
			if _, err := s.RepairTo(t.Context(), to.Path()); err == nil {
				t.Error("a file that was there was repaired into")
			}
		})
	}
}

// TestRepairSaysWhatIsLost: in the report, and in the store that is made of the
// rest, where the session is complete no longer.
func TestRepairSaysWhatIsLost(t *testing.T) {
	s, id := temp(t), newID(t)
	recs := []collect.Record{typicalSession(id), &collect.Segment{Segment: 1, PlannedBatches: 6}}
	for n := range int64(6) {
		recs = append(recs, typicalBatch(n+1, 1, 10))
	}
	put(t, s, id, append(recs, &collect.End{Status: collect.StatusComplete})...)
	edit(t, s.Path(), func(tx *bolt.Tx) error {
		r := tx.Bucket([]byte(bucketRecords))
		for _, seq := range []uint64{2, 6} { // of two batches
			key := keyOf(uuid.MustParse(id), seq)
			if err := r.Delete(key[:]); err != nil {
				return err
			}
		}
		return nil
	})
	to := Open(filepath.Join(t.TempDir(), "to.db"), Options{})
	r, err := s.RepairTo(t.Context(), to.Path())
	if want := []Loss{{Session: id, Batches: 4, Lost: 2}}; err != nil || !slices.Equal(r.Losses, want) {
		t.Errorf("%v: losses %v, want %v: %v", err, r.Losses, want, r.Problems)
	}
	all, err := to.Sessions(t.Context())
	if err != nil || len(all) != 1 || all[0].End == nil || all[0].End.Status != collect.StatusInterrupted || all[0].Batches != 4 || all[0].Planned != 6 {
		t.Errorf("%+v, %v", all, err)
	}
	said := ""
	for rec := range to.Records(t.Context(), id) {
		if l, ok := rec.(*collect.Lost); ok && l.Segment == 1 {
			said += l.Message
		}
	}
	if !strings.Contains(said, "4 of 6 batches") || strings.Count(said, "batches") != 1 {
		t.Errorf("the session says %q", said)
	}
}

// repeated puts the values of a session from first up to but without end there
// again, as a second process did that knew nothing of the first. The summary
// knows nothing of numbers, as old ones.
func repeated(first, end uint64) func(records, sums *bolt.Bucket) error {
	return func(records, sums *bolt.Bucket) error {
		id, c := uuid.MustParse(goldenID), newCodec()
		sum, err := c.summary(id[:], sums.Get(id[:]))
		if err != nil {
			return err
		}
		sum.highest = highest{}
		for seq := first; seq < end; seq++ {
			from, to := keyOf(id, seq), keyOf(id, sum.Next)
			v := records.Get(from[:])
			k, payload, err := unseal(from[:], v)
			if err != nil {
				return err
			}
			if err := records.Put(to[:], seal(to[:], k, bytes.Clone(payload))); err != nil {
				return err
			}
			sum.Next++
			switch k {
			case kindSegment:
				sum.Segment, sum.End, sum.Planned = sum.Next-1, 0, 6
				sum.Segments++
			case kindBatch:
				sum.Batches, sum.Warmups = sum.Batches+1, sum.Warmups+1
			case kindRequest:
				sum.Requests++
			}
		}
		sealed, err := c.sealSummary(id[:], sum)
		if err != nil {
			return err
		}
		return sums.Put(id[:], sealed)
	}
}

// TestPutRefusesNumbersThatWereGiven: of segments, batches and requests.
func TestPutRefusesNumbersThatWereGiven(t *testing.T) {
	s, id := temp(t), newID(t)
	put(t, s, id, typicalSession(id), &collect.Segment{Segment: 1}, typicalBatch(1, 3, 1), typicalBatch(3, 3, 1))
	again := typicalBatch(4, 3, 1)
	again.Requests[0].RequestID = 3002
	for name, rec := range map[string]collect.Record{
		"segment": &collect.Segment{Segment: 1}, "batch": typicalBatch(3, 3, 1), "batch before": typicalBatch(2, 3, 1), "request": again,
	} {
		if err := s.Put(t.Context(), id, rec); err == nil || !strings.Contains(err.Error(), "comes behind") {
			t.Errorf("%s: %v", name, err)
		}
	}
	put(t, s, id, &collect.Segment{Segment: 2}, typicalBatch(4, 3, 1))
	if r := clean(t, s); r.Batches != 3 {
		t.Errorf("%+v", r)
	}
}

// A store that is a link stays one, and what it names is compacted.
func TestCompactLink(t *testing.T) {
	real := temp(t)
	id := fill(t, real, 100, 4, 100)
	keep := fill(t, real, 1, 1, 1)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(real.Path(), link); err != nil {
		t.Fatal(err)
	}
	s := Open(link, Options{})
	if err := s.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	before := clean(t, real).Bytes
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	if after := clean(t, real).Bytes; after > before/4 {
		t.Errorf("%d of %d bytes", after, before)
	}
	if got := read(t, s, keep); len(got) != 2 {
		t.Errorf("%d records", len(got))
	}
}
