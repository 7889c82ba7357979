package main

import (
	"context"
	"fmt"
	"strings"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
	"tokwatt/plot"
	"tokwatt/plot/report"
)

// plots are the pictures of the session.
func (r *reporter) plots(ctx context.Context) (report.Section, error) {
	s := report.Section{ID: "plots", Title: "Plots"}
	add := func(name string, f *plot.Figure, err error) { s.Figures = append(s.Figures, figureOf(name, f, err)) }
	r.eachOrAll("scaling", add, func(c []analyze.EnergyCase) (*plot.Figure, error) {
		return plot.Scaling(plainSummaries(c), plot.Options{})
	})
	r.eachOrAll("latency", add, func(c []analyze.EnergyCase) (*plot.Figure, error) {
		return plot.Latency(plainSummaries(c), plot.Options{})
	})
	if err := r.answers(ctx, add); err != nil {
		return s, err
	}
	r.eachOrAll("energy", add, func(c []analyze.EnergyCase) (*plot.Figure, error) { return plot.Energy(c, plot.Options{}) })
	session, err := r.db.PowerSession(ctx, r.id)
	if err != nil {
		return s, err
	}
	f, err := plot.Power(session, plot.PowerOptions{})
	add("power", f, err)
	return s, nil
}

// eachOrAll draws all cases in one figure or, where they are too many for that,
// a figure for each target. Where there is not even one of those, the reason is
// said once.
func (r *reporter) eachOrAll(name string, add func(string, *plot.Figure, error), draw func([]analyze.EnergyCase) (*plot.Figure, error)) {
	all, whyNot := draw(r.summaries)
	parts := r.byTarget()
	drawn := make([]*plot.Figure, len(parts))
	errs := make([]error, len(parts))
	some := false
	if whyNot != nil && len(parts) > 1 {
		for i, cases := range parts {
			drawn[i], errs[i] = draw(cases)
			some = some || errs[i] == nil
		}
	}
	if !some {
		add(name, all, whyNot)
		return
	}
	for i, cases := range parts {
		add(name+" of "+r.targetName(cases[0].Summary), drawn[i], errs[i])
	}
}

// figureOf is a figure, or the sentence why there is none.
func figureOf(name string, f *plot.Figure, err error) report.Figure {
	if err != nil {
		return report.Figure{Name: name, Missing: strings.TrimSuffix(oneSentence(err).Error(), ".")}
	}
	return report.Figure{Name: name, Plot: f}
}

// answers draws how a typical answer came, and those of the batch with the
// longest gap.
func (r *reporter) answers(ctx context.Context, add func(string, *plot.Figure, error)) error {
	typical, err := r.typicalRequest(ctx)
	if err != nil {
		return err
	}
	for _, a := range []struct {
		name, title string
		request     int64
	}{
		{"a typical answer", "A typical answer: ", typical},
		{"the batch with the longest gap", "", 0},
	} {
		if a.name == "a typical answer" && typical == 0 {
			add(a.name, nil, fmt.Errorf("no good answer was streamed in three pieces or more"))
			continue
		}
		b, err := r.db.Streams(ctx, duck.StreamFilter{Session: r.id, Request: a.request})
		if err != nil {
			return err
		}
		if b == nil {
			add(a.name, nil, fmt.Errorf("no answer was recorded"))
			continue
		}
		f, err := plot.ITL(*b)
		if f != nil && a.title != "" {
			f.Title = a.title + f.Title
		}
		add(a.name, f, err)
	}
	return nil
}

// typicalRequest is the good request whose longest gap is nearest to the median
// of its case's, in the case with the most of them; 0: none was streamed.
func (r *reporter) typicalRequest(ctx context.Context) (int64, error) {
	found, err := r.ask(ctx, `select request_id from (
			select request_id, target_id, case_id, itl_max_ms, count(*) over (partition by target_id, case_id) as n,
			       median(itl_max_ms) over (partition by target_id, case_id) as middle
			from runs where `+r.of()+` and in_stats and chunks >= 3 and itl_max_ms is not null) t
		order by n desc, target_id, case_id, abs(itl_max_ms - middle), request_id limit 1`)
	if err != nil {
		return 0, err
	}
	id, _ := found.value(0, "request_id").(int64)
	return id, nil
}
