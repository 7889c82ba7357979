package exchange

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// exoRun is an entry of runs: one request. The keys of exo-bench, in its order.
type exoRun struct {
	ElapsedS        *exoFloat       `json:"elapsed_s"` // from the start of the batch
	Preview         string          `json:"output_text_preview"`
	Stats           any             `json:"stats"` // the server's object, or exoStats
	PowerUsage      json.RawMessage `json:"power_usage"`
	ModelShortID    string          `json:"model_short_id"`
	ModelID         string          `json:"model_id"`
	Sharding        *string         `json:"placement_sharding"`
	InstanceMeta    *string         `json:"placement_instance_meta"`
	Nodes           *int            `json:"placement_nodes"`
	InstanceID      *string         `json:"instance_id"`
	PPTokens        *int64          `json:"pp_tokens"`
	TG              int64           `json:"tg"`
	RepeatIndex     int64           `json:"repeat_index"`
	Concurrency     int64           `json:"concurrency"`
	ConcurrentIndex *int            `json:"concurrent_index,omitempty"`
	DownloadS       *exoFloat       `json:"download_duration_s,omitempty"`
}

// exoStats is stats, for a server that has none of its own.
type exoStats struct {
	PromptTPS        *exoFloat `json:"prompt_tps"`
	GenerationTPS    *exoFloat `json:"generation_tps"`
	PromptTokens     *int64    `json:"prompt_tokens"`
	GenerationTokens *int64    `json:"generation_tokens"`
	PeakMemory       struct {
		InBytes *int64 `json:"inBytes"`
	} `json:"peak_memory_usage"` // never null: readers look into it
	PrefixCacheHit *analyze.CacheHit `json:"prefix_cache_hit"`
}

// newExoRun is the entry of request r, which is complete; row is what is
// derived from it.
func newExoRun(t *collect.TargetInfo, c *collect.Case, b *collect.Batch, r *collect.Request, row *analyze.RequestRow) exoRun {
	model := cmp.Or(t.ServedModel, t.ModelID)
	run := exoRun{
		ElapsedS:     (*exoFloat)(row.ElapsedS),
		Preview:      row.OutputTextPreview,
		ModelShortID: shortModel(model),
		ModelID:      model,
		PPTokens:     row.PPTokens,
		TG:           c.TG,
		RepeatIndex:  b.RepeatIndex,
		Concurrency:  c.Concurrency,
	}
	run.place(t, reused(t) && (r.Stated == nil || t.Sharding == "reused"))
	stats, power := saidStats(r.Report.JSON)
	run.Stats, run.PowerUsage = stats, power
	if stats == nil {
		run.Stats = ownStats(row)
	}
	return run
}

// saidStats are the objects of exo's server, nil where it sent none.
func saidStats(report string) (stats, power json.RawMessage) {
	var said struct {
		Stats json.RawMessage `json:"generation_stats"`
		Power json.RawMessage `json:"power_usage"`
	}
	if json.Unmarshal([]byte(report), &said) != nil {
		return nil, nil
	}
	return said.Stats, said.Power
}

// ownStats are our figures of a request. The file can't mark a count as an
// estimate, so such a count is not known.
func ownStats(row *analyze.RequestRow) exoStats {
	s := exoStats{
		PromptTPS:        (*exoFloat)(row.PromptTPS),
		GenerationTPS:    (*exoFloat)(row.GenerationTPS),
		PromptTokens:     row.PromptTokens,
		GenerationTokens: row.TokensGenerated,
	}
	if row.TokensSource == analyze.SourceEstimate {
		s.GenerationTokens = nil
	}
	s.PeakMemory.InBytes = row.PeakMemoryBytes
	if row.PrefixCacheHit != analyze.HitUnknown {
		s.PrefixCacheHit = &row.PrefixCacheHit
	}
	return s
}

// reused reports whether the instance was there before the run: exo's driver
// has no load time for it, and for every other one it has.
func reused(t *collect.TargetInfo) bool { return t.Driver == "exo" && t.LoadS == nil }

// place fills in where the model runs. Of an instance that it reuses exo-bench
// knows nothing, and says so in place of what we know. A session that was
// imported has what its file said.
func (run *exoRun) place(t *collect.TargetInfo, reused bool) {
	run.Sharding, run.InstanceMeta, run.InstanceID = known(t.Sharding), known(t.InstanceMeta), known(t.InstanceID)
	n := len(t.Nodes)
	if reused {
		n = 0
		run.Sharding, run.InstanceMeta = known("reused"), known("reused")
	} else if n == 0 {
		return
	}
	run.Nodes = &n
}

// shortModel is exo's short name of a model: the last part of its id.
func shortModel(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// known is s, or nil where it is empty.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// inOrderOfEnd are the places of the complete answers in rows, the first to be
// complete first. Rows that are invalid are among them: exo-bench does not
// judge what the server says.
func inOrderOfEnd(rows []analyze.RequestRow) []int {
	var complete []int
	for i := range rows {
		if rows[i].Status != analyze.StatusFailed {
			complete = append(complete, i)
		}
	}
	slices.SortStableFunc(complete, func(a, b int) int { return cmp.Compare(rows[a].EndNS, rows[b].EndNS) })
	return complete
}
