package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"tokwatt/collect"
	"tokwatt/store/internal/boltpage"
)

// Sessions describes every session, oldest first; an imported one of which
// nobody says when it was measured has the place of its import. It reads a few values of
// each. What is damaged is left out of its session; the error names the first
// of it, and comes with all the rest.
func (s *Store) Sessions(ctx context.Context) ([]SessionInfo, error) {
	p, f, err := s.openRead(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	ids, err := sessionIDs(p)
	err = s.pageError(err)
	infos := make([]SessionInfo, len(ids))
	for i, id := range ids {
		err = cmp.Or(err, s.describe(p, id, &infos[i]))
	}
	slices.SortStableFunc(infos, func(a, b SessionInfo) int { return placeOf(a.ID, a.Session).Compare(placeOf(b.ID, b.Session)) })
	return infos, err
}

// placeOf is the time by which a session is older or newer than others: its
// start, which its id has, or else its import.
func placeOf(id string, session *collect.Session) time.Time {
	if session != nil && session.StartedAt.IsZero() && session.Imported != nil {
		return session.Imported.ImportedAt
	}
	return timeOf(uuid.MustParse(id))
}

// timeOf is the time in a UUIDv7.
func timeOf(id uuid.UUID) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8]) >> 16))
}

// undatedMS is the time, in milliseconds since 1970, below which an id has none:
// exchange gives sessions without a start ids of that time's first minute.
const undatedMS = 1 << 16

// oldestFirst puts sorted ids into the order of Sessions.
func (s *Store) oldestFirst(p *boltpage.File, ids []uuid.UUID) {
	places := make(map[uuid.UUID]time.Time, len(ids))
	for _, id := range ids {
		places[id] = timeOf(id)
		if places[id].UnixMilli() < undatedMS {
			rec, _ := s.recordAt(p, id, 0) // damaged: it has no place
			session, _ := rec.(*collect.Session)
			places[id] = placeOf(id.String(), session)
		}
	}
	slices.SortStableFunc(ids, func(a, b uuid.UUID) int { return places[a].Compare(places[b]) })
}

// sessionIDs finds the ids by leaping from one session's first key to the
// next session's, so it needs no summary. Only a value whose checksum is
// right proves an id, for the sum covers the key.
func sessionIDs(p *boltpage.File) ([]uuid.UUID, error) {
	records, err := p.Root().Bucket(bucketRecords)
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	var first error
	for from := make([]byte, len(uuid.UUID{})); from != nil; {
		id, err := firstFrom(records, from)
		first = cmp.Or(first, err)
		if id == nil {
			break
		}
		ids, from = append(ids, *id), behind(*id)
	}
	return ids, first
}

// firstFrom returns the first session whose id is at least from, and the
// first damage on the way to it.
func firstFrom(records boltpage.Tree, from []byte) (*uuid.UUID, error) {
	var first error
	for e, err := range records.From(from) {
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		id, _, ok := parseKey(e.Key)
		if _, _, err := unseal(e.Key, e.Value); ok && err != errChecksum && bytes.Compare(id[:], from) >= 0 {
			return &id, first
		}
	}
	return nil, first
}

// behind is the least id after id, nil after the greatest.
func behind(id uuid.UUID) []byte {
	for i := len(id) - 1; i >= 0; i-- {
		id[i]++
		if id[i] != 0 {
			return id[:]
		}
	}
	return nil
}

// describe fills in what is known of a session.
func (s *Store) describe(p *boltpage.File, id uuid.UUID, info *SessionInfo) error {
	info.ID = id.String()
	var rec collect.Record
	rec, first := s.recordAt(p, id, 0)
	info.Session, _ = rec.(*collect.Session)
	sum, err := s.summaryOf(p, id)
	if err != nil {
		return err
	}
	sum.fill(info)
	if sum.Segment > 0 {
		rec, err = s.recordAt(p, id, sum.Segment)
		info.Segment, _ = rec.(*collect.Segment)
		first = cmp.Or(first, err)
	}
	if sum.End > 0 {
		rec, err = s.recordAt(p, id, sum.End)
		info.End, _ = rec.(*collect.End)
		first = cmp.Or(first, err)
	}
	// While this file is locked nobody can add the end that is missing.
	info.Running = info.End == nil && s.claimed(id)
	return first
}

func (s *Store) summaryOf(p *boltpage.File, id uuid.UUID) (summary, error) {
	sums, err := p.Root().Bucket(bucketSummaries)
	if err != nil {
		return summary{}, s.pageError(err)
	}
	v, err := sums.Get(id[:])
	if err != nil {
		return summary{}, s.pageError(err)
	}
	sum, err := s.codec.summary(id[:], v)
	if err != nil {
		return sum, s.fileError(ErrDamaged, fmt.Sprintf("the summary of session %s: %v", id, err))
	}
	return sum, nil
}

// recordAt reads one record that is one value.
func (s *Store) recordAt(p *boltpage.File, id uuid.UUID, seq uint64) (collect.Record, error) {
	records, err := p.Root().Bucket(bucketRecords)
	if err != nil {
		return nil, s.pageError(err)
	}
	key := keyOf(id, seq)
	v, err := records.Get(key[:])
	if err != nil {
		return nil, s.pageError(err)
	}
	if v == nil {
		return nil, recordError(id, seq, ErrDamaged, "it is missing")
	}
	k, payload, err := unseal(key[:], v)
	if err != nil {
		return nil, recordError(id, seq, reasonOf(err), "%v", err)
	}
	rec, _, err := s.codec.record(k, payload)
	if err != nil {
		return nil, recordError(id, seq, ErrDamaged, "%v", err)
	}
	return rec, nil
}

// Last is what Find takes for the newest session; "last~1" is the one before.
const Last = "last"

// Back is how many sessions before the newest [Last], "last~1", … name; false
// where name is none of these.
func Back(name string) (n int, ok bool) {
	if name == Last {
		return 0, true
	}
	back, ok := strings.CutPrefix(name, Last+"~")
	n, err := strconv.Atoi(back)
	return n, ok && err == nil && n >= 0
}

// Find returns the one session id that starts with prefix, which may be in
// upper case and without hyphens, or that [Back] means: the newest by the time in
// the ids, which is the clock of the host that measured. The errors are
// *UnknownError and *AmbiguousError, beside those of the file.
func (s *Store) Find(ctx context.Context, prefix string) (string, error) {
	p, f, err := s.openRead(ctx)
	if err != nil {
		return "", err
	}
	defer f.Close()
	ids, err := sessionIDs(p)
	if back, ok := Back(prefix); ok && back < len(ids) {
		s.oldestFirst(p, ids)
		return ids[len(ids)-1-back].String(), nil
	}
	want := plain(prefix)
	var found []string
	for _, id := range ids {
		if text := id.String(); want != "" && strings.HasPrefix(plain(text), want) {
			found = append(found, text)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", &AmbiguousError{Prefix: prefix, Candidates: found}
	case err != nil:
		return "", s.pageError(err)
	}
	return "", s.unknown(p, prefix)
}

func plain(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }
