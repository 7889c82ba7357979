package store

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"tokwatt/collect"
)

// newID makes a session id of a given age, so that ids sort as wanted.
func newID(tb testing.TB) string {
	tb.Helper()
	id, err := uuid.NewV7()
	if err != nil {
		tb.Fatal(err)
	}
	return id.String()
}

// random fills v with random values, every field of it.
func random(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Int64, reflect.Int32:
		v.SetInt(int64(r.Uint64() >> r.UintN(64)))
		if r.UintN(2) == 0 {
			v.SetInt(-v.Int())
		}
	case reflect.Uint8:
		v.SetUint(r.Uint64() & 0xff)
	case reflect.Float64:
		v.SetFloat(r.NormFloat64() * 1e6)
	case reflect.Bool:
		v.SetBool(r.UintN(2) == 0)
	case reflect.String:
		b := make([]byte, r.UintN(20))
		for i := range b {
			b[i] = byte(r.UintN(256)) // not even UTF-8
		}
		v.SetString(string(b))
	case reflect.Pointer:
		if r.UintN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			random(r, v.Elem())
		}
	case reflect.Slice:
		if n := int(r.UintN(6)); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				random(r, v.Index(i))
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(r.Int64N(4e9), r.Int64N(1e9)).UTC()))
			return
		}
		for i := range v.NumField() {
			random(r, v.Field(i))
		}
	default:
		panic("no random " + v.Type().String())
	}
}

func randomRecord[T any](r *rand.Rand) *T {
	v := new(T)
	random(r, reflect.ValueOf(v).Elem())
	return v
}

// randomSession is a session of n random records behind its own, whose numbers
// ascend.
func randomSession(r *rand.Rand, id string, n int) []collect.Record {
	s := randomRecord[collect.Session](r)
	s.ID = id
	recs := []collect.Record{s}
	request := int64(0)
	for i := range int64(n) {
		switch r.UintN(6) {
		case 0:
			segment := randomRecord[collect.Segment](r)
			segment.Segment = i + 1
			recs = append(recs, segment)
		case 1:
			recs = append(recs, randomRecord[collect.TargetInfo](r))
		case 2:
			recs = append(recs, randomRecord[collect.Case](r))
		case 3:
			recs = append(recs, randomRecord[collect.End](r))
		default:
			batch := randomRecord[collect.Batch](r)
			batch.BatchID = i + 1
			for i := range batch.Requests {
				request += 1 + r.Int64N(3)
				batch.Requests[i].RequestID = request
			}
			recs = append(recs, batch)
		}
	}
	return recs
}

// seeded says with which numbers a test can be repeated.
func seeded(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func temp(t testing.TB) *Store {
	return Open(filepath.Join(t.TempDir(), "sub", "tokwatt.db"), Options{})
}

func put(t testing.TB, s *Store, id string, recs ...collect.Record) {
	t.Helper()
	for i, rec := range recs {
		if err := s.Put(t.Context(), id, rec); err != nil {
			t.Fatalf("record %d, %T: %v", i, rec, err)
		}
	}
}

func read(t testing.TB, s *Store, id string) []collect.Record {
	t.Helper()
	var recs []collect.Record
	for rec, err := range s.Records(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, rec)
	}
	return recs
}

func TestRoundTrip(t *testing.T) {
	r := seeded(t)
	s := temp(t)
	want := map[string][]collect.Record{}
	var ids []string
	for range 4 {
		ids = append(ids, newID(t))
	}
	for _, id := range ids {
		want[id] = randomSession(r, id, 40)
	}
	for i := range 41 { // interleaved, as collectors beside each other do
		for _, id := range ids {
			put(t, s, id, want[id][i])
		}
	}
	for _, id := range ids {
		if got := read(t, s, id); !reflect.DeepEqual(got, want[id]) {
			t.Errorf("session %s came back changed", id)
			for i := range got {
				if !reflect.DeepEqual(got[i], want[id][i]) {
					t.Fatalf("record %d:\ngot  %+v\nwant %+v", i, got[i], want[id][i])
				}
			}
		}
	}
	infos, err := s.Sessions(t.Context())
	if err != nil || len(infos) != len(ids) {
		t.Fatalf("%d sessions, %v", len(infos), err)
	}
	for i, info := range infos {
		if info.ID != ids[i] || !reflect.DeepEqual(info.Session, want[ids[i]][0]) {
			t.Errorf("session %d: %+v", i, info)
		}
	}
	var unknown *UnknownError
	if _, err := s.Find(t.Context(), "ffff"); !errors.As(err, &unknown) || len(unknown.Known) != 4 {
		t.Errorf("unknown: %v", err)
	}
	if id, err := s.Find(t.Context(), Last); err != nil || id != ids[3] {
		t.Errorf("last: %s, %v", id, err)
	}
}
