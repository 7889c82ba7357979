package duck

import (
	"context"
	"time"

	"tokwatt/analyze"
)

// SessionVersions reads when sessions began and what versions they ran on,
// oldest first. No ids: all sessions.
func (db *DB) SessionVersions(ctx context.Context, ids []string) ([]analyze.SessionVersions, error) {
	where, err := db.ofSessions(ctx, ids)
	if err != nil || where == "" {
		return nil, err
	}
	var out []analyze.SessionVersions
	err = db.each(ctx, func(row []any) {
		r := record{row: row}
		v := analyze.SessionVersions{SessionID: r.text(), Host: r.text()}
		v.StartedAt, _ = r.value().(time.Time)
		v.OS, v.Tool = r.text(), r.text()
		out = append(out, v)
	}, `select s.session_id, s.host, s.started_at, trim(concat(coalesce(s.os_name, ''), ' ', coalesce(s.os_version, ''))), g.tool_version
		from (select * from sessions where `+where+`) s
		left join (select host, date, session_id, min_by(tool_version, segment) as tool_version
		           from segments where `+where+` group by host, date, session_id) g
		on g.host = s.host and g.date = s.date and g.session_id = s.session_id
		order by s.started_at, s.session_id`)
	return out, err
}
