package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"tokwatt/collect"
)

// claimsExo takes a list of runs, by itself as early versions of exo-bench
// wrote it or as a member, whose entries have exo's own placement.
func claimsExo(head []byte) bool {
	if bytes.Contains(head, []byte(`"runs"`)) && (bytes.Contains(head, []byte(`"nodeIdentities"`)) || bytes.Contains(head, []byte(`"runs": []`))) {
		return true // one where every run failed
	}
	return bytes.Contains(head, []byte(`"placement_instance_meta"`)) && bytes.Contains(head, []byte(`"elapsed_s"`))
}

// exoReader reads exo-bench's results.
//
// What the server said of itself goes where exo's driver puts it, so rates and
// energy follow the rules for exo. The file has no time of day and neither exo's
// version nor the client's settings. A run without stats was given up by exo.
// The requests of a concurrent batch share their power_usage.
type exoReader struct {
	out     *sink
	cluster string
	metrics object   // system_metrics, by node id
	pending *exoRows // the batch in hand
}

// exoRows are the runs of one batch.
type exoRows struct {
	key    exoKey
	caseID int64
	batch  collect.Batch
}

// exoKey tells batches apart.
type exoKey struct {
	caseID, repeat int64
}

func readExo(in *Input, out *sink) error {
	x := exoReader{out: out}
	out.numbered = true
	if err := x.around(in); err != nil && !errors.Is(err, errCut) {
		return err
	}
	s := collect.Session{Imported: &collect.Origin{Tool: "exo-bench"}, Profile: "exo"}
	if x.metrics != nil {
		s.Imported.Extra = object{"system_metrics": json.RawMessage(x.metrics.without())}.without()
	}
	if err := out.session(in.whole(), s); err != nil {
		return err
	}
	n := 0
	err := x.runs(in, func(dec *json.Decoder) error {
		return elements(dec, func(i int, raw json.RawMessage) bool {
			n = i + 1
			x.run(i, raw)
			return out.more()
		})
	})
	x.flush()
	switch {
	case err == errBehind:
		out.bad(where("behind runs"), "%v", err)
	case err != nil:
		out.bad(where("runs[%d]", n), "%v", err)
	}
	return nil
}

// runs has the list of runs read by f, wherever it is in the file.
func (x *exoReader) runs(in *Input, f func(*json.Decoder) error) error {
	r := in.reader()
	first, err := firstByte(r)
	dec := decoder(r)
	if err != nil || first == '[' {
		err = f(dec)
	} else {
		err = eachMember(dec, func(name string) (bool, error) {
			if name != "runs" {
				return false, nil
			}
			return true, f(dec)
		})
	}
	if err != nil {
		return err
	}
	return behind(dec)
}

// around reads what stands beside the runs.
func (x *exoReader) around(in *Input) error {
	r := in.reader()
	if first, err := firstByte(r); err != nil || first == '[' {
		return nil
	}
	dec := decoder(r)
	return eachMember(dec, func(name string) (bool, error) {
		var raw json.RawMessage
		switch name {
		case "cluster", "system_metrics":
			if err := dec.Decode(&raw); err != nil {
				return true, said(err)
			}
		default:
			return false, nil
		}
		if name == "cluster" {
			if x.cluster = compact(raw); x.cluster == "{}" || x.cluster == "null" {
				x.cluster = ""
			}
		} else {
			x.metrics, _ = parseObject(raw)
		}
		return true, nil
	})
}

// firstByte is the first that is no white space, not yet read.
func firstByte(r io.ByteScanner) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return b, r.UnreadByte()
	}
}

// run takes one entry.
func (x *exoReader) run(i int, raw json.RawMessage) {
	row, err := parseObject(raw)
	if err != nil {
		x.out.bad(where("runs[%d]", i), "%v", err)
		return
	}
	elapsed, tg := nanos(row.number("elapsed_s")), row.count("tg")
	if elapsed == nil || tg == nil || row.text("model_id", "model_short_id") == "" {
		x.out.bad(where("runs[%d]", i), "it lacks model_id, tg or elapsed_s")
		return
	}
	stats := row.object("stats")
	if err := cmp.Or(stats.refuseNumbers("prompt_tps", "generation_tps"), stats.refuseCounts("prompt_tokens", "generation_tokens")); err != nil {
		x.out.bad(where("runs[%d]", i), "%v", err)
		return
	}
	concurrency := max(deref(row.count("concurrency")), 1)
	id := x.out.caseOf(collect.Case{
		TargetID: x.out.target(x.target(row)), PP: row.count("pp_tokens"), TG: *tg, TGWanted: true, Concurrency: concurrency,
		CacheMode: collect.CacheServer, EOSBan: "engine", PromptKind: "sized", PromptSource: collect.PromptTokenizer,
	})
	key := exoKey{id, deref(row.count("repeat_index"))}
	if p := x.pending; p == nil || p.key != key || concurrency == 1 || int64(len(p.batch.Requests)) == concurrency {
		x.flush()
		x.pending = &exoRows{key: key, caseID: id, batch: collect.Batch{RepeatIndex: key.repeat}}
	}
	x.pending.batch.Requests = append(x.pending.batch.Requests, exoRequest(row, *elapsed))
}

// flush hands out the batch in hand.
func (x *exoReader) flush() {
	if x.pending != nil {
		x.out.batch(x.pending.caseID, false, x.pending.batch)
		x.pending = nil
	}
}

func (x *exoReader) target(row object) collect.TargetInfo {
	t := collect.TargetInfo{
		Engine: "exo", Driver: "exo", ModelID: row.text("model_id", "model_short_id"),
		Sharding: row.text("placement_sharding"), InstanceMeta: row.text("placement_instance_meta"), InstanceID: row.text("instance_id"),
		DownloadS: row.number("download_duration_s"), Cluster: x.cluster,
	}
	if n := row.count("placement_nodes"); n != nil {
		t.Nodes = x.nodes(int(min(*n, maxNodes)))
	}
	return t
}

// maxNodes bounds what a file's number makes us allocate.
const maxNodes = 1000

// nodes names the n nodes of a placement. The file has their number alone;
// exo-bench polls the sensors of those nodes and no others, so where it polled
// just as many, these are they. Else they are numbered.
func (x *exoReader) nodes(n int) []string {
	if n > 0 && len(x.metrics) == n {
		names := map[string]string{}
		for name, id := range nodeIDs(x.cluster) {
			names[id] = name
		}
		var out []string
		for _, id := range slices.Sorted(maps.Keys(x.metrics)) {
			out = append(out, cmp.Or(names[id], id))
		}
		return out
	}
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("node %d", i+1))
	}
	return out
}

// exoRequest is the request of an entry.
func exoRequest(row object, elapsed int64) collect.Request {
	r := collect.Request{
		EndNS: elapsed, PPTokens: row.count("pp_tokens"), Preview: row.text("output_text_preview"),
		ConcurrentIndex: deref(row.count("concurrent_index")),
	}
	r.Report = collect.Report{Source: collect.ReportServer, JSON: object{"generation_stats": orNull(row["stats"]), "power_usage": orNull(row["power_usage"])}.without()}
	stats := row.object("stats")
	if stats == nil {
		r.Failure = collect.Failf(collect.ErrTruncated, "exo gave the answer up: it has no stats")
		return r
	}
	rep := &r.Report
	rep.PromptTokens, rep.CompletionTokens = stats.count("prompt_tokens"), stats.count("generation_tokens")
	rep.PromptTPS, rep.GenerationTPS = stats.number("prompt_tps"), stats.number("generation_tps")
	rep.PrefixCacheHit = stats.text("prefix_cache_hit")
	rep.PeakMemoryBytes = stats.object("peak_memory_usage").count("inBytes", "in_bytes")
	rep.GenerationRule = collect.RateIntervals
	if r.PPTokens != nil && rep.PromptTokens != nil && *rep.PromptTokens == *r.PPTokens+1 {
		// exo's sequential engine counts one token more, and its rate is n / span.
		rep.GenerationRule = collect.RateTokens
		n := *r.PPTokens
		rep.PromptTokens = &n
	}
	return r
}

// orNull is a member's value, null where it is missing.
func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// deref is *n, 0 where it is nil.
func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
