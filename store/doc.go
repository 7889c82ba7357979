// Package store keeps what collect sees: the records of every session, in one
// bbolt file. What [Store.Put] has taken is on the disk.
//
// # Use
//
//	s := store.Open(path, store.Options{})
//	for rec, err := range runner.Run(ctx, jobs...) {
//		err = s.Put(ctx, session, rec)
//	}
//	for rec, err := range s.Records(ctx, session) { … }
//
// The file is opened for each operation and closed after it: a reader, or a
// second collector, works beside a running one. bbolt lets a writer in alone,
// so Records reads slices of 100 ms at most and lets go of the file between
// them. Who finds the file held waits two seconds, then gets [ErrLocked].
//
// Several sessions can grow beside each other, but each has one collector:
// [Store.Claim] makes sure of that, and tells whether a session still runs.
//
// Where each part lives: operations in store.go (Put), read.go (Records),
// sessions.go (Sessions, Find), claim.go, calibration.go, maintain.go (Delete, Compact),
// check.go, report.go and repair.go; locks and the way into the file in open.go, a new
// file in create.go; values in value.go, their contents in wire.go, codec.go
// and chunks.go; values out of records in append.go, records out of values in
// assemble.go. Reads go through internal/boltpage, which trusts no number of
// the file; writes are bbolt's.
//
// # Format 1
//
//	bucket meta
//	    "format"                    → format value: version, creator
//	    "calibration/" host         → calibration value: the newest of the host
//	bucket records
//	    session 16 B | seq 8 B      → value of a record
//	    session 16 B | seq+1 8 B    → …
//	bucket summaries
//	    session 16 B                → summary value
//
// A session is its UUIDv7, so keys sort by start; seq is big-endian and counts
// from 0 without a gap, so a session grows at its end. The session is in every
// key (and not a bucket of its own): each leaf page tells what it holds, and
// can be saved when the pages above it are lost.
//
//	value    kind 1 B | version 1 B | payload | CRC-32C 4 B, little-endian
//
// The checksum is over the key, the kind, the version and the payload: a value
// in a wrong place is a wrong value. bbolt itself has no checksums but in its
// two meta pages.
//
//	kind  record      payload
//	   1  session     CBOR map
//	   2  segment     CBOR map
//	   3  target      CBOR map
//	   4  case        CBOR map
//	   5  batch       CBOR map; says how many of the values that follow are its
//	   6  request     CBOR map; the request's chunks follow if it has any
//	   7  chunks      columns, see chunks.go
//	   8  end         CBOR map
//	   9  samples     CBOR map, see samples.go
//	  10  sensors     CBOR map
//	  11  idle        CBOR map
//	  12  lost        CBOR map
//	  16  summary     CBOR map; counts, written again with each record
//	  17  format      CBOR map
//	  18  calibration CBOR map; the result in JSON
//
// A batch and all its values are written in one transaction, which also writes
// the summary.
//
// How it may change: a field is added to a CBOR map, and old programs skip it;
// a kind is added, and old programs pass over it and say so (Options.Note); a
// value's version goes up where an old program would misread it, and old
// programs report that value with [ErrNewer]; the format's version goes up
// where an old program must not touch the file at all. Values that testdata
// pins are read for ever.
//
// # Invariants
//
// [Store.Check] tests all of them:
//
//  1. One meta page at least is valid, and the file is as long as it says.
//  2. Each page is reached once or is free, and bears its own number; its
//     elements lie within it; keys ascend. bbolt's own check agrees.
//  3. Each value has its checksum, and a known kind's payload can be decoded.
//  4. The sequence numbers of a session run from 0 without a gap.
//  5. The first record of a session, and no other, is its own.
//  6. Behind a batch stand as many values as it says: requests, and chunks
//     each behind its request.
//  7. Each session has a summary and each summary a session, and it says what
//     is counted from the records.
//  8. Each calibration says the host of its key.
//  9. The numbers of a session's segments, batches and requests ascend, so each
//     is there once. Put refuses what would break this.
//
// # What can go wrong
//
// A process that dies leaves the file as the last finished Put left it, and
// so does a full disk. A file that was cut short or changed is
// [ErrDamaged]: never a crash, and never a record that was not written.
// Records gives what is whole; RepairTo saves it. Nothing is written into a
// file whose pages are wrong on the way.
package store
