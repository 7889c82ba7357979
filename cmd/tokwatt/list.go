package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"tokwatt/collect"
	"tokwatt/store"
)

func (a *app) list() *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "the sessions of the store or of an archive, newest last",
		Flags: []cli.Flag{
			datasetFlag(),
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
			switch tag := cmd.String("tag"); {
			case len(sessions) > 0:
				a.listTable(sessions)
			case tag != "":
				fmt.Fprintf(a.err, "no session has the tag %s\n", tag)
			case cmd.IsSet("dataset"):
				fmt.Fprintf(a.err, "dataset %s holds no session\n", cmd.String("dataset"))
			default:
				fmt.Fprintln(a.err, "no sessions yet: `tokwatt collect` makes one, `tokwatt demo` shows how it goes")
			}
			return nil
		},
	}
}

// listed is a session of a list.
type listed struct {
	store.SessionInfo
	model string // the first; empty where nobody knows
}

// sessions are those that the flags ask for, oldest first.
func (a *app) sessions(ctx context.Context, cmd *cli.Command) ([]listed, error) {
	list := a.storedSessions
	if cmd.IsSet("dataset") {
		list = a.archivedSessions
	}
	all, err := list(ctx, cmd)
	if err != nil {
		return nil, err
	}
	var out []listed
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

// storedSessions are those of the store.
func (a *app) storedSessions(ctx context.Context, cmd *cli.Command) ([]listed, error) {
	db, err := openStore(cmd)
	if err != nil {
		return nil, err
	}
	all, err := db.Sessions(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	var out []listed
	for _, s := range all {
		out = append(out, listed{s, firstModel(ctx, db, s.ID)})
	}
	return out, nil
}

// firstModel is that of a session's first target.
func firstModel(ctx context.Context, db *store.Store, id string) string {
	for rec, err := range db.Records(ctx, id) {
		if err != nil {
			break // check says what is wrong with it
		}
		if t, ok := rec.(*collect.TargetInfo); ok {
			return t.ModelID
		}
	}
	return ""
}

// knownTime is a time, nil where it is not known.
func knownTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (a *app) listJSON(sessions []listed) error {
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
		r := row{ID: s.ID, StartedAt: knownTime(s.Session.StartedAt), Origin: origin(s.Session), Status: state(s.SessionInfo), Host: s.Session.Host.Name,
			Planned: s.Planned, Batches: s.Batches, Requests: s.Requests,
			Label: s.Session.Label, Tags: append([]string{}, s.Session.Tags...), Note: s.Session.Note}
		if s.End != nil {
			r.EndedAt = knownTime(s.End.At)
		}
		rows = append(rows, r)
	}
	return a.printJSON(rows)
}
