package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"unicode/utf8"

	"tokwatt/collect"
)

// readAsiaiMode reads what asiai's other modes export, of one engine and one
// model. Its agentic mode lists single requests, by phase, with times of its own
// clock; its decode_tok_s is (n − 1) / span, rounded as its times are. Others,
// as the bursts, have averages: those are kept with the session, and a loss says
// so.
func readAsiaiMode(in *Input, out *sink, doc object) error {
	if doc.text("schema_version") == "" || doc.text("engine") == "" {
		return fmt.Errorf("it has neither engines in a benchmark nor a schema_version with an engine")
	}
	s := collect.Session{
		Profile: "asiai", Host: asiaiHost(doc), StartedAt: asiaiTime(doc),
		Imported: &collect.Origin{Tool: "asiai", ToolVersion: doc.text("asiai_version"), Extra: withoutSecrets(doc).without("runs")},
	}
	if err := out.session(in.whole(), s); err != nil {
		return err
	}
	target := out.target(collect.TargetInfo{
		Engine: doc.text("engine"), EngineVersion: doc.text("engine_version"), Driver: "import",
		ModelID: doc.text("model"), Endpoint: endpoint(doc.text("base_url")),
	})
	runs := doc.list("runs")
	if len(runs) == 0 {
		mode := cmp.Or(doc.text("bench_mode"), doc.text("schema_version"))
		out.put(&collect.Lost{Segment: 1, Model: doc.text("model"), Message: "the file has averages of asiai's mode " + mode + " and no single request: run asiai bench without that mode"})
	}
	for i, raw := range runs {
		at := where("runs[%d]", i)
		row, err := parseObject(raw)
		if err != nil {
			out.bad(at, "%v", err)
			continue
		}
		r, err := asiaiRequest(row)
		if err = errors.Join(err, row.refuseTimes("ttft_ms"), row.refuseCounts("prompt_tokens", "cached_tokens"), row.refuseNumbers("decode_tok_s")); err != nil {
			out.bad(at, "%v", err)
			continue
		}
		id := out.caseOf(collect.Case{TargetID: target, Concurrency: 1, CacheMode: collect.CacheServer,
			PromptKind: cmp.Or(row.text("phase"), "own"), PromptSource: collect.PromptText, Streaming: true})
		out.batch(id, false, collect.Batch{RepeatIndex: deref(row.count("repeat")), Requests: []collect.Request{r}})
	}
	return nil
}

// asiaiRequest is a run of the agentic mode.
func asiaiRequest(row object) (collect.Request, error) {
	text := row.text("text")
	r := collect.Request{
		Streamed: true, Preview: firstRunes(text, 200), OutputChars: int64(utf8.RuneCountInString(text)) + deref(row.count("reasoning_chars")),
		Stated: &collect.Stated{
			Rule: "decode_tok_s of asiai", GenerationTPS: positive(row.number("decode_tok_s")),
			TTFTMS: positive(row.number("ttft_ms")), TotalDurationMS: positive(row.number("wall_total_ms")),
		},
		Report: collect.Report{
			PromptTokens: row.count("prompt_tokens"), CompletionTokens: row.count("completion_tokens"), CachedTokens: row.count("cached_tokens"),
			FinishReason: row.text("finish_reason"), JSON: row.without("text"),
		},
	}
	if fault := row.text("error"); fault != "" {
		r.Failure = collect.Failf(failureKind(fault), "%s", lastLine(fault))
	} else if r.Report.CompletionTokens == nil || r.Stated.TotalDurationMS == nil {
		return r, fmt.Errorf("it lacks completion_tokens or wall_total_ms")
	}
	return r, nil
}
