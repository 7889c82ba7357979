package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/collect"
	"tokwatt/collect/exchange"
	"tokwatt/store"
)

func (a *app) show() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "one session in full: what was measured, and what went wrong",
		ArgsUsage: "[ID|last]",
		Description: `A session is named by the beginning of its id, here and wherever an ID is asked
for. last is the newest and last~1 the one before it, by the clock of the host
that measured; of an imported session without a start, by its import.`,
		Flags:    []cli.Flag{datasetFlag(), jsonFlag()},
		Metadata: examples("tokwatt show last", "tokwatt show --json last"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			s, err := sessionToShow(ctx, cmd)
			if err != nil {
				return err
			}
			if cmd.Bool("json") {
				return a.printJSON(s)
			}
			a.printShown(s)
			return nil
		},
	}
}

// oneSession is the store, and in it the session that the command's argument
// names; the newest without one.
func oneSession(ctx context.Context, cmd *cli.Command) (*store.Store, string, error) {
	db, err := openStore(cmd)
	if err != nil {
		return nil, "", err
	}
	if cmd.Args().Len() > 1 {
		return nil, "", usagef("%s takes one session", cmd.Name)
	}
	id, err := db.Find(ctx, cmp.Or(cmd.Args().First(), store.Last))
	if err != nil {
		return nil, "", storeError(err)
	}
	return db, id, nil
}

// sessionToShow reads the session that the argument names, of the store or of
// --dataset.
func sessionToShow(ctx context.Context, cmd *cli.Command) (*shown, error) {
	root := cmd.String("dataset")
	if root == "" {
		db, id, err := oneSession(ctx, cmd)
		if err != nil {
			return nil, err
		}
		return readShown(ctx, id, db.Records(ctx, id))
	}
	if cmd.Args().Len() > 1 {
		return nil, usagef("%s takes one session", cmd.Name)
	}
	find, err := finder(ctx, cmd)
	if err != nil {
		return nil, err
	}
	id, err := find(cmp.Or(cmd.Args().First(), store.Last))
	if err != nil {
		return nil, err
	}
	s, err := readShown(ctx, id, exchange.DatasetSession(ctx, root, id))
	if err != nil {
		return nil, err
	}
	if len(s.Lost) == 0 {
		s.Lost = nil // tables of older versions don't have it
	}
	if last := len(s.Segments) - 1; s.End != nil && last >= 0 {
		s.End.NotRun = cmp.Or(s.End.NotRun, max(0, s.Segments[last].PlannedBatches-s.measured))
	}
	return s, nil
}

// shown is a session as show prints it.
type shown struct {
	Session  *collect.Session      `json:"session"`
	Segments []*collect.Segment    `json:"segments"`
	End      *collect.End          `json:"end"`
	Targets  []*collect.TargetInfo `json:"targets"`
	Cases    []*caseFigures        `json:"cases"`
	Failures []tally               `json:"failures"`
	Flags    []tally               `json:"flags"`
	Stamps   []tally               `json:"stamps"` // who stamped the arrivals, in requests
	Memory   []*peakMemory         `json:"peak_memory"`
	Sensors  []*collect.Sensors    `json:"sensors"`
	NoEnergy []tally               `json:"energy_null_reasons"` // in batches
	Damaged  []string              `json:"damaged"`
	Lost     []*collect.Lost       `json:"lost"` // what was not measured, or not to its end

	closing  closing // of the same records
	measured int64   // batches of the last segment, without warm-ups
}

// tally is how often something happened.
type tally struct {
	What string `json:"what"`
	N    int64  `json:"n"`
}

func count1(list []tally, what string) []tally {
	i := slices.IndexFunc(list, func(t tally) bool { return t.What == what })
	if i < 0 {
		return append(list, tally{what, 1})
	}
	list[i].N++
	return list
}

// readShown reads a session through, once.
func readShown(ctx context.Context, id string, records iter.Seq2[collect.Record, error]) (*shown, error) {
	s := &shown{Failures: []tally{}, Flags: []tally{}, Stamps: []tally{}, Memory: []*peakMemory{}, Sensors: []*collect.Sensors{}, NoEnergy: []tally{}, Damaged: []string{}, Lost: []*collect.Lost{}}
	c := &s.closing
	c.watch = s.note
	cases := map[int64]int64{} // the target of each
	for rec, err := range records {
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			s.Damaged = append(s.Damaged, err.Error())
			continue
		}
		c.add(rec)
		switch rec := rec.(type) {
		case *collect.Session:
			s.Session = rec
		case *collect.Segment:
			s.Segments, s.measured = append(s.Segments, rec), 0
		case *collect.TargetInfo:
			old := func(t *collect.TargetInfo) bool { return t.TargetID == rec.TargetID } // of an earlier segment
			s.Targets = append(slices.DeleteFunc(s.Targets, old), rec)
		case *collect.Sensors:
			s.Sensors = append(s.Sensors, rec)
		case *collect.Case:
			cases[rec.CaseID] = rec.TargetID
		case *collect.Batch:
			s.batch(cases[rec.CaseID], rec)
			if !rec.Warmup {
				s.measured++
			}
		case *collect.End:
			s.End = rec
		}
	}
	if s.Session == nil {
		return nil, &coded{exitStore, fmt.Errorf("session %s can't be read: %s", shortID(id), cmp.Or(strings.Join(s.Damaged, "; "), "`tokwatt check` says why"))}
	}
	c.finish()
	s.Cases, s.Lost = c.cases, append(s.Lost, c.lost...)
	return s, nil
}

// note counts what is remarkable about a batch and its rows.
func (s *shown) note(d *analyze.Derived) {
	if why := d.Row.EnergyNullReason; why != "" {
		s.NoEnergy = count1(s.NoEnergy, why)
	}
	for _, r := range d.Requests {
		if r.ErrorKind != "" {
			s.Failures = count1(s.Failures, r.ErrorKind+": "+r.Error)
		}
		for _, f := range r.Flags {
			s.Flags = count1(s.Flags, f)
		}
	}
}

func (a *app) printShown(s *shown) {
	line := func(name, format string, args ...any) { labelled(a.out, name, fmt.Sprintf(format, args...)) }
	h := s.Session.Host
	line("session", "%s", s.Session.ID)
	line("started", "%s", startedAt(s.Session))
	if o := s.Session.Imported; o != nil {
		line("imported", "%s  on %s: its figures are that tool's", origin(s.Session), local(o.ImportedAt))
	}
	if s.End != nil && s.End.At.IsZero() {
		line("ended", "unknown  %s", s.End.Status)
	} else if s.End != nil {
		line("ended", "%s  %s", local(s.End.At), s.End.Status)
		if s.End.NotRun > 0 {
			line("not run", "%s", plural(s.End.NotRun, "batch"))
		}
	} else {
		line("ended", "not yet, or its process died")
	}
	line("host", "%s  %s %s  %s %s", h.Name, h.Chip, h.Model, h.OSName, h.OSVersion)
	line("label", "%s", s.Session.Label)
	line("tags", "%s", strings.Join(s.Session.Tags, ", "))
	line("note", "%s", s.Session.Note)
	line("options", "%s", spaced(s.Session.Options))
	for _, t := range s.Targets {
		line("target", "%s  %s %s  %s %s  %s", t.ModelID, t.Engine, t.EngineVersion, t.ModelFormat, t.Quantization, t.Endpoint)
		line("placement", "%s", placement(t.Sharding, t.InstanceMeta, t.Nodes))
		line("capacity", "%s", capacity(t))
		line("memory", "%s", s.memory(t.TargetID))
		line("sampling", "%s", spaced(t.Sampling))
	}
	line("stamps", "%s", stampers(s.Stamps))
	a.printSensors(s)
	fmt.Fprintln(a.out)
	s.closing.write(a.out)
	writeAverages(a.out, s.Session, s.closing.requests)
	a.printTally("failures", s.Failures)
	a.printTally("flags", s.Flags)
	for _, d := range s.Damaged {
		line("damaged", "%s", d)
	}
}

// printSensors says what was read, and why batches have no energy.
func (a *app) printSensors(s *shown) {
	lines := sensorLines(s.Sensors)
	for _, t := range s.NoEnergy {
		lines = append(lines, unpowered(t.N, t.What))
	}
	for i, text := range lines {
		labelled(a.out, []string{"sensors", ""}[min(i, 1)], text)
	}
}

// labelled prints a text behind its name, in lines that fit a screen; an empty
// one not at all.
func labelled(w io.Writer, name, text string) {
	const indent = "          "
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	lines := strings.Split(folded(indent+text), "\n")
	for i := range lines[1:] {
		lines[i+1] = strings.TrimPrefix(lines[i+1], "  ") // a line of its own is indented enough
	}
	fmt.Fprintf(w, "%-10s%s\n", name, strings.TrimPrefix(strings.Join(lines, "\n"), indent))
}

// spaced lets JSON break into lines.
func spaced(json string) string {
	return strings.NewReplacer(`,"`, `, "`, `,{`, `, {`, `,[`, `, [`).Replace(json)
}

func (a *app) printTally(title string, list []tally) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(a.out)
	t := newTable(a.out, "n", title)
	wrapped(t, 2, 70)
	for _, e := range list {
		what := e.What
		if m := meaning(what); m != "" {
			what += ": " + m
		}
		t.AppendRow([]any{e.N, what})
	}
	t.Render()
}

// meaning explains a flag; empty for what is none.
func meaning(flag string) string {
	for _, f := range analyze.Flags() {
		if f.Name == flag {
			return f.Meaning
		}
	}
	return ""
}
