package main

import (
	"context"
	"slices"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
)

// statedRates are the rates of which a file may state the spread.
var statedRates = []string{"prompt_tps", "generation_tps", "mixed_tps"}

// addStated gives summaries the spread that an imported file states, where it
// has the mean of several runs and not the runs: a figure of one row has none of
// our own. The mean is then the row's figure.
func addStated(ctx context.Context, db *duck.DB, ids []string, all []analyze.Summary) error {
	type key struct {
		session string
		case_   int64
	}
	if !slices.ContainsFunc(all, func(s analyze.Summary) bool { return s.Keys["import_tool"] != "" }) {
		return nil
	}
	stated := map[key]*float64{}
	err := eachTarget(ctx, db, "select session_id, target_id, case_id, max(stated_sd) from runs where "+ofSessions(ids)+
		" and stated_sd is not null group by session_id, target_id, case_id having count(*) = 1", func(t targetKey, row []any) {
		id, _ := row[0].(int64)
		if sd, ok := row[1].(float64); ok {
			stated[key{t.session, id}] = &sd
		}
	})
	if err != nil {
		return err
	}
	for _, s := range all {
		sd, has := stated[key{s.SessionID, s.CaseID}]
		for _, rate := range statedRates {
			stat := s.Stats[rate]
			if has && stat.N == 1 && stat.SD == nil {
				stat.Mean, stat.SD = stat.Median, sd
				s.Stats[rate] = stat
			}
		}
	}
	return nil
}

// statedSpread says whose the spread of a single row is.
func statedSpread(rows []analyze.Summary) []string {
	if slices.ContainsFunc(rows, func(s analyze.Summary) bool {
		return slices.ContainsFunc(statedRates, func(rate string) bool { return s.Stats[rate].N == 1 && s.Stats[rate].SD != nil })
	}) {
		return []string{"±sd where n is 1: as the file states it, of the runs that its figure is the mean of"}
	}
	return nil
}
