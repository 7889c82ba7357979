package plot

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tokwatt/analyze"
)

// History shows a metric over sessions in the order of time: a panel per
// metric (generation_tps where Options.Y names none), a line per target and
// case, medians with their intervals. What changed from one session to the
// next, tokwatt's version, an engine's or an operating system's, stands above
// the panels, each over the time that it was in use, with an upright line where
// it changed. An axis on which all values lie in its upper half does not start
// at 0, and a footnote says so.
//
// Sessions whose start nobody knows, as some imported files leave it, are left out
// and counted.
//
// It refuses rows of a session that sessions does not have, fewer than two
// sessions with a start, two cases on one point, and more series than can be told apart.
func History(summaries []analyze.Summary, sessions []analyze.SessionVersions, opt Options) (*Figure, error) {
	rows, err := rowsOf(summaries)
	if err != nil {
		return nil, err
	}
	log, err := historyOptions(opt)
	if err != nil {
		return nil, err
	}
	rows, undated, err := dated(rows, sessions)
	if err != nil {
		return nil, err
	}
	metrics, notes, err := panelMetrics(rows, opt.Y, []string{"generation_tps"})
	if err != nil {
		return nil, err
	}
	shown := drawn(rows, metrics)
	t, err := newTimeline(shown, sessions)
	if err != nil {
		return nil, err
	}
	src, err := historySeries(rows, shown, opt.By)
	if err != nil {
		return nil, err
	}
	fig := &Figure{
		Title:    historyTitle(metrics, len(t.sessions)),
		Subtitle: common(without(allKeys(), append(told(src), "engine_version")...), shown),
		Legend:   legendOf(src),
	}
	if err := fig.historyPanels(src, t, metrics, log); err != nil {
		return nil, err
	}
	lanes, changes, lanesNote := t.lanes(src.rows, stretch{fig.Panels[0].X.Min, fig.Panels[0].X.Max})
	fig.Panels[0].Lanes = lanes
	for i := range fig.Panels {
		fig.Panels[i].Changes = changes
	}
	fig.Notes = append([]string{medianNote(fig)}, lanesNote...)
	fig.Notes = append(fig.Notes, notZeroNote(fig), undatedNote(undated))
	fig.Notes = append(append(fig.Notes, notes...), lossNotes(rows, metrics)...)
	return fig.finished(), nil
}

// historyOptions refuses what this figure has no place for, and tells whether
// its values are logarithmic.
func historyOptions(opt Options) (log bool, err error) {
	x, y, _, err := logarithmic(opt.Log)
	switch {
	case err != nil:
		return false, err
	case x:
		return false, fmt.Errorf("--log %s does not go with history, whose x axis is time: say --log y", opt.Log)
	case opt.X != "":
		return false, fmt.Errorf("--x %s does not go with history, whose x axis is time: --by says what the lines are", opt.X)
	}
	return y, nil
}

// dated are the rows of sessions whose start is known, and how many others the
// rows are of.
func dated(rows []*analyze.Summary, sessions []analyze.SessionVersions) (kept []*analyze.Summary, undated int, err error) {
	unknown := map[string]bool{}
	for _, s := range sessions {
		if s.StartedAt.IsZero() && slices.ContainsFunc(rows, func(r *analyze.Summary) bool { return r.SessionID == s.SessionID }) {
			unknown[s.SessionID] = true
		}
	}
	for _, r := range rows {
		if !unknown[r.SessionID] {
			kept = append(kept, r)
		}
	}
	if kept == nil {
		return nil, 0, errors.New("no session chosen has a start that is known, so a history has no place for it: take sessions that `tokwatt list` gives a day")
	}
	return kept, len(unknown), nil
}

func undatedNote(n int) string {
	if n == 0 {
		return ""
	}
	return plural(n, "session", "sessions") + " left out: the imported files do not say when they were measured."
}

// timeline is the sessions of a figure in the order of time.
type timeline struct {
	sessions []analyze.SessionVersions
	at       map[string]float64 // seconds since 1970, by session id
}

func newTimeline(rows []*analyze.Summary, sessions []analyze.SessionVersions) (timeline, error) {
	t := timeline{at: map[string]float64{}}
	for _, s := range sessions {
		if slices.ContainsFunc(rows, func(r *analyze.Summary) bool { return r.SessionID == s.SessionID }) {
			t.sessions = append(t.sessions, s)
			t.at[s.SessionID] = seconds(s.StartedAt)
		}
	}
	for _, r := range rows {
		if _, ok := t.at[r.SessionID]; !ok {
			return t, fmt.Errorf("session %s has no start that is known: `tokwatt check` looks at the store", shortID(r.SessionID))
		}
	}
	if len(t.sessions) < 2 {
		return t, fmt.Errorf("a history needs two sessions, and only %s is chosen: without an id all of them are taken", shortID(rows[0].SessionID))
	}
	slices.SortStableFunc(t.sessions, func(a, b analyze.SessionVersions) int { return a.StartedAt.Compare(b.StartedAt) })
	return t, nil
}

func (t timeline) span() (from, to time.Time) {
	return t.sessions[0].StartedAt, last(t.sessions).StartedAt
}

// historySeries makes a series of what is the same in each session but for the
// versions, which are along the axis.
func historySeries(all, rows []*analyze.Summary, by []string) (source, error) {
	along, _ := pick([]string{"session_id"})
	free := along
	if !slices.Contains(by, "engine_version") {
		free, _ = pick([]string{"session_id", "engine_version"})
	}
	src, err := arrange(all, rows, free, by)
	if err != nil {
		return src, err
	}
	if a, _ := collision(append(slices.Clip(src.series), along...), rows); a != nil {
		return src, fmt.Errorf("session %s has two versions of %s, which would fall on one point: tell them apart with --by engine,engine_version", shortID(a.SessionID), a.Engine)
	}
	return src, nil
}

func (f *Figure) historyPanels(src source, t timeline, metrics []metric, log bool) error {
	from, to := t.span()
	axis := dateAxis(from, to, len(t.sessions))
	for i, m := range metrics {
		p, err := curves(src, m, func(s *analyze.Summary) float64 { return t.at[s.SessionID] }, axis, log)
		if err != nil {
			return err
		}
		p.Kind = Times
		if p.crowded() {
			for _, s := range p.Series {
				for i := range s.Points {
					s.Points[i].Raw = nil
				}
			}
		}
		if !log {
			p.Y = closeAround(p.Y, p.Series)
		}
		if i < len(metrics)-1 {
			p.X.Label = ""
		}
		f.Panels = append(f.Panels, p)
	}
	f.titleOnce()
	return nil
}

// manyMarks is how many marks of a line stay apart at their size over a page.
const manyMarks = 70

// crowded tells whether marks are small, and without the batches behind them.
func (p Panel) crowded() bool {
	return p.Kind == Times && slices.ContainsFunc(p.Series, func(s Series) bool { return len(s.Points) > manyMarks })
}

// closeAround moves the start of a linear axis up to the values where all of them
// lie in its upper half: a history is looked at for small changes.
func closeAround(a Axis, series []Series) Axis {
	lo, hi := extent(series)
	if lo < a.Max/2 || lo == hi && lo == 0 {
		return a
	}
	step := niceStep(max(hi-lo, hi*0.02) / wantedSteps)
	first := int(lo/step - 0.02)
	a.Ticks = nil
	for k := first; ; k++ {
		a.Ticks = append(a.Ticks, Tick{float64(k) * step, decimal(float64(k)*step, step)})
		if float64(k)*step >= hi+0.02*step {
			break
		}
	}
	a.Min, a.Max = a.Ticks[0].Value, last(a.Ticks).Value
	return a
}

func historyTitle(metrics []metric, sessions int) string {
	return titleOf(metrics) + fmt.Sprintf(" over %d sessions", sessions)
}

func notZeroNote(fig *Figure) string {
	for _, p := range fig.Panels {
		if p.Y.Min > 0 && !p.Y.Log {
			return "The axis does not start at 0."
		}
	}
	return ""
}
