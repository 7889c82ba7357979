package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
	"tokwatt/power"
)

// joules gathers what a figure of energy must say of itself: which part of the
// machine it is of, who read it, and whether its bounds are bounds.
type joules struct {
	scopes, sources []string
	indicative      bool
}

func (j *joules) add(row *analyze.BatchRow) {
	if row.EnergyJ == nil {
		return
	}
	j.take(row.PowerScope, row.PowerSource, row.EnergyIndicative != nil && *row.EnergyIndicative)
}

func (j *joules) take(scope, source string, indicative bool) {
	if !slices.Contains(j.scopes, scope) {
		j.scopes = append(j.scopes, scope)
	}
	if !slices.Contains(j.sources, source) {
		j.sources = append(j.sources, source)
	}
	j.indicative = j.indicative || indicative
}

// scopeNames are the scopes in words.
var scopeNames = map[string]string{
	"gpu": "GPU alone", "soc": "chip (CPU, GPU and the like)", "package": "processor package", "system": "whole machine", "wall": "at the wall",
}

// note is empty where there is no figure.
func (j *joules) note() string {
	if len(j.scopes) == 0 {
		return ""
	}
	var scopes []string
	for _, s := range j.scopes {
		if name := scopeNames[s]; name != "" {
			s = name
		}
		scopes = append(scopes, s)
	}
	text := "J/tok: energy over output tokens; " + strings.Join(scopes, ", ") + ", by " + strings.Join(j.sources, ", ")
	if j.indicative {
		text += ";\n  indicative: power was read at instants, what happened between is not known"
	}
	return text
}

// unpowered says why batches have no energy, and what to do about it.
func unpowered(batches int64, reason string) string {
	return plural(batches, "batch") + " without energy: " + whyNoEnergy(reason)
}

// whyNoEnergy is a null reason in words.
func whyNoEnergy(reason string) string {
	switch power.Reason(reason) {
	case power.ReasonSudoNeeded:
		return "no power: needs sudo"
	case power.ReasonDenied:
		return "no permission for the sensors"
	case power.ReasonMasked:
		return "this container hides the sensors"
	case power.ReasonVM:
		return "a virtual machine has no power sensors"
	case power.ReasonNoChannel:
		return "no power sensor is known here"
	case power.ReasonNoReading:
		return "the sensors gave no reading"
	case power.ReasonGap:
		return "a hole in the readings"
	case power.ReasonUncovered:
		return "the readings don't cover the batch"
	case power.ReasonFrozen:
		return "the sensor was no longer renewed"
	case power.ReasonCounterReset:
		return "the counter began anew"
	case power.ReasonShortWindow:
		return "shorter than half the sensor's refresh"
	case power.ReasonNodeMissing:
		return "not all its machines have a reading"
	case power.ReasonMixedScopes:
		return "the machines differ in what they measure"
	case power.ReasonOff:
		return "power was not measured"
	}
	return reason
}

// hint says where the user finds what to do about a reason.
func hint(reason string) string {
	if mendable(power.Reason(reason)) {
		return "; see `tokwatt power`"
	}
	return ""
}

// addEnergy adds whose the joules are, why some are missing, and what the
// machine draws when nothing is asked of it.
func addEnergy(ctx context.Context, db *duck.DB, ids []string, notes map[targetKey][]string) error {
	found := map[targetKey]*energyNotes{}
	err := eachTarget(ctx, db, `select b.session_id, c.target_id, b.power_scope, b.power_source,
			coalesce(bool_or(b.energy_indicative), false), b.energy_null_reason, count(*), count(b.energy_j), max(t.idle_watts), max(t.power_scope)
		from batches b
		join cases c on c.host = b.host and c.date = b.date and c.session_id = b.session_id and c.case_id = b.case_id
		join targets t on t.host = c.host and t.date = c.date and t.session_id = c.session_id and t.target_id = c.target_id
		where b.`+ofSessions(ids)+` and not coalesce(b.warmup, false)
		group by b.session_id, c.target_id, b.power_scope, b.power_source, b.energy_null_reason
		order by all`, func(key targetKey, row []any) {
		if found[key] == nil {
			found[key] = &energyNotes{}
		}
		found[key].take(row)
	})
	if err != nil {
		return err
	}
	for key, n := range found {
		notes[key] = append(notes[key], n.lines()...)
	}
	return nil
}

// energyNotes are those of one target.
type energyNotes struct {
	joules  joules
	missing []string
	idle    string
}

// take reads a row of addEnergy's query behind its key.
func (n *energyNotes) take(row []any) {
	scope, _ := row[0].(string)
	source, _ := row[1].(string)
	indicative, _ := row[2].(bool)
	reason, _ := row[3].(string)
	batches, _ := row[4].(int64)
	known, _ := row[5].(int64)
	if known > 0 {
		n.joules.take(scope, source, indicative)
	} else if reason != string(power.ReasonOff) {
		n.missing = append(n.missing, unpowered(batches, reason)+hint(reason))
	}
	if watts, ok := row[6].(float64); ok {
		of, _ := row[7].(string)
		n.idle = fmt.Sprintf("idle before the first request: %s W (%s); energies are gross,\n  net of it they are in batches.energy_net_j", sig(watts), of)
	}
}

func (n *energyNotes) lines() []string {
	var out []string
	if note := n.joules.note(); note != "" {
		out = append(out, note)
	}
	out = append(out, n.missing...)
	if n.idle != "" {
		out = append(out, n.idle)
	}
	return out
}
