package analyze

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Selected is one side of a comparison as it was asked for.
type Selected struct {
	By   Conditions // that it was chosen by; none where sessions were named
	Rows []Summary  // with their Points and Keys; with the key sampling_json targets are told apart by their settings
}

// caseKeys make the point of the matrix: two rows are of one case where they
// agree in all of them, unless the selections are chosen by one or differ in one
// of the methodKeys as wholes.
var caseKeys = []string{"pp", "depth", "tg", "concurrency", "cache_mode", "prefix_cache_hit", "prompt_kind", "prompt_hash"}

// methodKeys are those of the caseKeys that say how a case was asked, not how
// much was. Where all of A has one value and all of B another, that is what is
// compared: cold against prefix. Two texts are two amounts, but one may be
// unknown to the tool that measured.
var methodKeys = []string{"cache_mode", "prefix_cache_hit", "prompt_kind", "prompt_hash"}

// identityKeys are what a target is. The sides of a case are of one each.
var identityKeys = []string{"engine", modelKey, "model_quantization", "placement_sharding", "placement_instance_meta", "placement_nodes"}

// settingKeys are what may vary in a side, and then parts its rows if the other
// side has the same values.
var settingKeys = []string{"host", "endpoint", "streaming", settingsKey}

// modelKey is the model's id, or the name that a session's label gives it.
const modelKey = "model"

// Compare holds B against A, case by case and metric by metric. What the two
// have in common decides which rows belong together: the point of the matrix
// always, and of target, host and the like what varies in a side and is there in
// the other. Rows of several sessions in one case are taken together.
//
// An error says that the selections can't be compared, and which conditions
// would help.
func Compare(a, b Selected, metrics []Metric) (*CompareSet, error) {
	if err := disjoint(a.Rows, b.Rows); err != nil {
		return nil, err
	}
	m := &matching{a: a, b: b, metrics: metrics, set: emptySet(), orders: uDistributions{}}
	m.nameModels()
	m.nameSettings()
	m.chooseKeys()
	if err := m.match(); err != nil {
		return nil, err
	}
	m.set.finish(metrics)
	return &m.set, nil
}

// disjoint refuses rows that are on both sides: they would be compared with
// themselves.
func disjoint(a, b []Summary) error {
	for _, x := range a {
		for _, y := range b {
			if x.SessionID == y.SessionID && x.CaseID == y.CaseID && x.PrefixCacheHit == y.PrefixCacheHit {
				return fmt.Errorf("session %s is on both sides: a run can't be compared with itself; narrow one of the two", x.SessionID)
			}
		}
	}
	return nil
}

// matching is a comparison on its way.
type matching struct {
	a, b    Selected
	metrics []Metric
	keys    []string // that rows of one case agree in
	set     CompareSet
	groups  []matched
	orders  uDistributions
}

// matched are the rows of a case that both sides have.
type matched struct{ a, b []Summary }

// nameModels puts the model's name into the keys: its id where the sides have
// one in common, else the label where a session has given one to its only model.
func (m *matching) nameModels() {
	byLabel := !share(valuesOf(m.a.Rows, "model_id"), valuesOf(m.b.Rows, "model_id"))
	for _, rows := range [][]Summary{m.a.Rows, m.b.Rows} {
		models := map[string][]string{}
		for _, s := range rows {
			if id := s.Keys["model_id"]; !slices.Contains(models[s.SessionID], id) {
				models[s.SessionID] = append(models[s.SessionID], id)
			}
		}
		for _, s := range rows {
			s.Keys[modelKey] = s.Keys["model_id"]
			if label := s.Keys["label"]; byLabel && label != "" && len(models[s.SessionID]) == 1 {
				s.Keys[modelKey] = label
			}
		}
	}
}

// chooseKeys decides which keys tell cases apart, and notes in which the sides
// differ because they were asked for so, or as a whole.
func (m *matching) chooseKeys() {
	for _, key := range slices.Concat(identityKeys, settingKeys, caseKeys) {
		va, vb := valuesOf(m.a.Rows, key), valuesOf(m.b.Rows, key)
		switch {
		case m.selectedBy(key) && !share(va, vb), asWholes(key, va, vb):
		case slices.Contains(caseKeys, key):
			m.keys = append(m.keys, key)
		case (len(va) > 1 || len(vb) > 1) && share(va, vb):
			m.keys = append(m.keys, key)
		}
		named := listed(va) != listed(vb) // a cold case's lack of hits is none to name
		if named && !share(va, vb) && (m.selectedBy(key) || slices.Contains(identityKeys, key) || asWholes(key, va, vb)) {
			m.set.Compared = append(m.set.Compared, CaseKey{key, listed(va) + " against " + listed(vb)})
		}
	}
}

// asWholes reports whether a side has one value of a methodKey and the other side
// another.
func asWholes(key string, a, b []string) bool {
	if !slices.Contains(methodKeys, key) || len(a) != 1 || len(b) != 1 || a[0] == b[0] {
		return false
	}
	return key != "prompt_hash" || a[0] == "" || b[0] == ""
}

// noteApart notes the keys in which no case of A is like any of B.
func (m *matching) noteApart() {
	for _, key := range m.keys {
		if va, vb := valuesOf(m.a.Rows, key), valuesOf(m.b.Rows, key); !share(va, vb) {
			m.set.Apart = append(m.set.Apart, KeyValues{key, va, vb})
		}
	}
}

// selectedBy reports whether a side was chosen by the key, or by what it stands
// for.
func (m *matching) selectedBy(key string) bool {
	return slices.ContainsFunc(slices.Concat(m.a.By, m.b.By), func(c Condition) bool {
		return c.Key == key || key == modelKey && (c.Key == "model_id" || c.Key == "label")
	})
}

func (m *matching) match() error {
	orderA, byA := m.group(m.a.Rows)
	orderB, byB := m.group(m.b.Rows)
	names := varyingIn(slices.Concat(m.a.Rows, m.b.Rows), m.keys)
	for _, t := range orderA {
		if byB[t] == nil {
			m.set.OnlyA = append(m.set.OnlyA, CaseName(keysOf(byA[t][0], names)))
			continue
		}
		m.groups = append(m.groups, matched{byA[t], byB[t]})
	}
	for _, t := range orderB {
		if byA[t] == nil {
			m.set.OnlyB = append(m.set.OnlyB, CaseName(keysOf(byB[t][0], names)))
		}
	}
	m.noteApart()
	for _, g := range m.groups {
		if err := errors.Join(m.oneTarget("A", g.a), m.oneTarget("B", g.b)); err != nil {
			return err
		}
		m.set.matched[0], m.set.matched[1] = append(m.set.matched[0], g.a...), append(m.set.matched[1], g.b...)
	}
	m.warn()
	m.compare()
	return nil
}

// group puts rows of one case together, in the order of their first.
func (m *matching) group(rows []Summary) (order []string, by map[string][]Summary) {
	by = map[string][]Summary{}
	for _, s := range rows {
		t := tuple(s, m.keys)
		if by[t] == nil {
			order = append(order, t)
		}
		by[t] = append(by[t], s)
	}
	return order, by
}

// oneTarget refuses a side of a case that is of several targets: they are not to
// be thrown together, and nothing says which belongs to which of the other side.
func (m *matching) oneTarget(side string, rows []Summary) error {
	for _, key := range identityKeys {
		if v := valuesOf(rows, key); len(v) > 1 {
			column := key
			if key == modelKey {
				column = "model_id"
			}
			return fmt.Errorf("%s has %d values of %s (%s), and the other side none of them: choose one with %s=%s",
				side, len(v), column, strings.Join(v, ", "), column, rows[0].Keys[column])
		}
	}
	return nil
}

func (m *matching) compare() {
	var rows []Summary
	for _, g := range m.groups {
		rows = append(append(rows, g.a...), g.b...)
	}
	names := varyingIn(rows, m.keys)
	for _, g := range m.groups {
		key := keysOf(g.a[0], names)
		for _, metric := range m.metrics {
			if !m.bothMeasure(metric.Name) {
				continue
			}
			a, b := newSide(g.a, metric.Name), newSide(g.b, metric.Name)
			if a.N > 0 || b.N > 0 {
				m.set.Pairs = append(m.set.Pairs, newComparison(m.orders, key, metric, a, b))
			}
		}
	}
}

// bothMeasure reports whether each side has the metric in some case.
func (m *matching) bothMeasure(metric string) bool {
	some := func(rows func(matched) []Summary) bool {
		return slices.ContainsFunc(m.groups, func(g matched) bool { return newSide(rows(g), metric).N > 0 })
	}
	return some(func(g matched) []Summary { return g.a }) && some(func(g matched) []Summary { return g.b })
}
