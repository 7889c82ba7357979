package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/store"
)

// finder finds sessions by prefix, in the store or in --dataset.
func finder(ctx context.Context, cmd *cli.Command) (func(prefix string) (string, error), error) {
	root := cmd.String("dataset")
	if root == "" {
		db, err := openStore(cmd)
		return func(prefix string) (string, error) {
			id, err := db.Find(ctx, prefix)
			if err != nil {
				return "", storeError(err)
			}
			return id, nil
		}, err
	}
	err := isDataset("--dataset", root)
	if err != nil {
		return nil, err
	}
	var known []string // listed once something else than a whole id asks for it
	return func(prefix string) (string, error) {
		if m, err := analyze.ReadManifest(root, prefix); err == nil && m != nil {
			return prefix, nil
		}
		if known == nil {
			if known, err = sessionsOldestFirst(root); err != nil {
				return "", err
			}
		}
		return findIn(known, root, prefix)
	}, nil
}

// findIn finds a session of a dataset as [store.Store.Find] finds one of a
// store; known are its sessions, oldest first.
func findIn(known []string, root, prefix string) (string, error) {
	if len(known) == 0 {
		return "", usagef("--dataset %s: it holds no session", root)
	}
	if back, ok := store.Back(prefix); ok {
		if back >= len(known) {
			return "", usagef("--dataset %s: there is no %s among %s", root, prefix, plural(int64(len(known)), "session"))
		}
		return known[len(known)-1-back], nil
	}
	plain := func(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }
	var found []string
	for _, id := range known {
		if strings.HasPrefix(plain(id), plain(prefix)) {
			found = append(found, id)
		}
	}
	if len(found) != 1 {
		return "", usagef("--dataset %s: %s begin with %s", root, plural(int64(len(found)), "session"), prefix)
	}
	return found[0], nil
}

// sessionsOldestFirst are the ids of a dataset's sessions in the order in which
// a store has them.
func sessionsOldestFirst(root string) ([]string, error) {
	ids, err := analyze.SessionsIn(root)
	if err != nil {
		return nil, err
	}
	places := map[string]time.Time{}
	for _, id := range ids {
		at, ok := startIn(id)
		if !ok {
			at = datedIn(root, id)
		}
		places[id] = at
	}
	slices.Sort(ids)
	slices.SortStableFunc(ids, func(a, b string) int { return places[a].Compare(places[b]) })
	return ids, nil
}

// startIn is the time in an id, a UUIDv7; false where it has none. Imported
// sessions whose start nobody knows have ids of 1970's first minute.
func startIn(id string) (time.Time, bool) {
	if len(id) < 13 {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	return time.UnixMilli(ms), err == nil && ms >= 1<<16
}

// datedIn is when a session of a dataset began, or else when it was imported;
// zero where that can't be read.
func datedIn(root, id string) (at time.Time) {
	files, _, err := analyze.DatasetFiles(root, id)
	if err != nil {
		return at
	}
	i := slices.IndexFunc(files, func(f analyze.DatasetFile) bool { return f.Table == "sessions" })
	if i < 0 {
		return at
	}
	for page, err := range analyze.SessionRows(root, files[i], id, "started_at", "imported_at") {
		for _, name := range []string{"started_at", "imported_at"} {
			if at.IsZero() && err == nil {
				at, _ = page.Column(name).Time(0)
			}
		}
	}
	return at
}
