package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"tokwatt/collect"
	"tokwatt/store"
)

func (a *app) list() *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "the sessions of the store, newest last",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "last", Usage: "`N` only the newest", Validator: atLeast(1)},
			&cli.StringFlag{Name: "tag", Usage: "`TAG` only those that have it"},
			jsonFlag(),
		},
		Metadata: examples("tokwatt list", "tokwatt list --last 1 --json"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArgs(cmd); err != nil {
				return err
			}
			sessions, err := a.sessions(ctx, cmd)
			if err != nil {
				return err
			}
			if cmd.Bool("json") {
				return a.listJSON(sessions)
			}
			if tag := cmd.String("tag"); len(sessions) == 0 && tag != "" {
				fmt.Fprintf(a.err, "no session has the tag %s\n", tag)
				return nil
			}
			if len(sessions) == 0 {
				fmt.Fprintln(a.err, "no sessions yet: `tokwatt collect` makes one, `tokwatt demo` shows how it goes")
				return nil
			}
			return a.listTable(ctx, cmd, sessions)
		},
	}
}

// sessions are those that the flags ask for.
func (a *app) sessions(ctx context.Context, cmd *cli.Command) ([]store.SessionInfo, error) {
	db, err := openStore(cmd)
	if err != nil {
		return nil, err
	}
	all, err := db.Sessions(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	var out []store.SessionInfo
	for _, s := range all {
		if tag := cmd.String("tag"); tag == "" || slices.Contains(s.Session.Tags, tag) {
			out = append(out, s)
		}
	}
	if n := cmd.Int("last"); n > 0 && n < len(out) {
		out = out[len(out)-n:]
	}
	return out, nil
}

func (a *app) listTable(ctx context.Context, cmd *cli.Command, sessions []store.SessionInfo) error {
	db, err := openStore(cmd)
	if err != nil {
		return err
	}
	header := []any{"id", "started", "status", "batches", "requests", "about"}
	var rows [][]string
	var widths [5]int
	for i := range widths {
		widths[i] = widest(header[i].(string))
	}
	for _, s := range sessions {
		row := []string{shortID(s.ID), startedAt(s.Session), state(s), batchesOf(s), strconv.FormatInt(s.Requests, 10),
			strings.TrimSpace(modelsOf(ctx, db, s) + " " + about(s.Session))}
		for i := range widths {
			widths[i] = max(widths[i], widest(row[i]))
		}
		rows = append(rows, row)
	}
	room := columns(a.out) - 2*len(widths) // what the other columns leave
	for _, n := range widths {
		room -= n
	}
	t := newTable(a.out, header...)
	rightAligned(t, 4, 5)
	for _, r := range rows {
		t.AppendRow([]any{r[0], r[1], r[2], r[3], r[4], clip(r[5], max(room, 8))})
	}
	t.Render()
	return nil
}

// columns are those that a table may take: what COLUMNS says, else the
// terminal's, else those of any screen.
func columns(w io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return cmp.Or(terminalWidth(w), screenWidth)
}

// modelsOf names the first model of a session, and how many more there are.
func modelsOf(ctx context.Context, db *store.Store, s store.SessionInfo) string {
	for rec, err := range db.Records(ctx, s.ID) {
		t, ok := rec.(*collect.TargetInfo)
		switch {
		case err != nil:
			return "" // check says what is wrong with it
		case ok && s.Targets > 1:
			return fmt.Sprintf("%s +%d", t.ModelID, s.Targets-1)
		case ok:
			return t.ModelID
		}
	}
	return ""
}

// startedAt is when a session began, in a column. Of an imported one it may not be
// known.
func startedAt(s *collect.Session) string {
	if s.StartedAt.IsZero() {
		return "unknown"
	}
	return local(s.StartedAt)
}

// batchesOf are those that were measured of those that were planned; a file that
// was imported doesn't say what was planned.
func batchesOf(s store.SessionInfo) string {
	n := strconv.FormatInt(s.Batches, 10)
	if s.Session.Imported != nil {
		return n
	}
	return n + "/" + strconv.FormatInt(s.Planned, 10)
}

// origin is where an imported session comes from: tool, version and file. Empty:
// tokwatt measured it.
func origin(s *collect.Session) string {
	o := s.Imported
	if o == nil {
		return ""
	}
	return strings.Join(strings.Fields(o.Tool+" "+o.ToolVersion+" "+o.File), " ")
}

// about is where a session was imported from and what the user said of it.
func about(s *collect.Session) string {
	text := strings.TrimSpace(origin(s) + " " + s.Label)
	for _, tag := range s.Tags {
		text += " #" + tag
	}
	if s.Note != "" {
		text += " " + s.Note
	}
	return text
}

// state is a session's status, for people.
func state(s store.SessionInfo) string {
	if s.End != nil {
		return string(s.End.Status)
	}
	if s.Running {
		return "running"
	}
	return "unfinished"
}

// knownTime is a time, nil where it is not known.
func knownTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (a *app) listJSON(sessions []store.SessionInfo) error {
	type row struct {
		ID        string     `json:"session_id"`
		StartedAt *time.Time `json:"started_at"`
		EndedAt   *time.Time `json:"ended_at"`
		Status    string     `json:"status"`
		Host      string     `json:"host"`
		Planned   int64      `json:"planned_batches"`
		Batches   int64      `json:"batches"`
		Requests  int64      `json:"requests"`
		Label     string     `json:"label"`
		Tags      []string   `json:"tags"`
		Note      string     `json:"note"`
		Origin    string     `json:"imported_from"`
	}
	rows := []row{}
	for _, s := range sessions {
		r := row{ID: s.ID, StartedAt: knownTime(s.Session.StartedAt), Origin: origin(s.Session), Status: state(s), Host: s.Session.Host.Name,
			Planned: s.Planned, Batches: s.Batches, Requests: s.Requests,
			Label: s.Session.Label, Tags: s.Session.Tags, Note: s.Session.Note}
		if s.End != nil {
			r.EndedAt = knownTime(s.End.At)
		}
		rows = append(rows, r)
	}
	return a.printJSON(rows)
}
