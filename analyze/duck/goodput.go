package duck

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits are what a request must keep to be good, each for itself. 0 is no
// limit.
type Limits struct {
	TTFT  time.Duration // to the first output
	TPOT  time.Duration // mean for each token after the first
	ITL   time.Duration // between arrivals of output: for 99 of 100, or all where they are fewer
	Total time.Duration // to the end of the response
}

// Validate refuses limits that nothing can keep, and none at all.
func (l Limits) Validate() error {
	if min(l.TTFT, l.TPOT, l.ITL, l.Total) < 0 {
		return errors.New("a limit under 0 is not possible: give a duration such as 500ms")
	}
	if l == (Limits{}) {
		return errors.New("no limit is given: name at least one")
	}
	return nil
}

// condition is the limits in SQL; a NULL is within none.
func (l Limits) condition() string {
	var parts []string
	for _, p := range []struct {
		column string
		limit  time.Duration
	}{{"ttft_client_ms", l.TTFT}, {"tpot_ms", l.TPOT}, {"itl_ms", l.ITL}, {"response_ms", l.Total}} {
		if p.limit > 0 {
			parts = append(parts, p.column+" <= "+strconv.FormatFloat(float64(p.limit)/1e6, 'g', -1, 64))
		}
	}
	return strings.Join(parts, " and ")
}

// GoodputSQL is a query over the view goodput: for each target and case of
// some sessions the requests, how many of them kept the limits, their share,
// and both as rates over the time of the batches. Failed requests count, and
// are not good.
func GoodputSQL(l Limits, sessions []string) (string, error) {
	if err := l.Validate(); err != nil {
		return "", err
	}
	quoted := make([]string, len(sessions))
	for i, id := range sessions {
		quoted[i] = quote(id)
	}
	return fmt.Sprintf(`select session_id, engine, model_id, pp, tg, prompt_kind, cache_mode, concurrency,
       count(*) as requests, count(*) filter (where status = 'failed') as failed, count(*) filter (where good) as good,
       count(*) filter (where good) / count(*) as share, count(*) filter (where good) / nullif(sum(wall_share_s), 0e0) as good_per_s, count(*) / nullif(sum(wall_share_s), 0e0) as requests_per_s
from (select *, coalesce(%s, false) as good from goodput where session_id in (%s)) g
group by session_id, target_id, case_id, engine, model_id, pp, tg, prompt_kind, cache_mode, concurrency
order by session_id, target_id, case_id`, l.condition(), strings.Join(quoted, ", ")), nil
}
