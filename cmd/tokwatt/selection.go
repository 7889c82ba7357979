package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
)

// selection is what an argument such as "last", "019bc1+019bd2",
// "engine=exo,model_id=m" or "last,engine=exo" chooses.
type selection struct {
	text string
	ids  []string // whole ids of its sessions
	by   analyze.Conditions
}

// parseSelection parts the sessions, by prefix, from the conditions.
func parseSelection(text string) (prefixes []string, by analyze.Conditions, err error) {
	sessions, conditions, both := strings.Cut(text, ",")
	switch {
	case strings.Contains(sessions, "="):
		sessions, conditions = "", text
	case both && conditions == "":
		return nil, nil, usagef("%s: there is nothing behind the comma", text)
	}
	if sessions != "" {
		prefixes = strings.Split(sessions, "+")
	}
	if conditions != "" {
		if by, err = parseConditions(conditions); err != nil {
			return nil, nil, err
		}
	}
	if len(prefixes)+len(by) == 0 || slices.Contains(prefixes, "") {
		return nil, nil, usagef("%q chooses nothing: take a session's id, last, or KEY=VALUE,KEY=VALUE", text)
	}
	return prefixes, by, nil
}

// parseConditions reads KEY=VALUE,KEY=VALUE and helps with mistyped keys.
func parseConditions(text string) (analyze.Conditions, error) {
	by, err := analyze.ParseConditions(text)
	var unknown *analyze.KeyError
	if errors.As(err, &unknown) {
		switch near := analyze.Nearest(unknown.Key, analyze.GroupKeys()); {
		case near == unknown.Key: // the value is what lacks
			return nil, usagef("%s: must be %s=VALUE", unknown.Condition, near)
		case near != "":
			return nil, usagef("%s: did you mean %s? The keys are %s", unknown.Condition, near, strings.Join(analyze.GroupKeys(), ", "))
		}
		return nil, usage(err)
	}
	return by, err
}

// selections finds the sessions of each argument.
func (a *app) selections(ctx context.Context, cmd *cli.Command, texts []string) ([]selection, error) {
	find, err := finder(ctx, cmd)
	if err != nil {
		return nil, err
	}
	var groups []analyze.Summary // the cases of all sessions, once a condition without sessions asks for them
	var out []selection
	for _, text := range texts {
		prefixes, by, err := parseSelection(text)
		if err != nil {
			return nil, err
		}
		s := selection{text: text, by: by}
		for _, p := range prefixes {
			id, err := find(p)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(s.ids, id) {
				s.ids = append(s.ids, id)
			}
		}
		if len(prefixes) == 0 {
			if groups == nil {
				if groups, err = a.groups(ctx, cmd); err != nil {
					return nil, err
				}
			}
			if s.ids, err = sessionsOf(groups, by); err != nil {
				return nil, err
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// groups lists the cases of all sessions.
func (a *app) groups(ctx context.Context, cmd *cli.Command) (list []analyze.Summary, err error) {
	db, done, err := a.sql(ctx, cmd)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	return db.Groups(ctx)
}

// sessionsOf are those with a case that meets the conditions, as far as cases
// tell.
func sessionsOf(groups []analyze.Summary, by analyze.Conditions) ([]string, error) {
	var ids []string
	for _, g := range meeting(groups, nil, by) {
		if !slices.Contains(ids, g.SessionID) {
			ids = append(ids, g.SessionID)
		}
	}
	if len(ids) == 0 {
		return nil, unmet(groups, knownOfCases(by))
	}
	return ids, nil
}

// meeting are the cases of the sessions, or of all where none is named, that meet
// the conditions, as far as cases tell.
func meeting(groups []analyze.Summary, ids []string, by analyze.Conditions) []analyze.Summary {
	by = knownOfCases(by)
	var out []analyze.Summary
	for _, g := range groups {
		if (len(ids) == 0 || slices.Contains(ids, g.SessionID)) && by.Match(&g) {
			out = append(out, g)
		}
	}
	return out
}

// knownOfCases are the conditions that a case meets or doesn't, whatever its
// requests: a kind of cache hit is known of these alone.
func knownOfCases(by analyze.Conditions) analyze.Conditions {
	return slices.DeleteFunc(slices.Clone(by), func(c analyze.Condition) bool { return c.Key == "prefix_cache_hit" })
}

// casesOf are the ids of the cases that the selections may choose, so that no
// others are computed; none, which is all, where one of them chooses nothing,
// for then it takes all to say why.
func casesOf(ctx context.Context, db *duck.DB, chosen []selection) ([]int64, error) {
	groups, err := db.Groups(ctx)
	if err != nil {
		return nil, err
	}
	var cases []int64
	for _, s := range chosen {
		found := meeting(groups, s.ids, s.by)
		if len(found) == 0 {
			return nil, nil
		}
		for _, g := range found {
			cases = append(cases, g.CaseID)
		}
	}
	slices.Sort(cases)
	return slices.Compact(cases), nil
}

// unmet says of conditions that choose nothing which one it is that nothing
// meets, and what there is instead.
func unmet(rows []analyze.Summary, by analyze.Conditions) error {
	if len(rows) == 0 {
		return usagef("there is no session to choose from: `tokwatt collect` makes one")
	}
	c, values := by.Unmet(rows)
	hint := ""
	if near := analyze.Nearest(c.Value, values); near != "" {
		hint = fmt.Sprintf("did you mean %s=%s? ", c.Key, near)
	}
	for i, v := range values {
		if v == "" {
			values[i] = "none"
		}
	}
	return usagef("no case has %s: %sthere is %s", c, hint, few(values))
}

// rowsOf are those of the summaries that a selection chooses, with keys of their
// own.
func (s selection) rowsOf(all []analyze.Summary) ([]analyze.Summary, error) {
	var rows, chosen []analyze.Summary
	for _, r := range all {
		if !slices.Contains(s.ids, r.SessionID) {
			continue
		}
		rows = append(rows, r)
		if s.by.Match(&r) {
			r.Keys = maps.Clone(r.Keys)
			chosen = append(chosen, r)
		}
	}
	switch {
	case len(rows) == 0:
		return nil, usagef("no batch of %s has ended yet: wait for it, or choose other sessions", s.text)
	case len(chosen) == 0:
		return nil, unmet(rows, s.by)
	}
	return chosen, nil
}
