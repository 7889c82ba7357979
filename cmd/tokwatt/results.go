package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tokwatt/collect/exchange"
)

// results prints and writes what a run ends with: the closing lines or their
// JSON, and exo-bench's results file where one is wanted.
func (m *measurement) results(ctx context.Context, b *bench) error {
	exo := func(w io.Writer) error { return exchange.ExoResults(w, m.db.Records(ctx, m.session)) }
	if file := b.session.text("json-out"); file != "" {
		if err := writeOut(b.cmd, "json-out", file, exo); err != nil {
			return fmt.Errorf("%w; all that was measured is in the store", err)
		}
	}
	switch {
	case b.session.has("stdout"):
		return exo(m.out)
	case b.session.has("json"):
		return m.printJSON(m.closing.document(m.session, m.end))
	}
	m.closing.write(m.out)
	return nil
}

// checkResults refuses, before anything is measured, a results file that could
// not be written in the end.
func checkResults(b *bench) error {
	file := b.session.text("json-out")
	if file == "" {
		return nil
	}
	target, _, err := outFile(b.cmd, "json-out", file)
	if err != nil {
		return err
	}
	dir := filepath.Dir(target)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usagef("--json-out %s: there is no folder %s", file, dir)
	}
	return nil
}
