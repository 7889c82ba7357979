package store

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
)

func TestFirstRecord(t *testing.T) {
	s, id := temp(t), newID(t)
	ctx := t.Context()
	if err := s.Put(ctx, id, &collect.Segment{}); !errors.Is(err, ErrMissing) {
		t.Errorf("no file: %v", err)
	}
	put(t, s, id, typicalSession(id))
	other := newID(t)
	for what, err := range map[string]error{
		"a segment first":   s.Put(ctx, other, &collect.Segment{}),
		"session twice":     s.Put(ctx, id, typicalSession(id)),
		"another session":   s.Put(ctx, other, typicalSession(id)),
		"no UUID":           s.Put(ctx, "x", typicalSession("x")),
		"another spelling":  s.Put(ctx, strings.ToUpper(other), typicalSession(strings.ToUpper(other))),
		"a nil interface":   s.Put(ctx, id, nil),
		"an unknown to del": s.Delete(ctx, id, other),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if got := read(t, s, id); len(got) != 1 {
		t.Errorf("%d records", len(got))
	}
	clean(t, s)
}

func TestPermissions(t *testing.T) {
	s, id := temp(t), newID(t)
	put(t, s, id, typicalSession(id))
	check := func() {
		info, err := os.Stat(s.Path())
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	check()
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	check()
}

func TestSessionInfo(t *testing.T) {
	s, id := temp(t), newID(t)
	start := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	first := &collect.Segment{Segment: 1, StartedAt: start, PID: 1, PlannedBatches: 5}
	second := &collect.Segment{Segment: 2, StartedAt: start.Add(3 * time.Hour), PID: 2, PlannedBatches: 3}
	failed := typicalBatch(2, 3, 4)
	failed.Requests[1].Failure = &collect.Failure{Kind: collect.ErrReset}
	end := &collect.End{At: start.Add(2 * time.Hour), Status: collect.StatusComplete}
	late := &collect.End{At: start.Add(4 * time.Hour), Status: collect.StatusComplete}
	again := typicalBatch(3, 1, 4)
	again.Segment = 2
	steps := []struct {
		rec  collect.Record
		want func(*SessionInfo)
	}{
		{&collect.Session{ID: id, StartedAt: start}, func(i *SessionInfo) { i.LastActivity = start }},
		{first, func(i *SessionInfo) { i.Segment, i.Segments, i.Planned = first, 1, 5 }},
		{&collect.TargetInfo{TargetID: 1}, func(i *SessionInfo) { i.Targets = 1 }},
		{&collect.Case{CaseID: 1}, func(i *SessionInfo) { i.Cases = 1 }},
		{typicalBatch(1, 2, 3), func(i *SessionInfo) { i.Batches, i.Requests, i.LastActivity = 1, 2, start.Add(5*time.Second) }},
		{failed, func(i *SessionInfo) {
			i.Batches, i.Requests, i.Failed, i.LastActivity = 2, 5, 1, start.Add(8*time.Second)
		}},
		{end, func(i *SessionInfo) { i.End, i.LastActivity = end, end.At }},
		{second, func(i *SessionInfo) {
			i.Segment, i.Segments, i.Planned, i.End, i.LastActivity = second, 2, 5, nil, second.StartedAt
		}},
		{&collect.TargetInfo{TargetID: 1, InstanceID: "another"}, func(i *SessionInfo) {}},
		{&collect.TargetInfo{TargetID: 2}, func(i *SessionInfo) { i.Targets = 2 }},
		{again, func(i *SessionInfo) {
			i.Batches, i.Requests, i.LastActivity = 3, 6, second.StartedAt.Add(time.Duration(again.EndNS))
		}},
		{&collect.Samples{Segment: 2, Samples: []collect.Sample{{Node: "n", EndNS: 1, Value: 2}}}, func(i *SessionInfo) {}},
		{end, func(i *SessionInfo) { i.End = end }},
		{late, func(i *SessionInfo) { i.End, i.LastActivity = late, late.At }},
	}
	want := SessionInfo{ID: id, Session: steps[0].rec.(*collect.Session)}
	for n, step := range steps {
		put(t, s, id, step.rec)
		step.want(&want)
		infos, err := s.Sessions(t.Context())
		if err != nil || len(infos) != 1 || !reflect.DeepEqual(infos[0], want) {
			t.Fatalf("step %d:\ngot  %+v %v\nwant %+v", n, infos, err, want)
		}
	}
	clean(t, s)
}

func TestFind(t *testing.T) {
	s := temp(t)
	ids := []string{"01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac97-774b-bcce-b302099a8057", "01890b00-0000-7000-8000-000000000000"}
	for _, id := range ids {
		put(t, s, id, typicalSession(id))
	}
	for prefix, want := range map[string]int{"last": 2, "01890b": 2, "01890a5dac96": 0, "01890A5D-AC97": 1, ids[0]: 0, "01890a": -1, "": -2, "zz": -2, "LAST": -2} {
		got, err := s.Find(t.Context(), prefix)
		var ambiguous *AmbiguousError
		var unknown *UnknownError
		switch {
		case want >= 0 && (err != nil || got != ids[want]):
			t.Errorf("%q: %s, %v", prefix, got, err)
		case want == -1 && (!errors.As(err, &ambiguous) || len(ambiguous.Candidates) != 2):
			t.Errorf("%q: %s, %v", prefix, got, err)
		case want == -2 && (!errors.As(err, &unknown) || len(unknown.Known) != 3 || unknown.Known[0] != ids[2]):
			t.Errorf("%q: %s, %v", prefix, got, err)
		}
	}
}

// TestUndatedSessions: an imported session without a start is as new as its
// import, in the list and for last.
func TestUndatedSessions(t *testing.T) {
	measured := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	const dated, undated, other = "019b8d99-6a00-7000-8000-000000000000", "00000000-1234-7000-8000-000000000000", "00000000-0001-7000-8000-000000000000"
	s := temp(t)
	for _, step := range []struct {
		session collect.Session
		want    []string
	}{
		{collect.Session{ID: undated, Imported: &collect.Origin{ImportedAt: measured.Add(-time.Hour)}}, []string{undated}},
		{collect.Session{ID: dated, StartedAt: measured}, []string{undated, dated}},
		{collect.Session{ID: other, Imported: &collect.Origin{ImportedAt: measured.Add(time.Hour)}}, []string{undated, dated, other}},
	} {
		put(t, s, step.session.ID, &step.session)
		var unknown *UnknownError
		if _, err := s.Find(t.Context(), "last~"+strconv.Itoa(len(step.want))); !errors.As(err, &unknown) {
			t.Errorf("%d before the last: %v", len(step.want), err)
		}
		infos, errs := s.Sessions(t.Context())
		var got []string
		for _, i := range infos {
			got = append(got, i.ID)
		}
		if errs != nil || !slices.Equal(got, step.want) {
			t.Errorf("%v, want %v; %v", got, step.want, errs)
		}
		for back, name := range []string{Last, "last~1", "last~2"}[:len(step.want)] {
			if id, err := s.Find(t.Context(), name); err != nil || id != step.want[len(step.want)-1-back] {
				t.Errorf("%s is %s of %v, %v", name, id, step.want, err)
			}
		}
	}
}

func TestDeleteAndCompact(t *testing.T) {
	s := temp(t)
	ids := []string{fill(t, s, 100, 4, 100), fill(t, s, 100, 4, 100), fill(t, s, 100, 4, 100)}
	want := read(t, s, ids[1])
	before := clean(t, s)
	if err := s.Delete(t.Context(), ids[0], ids[2]); err != nil {
		t.Fatal(err)
	}
	after := clean(t, s)
	if after.Sessions != 1 || after.Free < before.Bytes/2 {
		t.Errorf("after delete: %+v", after)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if small := clean(t, s); small.Bytes > before.Bytes/2 {
		t.Errorf("compacted to %d of %d bytes", small.Bytes, before.Bytes)
	}
	if got := read(t, s, ids[1]); !reflect.DeepEqual(got, want) {
		t.Error("the session that was kept has changed")
	}
	for _, err := range s.Records(t.Context(), ids[0]) {
		if !errors.As(err, new(*UnknownError)) {
			t.Errorf("a deleted session: %v", err)
		}
	}
}

// A reader that is slow, or stops, holds nobody up and sees what is put
// meanwhile; a compaction between its slices does not confuse it.
func TestSlowReader(t *testing.T) {
	s := temp(t)
	id := fill(t, s, 1500, 8, 128) // more than one slice
	s.opts.LockTimeout = 100 * time.Millisecond
	batches := 0
	for rec, err := range s.Records(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := rec.(*collect.Batch); !ok {
			continue
		}
		if batches++; batches == 5 {
			put(t, s, id, typicalBatch(1501, 1, 1))
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if batches != 1501 {
		t.Errorf("%d batches", batches)
	}
}
