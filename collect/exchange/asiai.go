package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"tokwatt/collect"
)

// claimsAsiai takes an export of asiai's benchmark.
func claimsAsiai(head []byte) bool {
	return bytes.Contains(head, []byte(`"asiai_version"`)) || bytes.Contains(head, []byte(`"raw_runs"`)) && bytes.Contains(head, []byte(`"benchmark"`))
}

// maxDocument bounds a file that is read as one document.
const maxDocument = 256 << 20

// document reads a file that is one JSON object.
func (in *Input) document() (object, error) {
	if in.Size > maxDocument {
		return nil, fmt.Errorf("it is over %d MiB, more than such a file can be", maxDocument>>20)
	}
	raw, err := io.ReadAll(pythonJSON(in.reader()))
	if err != nil {
		return nil, err
	}
	return parseObject(raw)
}

// readAsiai reads asiai's export, all of it at once; what its other modes write
// has another shape (see readAsiaiMode).
//
// Its tokens/s is M1 by the rule of its own version, and its times are those of
// Ollama's server where that is the engine, so both are asiai's figures and not
// facts to compute others from. Who counted the tokens it does not say. Averages
// and percentiles of the engines go to the session's extras.
func readAsiai(in *Input, out *sink) error {
	doc, err := in.document()
	if err != nil {
		return err
	}
	bench := doc.object("benchmark")
	engines := bench.object("engines")
	if engines == nil {
		return readAsiaiMode(in, out, doc)
	}
	if err := out.session(in.whole(), asiaiSession(doc, bench, engines)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		engine := engines.object(name)
		if engine == nil {
			out.bad(where("engines.%s", name), "no object")
			continue
		}
		readAsiaiEngine(out, doc, bench, name, engine)
	}
	return nil
}

func asiaiSession(doc, bench, engines object) collect.Session {
	s := collect.Session{
		Profile: "asiai", Options: bench.without("engines", "winner"),
		Host: asiaiHost(doc.object("machine")), StartedAt: asiaiTime(doc),
	}
	said := object{}
	for name := range engines {
		if text := engines.object(name).without("raw_runs"); text != "" {
			said[name] = json.RawMessage(text)
		}
	}
	extra := maps.Clone(doc)
	rest := maps.Clone(bench)
	rest["engines"] = json.RawMessage(cmp.Or(said.without(), "{}"))
	extra["benchmark"] = json.RawMessage(rest.without())
	s.Imported = &collect.Origin{Tool: "asiai", ToolVersion: doc.text("asiai_version", "version"), Extra: extra.without()}
	return s
}

// asiaiHost is the machine, as asiai describes it in m.
func asiaiHost(m object) collect.Host {
	h := collect.Host{Chip: m.text("chip", "hw_chip"), Model: m.text("model", "hw_model", "machine_model"), GPUCores: some(m.count("gpu_cores")), CPUCores: some(m.count("cpu_cores")), OSVersion: m.text("os_version")}
	if gb := m.number("ram_gb"); gb != nil && *gb > 0 && *gb < 1e6 {
		n := int64(*gb * (1 << 30))
		h.RAMBytes = &n
	}
	return h
}

// asiaiTime is when the run was, in seconds since 1970 or as text.
func asiaiTime(doc object) time.Time {
	if at := doc.number("timestamp", "ts", "started_at"); at != nil && *at > 0 && *at < 1e11 {
		return time.Unix(0, int64(*at*1e3)*1e6).UTC()
	}
	t, err := time.Parse(time.RFC3339, doc.text("timestamp", "ts", "started_at"))
	if err != nil {
		return time.Time{}
	}
	return t
}

// asiaiPower is the mean power of an engine's runs, in the widest scope that
// asiai has: the whole chip, or the GPU alone.
func asiaiPower(engine object) (watts *float64, scope string) {
	if x := positive(engine.number("avg_soc_watts")); x != nil {
		return x, "soc"
	}
	if x := positive(engine.number("avg_power_watts")); x != nil {
		return x, "gpu"
	}
	return nil, ""
}

// positive is x, nil where it is 0: asiai writes 0 for what it does not know.
func positive(x *float64) *float64 {
	if x == nil || *x <= 0 {
		return nil
	}
	return x
}

func readAsiaiEngine(out *sink, doc, bench object, name string, engine object) {
	watts, scope := asiaiPower(engine)
	t := out.target(collect.TargetInfo{
		// A comparison of models has the models for keys, and says the engine inside.
		Engine: cmp.Or(engine.text("engine"), name), EngineVersion: engine.text("engine_version"), Driver: "import", ModelID: cmp.Or(engine.text("model"), bench.text("model")),
		ModelFormat: engine.text("model_format"), Quantization: engine.text("model_quantization"), ModelGPUBytes: some(engine.count("vram_bytes")),
		ContextTokens: some(bench.count("context_size")),
		StatedPowerW:  watts, StatedPowerScope: scope,
	})
	rule := strings.TrimSpace("M1 of asiai " + doc.text("asiai_version", "version"))
	for i, raw := range engine.list("raw_runs") {
		at := where("engines.%s.raw_runs[%d]", name, i)
		row, err := parseObject(raw)
		if err != nil {
			out.bad(at, "%v", err)
			continue
		}
		if err := row.refuseTimes("ttft_ms", "total_duration_ms"); err != nil {
			out.bad(at, "%v", err)
			continue
		}
		n, rate := row.count("tokens_generated"), row.number("tok_per_sec")
		if n == nil || rate == nil {
			out.bad(at, "it lacks tokens_generated or tok_per_sec")
			continue
		}
		id := out.caseOf(collect.Case{TargetID: t, Concurrency: 1, CacheMode: collect.CacheServer,
			PromptKind: row.text("prompt_type"), PromptSource: collect.PromptText, Streaming: true})
		r := collect.Request{Streamed: true, Stated: &collect.Stated{Rule: rule, TokPerSec: rate,
			TTFTMS: positive(row.number("ttft_ms")), TotalDurationMS: positive(row.number("total_duration_ms"))}}
		r.Report = collect.Report{CompletionTokens: n, PromptTokens: row.count("prompt_tokens"), JSON: row.without()}
		out.batch(id, false, collect.Batch{RepeatIndex: deref(row.count("run_index")), Requests: []collect.Request{r}})
	}
}
