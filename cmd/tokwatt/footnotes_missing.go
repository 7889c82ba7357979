package main

import (
	"context"
	"fmt"

	"tokwatt/analyze/duck"
)

// addMissing adds how many batches of a session that ended are not there: not
// run, or lost with a damaged store. An import doesn't say what was planned.
func addMissing(ctx context.Context, db *duck.DB, ids []string, notes map[targetKey][]string) error {
	return eachTarget(ctx, db, `select t.session_id, t.target_id, p.planned, p.planned - coalesce(b.n, 0)
		from targets t
		join sessions s on s.host = t.host and s.date = t.date and s.session_id = t.session_id
		join (select session_id, max(segment) as segment, max_by(planned_batches, segment) as planned
			from segments where `+ofSessions(ids)+` group by session_id) p on p.session_id = t.session_id
		left join (select session_id, segment, count(*) as n
			from batches where `+ofSessions(ids)+` and not warmup group by session_id, segment) b
			on b.session_id = p.session_id and b.segment = p.segment
		where t.`+ofSessions(ids)+` and s.status is not null and s.import_format is null and p.planned > coalesce(b.n, 0)`,
		func(key targetKey, row []any) {
			planned, _ := row[0].(int64)
			missing, _ := row[1].(int64)
			notes[key] = append(notes[key], fmt.Sprintf("%d of %s that were planned are not there: `tokwatt show %s` says why",
				missing, plural(planned, "batch"), shortID(key.session)))
		})
}
