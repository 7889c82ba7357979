package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/collect/exchange"
	"tokwatt/store"
)

func (a *app) importing() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "take in result files of other tools, another store or an archive",
		ArgsUsage: "FILE…",
		Description: `The format is told by the content; - reads stdin. A folder is a dataset, as
archive writes it. A figure that only the other tool can give keeps its source,
import. What is there already is left as it is; a row or session that can't be
read is named, and the rest goes in.
` + folded("Formats: "+strings.Join(importFormats(), ", ")),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "`NAME` of the files, where it can't be told"},
			&cli.StringFlag{Name: "host", Usage: "`NAME` of the machine, where a file has none", Value: "imported"},
			&cli.StringFlag{Name: "label", Usage: "`NAME` of the sessions"},
			&cli.StringSliceFlag{Name: "tag", Usage: "`TAG` of the sessions; may be repeated"},
			jsonFlag(),
		},
		Metadata: examples(
			"tokwatt import results.json archive/",
			"tokwatt import --format llama-bench --host mini bench.txt",
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if !cmd.Args().Present() {
				return usagef("import needs files: `tokwatt import results.json`")
			}
			if f := cmd.String("format"); f != "" && !slices.Contains(importFormats(), f) {
				return usagef("--format %s: there is no such format; there are %s", f, strings.Join(importFormats(), ", "))
			}
			for _, path := range cmd.Args().Slice() {
				if err := takeable(path, cmd.String("format")); err != nil {
					return err
				}
			}
			db, err := openStore(cmd)
			if err != nil {
				return err
			}
			return a.importAll(ctx, cmd, db)
		},
	}
}

// takeable refuses what can't be imported as the caller's fault.
func takeable(path, format string) error {
	if path == "-" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return usagef("%s can't be read: %v", path, errors.Unwrap(err))
	case !info.IsDir():
		return nil
	case format != "" && format != storeFormat:
		return usagef("%s is a folder, and --format %s is for files", path, format)
	}
	if err := analyze.IsDataset(path); err != nil {
		return usagef("%s is a folder that can't be imported: %w", path, err)
	}
	return nil
}

// importFormats are the names that --format takes.
func importFormats() []string {
	names := []string{storeFormat}
	for _, f := range exchange.Formats() {
		names = append(names, f.Name)
	}
	return names
}

// storeFormat names a store of tokwatt among the formats, datasetFormat the
// folders of archive, which need no name.
const (
	storeFormat   = "tokwatt"
	datasetFormat = "tokwatt-dataset"
)

// importAll takes the files one by one. Each is whole or has its faults told;
// what ends all of it is the store, or the user.
func (a *app) importAll(ctx context.Context, cmd *cli.Command, db *store.Store) error {
	im := &importer{db: db, app: a, label: cmd.String("label"), tags: cmd.StringSlice("tag")}
	if err := im.learn(ctx); err != nil {
		return err
	}
	var files []*importedFile
	var end error
	for _, path := range cmd.Args().Slice() {
		f := &importedFile{File: path, Sessions: []string{}, Duplicates: []string{}, Lost: []string{}, BadRows: []badRow{}}
		files = append(files, f)
		if end = im.file(ctx, cmd, f); end != nil {
			break
		}
		if !cmd.Bool("json") {
			a.printImported(f)
		}
	}
	if next := nextCommand(files); next != "" && !cmd.Bool("json") {
		fmt.Fprintln(a.out, "next: "+next)
	}
	if cmd.Bool("json") {
		if err := a.printJSON(sumImported(files)); err != nil {
			return err
		}
	}
	if end != nil {
		return end
	}
	return verdictOf(files)
}

// nextCommand looks at the session that was imported last: without a request it
// has no summary.
func nextCommand(files []*importedFile) string {
	for _, f := range slices.Backward(files) {
		n := len(f.Sessions)
		switch {
		case n > 0 && f.Rows > 0:
			return "tokwatt summary " + shortID(f.Sessions[n-1])
		case n > 0:
			return "tokwatt show " + shortID(f.Sessions[n-1])
		}
	}
	return ""
}

// importedFile is what became of a file.
type importedFile struct {
	File       string   `json:"file"`
	Format     string   `json:"format"`
	Tool       string   `json:"tool"`
	Version    string   `json:"tool_version"`
	Sessions   []string `json:"sessions"`   // taken in
	Duplicates []string `json:"duplicates"` // were there already
	Rows       int64    `json:"rows"`       // requests taken in
	Lost       []string `json:"lost"`       // why sessions have no requests
	Bad        int64    `json:"bad"`        // rows left out
	BadRows    []badRow `json:"bad_rows"`   // the first of them
	Error      string   `json:"error"`      // why nothing more of it could be read

	alike string // the format of its content, where --format said another
	kept  string // a session that was there and keeps its label and tags, where others were given
}

// badRow is a row that was left out.
type badRow struct {
	Line   int    `json:"line"`  // 0: not told by lines
	Where  string `json:"where"` // "runs[3]"
	Reason string `json:"reason"`
}

// maxBadRows is how many rows of a file are named.
const maxBadRows = 100

// fault takes what went wrong with a row or with the rest of the file.
func (f *importedFile) fault(err error) {
	var row *exchange.RowError
	if !errors.As(err, &row) {
		f.Error = err.Error()
		return
	}
	f.Bad++
	if len(f.BadRows) < maxBadRows {
		f.BadRows = append(f.BadRows, badRow{row.Line, row.Where, row.Reason})
	}
}

// verdictOf is the exit code: 1 where rows are missing, 3 where nothing came of
// any file.
func verdictOf(files []*importedFile) error {
	var rows, bad int64
	known := 0
	for _, f := range files {
		rows += f.Rows
		bad += f.Bad
		known += len(f.Duplicates) + len(f.Sessions)
		if f.Error != "" {
			bad++
		}
	}
	switch {
	case rows == 0 && known == 0:
		return &coded{exitNothing, errors.New("nothing was imported")}
	case bad > 0:
		return &coded{code: exitFailures}
	}
	return nil
}

// sumImported is the document of --json.
func sumImported(files []*importedFile) any {
	sum := struct {
		Files      []*importedFile `json:"files"`
		Sessions   int             `json:"sessions"`
		Duplicates int             `json:"duplicates"`
		Rows       int64           `json:"rows"`
		Bad        int64           `json:"bad"`
	}{Files: files}
	for _, f := range files {
		sum.Sessions += len(f.Sessions)
		sum.Duplicates += len(f.Duplicates)
		sum.Rows += f.Rows
		sum.Bad += f.Bad
	}
	return sum
}

// printImported says what became of a file.
func (a *app) printImported(f *importedFile) {
	name := filepath.Base(f.File)
	if len(f.Sessions) > 0 {
		fmt.Fprintf(a.out, "%s: %s, %s in %s: %s\n", name, said(f), plural(f.Rows, "request"), plural(int64(len(f.Sessions)), "session"), shortIDs(f.Sessions))
	}
	if len(f.Duplicates) > 0 {
		fmt.Fprintf(a.out, "%s: %s already there: %s\n", name, plural(int64(len(f.Duplicates)), "session"), shortIDs(f.Duplicates))
	}
	if f.kept != "" {
		fmt.Fprintf(a.err, "%s: what is there keeps its label and tags: to change them `tokwatt delete %s`, then import again\n", name, shortID(f.kept))
	}
	switch {
	case f.alike != "" && len(f.Sessions)+len(f.Duplicates) == 0:
		fmt.Fprintf(a.err, "%s: nothing in it reads as %s; its content looks like %s: leave --format out\n", name, f.Format, f.alike)
	case len(f.Sessions)+len(f.Duplicates) == 0 && f.Error == "" && f.Bad == 0:
		fmt.Fprintf(a.err, "%s: %s without any result\n", name, said(f))
	}
	for _, why := range f.Lost {
		fmt.Fprintln(a.err, name+": "+harmless(why))
	}
	const shown = 10
	for _, r := range f.BadRows[:min(shown, len(f.BadRows))] {
		fmt.Fprintln(a.err, harmless((&exchange.RowError{File: name, Line: r.Line, Where: r.Where, Reason: r.Reason}).Error()))
	}
	if f.Bad > shown {
		fmt.Fprintf(a.err, "%s: %d more rows left out; --json names up to %d\n", name, f.Bad-shown, maxBadRows)
	}
	if f.Error != "" {
		fmt.Fprintln(a.err, harmless(f.Error))
	}
}

// said names the tool that wrote a file, or the format where that is not known.
func said(f *importedFile) string {
	switch {
	case f.Format == storeFormat:
		return "store of tokwatt"
	case f.Format == datasetFormat:
		return "dataset of tokwatt"
	case f.Tool == "":
		return f.Format
	}
	return strings.TrimSpace(f.Tool + " " + f.Version)
}

// shortIDs are the ids, the first few of many.
func shortIDs(ids []string) string {
	const most = 4
	var out []string
	for _, id := range ids[:min(most, len(ids))] {
		out = append(out, shortID(id))
	}
	if n := len(ids) - most; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, " ")
}

// spooled is stdin as a file that can be read twice.
func spooled(r io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", "tokwatt-import-*")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // gone when it is closed
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
