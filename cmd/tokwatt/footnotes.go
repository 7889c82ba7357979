package main

import (
	"context"
	"fmt"
	"strings"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
)

// remark is a reason why rows are not in the figures, or are there with a
// caveat: the rows it holds for, and what it says of them.
type remark struct{ where, says string }

var remarks = []remark{
	{"status = 'failed' and error_kind <> 'cancelled'", "failed: in no figure; `tokwatt show` has the reasons"},
	{"error_kind = 'cancelled'", "cancelled by you: in no figure"},
	{"status = 'invalid'", "with figures that contradict each other: in none"},
	{"status = 'ok' and array_contains(flags, 'short_output')", "ended before the wanted length: in no figure; see --tokenizer"},
	{"status = 'ok' and array_contains(flags, 'implausible')", "with server figures that can't be true: in none"},
	{"status = 'ok' and not in_stats and array_contains(flags, 'prompt_mismatch')", "with another prompt length than was made: in no figure"},
	{"cache_mode = 'cold' and in_stats and not in_cold_stats", "hit a cache in a cold case: in no figure"},
	{"in_stats and tokens_source = 'estimate'", "had no token count: in the times, not in the rates"},
	{"in_stats and array_contains(flags, 'client_saturated')", "while this machine was very busy: our times may be late"},
}

// footnotes say, for each target of the sessions, what a reader of its figures
// must mind.
func footnotes(ctx context.Context, db *duck.DB, ids []string) (map[targetKey][]string, error) {
	var counts []string
	for i, r := range remarks {
		counts = append(counts, fmt.Sprintf("count(*) filter (where %s) as n%d", r.where, i))
	}
	rows, err := db.Query(ctx, "select session_id, target_id, "+strings.Join(counts, ", ")+
		" from runs where session_id in ('"+strings.Join(ids, "', '")+"') group by session_id, target_id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[targetKey][]string{}
	for row, err := range rows.All() {
		if err != nil {
			return nil, err
		}
		session, _ := row[0].(string)
		target, _ := row[1].(int64)
		key := targetKey{session, target}
		for i, r := range remarks {
			if n, _ := row[i+2].(int64); n > 0 {
				out[key] = append(out[key], plural(n, "request")+" "+r.says)
			}
		}
	}
	return out, nil
}

// targetKey names a target of a session.
type targetKey struct {
	session string
	target  int64
}

// fewBatches says that a case has too few batches for an interval.
func fewBatches(rows []analyze.Summary) []string {
	fewest := rows[0].NBatches
	for _, s := range rows {
		fewest = min(fewest, s.NBatches)
	}
	if fewest >= 6 {
		return nil
	}
	return []string{fmt.Sprintf("%s in the smallest case: a median has no 95 %% interval under 6", plural(fewest, "batch"))}
}
