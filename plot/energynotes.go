package plot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tokwatt/analyze"
)

// energyNotes explain the marks and what the scopes leave out.
func energyNotes(fig *Figure, scopes []string) []string {
	sp := spanOf(fig.Panels)
	first := "Median of " + sp.count() + " per point"
	if sp.raw && sp.most > 1 {
		first += ", single batches in faint dots" + sp.thinnedNote()
	}
	notes := []string{first + ". " + boundsNote(sp), hollowNote(sp)}
	if i := slices.IndexFunc(scopes, func(s string) bool { return s != "system" && s != "wall" }); i >= 0 {
		notes = append(notes, fmt.Sprintf("Scope %s: what else the machine draws is not in it.", strings.Join(scopes[i:], ", ")))
	}
	return notes
}

// boundsNote says what the whiskers are, and where there are none to be seen.
func boundsNote(sp span) string {
	if sp.whiskers == 0 {
		return "No whiskers: the readings set no bounds."
	}
	s := "Whiskers: the bounds that the readings set to the energy, not a spread"
	if sp.hollow == sp.points {
		s = "Whiskers: how far the readings around a batch leave its energy open"
	}
	if sp.whiskers < sp.points {
		s += "; none where they set none"
	}
	if sp.hidden {
		s += "; those shorter than a mark are hidden by it"
	}
	return s + "." + sp.movedNote()
}

// hollowNote says what hollow marks are, where there are some.
func hollowNote(sp span) string {
	const why = "power was read at instants, and what was between them is not known, so "
	switch sp.hollow {
	case 0:
		return ""
	case sp.points:
		if sp.whiskers == 0 {
			return "Marks are hollow, for all are indicative: power was read at instants, and what was between them is not known."
		}
		return "Marks are hollow, for all are indicative: " + why + "whiskers are no bounds."
	}
	return "Hollow marks are indicative: " + why + "their whiskers are no bounds."
}

// reasonWords says the null reasons in words.
func reasonWords(reason string) string {
	return map[string]string{
		"gap":           "a hole in the readings",
		"uncovered":     "the readings do not reach its edges",
		"frozen":        "the sensor was not renewed",
		"no_reading":    "the sensor gave nothing",
		"counter_reset": "the counter began anew",
		"short_window":  "too short for the sensor",
		"node_missing":  "a node without a reading",
		"mixed_scopes":  "nodes that differ in what they measure",
		"concurrent":    "phases of several requests overlap",
		"sudo_needed":   "the sensor needs sudo",
		"denied":        "no permission",
		"masked":        "hidden by a container",
		"no_channel":    "no such sensor",
		"vm":            "virtual machines have no sensor",
		"off":           "no sensor was read",
	}[reason]
}

// missing counts the batches without a figure, by reason.
func (e energySource) missing(metrics []metric) (why string, n, all int) {
	count := map[string]int{}
	for _, s := range e.rows {
		for _, b := range e.batches[s] {
			all++
			if !has(b, metrics) {
				n++
				count[whyNot(b)]++
			}
		}
	}
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d × %s", count[reason], reason))
	}
	return strings.Join(parts, ", "), n, all
}

func (e energySource) missingNote(metrics []metric) string {
	why, n, all := e.missing(metrics)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s without a figure, not drawn: %s.", n, plural(all, "batch", "batches"), why)
}

// whyNot says why a batch has no figure.
func whyNot(b analyze.EnergyBatch) string {
	switch words := reasonWords(b.NullReason); {
	case b.J == nil && words != "":
		return words
	case b.J == nil && b.NullReason != "":
		return strings.ReplaceAll(b.NullReason, "_", " ")
	case !b.Counted:
		return "no count of tokens (--tokenizer DIR counts)"
	}
	return "an energy that the figure cannot be made of"
}
