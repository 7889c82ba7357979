package exchange

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// benchCase is a case with its target.
type benchCase struct {
	target *collect.TargetInfo
	of     *collect.Case
}

func (c benchCase) id() [2]int64 { return [2]int64{c.target.TargetID, c.of.CaseID} }

// namePart is one /key=value of a name; without a value it is left out.
type namePart struct{ key, value string }

// benchNames are what the names of a session's cases have besides what all
// names have, by target and case.
type benchNames map[[2]int64][]namePart

// newBenchNames finds what tells the cases apart: of all that may differ between
// two cases of one name, in a fixed order, the parts that make more names. They
// hang on the session's matrix alone, so that two sessions of one matrix have the
// same names.
func newBenchNames(cases []benchCase) benchNames {
	names := benchNames{}
	more := map[[2]int64]map[string]string{}
	for _, c := range cases {
		more[c.id()] = c.facets()
	}
	different := func() int {
		seen := map[string]bool{}
		for _, c := range cases {
			seen[names.of(c, "")] = true
		}
		return len(seen)
	}
	count := different()
	for _, key := range facetOrder(more) {
		if count == len(cases) {
			break
		}
		without := maps.Clone(names)
		for id, facets := range more {
			names[id] = append(slices.Clip(names[id]), namePart{key, facets[key]})
		}
		if n := different(); n > count {
			count = n
		} else {
			names = without
		}
	}
	return names
}

// Facets that come before the settings of a target, and behind them: the address
// may change from session to session, and the numbers are the last resort.
var (
	firstFacets = []string{"model_id", "served", "format", "context", "streams"}
	lastFacets  = []string{"source", "cold", "eos", "limit", "version", "endpoint", "target", "case"}
)

// facets are what may tell a case from others whose names are else the same.
func (c benchCase) facets() map[string]string {
	t := c.target
	out := analyze.Settings(t.Sampling)
	number := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	maps.Copy(out, map[string]string{
		"model_id": t.ModelID, "served": t.ServedModel, "format": t.ModelFormat, "context": number(t.ContextTokens), "streams": number(t.MaxStreams),
		"source": string(c.of.PromptSource), "cold": c.of.ColdMethod, "eos": c.of.EOSBan, "limit": strconv.FormatBool(!c.of.TGWanted),
		"version": t.EngineVersion, "endpoint": t.Endpoint,
		"target": strconv.FormatInt(t.TargetID, 10), "case": strconv.FormatInt(c.of.CaseID, 10),
	})
	return out
}

func facetOrder(of map[[2]int64]map[string]string) []string {
	settings := map[string]bool{}
	for _, facets := range of {
		for key := range facets {
			if !slices.Contains(firstFacets, key) && !slices.Contains(lastFacets, key) {
				settings[key] = true
			}
		}
	}
	return slices.Concat(firstFacets, slices.Sorted(maps.Keys(settings)), lastFacets)
}

// of is the name of a case. It ends with the number of streams: a name that ends
// in -8 would be one of 8 processors.
func (n benchNames) of(c benchCase, hit analyze.CacheHit) string {
	parts := append(targetParts(c.target), caseParts(c.of)...)
	parts = append(parts, namePart{"hit", string(hit)})
	parts = append(append(parts, n[c.id()]...), namePart{"c", strconv.FormatInt(c.of.Concurrency, 10)})
	name := "BenchmarkTokwatt"
	for _, p := range parts {
		if p.value != "" {
			name += "/" + benchWord(p.key) + "=" + benchWord(p.value)
		}
	}
	return name
}

func targetParts(t *collect.TargetInfo) []namePart {
	nodes := ""
	if len(t.Nodes) > 0 {
		nodes = strconv.Itoa(len(t.Nodes))
	}
	return []namePart{
		{"engine", t.Engine}, {"model", shortModel(cmp.Or(t.ModelID, t.ServedModel))}, {"quant", t.Quantization},
		{"sharding", t.Sharding}, {"meta", t.InstanceMeta}, {"nodes", nodes},
	}
}

func caseParts(c *collect.Case) []namePart {
	prompt := namePart{"prompt", c.PromptKind}
	if c.PP != nil {
		prompt = namePart{"pp", strconv.FormatInt(*c.PP, 10)}
	}
	depth, stream := "", ""
	if c.Depth != nil && *c.Depth > 0 {
		depth = strconv.FormatInt(*c.Depth, 10)
	}
	if !c.Streaming {
		stream = "no"
	}
	return []namePart{
		prompt, {"text", c.PromptHash[:min(8, len(c.PromptHash))]}, {"depth", depth}, {"tg", strconv.FormatInt(c.TG, 10)},
		{"cache", string(c.CacheMode)}, {"stream", stream},
	}
}

// benchWord is text that may stand in a name: no space, and no slash, which
// begins the next part.
func benchWord(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || !unicode.IsPrint(r) || r == unicode.ReplacementChar:
			return '_'
		case r == '/':
			return ':'
		}
		return r
	}, s)
}
