package store

import (
	"fmt"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"tokwatt/collect"
)

// appender adds records to the end of a session within one transaction.
type appender struct {
	store   *Store
	id      uuid.UUID
	session string
	records *bolt.Bucket
	sums    *bolt.Bucket
	sum     summary
	exists  bool
}

func (a *appender) begin(tx *bolt.Tx) error {
	a.records, a.sums = tx.Bucket([]byte(bucketRecords)), tx.Bucket([]byte(bucketSummaries))
	if a.records == nil || a.sums == nil {
		return a.store.fileError(ErrForeign, "it has no records")
	}
	// Sessions grow at their ends: half-empty pages would stay so.
	a.records.FillPercent = 1
	if v := a.sums.Get(a.id[:]); v != nil {
		var err error
		if a.sum, err = a.store.codec.summary(a.id[:], v); err != nil {
			return a.store.fileError(ErrDamaged, fmt.Sprintf("the summary of session %s: %v", a.session, err))
		}
		a.exists = true
	}
	return nil
}

func (a *appender) append(rec collect.Record, ps []part) error {
	if s, ok := rec.(*collect.Session); ok {
		if a.exists {
			return fmt.Errorf("session %s is in store %s already: start a new one", a.session, a.store.path)
		}
		if s.ID != a.session {
			return fmt.Errorf("the record of session %s cannot open session %s", s.ID, a.session)
		}
		a.exists = true
	} else if !a.exists {
		return fmt.Errorf("session %s is not in store %s: its first record must be its *collect.Session, not a %T", a.session, a.store.path, rec)
	}
	numbers := a.sum.highest
	if err := numbers.add(rec); err != nil {
		return fmt.Errorf("session %s in store %s: %w", a.session, a.store.path, err)
	}
	for i, p := range ps {
		k := keyOf(a.id, a.sum.Next+uint64(i))
		if err := a.records.Put(k[:], seal(k[:], p.kind, p.payload)); err != nil {
			return err
		}
	}
	a.sum.add(rec, len(ps))
	return nil
}

func (a *appender) end() error {
	v, err := a.store.codec.sealSummary(a.id[:], a.sum)
	if err != nil {
		return err
	}
	return a.sums.Put(a.id[:], v)
}

// The buckets.
const (
	bucketMeta      = "meta"
	bucketRecords   = "records"
	bucketSummaries = "summaries"
)

// formatKey, in bucket meta, holds the format.
const formatKey = "format"

// formatVersion is the version of the layout: the buckets and their keys.
// Values have versions of their own. It goes up when an old program must not
// touch the file.
const formatVersion = 1

type formatValue struct {
	Version int    `cbor:"version"`
	Creator string `cbor:"creator"`
}
