package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"tokwatt/collect"
	"tokwatt/store"
)

// listTable prints a line a session, what is said of it cut to what the screen
// leaves. Hosts have a column where there are several.
func (a *app) listTable(sessions []listed) {
	head := []string{"id", "started", "status", "batches", "requests"}
	hosts := slices.ContainsFunc(sessions, func(s listed) bool { return s.Session.Host.Name != sessions[0].Session.Host.Name })
	if hosts {
		head = append(head, "host")
	}
	lines := [][]string{append(head, "about")}
	for _, s := range sessions {
		line := []string{shortID(s.ID), startedAt(s.Session), state(s.SessionInfo), batchesOf(s.SessionInfo), strconv.FormatInt(s.Requests, 10)}
		if hosts {
			line = append(line, clip(s.Session.Host.Name, 12))
		}
		lines = append(lines, append(line, strings.TrimSpace(s.models()+" "+about(s.Session))))
	}
	last := len(head)
	room := columns(a.out)
	for i := range last {
		width := 0
		for _, line := range lines {
			width = max(width, widest(line[i]))
		}
		room -= width + 2
	}
	var t table.Writer
	for i, line := range lines {
		line[last] = clip(line[last], max(room, 8))
		if i == 0 {
			t = newTable(a.out, cells(line)...)
			continue
		}
		t.AppendRow(cells(line))
	}
	rightAligned(t, 4, 5)
	t.Render()
}

// cells are texts as a table takes them.
func cells(line []string) []any {
	var out []any
	for _, text := range line {
		out = append(out, text)
	}
	return out
}

// models names the first model of a session, and how many more there are.
func (l listed) models() string {
	if l.model == "" || l.Targets < 2 {
		return l.model
	}
	return fmt.Sprintf("%s +%d", l.model, l.Targets-1)
}

// columns are those that a table may take: what COLUMNS says, else the
// terminal's, else those of any screen.
func columns(w io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return cmp.Or(terminalWidth(w), screenWidth)
}

// startedAt is when a session began, in a column. Of an imported one it may not be
// known.
func startedAt(s *collect.Session) string {
	if s.StartedAt.IsZero() {
		return "unknown"
	}
	return local(s.StartedAt)
}

// batchesOf are those that were measured of those that were planned; a file that
// was imported doesn't say what was planned.
func batchesOf(s store.SessionInfo) string {
	n := strconv.FormatInt(s.Batches, 10)
	if s.Session.Imported != nil {
		return n
	}
	return n + "/" + strconv.FormatInt(s.Planned, 10)
}

// origin is where an imported session comes from: tool, version and file. Empty:
// tokwatt measured it.
func origin(s *collect.Session) string {
	o := s.Imported
	if o == nil {
		return ""
	}
	return strings.Join(strings.Fields(o.Tool+" "+o.ToolVersion+" "+o.File), " ")
}

// about is where a session was imported from and what the user said of it.
func about(s *collect.Session) string {
	text := strings.TrimSpace(origin(s) + " " + s.Label)
	for _, tag := range s.Tags {
		text += " #" + tag
	}
	if s.Note != "" {
		text += " " + s.Note
	}
	return text
}

// state is a session's status, for people.
func state(s store.SessionInfo) string {
	if s.End != nil {
		return string(s.End.Status)
	}
	if s.Running {
		return "running"
	}
	return "unfinished"
}
