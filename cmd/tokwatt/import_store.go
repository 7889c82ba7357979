package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"tokwatt/collect"
	"tokwatt/collect/exchange"
	"tokwatt/store"
)

// importer puts the sessions of files into the store.
type importer struct {
	db    *store.Store
	app   *app
	label string
	tags  []string
	known map[string]store.SessionInfo // sessions of the store
	there *store.SessionInfo           // the session in hand as another store has it

	now      *importedFile
	told     time.Time        // when progress was last told
	id       string           // of the session in hand; empty: none, or one that is passed over
	pending  []collect.Record // of it, not yet stored
	requests int64            // in pending
	lost     bool             // it says why it has no requests
	stored   bool             // some of it is in the store
	release  func()           // gives up its claim
}

// learn finds what the store has.
func (im *importer) learn(ctx context.Context) error {
	im.known = map[string]store.SessionInfo{}
	if _, err := os.Stat(im.db.Path()); errors.Is(err, os.ErrNotExist) {
		return nil // the first session makes it
	}
	all, err := im.db.Sessions(ctx)
	for _, s := range all {
		im.known[s.ID] = s
	}
	if err != nil {
		return storeError(err)
	}
	return nil
}

// file takes one file. The error is for what ends the import as a whole.
func (im *importer) file(ctx context.Context, cmd *cli.Command, f *importedFile) error {
	im.now, im.told = f, time.Now()
	if info, err := os.Stat(f.File); f.File != "-" && err == nil && info.IsDir() {
		f.Format = datasetFormat
		return im.dataset(ctx, f)
	}
	r, err := open(im.app, f.File)
	if err != nil {
		f.Error = err.Error()
		return nil
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		f.Error = err.Error()
		return nil
	}
	format := cmd.String("format")
	if f.File != "-" && (format == storeFormat || format == "" && isStore(r)) {
		f.Format = storeFormat
		return im.store(ctx, f)
	}
	in := exchange.Input{Name: f.File, Format: format, Host: cmd.String("host"), Now: time.Now(), R: r, Size: info.Size()}
	if f.File == "-" {
		in.Name = "stdin"
	}
	if f.Format, err = exchange.FormatOf(in); err != nil {
		f.Error = err.Error()
		return nil
	}
	f.alike = alike(in, r)
	return im.records(ctx, exchange.Read(ctx, in))
}

// alike names the format that a file's content has, where --format says another.
func alike(in exchange.Input, r *os.File) string {
	named := in.Format
	if named == "" {
		return ""
	}
	if isStore(r) {
		return storeFormat
	}
	in.Format = ""
	if format, err := exchange.FormatOf(in); err == nil && format != named {
		return format
	}
	return ""
}

func open(a *app, path string) (*os.File, error) {
	if path == "-" {
		return spooled(a.in)
	}
	return os.Open(path)
}

// isStore reports whether a file is one of bbolt's, whose first page has its
// magic number behind the page's header.
func isStore(f *os.File) bool {
	var head [20]byte
	_, err := f.ReadAt(head[:], 0)
	return err == nil && binary.LittleEndian.Uint32(head[16:]) == 0xED0CDAED
}

// store copies the sessions of another store as they are, ids too. One that is
// still measured there is left out.
func (im *importer) store(ctx context.Context, f *importedFile) error {
	if sameFile(f.File, im.db.Path()) {
		return usagef("%s is the store itself: name another with --db", f.File)
	}
	from := store.Open(f.File, store.Options{})
	defer func() { im.there = nil }()
	all, err := from.Sessions(ctx)
	if err != nil {
		f.fault(&exchange.RowError{File: filepath.Base(f.File), Reason: err.Error()})
	}
	for _, s := range all {
		if s.Running {
			f.fault(&exchange.RowError{File: filepath.Base(f.File), Where: "session " + shortID(s.ID), Reason: "it is still being measured: import it when it has ended"})
			continue
		}
		im.there = &s
		if err := im.records(ctx, within(s, from.Records(ctx, s.ID))); err != nil {
			return err
		}
	}
	return nil
}

// within gives errors of a session's records their place.
func within(s store.SessionInfo, recs iter.Seq2[collect.Record, error]) iter.Seq2[collect.Record, error] {
	return func(yield func(collect.Record, error) bool) {
		for rec, err := range recs {
			if err != nil {
				err = &exchange.RowError{Where: "session " + shortID(s.ID), Reason: err.Error()}
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// records stores the records of a file. A session is begun when its first batch
// is there, and what is whole of it is kept when the user interrupts.
func (im *importer) records(ctx context.Context, recs iter.Seq2[collect.Record, error]) error {
	keep := context.WithoutCancel(ctx)
	for rec, err := range recs {
		switch {
		case err != nil && ctx.Err() != nil:
		case err != nil:
			im.now.fault(err)
		default:
			if err := im.record(keep, rec); err != nil {
				im.drop()
				return storeError(err)
			}
		}
	}
	if ctx.Err() != nil && im.now.Format == storeFormat {
		if err := im.undo(keep); err != nil {
			return storeError(err)
		}
	}
	if err := im.finish(keep); err != nil {
		return storeError(err)
	}
	if ctx.Err() != nil {
		return &coded{exitInterrupted, errors.New("interrupted; what was read whole is in the store, and the next import of the file takes the rest")}
	}
	return nil
}

// flushRequests is how many requests are stored in one transaction.
const flushRequests = 2000

func (im *importer) record(ctx context.Context, rec collect.Record) error {
	if s, ok := rec.(*collect.Session); ok {
		if err := im.finish(ctx); err != nil {
			return err
		}
		return im.begin(ctx, s)
	}
	if im.id == "" {
		return nil
	}
	im.pending = append(im.pending, rec)
	switch rec := rec.(type) {
	case *collect.Batch:
		im.requests += int64(len(rec.Requests))
	case *collect.Lost:
		im.lost = true
		if im.foreign() { // else it is old news, of when the session was measured
			im.now.Lost = append(im.now.Lost, rec.Message)
		}
	}
	if im.requests >= flushRequests {
		return im.flush(ctx)
	}
	return nil
}

// begin takes a session in hand, unless the store has it. One whose import was
// interrupted, or that has grown since, is taken anew.
func (im *importer) begin(ctx context.Context, s *collect.Session) error {
	if o := s.Imported; o != nil && im.foreign() {
		im.now.Tool, im.now.Version = o.Tool, o.ToolVersion
		s.Label, s.Tags = cmp.Or(im.label, s.Label), im.tags
	}
	if old, has := im.known[s.ID]; has && !im.partial(old) && !im.grown(old) {
		im.now.Duplicates = append(im.now.Duplicates, s.ID)
		if im.foreign() && im.renamed(old) {
			im.now.kept = s.ID
		}
		return nil
	}
	if err := im.makeWay(ctx, s.ID); err != nil {
		return err
	}
	im.id, im.pending = s.ID, append(im.pending[:0], s)
	return nil
}

// makeWay takes a session out of the store that is to be taken anew; there may be
// none.
func (im *importer) makeWay(ctx context.Context, id string) error {
	if _, has := im.known[id]; !has {
		return nil
	}
	if err := im.db.Delete(ctx, id); err != nil {
		return err
	}
	delete(im.known, id)
	return nil
}

// foreign reports whether the file in hand is of another tool.
func (im *importer) foreign() bool {
	return im.now.Format != storeFormat && im.now.Format != datasetFormat
}

// renamed reports whether the user gave a name that a session of the store
// does not have.
func (im *importer) renamed(old store.SessionInfo) bool {
	if old.Session == nil {
		return false
	}
	lacks := func(tag string) bool { return !slices.Contains(old.Session.Tags, tag) }
	return im.label != "" && im.label != old.Session.Label || slices.ContainsFunc(im.tags, lacks)
}

// partial reports whether a session of the store is an import that was
// interrupted.
func (im *importer) partial(s store.SessionInfo) bool {
	return s.Session != nil && s.Session.Imported != nil && !s.Running && (s.End == nil || s.End.Status == collect.StatusInterrupted)
}

// unfinished reports whether a session of the store has no end there: it may
// have one, and more, where it was resumed or where its import came from.
func (im *importer) unfinished(here store.SessionInfo) bool {
	return here.Session != nil && !here.Running && (here.End == nil || im.partial(here))
}

// grown reports whether another store has more of a session than this one.
func (im *importer) grown(here store.SessionInfo) bool {
	return im.there != nil && im.unfinished(here) && (im.there.End != nil || im.there.Batches > here.Batches)
}

// flush stores what is pending.
func (im *importer) flush(ctx context.Context) error {
	if im.release == nil {
		release, err := im.db.Claim(ctx, im.id)
		if err != nil {
			return err
		}
		im.release = release
	}
	if err := im.db.PutAll(ctx, im.id, im.pending); err != nil {
		return err
	}
	im.now.Rows += im.requests
	im.pending, im.requests, im.stored = im.pending[:0], 0, true
	if time.Since(im.told) > 2*time.Second {
		im.told = time.Now()
		fmt.Fprintf(im.app.err, "%s: %s so far\n", filepath.Base(im.now.File), plural(im.now.Rows, "request"))
	}
	return nil
}

// finish ends the session in hand. Without a request there is none, unless it
// says why: then what the file has of the run as a whole is kept.
func (im *importer) finish(ctx context.Context) error {
	defer im.drop()
	if im.id == "" || im.requests == 0 && !im.stored && !im.lost {
		return nil
	}
	if len(im.pending) > 0 {
		if err := im.flush(ctx); err != nil {
			return err
		}
	}
	im.now.Sessions = append(im.now.Sessions, im.id)
	im.known[im.id] = store.SessionInfo{ID: im.id}
	return nil
}

// undo takes back the session in hand: the half of another store's session
// would pass for one that was measured so far.
func (im *importer) undo(ctx context.Context) error {
	defer im.drop()
	if !im.stored {
		return nil
	}
	return im.db.Delete(ctx, im.id)
}

// drop lets go of the session in hand.
func (im *importer) drop() {
	if im.release != nil {
		im.release()
	}
	im.id, im.pending, im.requests, im.stored, im.lost, im.release = "", nil, 0, false, false, nil
}
