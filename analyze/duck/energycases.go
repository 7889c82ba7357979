package duck

import (
	"context"
	"strings"

	"tokwatt/analyze"
)

// EnergyCases reads the view summary, with the batches of each row and their
// energy.
func (db *DB) EnergyCases(ctx context.Context, f SummaryFilter) ([]analyze.EnergyCase, error) {
	summaries, err := db.Summaries(ctx, f)
	if err != nil || len(summaries) == 0 {
		return nil, err
	}
	cases := make([]analyze.EnergyCase, len(summaries))
	at := make(map[group]int, len(cases))
	for i, s := range summaries {
		cases[i].Summary = s
		at[group{s.SessionID, s.Host, s.TargetID, s.CaseID, s.PrefixCacheHit}] = i
	}
	where, err := db.ofSessions(ctx, f.Sessions)
	if err != nil || where == "" {
		return nil, err
	}
	names := energyMetrics()
	err = db.each(ctx, func(row []any) {
		r := record{row: row}
		i, ok := at[group{r.text(), r.text(), r.integer(), r.integer(), r.text()}]
		if ok {
			cases[i].Batches = append(cases[i].Batches, energyBatch(&r, names))
		}
	}, `select g.session_id, g.host, g.target_id, g.case_id, g.prefix_cache_hit, g.batch_id, g.counted,
		b.energy_j, b.energy_low_j, b.energy_high_j, b.energy_null_reason, b.power_scope, b.energy_indicative, b.`+strings.Join(names, ", b.")+`
		from (select host, date, session_id, target_id, case_id, prefix_cache_hit, batch_id, bool_and(counted) as counted
		      from stat_rows where `+where+`
		      group by host, date, session_id, target_id, case_id, prefix_cache_hit, batch_id) g
		join batches b on b.host = g.host and b.date = g.date and b.session_id = g.session_id and b.batch_id = g.batch_id
		order by g.batch_id`)
	return cases, err
}

// energyMetrics are the columns of batches whose source is power.
func energyMetrics() []string {
	var names []string
	for _, m := range analyze.Metrics() {
		if m.Source == "power" {
			names = append(names, m.Name)
		}
	}
	return names
}

// energyBatch reads a batch. What hangs on a count of tokens that nobody made
// is no figure, as in view batch_figures.
func energyBatch(r *record, names []string) analyze.EnergyBatch {
	b := analyze.EnergyBatch{BatchID: r.integer()}
	b.Counted, _ = r.value().(bool)
	b.J, b.LowJ, b.HighJ = r.double(), r.double(), r.double()
	b.NullReason, b.Scope = r.text(), r.text()
	b.Indicative, _ = r.value().(bool)
	b.Figures = make(map[string]*float64, len(names))
	tokens := map[string]bool{}
	for _, m := range analyze.Metrics() {
		tokens[m.Name] = m.Tokens
	}
	for _, name := range names {
		v := r.double()
		if v != nil && (b.Counted || !tokens[name]) {
			b.Figures[name] = v
		}
	}
	return b
}
