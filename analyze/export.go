package analyze

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"tokwatt/collect"
)

// ExportOptions says how a session is written.
type ExportOptions struct {
	// Sync waits until the files are on the disk, as an archive should; a
	// dataset that can be made again need not.
	Sync bool
	// Records is the caller's count of the session's records: it grows with
	// each that is stored. It goes into the manifest, which so tells whether
	// the session went on since.
	Records int64
	// Dead says that the process that measured the session is gone. A session
	// without an end was then interrupted, though nobody knows when; else it
	// still runs, and has no status.
	Dead bool

	step func(what string) error // of dataset
}

// Exported says what an export wrote.
type Exported struct {
	SessionID string
	Host      string
	Date      string           // UTC, YYYY-MM-DD
	Files     []string         // below the root, one a table
	Rows      map[string]int64 // by table
	Damaged   int64            // records that could not be written
	Errors    []error          // why, for the first of them
}

var errNoSession = errors.New("the session's own record is missing or damaged, so its rows have no place: run check on the store")

// maxErrors is how many reasons Exported keeps.
const maxErrors = 20

// Export writes the records of one session as a Parquet dataset:
//
//	ROOT/table=T/host=H/date=D/SESSION.parquet
//
// for each of the [Tables], and a [Manifest] of them. host (escaped as Hive does) and date, the start of
// the session in UTC, are columns of every table, but stand in the path alone.
// The session's record comes first; the others as they were recorded, a case
// and a target before the batches that belong to them.
//
// An error item of recs is a damaged record: it is counted and reported in
// Exported, and the rest goes in, but for the batches of a damaged case or
// target. The error is for what stops the export: no session, a full disk, the
// context. Then no table has a file of the session.
//
// Memory does not grow with the session: some hundred batches are held at a
// time and the readings that their energy needs (see [Deriver]), of each table
// one row group, compressed, and all targets. A record must not be changed once
// it was yielded. Exporting a session again replaces its files; the same
// records give the same bytes.
func Export(ctx context.Context, recs iter.Seq2[collect.Record, error], root string, opts ExportOptions) (Exported, error) {
	x := exporter{root: root, opts: opts, deriver: NewDeriver()}
	err := x.run(ctx, recs)
	if err != nil {
		x.abandon()
		return x.done, fmt.Errorf("export to %s: %w", root, err)
	}
	return x.done, nil
}

// exporter is one run of Export.
type exporter struct {
	root    string
	opts    ExportOptions
	done    Exported
	session SessionRow
	host    string // of the session
	deriver *Deriver
	targets []*collect.TargetInfo // their power is known in the end
	parts   []*segmentFacts       // in order, with what their rows have of later records
	files   fileSet
	tables  *sessionTables // nil until the session is known
	chunks  *chunkWriter   // as tables
}

func (x *exporter) run(ctx context.Context, recs iter.Seq2[collect.Record, error]) error {
	for rec, err := range recs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			x.damaged(err)
			continue
		}
		if err := x.record(rec); err != nil {
			return err
		}
	}
	if x.tables == nil {
		return errNoSession
	}
	if x.session.Status == "" && x.opts.Dead {
		x.session.Status = string(collect.StatusInterrupted)
	}
	if err := x.finish(); err != nil {
		return err
	}
	if err := cmp.Or(x.chunks.close(), x.tables.close()); err != nil {
		return err
	}
	x.done.Rows = x.tables.rows()
	m := &Manifest{SessionID: x.done.SessionID, Schema: SchemaVersion, Formula: FormulaVersion, Records: x.opts.Records}
	return x.files.publish(ctx, m, x.done.Rows)
}

// finish writes what is known only in the end.
func (x *exporter) finish() error {
	if err := x.derived(x.deriver.Finish()); err != nil {
		return err
	}
	for _, p := range x.parts {
		if err := x.tables.segments.add(p.row(x.done.SessionID)); err != nil {
			return err
		}
	}
	for _, t := range x.targets {
		row := TargetRow{SessionID: x.done.SessionID, TargetInfo: *t}
		row.PowerWatts, row.PowerScope, row.IdleWatts = x.deriver.TargetPower(t.TargetID)
		if t.StatedPowerW != nil && row.PowerWatts == nil {
			row.PowerWatts, row.PowerScope = figure(t.StatedPowerW), t.StatedPowerScope
		}
		if err := x.tables.targets.add(row); err != nil {
			return err
		}
	}
	return x.tables.sessions.add(x.session)
}

// abandon leaves no trace of an export that failed.
func (x *exporter) abandon() {
	if x.chunks != nil {
		x.chunks.close() // it still writes to a file that is about to go
	}
	x.files.abandon()
}

func (x *exporter) damaged(err error) {
	x.done.Damaged++
	if len(x.done.Errors) < maxErrors {
		x.done.Errors = append(x.done.Errors, err)
	}
}

// record writes one record and what it completes. The error is for what ends
// the export.
func (x *exporter) record(rec collect.Record) error {
	if s, ok := rec.(*collect.Session); ok {
		if err := x.begin(s); err != nil {
			return err
		}
	}
	if x.tables == nil {
		return errNoSession
	}
	ready, err := x.deriver.Add(rec)
	if err != nil {
		x.damaged(err)
	}
	if err := x.derived(ready); err != nil {
		return err
	}
	return x.written(rec)
}

// written writes the records that are rows as they are.
func (x *exporter) written(rec collect.Record) error {
	t, id := x.tables, x.done.SessionID
	switch rec := rec.(type) {
	case *collect.Session, *collect.Idle, *collect.Batch: // nothing beside what is derived
	case *collect.Segment: // a session that goes on after an end has not ended
		x.session.EndedAt, x.session.Status, x.session.NotRun = time.Time{}, "", nil
		x.parts = append(x.parts, &segmentFacts{segment: rec})
	case *collect.Sensors:
		if p := x.part(rec.Segment); p != nil {
			p.sensors = append(p.sensors, rec)
		}
	case *collect.Lost:
		if p := x.part(rec.Segment); p != nil {
			p.lost = append(p.lost, rec)
		}
	case *collect.TargetInfo:
		x.target(rec)
	case *collect.Case:
		return t.cases.add(CaseRow{SessionID: id, Case: *rec})
	case *collect.Samples:
		return x.readings(rec)
	case *collect.End:
		x.session.EndedAt, x.session.Status, x.session.NotRun = rec.At, string(rec.Status), &rec.NotRun
	default:
		x.damaged(fmt.Errorf("a record of unknown kind %T", rec))
	}
	return nil
}

// part is the segment that a record belongs to; nil, and the record damaged,
// where the segment's own is missing.
func (x *exporter) part(segment int64) *segmentFacts {
	for _, p := range x.parts {
		if p.segment.Segment == segment {
			return p
		}
	}
	x.damaged(fmt.Errorf("a record belongs to segment %d, whose record is missing", segment))
	return nil
}

// target keeps the newest record of each target.
func (x *exporter) target(t *collect.TargetInfo) {
	same := func(old *collect.TargetInfo) bool { return old.TargetID == t.TargetID }
	if i := slices.IndexFunc(x.targets, same); i >= 0 {
		x.targets[i] = t
		return
	}
	x.targets = append(x.targets, t)
}

// begin opens the files of the session.
func (x *exporter) begin(s *collect.Session) error {
	if x.tables != nil {
		return fmt.Errorf("the records of session %s follow: export one session at a time", s.ID)
	}
	p, err := partitionOf(s)
	if err != nil {
		return err
	}
	x.session, x.host = sessionRow(s), s.Host.Name
	x.done.SessionID, x.done.Host, x.done.Date = p.session, p.host, p.date
	x.files = fileSet{dataset: dataset{x.root, x.opts.Sync, x.opts.step}, partition: p}
	tables, err := openTables(&x.files)
	if err != nil {
		return err
	}
	x.tables, x.chunks = tables, newChunkWriter(tables.chunks, s.ID)
	for _, f := range x.files.files {
		x.done.Files = append(x.done.Files, p.path(f.table))
	}
	return nil
}

// derived writes batches that are complete.
func (x *exporter) derived(ready []Derived) error {
	for i := range ready {
		r := &ready[i]
		if err := x.tables.energy.add(r.Energy...); err != nil {
			return err
		}
		if r.Batch == nil {
			continue
		}
		if err := x.tables.batches.add(r.Row); err != nil {
			return err
		}
		if err := x.tables.requests.add(r.Requests...); err != nil {
			return err
		}
		if err := x.chunks.add(r.Batch); err != nil {
			return err
		}
	}
	return nil
}

func (x *exporter) readings(s *collect.Samples) error {
	for _, r := range s.Samples {
		r.Node = cmp.Or(r.Node, x.host)
		if err := x.tables.samples.add(SampleRow{SessionID: x.done.SessionID, Segment: s.Segment, Sample: r}); err != nil {
			return err
		}
	}
	return nil
}

func sessionRow(s *collect.Session) SessionRow {
	row := SessionRow{
		SessionID:   s.ID,
		StartedAt:   s.StartedAt,
		HWChip:      s.Host.Chip,
		HWModel:     s.Host.Model,
		CPUCores:    s.Host.CPUCores,
		GPUCores:    s.Host.GPUCores,
		RAMBytes:    s.Host.RAMBytes,
		OSName:      s.Host.OSName,
		OSVersion:   s.Host.OSVersion,
		PowerMode:   s.Host.PowerMode,
		OnBattery:   s.Host.OnBattery,
		Profile:     s.Profile,
		OptionsJSON: s.Options,
		Label:       s.Label,
		Tags:        s.Tags,
		Note:        s.Note,

		ClientCalibrationJSON: s.Calibration,
	}
	if o := s.Imported; o != nil {
		row.ImportFormat, row.ImportTool, row.ImportToolVersion = o.Format, o.Tool, o.ToolVersion
		row.ImportFile, row.ImportHash, row.ImportedAt, row.ImportExtraJSON = o.File, o.Hash, o.ImportedAt, o.Extra
	}
	return row
}
