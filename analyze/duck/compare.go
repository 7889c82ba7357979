package duck

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"tokwatt/analyze"
)

// Groups lists the cases of all sessions by their keys alone: session, target
// and case, which is what analyze.Conditions choose by. Of the keys they lack
// prefix_cache_hit, which is known of requests only.
func (db *DB) Groups(ctx context.Context) ([]analyze.Summary, error) {
	keys := slices.DeleteFunc(analyze.GroupKeys(), func(k string) bool { return k == "prefix_cache_hit" })
	var out []analyze.Summary
	err := db.each(ctx, func(row []any) {
		s := analyze.Summary{Keys: map[string]string{}}
		for i, key := range keys {
			s.Keys[key] = keyText(key, row[i])
		}
		s.SessionID = s.Keys["session_id"]
		s.CaseID, _ = row[len(keys)].(int64)
		out = append(out, s)
	}, "select "+strings.Join(keys, ", ")+`, case_id from cases
		join targets using (host, date, session_id, target_id)
		join sessions using (host, date, session_id)
		left join (`+toolVersions+`) using (host, date, session_id)
		order by session_id, host, target_id, case_id`)
	return out, err
}

// toolVersions are those of each session, of which a resumed one may have
// several.
const toolVersions = "select host, date, session_id, string_agg(distinct tool_version, ', ' order by tool_version) as tool_version" +
	" from segments group by host, date, session_id"

// summaryKeys reads the keys of a row of the view summary.
func summaryKeys(names map[string]int, row []any) map[string]string {
	keys := map[string]string{}
	for _, key := range slices.Concat(analyze.GroupKeys(), []string{"tokens_source", "prompt_tps_source", "generation_tps_source"}) {
		if at, ok := names[key]; ok {
			keys[key] = keyText(key, row[at])
		}
	}
	return keys
}

// keyText is a value as conditions name it.
func keyText(key string, v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case []any:
		if key == "placement_nodes" && len(v) > 0 {
			return strconv.Itoa(len(v))
		}
		var words []string
		for _, w := range v {
			if word, ok := w.(string); ok {
				words = append(words, word)
			}
		}
		return strings.Join(words, ",")
	}
	return ""
}

// addVersions fills the keys tool_version and formula_version: who measured the
// sessions, and by whose formulas their rows were made.
func (db *DB) addVersions(ctx context.Context, summaries []analyze.Summary) error {
	var ids []string
	for _, s := range summaries {
		ids = append(ids, s.SessionID)
	}
	where, err := db.ofSessions(ctx, distinct(ids))
	if err != nil || len(ids) == 0 {
		return err
	}
	tools, formulas := map[string]string{}, map[string]string{}
	err = db.each(ctx, func(row []any) {
		id, _ := row[0].(string)
		tools[id] = keyText("tool_version", row[1])
	}, "select session_id, tool_version from ("+toolVersions+") where "+where)
	if err != nil {
		return err
	}
	for _, s := range summaries {
		if _, read := formulas[s.SessionID]; !read {
			formulas[s.SessionID] = db.formulaOf(s.SessionID)
		}
		s.Keys["tool_version"], s.Keys["formula_version"] = tools[s.SessionID], formulas[s.SessionID]
	}
	return nil
}

// formulaOf is empty where the dataset has no manifest of the session: not every
// copy of one has them.
func (db *DB) formulaOf(session string) string {
	for _, root := range db.roots {
		if m, err := analyze.ReadManifest(root, session); err == nil && m != nil {
			return strconv.Itoa(m.Formula)
		}
	}
	return ""
}
