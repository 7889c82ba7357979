package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tokwatt/analyze"
	"tokwatt/plot/report"
)

// method says how the session was measured.
func (r *reporter) method(ctx context.Context) (report.Section, error) {
	s := report.Section{ID: "method", Title: "How it was measured"}
	unlessImported := func(text string) string {
		if r.imported() {
			return "" // of which nothing is known
		}
		return text
	}
	protocol := []report.Fact{
		{Name: "profile", Value: r.session.text(0, "profile")},
		{Name: "cache", Value: explained(r.cases.distinct("cache_mode"), cacheModes)},
		{Name: "kept cold by", Value: explained(r.cases.distinct("cold_method"), coldMethods)},
		{Name: "end token kept out by", Value: cmp.Or(explained(r.cases.distinct("eos_ban"), eosBans), unlessImported("nothing: the model may end before the wanted length"))},
		{Name: "prompts", Value: explained(r.cases.distinct("prompt_kind"), nil)},
		{Name: "prompt lengths by", Value: explained(r.cases.distinct("prompt_source"), promptSources)},
		{Name: "streamed", Value: strings.Join(r.cases.distinct("streaming"), ", ")},
		{Name: "sampling", Value: strings.Join(r.targets.distinct("sampling_json"), "\n")},
		{Name: "tool", Value: strings.Join(r.segments.distinct("tool_version"), ", ")},
	}
	more, err := r.sources(ctx)
	if err != nil {
		return s, err
	}
	protocol = append(protocol, more...)
	s.Facts = append(s.Facts, report.Facts{Caption: "Protocol", List: stated(protocol)})
	if origin := r.origin(); len(origin) > 0 {
		s.Facts = slices.Insert(s.Facts, 0, report.Facts{Caption: "Origin: an imported file", List: origin})
	}
	return s, r.power(ctx, &s)
}

// stated leaves out what is not known.
func stated(facts []report.Fact) []report.Fact {
	return slices.DeleteFunc(facts, func(f report.Fact) bool { return f.Value == "" })
}

// explained are values with their meanings.
func explained(values []string, meanings map[string]string) string {
	var out []string
	for _, v := range values {
		if m := meanings[strings.TrimSuffix(v, "_unverified")]; m != "" {
			v += ": " + m
		}
		out = append(out, v)
	}
	return strings.Join(out, "\n")
}

// The words of a case's columns, in more words.
var (
	cacheModes = map[string]string{
		"cold": "each request is kept from reusing what was computed for another", "prefix": "requests may reuse a prompt's beginning",
		"server": "whatever the server does by itself",
	}
	coldMethods = map[string]string{
		"nonce": "a different beginning of each prompt", "engine": "the engine computes each prompt anew",
		"use_prefix_cache=false": "asked of the server with each request",
	}
	eosBans       = map[string]string{"engine": "the engine never takes it", "bench endpoint": "the server's endpoint for benchmarks never takes it"}
	promptSources = map[string]string{
		"tokenizer": "tokens counted with the model's own tokenizer and template", "calibrated": "fitted to the server's own counts", "text": "the text as it is",
	}
)

// sources are whose word the rows' figures are.
func (r *reporter) sources(ctx context.Context) ([]report.Fact, error) {
	var out []report.Fact
	for _, of := range []struct{ name, column string }{
		{"arrivals stamped by", "stamp_source"}, {"tokens counted by", "tokens_source"},
		{"prefill rates by", "prompt_tps_source"}, {"generation rates by", "generation_tps_source"},
		{"prefix cache", "prefix_cache_hit"},
	} {
		found, err := r.ask(ctx, "select "+of.column+" as what, count(*) as n from requests where "+r.of()+" and "+of.column+" is not null group by "+of.column+" order by n desc, what")
		if err != nil {
			return nil, err
		}
		var parts []string
		for i := range found.rows {
			n, _ := found.value(i, "n").(int64)
			parts = append(parts, found.text(i, "what")+" ("+plural(n, "request")+")")
		}
		out = append(out, report.Fact{Name: of.name, Value: strings.Join(parts, ", ")})
	}
	if r.imported() {
		return out, nil
	}
	calibration := cmp.Or(ownError(r.session.text(0, "client_calibration_json"), most(r.cases, "concurrency")), "not known: `tokwatt calibrate` measures it for the sessions after it")
	return append(out, report.Fact{Name: "error of our own times", Value: calibration}), nil
}

// most is the largest number of a column.
func most(a answer, name string) int64 {
	var out int64
	for i := range a.rows {
		if n, ok := a.value(i, name).(int64); ok {
			out = max(out, n)
		}
	}
	return out
}

func (r *reporter) imported() bool { return r.session.value(0, "import_format") != nil }

// origin is where an imported session comes from.
func (r *reporter) origin() []report.Fact {
	if !r.imported() {
		return nil
	}
	var out []report.Fact
	for _, name := range []string{"import_tool", "import_tool_version", "import_format", "import_file", "import_hash", "imported_at", "import_extra_json"} {
		out = append(out, report.Fact{Name: name, Value: r.session.text(0, name)})
	}
	return stated(out)
}

// power says what sensors were read, and why energies are missing.
func (r *reporter) power(ctx context.Context, s *report.Section) error {
	read, err := r.ask(ctx, `select node, source, scope, metric, unit, count(*) as readings, min(value) as lowest, max(value) as highest,
			sum(case when start_ns is null then 1 else 0 end) as at_instants
		from samples where `+r.of()+` group by node, source, scope, metric, unit order by node, source, scope, metric`)
	if err != nil {
		return err
	}
	if len(read.rows) > 0 {
		t := read.table("Sensors that were read", 0)
		t.Notes = []string{"at_instants: readings that hold for one instant; the others are counters or averages, which bound the energy."}
		s.Tables = append(s.Tables, t)
	} else {
		s.Text = append(s.Text, "No sensor was read.")
	}
	why, err := r.ask(ctx, "select energy_null_reason, count(*) as n from batches where "+r.of()+
		" and energy_j is null and energy_null_reason is not null group by energy_null_reason order by n desc, energy_null_reason")
	if err != nil {
		return err
	}
	for i := range why.rows {
		n, _ := why.value(i, "n").(int64)
		s.Notes = append(s.Notes, unpowered(n, why.text(i, "energy_null_reason"))+" ("+why.text(i, "energy_null_reason")+")")
	}
	s.Notes = append(s.Notes, sensorLines(r.sensors)...)
	return nil
}

// machine is all that is stored of the host, the processes, the targets and the
// cases.
func (r *reporter) machine(context.Context) (report.Section, error) {
	s := report.Section{ID: "session", Title: "Machine, session, targets and cases"}
	s.Facts = []report.Facts{{Caption: "Session and machine", List: r.session.facts(0, "options_json", "client_calibration_json", "import_extra_json")}}
	for i := range r.targets.rows {
		caption := "Target " + r.targets.text(i, "target_id")
		s.Facts = append(s.Facts, report.Facts{Caption: caption, List: r.targets.facts(i, "session_id", "host", "date", "target_id")})
	}
	if len(r.segments.rows) > 0 {
		s.Tables = append(s.Tables, leave(r.segments, "session_id", "host", "date", "sensors_json", "lost_json").table("Segments: the processes that measured", 1))
	}
	if len(r.cases.rows) > 0 {
		cases := leave(r.cases, "session_id", "host", "date")
		t := cut(cases, mostRows).table("Cases ("+shownOf(len(cases.rows), "case")+")", 2)
		t.Folded = true
		s.Tables = append(s.Tables, t)
	}
	for _, c := range []struct{ caption, column string }{{"Options, without secrets", "options_json"}, {"Calibration of this client", "client_calibration_json"}} {
		if text := r.session.text(0, c.column); text != "" {
			s.Code = append(s.Code, report.Code{Caption: c.caption, Text: indented(text)})
		}
	}
	return s, nil
}

// leave is the answer without some columns.
func leave(a answer, names ...string) answer {
	var out answer
	out.rows = make([][]any, len(a.rows))
	for c, name := range a.names {
		if slices.Contains(names, name) {
			continue
		}
		out.names = append(out.names, name)
		for i, row := range a.rows {
			out.rows[i] = append(out.rows[i], row[c])
		}
	}
	return out
}

// indented is JSON in lines, and what is none as it is.
func indented(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// again says how to measure the same, and how to see more of it.
func (r *reporter) again(context.Context) (report.Section, error) {
	s := report.Section{ID: "again", Title: "Measure it again, ask more"}
	if !r.imported() {
		lines, err := commandLines(r.session.text(0, "options_json"))
		if err != nil {
			s.Text = append(s.Text, "The command line is not known: "+err.Error()+".")
		} else {
			s.Code = append(s.Code, report.Code{Caption: "Measure it again (headers and other secrets are not stored; give them anew)", Text: strings.Join(lines, "\n")})
		}
	}
	s.Code = append(s.Code, report.Code{Caption: "Ask more", Text: fmt.Sprintf("tokwatt summary %[1]s\ntokwatt show %[1]s\n"+
		"tokwatt query \"select * from runs where session_id = '%[1]s'\"\ntokwatt report %[1]s", r.id)})
	return s, nil
}

// commandLines are what collect was called with, a line a run of a suite.
func commandLines(doc string) ([]string, error) {
	if doc == "" {
		return nil, fmt.Errorf("no options are stored")
	}
	o, err := readStored(doc)
	if err != nil {
		return nil, err
	}
	runs := o.Runs
	if len(runs) == 0 {
		runs = []options{{}}
	}
	var out []string
	for _, run := range runs {
		line := []string{"tokwatt", "collect"}
		for _, arg := range o.over(run).args() {
			line = append(line, quoted(arg))
		}
		out = append(out, strings.Join(line, " "))
	}
	return out, nil
}

// quoted is a word as a shell wants it.
func quoted(word string) string {
	plain := func(r rune) bool { return strings.ContainsRune("-_=.,:/@+%", r) || isLetterOrDigit(r) }
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func isLetterOrDigit(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// definitions are the rules of the metrics.
func (r *reporter) definitions(context.Context) (report.Section, error) {
	s := report.Section{ID: "metrics", Title: "What the figures are"}
	t := report.Table{Caption: "Metrics that this session has", Keys: 1, Columns: []report.Column{{Head: "metric"}, {Head: "unit"}, {Head: "better"}, {Head: "whose word"}, {Head: "rule"}}}
	for _, m := range analyze.Metrics() {
		has := slices.ContainsFunc(r.summaries, func(c analyze.EnergyCase) bool { return c.Stats[m.Name].N > 0 })
		if has {
			t.Rows = append(t.Rows, []string{m.Name, m.Unit, cmp.Or(string(m.Better), "–"), m.Source, m.Rule})
		}
	}
	if len(t.Rows) > 0 {
		t.Notes = []string{"n in a rule: tokens generated. `tokwatt metrics` lists all metrics and flags."}
		s.Tables = []report.Table{t}
	} else {
		s.Text = []string{"This session has no figure; `tokwatt metrics` lists the rules of all."}
	}
	for _, m := range analyze.Marks() {
		if slices.Contains(r.targets.distinct("driver"), m.Driver) {
			s.Notes = append(s.Notes, m.Column+" of "+m.Driver+": "+m.Meaning)
		}
	}
	return s, nil
}
