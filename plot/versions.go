package plot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tokwatt/analyze"
)

// use is a version of something in one session.
type use struct {
	at      float64
	version string
}

// used is the versions of one thing in the order of time.
type used struct {
	name string // empty where the versions bring it, as those of systems do
	of   string // what has the versions, where they bring its name; empty: the system
	uses []use
}

// maxVersionLanes is how many things that change stand above a panel.
const maxVersionLanes = 5

// lanes are the versions above the panels, a lane for each thing that changed,
// and where the changes are. The notes have what did not change, and what found
// no room.
func (t timeline) lanes(rows []*analyze.Summary, window stretch) (lanes [][]Label, changes []float64, notes []string) {
	var constant, left []string
	for _, u := range t.used(rows) {
		stretches := u.stretches(window)
		switch {
		case len(stretches) == 1:
			constant = append(constant, u.called(stretches[0].Text))
			continue
		case len(stretches) == 0:
			continue
		case len(lanes) == maxVersionLanes:
			left = append(left, u.changed(stretches))
			continue
		}
		for _, s := range stretches[1:] {
			changes = append(changes, s.From)
		}
		lane, note := u.lane(stretches, window)
		lanes = append(lanes, lane)
		notes = append(notes, note)
	}
	if len(lanes) > 0 {
		notes = append([]string{"Upright lines: a version changed, as stands above."}, notes...)
	}
	if constant = slices.Compact(constant); constant != nil { // an engine may have tokwatt's name
		notes = append(notes, "In all sessions: "+strings.Join(constant, ", ")+".")
	}
	if left != nil {
		notes = append(notes, "Changed as well, and is not marked: "+strings.Join(left, "; ")+".")
	}
	slices.Sort(changes)
	return lanes, slices.Compact(changes), notes
}

// used lists what has versions: what measured, each engine, and each host's system.
func (t timeline) used(rows []*analyze.Summary) []used {
	systems := map[string]*used{}
	var list []used
	var hosts []string
	for _, s := range t.sessions {
		if systems[s.Host] == nil {
			systems[s.Host] = &used{}
			hosts = append(hosts, s.Host)
		}
		systems[s.Host].uses = append(systems[s.Host].uses, use{t.at[s.SessionID], s.OS})
	}
	list = append(list, t.tool(rows))
	engine, _ := pick([]string{"engine"})
	for _, g := range groups(engine, rows) {
		u := used{name: g.name}
		for _, r := range g.rows {
			u.uses = append(u.uses, use{t.at[r.SessionID], r.EngineVersion})
		}
		slices.SortStableFunc(u.uses, func(a, b use) int { return cmp.Compare(a.at, b.at) })
		list = append(list, u)
	}
	for _, h := range hosts {
		if len(hosts) > 1 {
			systems[h].name = h + ":"
		}
		list = append(list, *systems[h])
	}
	return list
}

// tool is what measured: tokwatt, and other tools where sessions are imported,
// whose versions bring their names.
func (t timeline) tool(rows []*analyze.Summary) used {
	imported := map[string]bool{}
	for _, r := range rows {
		if r.Keys["import_tool"] != "" {
			imported[r.SessionID] = true
		}
	}
	tool := used{name: "tokwatt"}
	if len(imported) > 0 {
		tool = used{of: "the measuring tool"}
	}
	for _, s := range t.sessions {
		version := s.Tool
		if len(imported) > 0 && version != "" && !imported[s.SessionID] {
			version = "tokwatt " + version
		}
		tool.uses = append(tool.uses, use{t.at[s.SessionID], version})
	}
	return tool
}

// stretches are the times of each version that is known, from its first session
// to the next one's.
func (u used) stretches(window stretch) []Label {
	var list []Label
	for _, v := range u.uses {
		n := len(list)
		if v.version == "" || n > 0 && list[n-1].Text == v.version {
			continue
		}
		if n > 0 {
			list[n-1].To = v.at
		}
		list = append(list, Label{v.at, window.to, v.version})
	}
	return slices.DeleteFunc(list, func(l Label) bool { return l.From == l.To }) // two in one session
}

// thing names what the versions are of.
func (u used) thing() string {
	if host, isHost := strings.CutSuffix(u.name, ":"); isHost {
		return "the system of " + host
	}
	return cmp.Or(u.name, u.of, "the system")
}

// changed tells in words what a lane would show: each version with the day from
// which on it was in use, of many the first and the last.
func (u used) changed(stretches []Label) string {
	from := func(l Label) string {
		return l.Text + " from " + time.UnixMilli(int64(l.From*1000)).UTC().Format("2 Jan 2006")
	}
	if n := len(stretches); n > 3 {
		return fmt.Sprintf("%s: %d versions, %s to %s", u.thing(), n, stretches[0].Text, from(stretches[n-1]))
	}
	words := []string{u.thing() + ": " + stretches[0].Text}
	for _, s := range stretches[1:] {
		words = append(words, from(s))
	}
	return strings.Join(words, ", ")
}

// called is a version with the name of what it is of.
func (u used) called(version string) string { return strings.TrimSpace(u.name + " " + version) }

// lane words the stretches as their room allows: name and version, else the
// version alone, else a number that the note explains.
func (u used) lane(stretches []Label, window stretch) (lane []Label, note string) {
	lane = slices.Clone(stretches)
	for i := range lane {
		lane[i].Text = u.called(lane[i].Text)
	}
	if fits(lane, window) {
		return lane, ""
	}
	var unsaid []string
	for i, s := range stretches {
		for _, text := range []string{u.called(s.Text), s.Text, fmt.Sprint(i + 1), ""} {
			if lane[i].Text = text; fits(lane[i:i+1], window) {
				break
			}
		}
		switch lane[i].Text {
		case fmt.Sprint(i + 1):
			unsaid = append(unsaid, fmt.Sprintf("%d: %s", i+1, s.Text))
		case "":
			unsaid = append(unsaid, s.Text)
		}
	}
	if unsaid == nil {
		return lane, ""
	}
	return lane, "Versions of " + u.thing() + " without room above: " + strings.Join(unsaid, ", ") + "."
}
