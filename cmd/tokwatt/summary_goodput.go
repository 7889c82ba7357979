package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tokwatt/analyze/duck"
)

// goodputLimits reads --goodput: ttft=500ms,tpot=50ms. The names are those of
// other load generators; a mere number counts milliseconds, as theirs do.
func goodputLimits(given string) (duck.Limits, error) {
	var l duck.Limits
	known := map[string]*time.Duration{"ttft": &l.TTFT, "tpot": &l.TPOT, "itl": &l.ITL, "e2el": &l.Total}
	for part := range strings.SplitSeq(given, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		limit := known[name]
		if limit == nil {
			return l, usagef("--goodput %s: a limit is ttft, tpot, itl or e2el with a duration, such as ttft=500ms,tpot=50ms", part)
		}
		d, err := milliseconds(value)
		if err != nil || d <= 0 {
			return l, usagef("--goodput %s: must be a duration such as 500ms or 2s", part)
		}
		if *limit != 0 {
			return l, usagef("--goodput: %s is given twice", name)
		}
		*limit = d
	}
	return l, nil
}

// milliseconds reads a duration; a mere number counts milliseconds.
func milliseconds(s string) (time.Duration, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, nil
	}
	return time.ParseDuration(s + "ms")
}

// summariseGoodput prints which requests of some sessions kept the limits.
func (a *app) summariseGoodput(ctx context.Context, db *duck.DB, ids []string, format string, l duck.Limits) error {
	sql, err := duck.GoodputSQL(l, ids)
	if err != nil {
		return err
	}
	if err := a.sayNotStreamed(ctx, db, ids); err != nil {
		return err
	}
	if format == "csv" || format == "json" {
		return a.writeQuery(ctx, db, sql, format)
	}
	const shown = `select %s engine, model_id as model, coalesce(cast(pp as varchar), prompt_kind) as pp, tg, cache_mode as cache, concurrency as conc,
		requests, failed, good, printf('%%.1f', 100 * share) as "good %%", good_per_s as "good/s", requests_per_s as "all/s" from (%s)`
	session := ""
	if len(ids) > 1 {
		session = "session_id as session,"
	}
	return a.writeQuery(ctx, db, fmt.Sprintf(shown, session, sql), format)
}

// sayNotStreamed says how many requests have no place in goodput, because nobody
// knows when their first token came.
func (a *app) sayNotStreamed(ctx context.Context, db *duck.DB, ids []string) error {
	found, err := askAll(ctx, db, "select count(*), count(*) filter (where not coalesce(streaming, false)) from runs where "+ofSessions(ids))
	if err != nil || len(found.rows) == 0 {
		return err
	}
	all, _ := found.rows[0][0].(int64)
	if whole, _ := found.rows[0][1].(int64); whole > 0 {
		fmt.Fprintf(a.err, "left out: %d of %s, which were not streamed, so that their first token has no time; collect with --stream\n", whole, plural(all, "request"))
	}
	return nil
}
