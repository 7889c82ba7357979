package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/collect"
	"tokwatt/store"
)

// somethingMeasured refuses sessions of the store in none of which anything was
// measured, with the reasons and the newest session that has figures. Those of
// a dataset, one that is still measuring and one that was imported without
// single requests say for themselves what they have.
func somethingMeasured(ctx context.Context, cmd *cli.Command, ids ...string) error {
	if cmd.String("dataset") != "" {
		return nil
	}
	db, err := openStore(cmd)
	if err != nil {
		return err
	}
	all, err := db.Sessions(ctx)
	if err != nil {
		return nil // of a damaged store nobody knows what there was
	}
	var empty []string
	newest := ""
	for _, s := range all {
		ours := slices.Contains(ids, s.ID)
		switch {
		case ours && (s.Batches > 0 || s.Running || s.Session.Imported != nil):
			return nil
		case ours:
			empty = append(empty, fmt.Sprintf("session %s (%s)", shortID(s.ID), whyNothing(ctx, db, s)))
		case s.Batches > 0:
			newest = "; the newest session with figures is " + shortID(s.ID)
		}
	}
	if len(empty) == 0 {
		return nil
	}
	return &coded{exitNothing, fmt.Errorf("nothing was measured in %s%s", strings.Join(empty, ", "), newest)}
}

// whyNothing is why a session ended without a batch.
func whyNothing(ctx context.Context, db *store.Store, s store.SessionInfo) string {
	var c closing
	for rec, err := range db.Records(ctx, s.ID) {
		if l, ok := rec.(*collect.Lost); ok && err == nil {
			c.lost = append(c.lost, l)
		}
	}
	if why := c.unmeasured(); len(why) > 0 {
		return strings.Join(why, "; ")
	}
	return state(s) + " before the first batch had ended"
}
