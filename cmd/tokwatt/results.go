package main

import (
	"context"
	"fmt"
	"io"

	"tokwatt/collect/exchange"
)

// results prints and writes what a run ends with: the closing lines or their
// JSON, and exo-bench's results file where one is wanted. A file that can't be
// written after all doesn't keep the rest from being printed.
func (m *measurement) results(ctx context.Context, b *bench) error {
	exo := func(w io.Writer) error { return exchange.ExoResults(w, m.db.Records(ctx, m.session)) }
	var lost error
	if b.out != nil {
		if err := b.out.write(exo); err != nil {
			lost = &coded{exitFailures, fmt.Errorf("%w; all that was measured is in the store, session %s", err, shortID(m.session))}
		}
	}
	var err error
	switch {
	case b.session.has("stdout"):
		err = exo(m.out)
	case b.session.has("json"):
		err = m.printJSON(m.closing.document(m.session, m.end))
	default:
		m.closing.write(m.out)
	}
	if err != nil {
		return err
	}
	return lost
}

// openResults refuses, before anything is measured, a results file that can't
// be written.
func (b *bench) openResults() (err error) {
	if file, given := b.session["json-out"]; given && file != nil {
		b.out, err = openOut(b.cmd, "json-out", b.session.text("json-out"))
	}
	return err
}
