package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/collect"
	"tokwatt/collect/exchange"
	"tokwatt/store"
)

// attempt is a session, in which nothing may have been measured.
type attempt struct {
	id       string
	measured func() bool // it has a batch
	// speaks is of one that says for itself what it has: it is still measuring,
	// or was imported without single requests.
	speaks func() bool
	why    func() string // why it ended without a batch
}

// somethingMeasured refuses sessions in none of which anything was measured,
// with the reasons and the newest session that has figures.
func somethingMeasured(ctx context.Context, cmd *cli.Command, ids ...string) error {
	if root := cmd.String("dataset"); root != "" && slices.ContainsFunc(ids, func(id string) bool { return batchesIn(root, id) }) {
		return nil // the thousand others need no look
	}
	all, err := attempts(ctx, cmd)
	if err != nil {
		return err
	}
	var empty []string
	for _, s := range all {
		if !slices.Contains(ids, s.id) {
			continue
		}
		if s.measured() || s.speaks() {
			return nil
		}
		empty = append(empty, fmt.Sprintf("session %s (%s)", shortID(s.id), s.why()))
	}
	if len(empty) == 0 {
		return nil
	}
	newest := ""
	for _, s := range slices.Backward(all) {
		if !slices.Contains(ids, s.id) && s.measured() {
			newest = "; the newest session with figures is " + shortID(s.id)
			break
		}
	}
	return &coded{exitNothing, fmt.Errorf("nothing was measured in %s%s", strings.Join(empty, ", "), newest)}
}

// attempts are the sessions of the store or of --dataset, oldest first; of a
// damaged store nobody knows what there was.
func attempts(ctx context.Context, cmd *cli.Command) ([]attempt, error) {
	if root := cmd.String("dataset"); root != "" {
		return archivedAttempts(ctx, root)
	}
	db, err := openStore(cmd)
	if err != nil {
		return nil, err
	}
	all, err := db.Sessions(ctx)
	if err != nil {
		return nil, nil
	}
	var out []attempt
	for _, s := range all {
		out = append(out, attempt{
			id: s.ID, measured: func() bool { return s.Batches > 0 }, speaks: func() bool { return s.Running || s.Session.Imported != nil },
			why: func() string { return whyNothing(db.Records(ctx, s.ID)) },
		})
	}
	return out, nil
}

func archivedAttempts(ctx context.Context, root string) ([]attempt, error) {
	ids, err := sessionsOldestFirst(root)
	if err != nil {
		return nil, err
	}
	var out []attempt
	for _, id := range ids {
		records := exchange.DatasetSession(ctx, root, id)
		out = append(out, attempt{id, func() bool { return batchesIn(root, id) }, func() bool { return !ownAndOver(records) }, func() string { return whyNothing(records) }})
	}
	return out, nil
}

// batchesIn reports whether a session of a dataset has a batch; one whose files
// can't be read may have.
func batchesIn(root, id string) bool {
	files, _, err := analyze.DatasetFiles(root, id)
	if err != nil {
		return true
	}
	for _, f := range files {
		if f.Table != "batches" {
			continue
		}
		for range analyze.SessionRows(root, f, id, "session_id") {
			return true
		}
	}
	return false
}

// ownAndOver reports whether tokwatt measured the session and it has ended, or
// its process died: the records of one that still runs are not to be had.
func ownAndOver(records iter.Seq2[collect.Record, error]) bool {
	for rec, err := range records {
		s, ok := rec.(*collect.Session)
		return err == nil && ok && s.Imported == nil
	}
	return false
}

// whyNothing is why a session ended without a batch.
func whyNothing(records iter.Seq2[collect.Record, error]) string {
	var lost []*collect.Lost
	var info store.SessionInfo
	for rec, err := range records {
		switch r := rec.(type) {
		case *collect.Lost:
			if err == nil {
				lost = append(lost, r)
			}
		case *collect.Segment:
			info.End = nil // it went on
		case *collect.End:
			info.End = r
		}
	}
	if why := unmeasured(lost); len(why) > 0 {
		return strings.Join(why, "; ")
	}
	return state(info) + " before the first batch had ended"
}

// lostIn is what the rows of table segments say was not measured.
func lostIn(segments answer) ([]*collect.Lost, error) {
	var out []*collect.Lost
	var faults []error
	for i := range segments.rows {
		n, _ := segments.value(i, "segment").(int64)
		lost, err := analyze.LostOf(n, segments.text(i, "lost_json"))
		out, faults = append(out, lost...), append(faults, err)
	}
	return out, errors.Join(faults...)
}
