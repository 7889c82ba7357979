package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"tokwatt/collect"
	"tokwatt/store"
)

// archivedSQL counts of each session what a store's summary of it has.
const archivedSQL = `
with last as (
  select session_id, max(segment) as segment, max_by(planned_batches, segment) as planned from segments group by session_id
), runs_of as (
  select session_id, segment, count(*) filter (not warmup) as batches, sum(requests) as requests from batches group by session_id, segment
), done as (
  select r.session_id, sum(r.batches)::bigint as batches, coalesce(sum(r.batches) filter (r.segment < l.segment), 0)::bigint as earlier,
    sum(r.requests)::bigint as requests
  from runs_of r join last l on r.session_id = l.session_id group by r.session_id
), asked as (
  select session_id, count(*) as targets, min_by(model_id, target_id) as model from targets group by session_id
)
select s.session_id, s.host, s.started_at, s.ended_at, s.status, s.label, s.tags, s.note,
  s.import_format, s.import_tool, s.import_tool_version, s.import_file, s.imported_at,
  done.batches, done.requests, last.planned + coalesce(done.earlier, 0) as planned, asked.targets, asked.model
from sessions s
left join last on s.session_id = last.session_id
left join done on s.session_id = done.session_id
left join asked on s.session_id = asked.session_id`

// archivedSessions are those of --dataset, in the order of a store.
func (a *app) archivedSessions(ctx context.Context, cmd *cli.Command) ([]listed, error) {
	ids, err := newestIn(cmd)
	if err != nil {
		return nil, err
	}
	db, done, err := a.sql(ctx, cmd, ids...)
	if err != nil {
		return nil, err
	}
	found, err := askAll(ctx, db, archivedSQL)
	if err := errors.Join(err, done()); err != nil {
		return nil, err
	}
	var out []listed
	for i := range found.rows {
		out = append(out, archivedSession(found, i))
	}
	slices.SortFunc(out, func(a, b listed) int {
		return cmp.Or(placeOf(a.Session).Compare(placeOf(b.Session)), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// newestIn are the sessions of --dataset that --last asks for, of which alone
// SQL then reads the files; nil where they are not known before all are read.
func newestIn(cmd *cli.Command) ([]string, error) {
	n, root := cmd.Int("last"), cmd.String("dataset")
	if n == 0 || cmd.String("tag") != "" || isDataset("--dataset", root) != nil {
		return nil, nil
	}
	ids, err := sessionsOldestFirst(root)
	return ids[max(0, len(ids)-n):], err
}

// placeOf is the time by which a session is older or newer than others.
func placeOf(s *collect.Session) time.Time {
	if at, ok := startIn(s.ID); ok {
		return at
	}
	return dated(s)
}

// archivedSession reads a row of archivedSQL.
func archivedSession(a answer, row int) listed {
	text := func(name string) string { return a.text(row, name) }
	number := func(name string) int64 { n, _ := a.value(row, name).(int64); return n }
	at := func(name string) time.Time { t, _ := a.value(row, name).(time.Time); return t }
	s := &collect.Session{
		ID: text("session_id"), StartedAt: at("started_at"), Host: collect.Host{Name: text("host")}, Label: text("label"), Note: text("note"),
	}
	tags, _ := a.value(row, "tags").([]any)
	for _, tag := range tags {
		s.Tags = append(s.Tags, valueText(tag))
	}
	if format := text("import_format"); format != "" {
		s.Imported = &collect.Origin{Format: format, Tool: text("import_tool"), ToolVersion: text("import_tool_version"), File: text("import_file"), ImportedAt: at("imported_at")}
	}
	l := listed{model: text("model"), SessionInfo: store.SessionInfo{
		ID: s.ID, Session: s, Targets: number("targets"), Planned: number("planned"), Batches: number("batches"), Requests: number("requests"),
	}}
	// One whose process died is archived as interrupted, without an end.
	status := collect.SessionStatus(text("status"))
	if ended := at("ended_at"); !ended.IsZero() || s.Imported != nil || status != "" && status != collect.StatusInterrupted {
		l.End = &collect.End{At: ended, Status: status}
	}
	return l
}
