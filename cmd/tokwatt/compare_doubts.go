package main

import (
	"context"
	"fmt"
	"slices"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
)

// doubtful are the flags that a difference may come from, of requests that are
// in the figures.
var doubtful = []string{"client_saturated", "throttled", "clock_step", "queued", "model_mismatch", "count_mismatch"}

// doubtfulPower are such flags of what is measured in watts and joules.
var doubtfulPower = []string{"few_power_samples", "component_above_system"}

// doubts has a sentence for each such flag of a side: how many of its requests
// bear it and what it means.
func doubts(ctx context.Context, db *duck.DB, ids []string, sides [2]analyze.Selected, metrics []analyze.Metric) ([]string, error) {
	wanted := doubtful
	if slices.ContainsFunc(metrics, func(m analyze.Metric) bool { return m.Source == "power" }) {
		wanted = slices.Concat(wanted, doubtfulPower)
	}
	counts := map[string]int64{} // by side and flag
	err := eachTarget(ctx, db, "select session_id, target_id, case_id, flag, count(*) from "+
		"(select session_id, target_id, case_id, unnest(flags) as flag from runs where in_stats and "+ofSessions(ids)+") "+
		"where flag in "+sqlWords(wanted)+" group by all", func(key targetKey, row []any) {
		caseID, _ := row[0].(int64)
		flag, _ := row[1].(string)
		n, _ := row[2].(int64)
		for i, side := range sides {
			if hasCase(side.Rows, key.session, caseID) {
				counts["AB"[i:i+1]+flag] += n
			}
		}
	})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range analyze.Flags() {
		for _, side := range []string{"A", "B"} {
			if n := counts[side+f.Name]; n > 0 {
				out = append(out, fmt.Sprintf("%s: %s with %s: %s", side, plural(n, "request"), f.Name, f.Meaning))
			}
		}
	}
	return out, nil
}

// addSettings puts the settings of their target into the keys of the rows.
func addSettings(ctx context.Context, db *duck.DB, ids []string, sides [2]analyze.Selected) error {
	settings := map[targetKey]string{}
	err := eachTarget(ctx, db, "select session_id, target_id, sampling_json from targets where "+ofSessions(ids), func(key targetKey, row []any) {
		settings[key], _ = row[0].(string)
	})
	for _, side := range sides {
		for _, r := range side.Rows {
			r.Keys["sampling_json"] = settings[targetKey{r.SessionID, r.TargetID}]
		}
	}
	return err
}

// losses counts the batches of each side that lost requests, in the cases of both.
func losses(ctx context.Context, db *duck.DB, ids []string, set *analyze.CompareSet) (analyze.Losses, error) {
	var out analyze.Losses
	a, b := set.Matched()
	err := eachTarget(ctx, db, "select session_id, target_id, case_id, count(*), count(*) filter (where failed > 0) from batch_runs where "+
		ofSessions(ids)+" group by all", func(key targetKey, row []any) {
		caseID, _ := row[0].(int64)
		batches, _ := row[1].(int64)
		failed, _ := row[2].(int64)
		if hasCase(a, key.session, caseID) {
			out.A.Batches, out.A.Failed = out.A.Batches+batches, out.A.Failed+failed
		}
		if hasCase(b, key.session, caseID) {
			out.B.Batches, out.B.Failed = out.B.Batches+batches, out.B.Failed+failed
		}
	})
	return out, err
}

func hasCase(rows []analyze.Summary, session string, caseID int64) bool {
	return slices.ContainsFunc(rows, func(r analyze.Summary) bool { return r.SessionID == session && r.CaseID == caseID })
}
