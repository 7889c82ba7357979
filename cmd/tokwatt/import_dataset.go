package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"tokwatt/analyze"
	"tokwatt/collect"
	"tokwatt/collect/exchange"
	"tokwatt/store"
)

// dataset takes in the sessions of an archive, ids too. One that is not whole
// is named and left out.
func (im *importer) dataset(ctx context.Context, f *importedFile) error {
	ids, err := analyze.SessionsIn(f.File)
	if err != nil {
		f.fault(err)
		return nil
	}
	for _, id := range ids {
		if err := im.archived(ctx, f, id); err != nil {
			return err
		}
	}
	return nil
}

// archived takes in one session of an archive.
func (im *importer) archived(ctx context.Context, f *importedFile, id string) error {
	bad := func(err error) {
		f.fault(&exchange.RowError{File: filepath.Base(f.File), Where: "session " + shortID(id), Reason: err.Error()})
	}
	m, err := analyze.ReadManifest(f.File, id)
	if err != nil {
		bad(err)
		return nil
	}
	if old, has := im.known[id]; has && !im.more(old, m) {
		f.Duplicates = append(f.Duplicates, id)
		return nil
	}
	if m != nil { // of another writer's files nobody says how they should be
		if err := m.VerifyBytes(f.File); err != nil {
			bad(err)
			return nil
		}
	}
	keep := context.WithoutCancel(ctx)
	for rec, err := range exchange.DatasetSession(ctx, f.File, id) {
		if err == nil {
			err = im.taken(keep, rec)
		}
		if err != nil {
			return im.notWhole(ctx, err, bad)
		}
	}
	if err := im.finish(keep); err != nil {
		return storeError(err)
	}
	return nil
}

// more reports whether an archive has more requests of a session than the store.
func (im *importer) more(here store.SessionInfo, m *analyze.Manifest) bool {
	if m == nil || !im.unfinished(here) {
		return false
	}
	for _, f := range m.Files {
		if strings.HasPrefix(f.Path, "table=requests/") {
			return f.Rows > here.Requests
		}
	}
	return false
}

// storeFault is an error of the store, and not of what is imported.
type storeFault struct{ error }

// taken takes a record of an archive. A session of it is new, or there is more
// of it than in the store.
func (im *importer) taken(ctx context.Context, rec collect.Record) error {
	if s, ok := rec.(*collect.Session); ok {
		if err := im.makeWay(ctx, s.ID); err != nil {
			return storeFault{err}
		}
	}
	if err := im.record(ctx, rec); err != nil {
		return storeFault{err}
	}
	return nil
}

// notWhole takes back a session that could not be read to its end: the half of
// it would pass for all that was measured.
func (im *importer) notWhole(ctx context.Context, err error, bad func(error)) error {
	if err := im.undo(context.WithoutCancel(ctx)); err != nil {
		return storeError(err)
	}
	var fault storeFault
	switch {
	case errors.As(err, &fault):
		return storeError(fault.error)
	case ctx.Err() != nil:
		return &coded{exitInterrupted, errors.New("interrupted; the sessions that were read whole are in the store, and the next import takes the rest")}
	}
	bad(err)
	return nil
}
