package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"tokwatt/collect"
)

// claimsGuidellm takes an object with guidellm's benchmarks.
func claimsGuidellm(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && bytes.Contains(head, []byte(`"benchmarks"`)) &&
		(bytes.Contains(head, []byte(`"generative_benchmark"`)) || bytes.Contains(head, []byte(`"guidellm_version"`)))
}

// guidellmReader reads a report of guidellm, from 0.2 on. A benchmark is a load
// level and becomes a case; its requests stand by what became of them.
//
// guidellm keeps the first and the last arrival of a request, so there are no
// gaps. Older versions have them on the row, newer ones in info.timings; times
// are seconds since 1970. Older ones say of a request that failed how many
// tokens it was to have, which is no count. Its own rates, by its own rules
// (output_tokens_per_second is tokens over the whole latency), stay in
// server_json, its averages in the session. request_args and the prompt, what
// was asked, are left out.
//
// Two passes: the first finds what stands around the requests, and the first
// start.
type guidellmReader struct {
	in    *Input
	out   *sink
	top   object
	heads []object  // of each benchmark
	rows  []int64   // requests of each, that streamed
	from  float64   // earliest start, s since 1970; 0: no request has one
	cut   placedCut // where the file breaks off
}

// placedCut is a place at which reading ended, and why.
type placedCut struct {
	at  place
	err error
}

func readGuidellm(in *Input, out *sink) error {
	g := guidellmReader{in: in, out: out, top: object{}}
	g.walk(g.see)
	meta := g.top.object("metadata")
	s := collect.Session{Imported: &collect.Origin{Tool: "guidellm", ToolVersion: meta.text("guidellm_version"), Extra: g.extra()}}
	if g.from > 0 {
		s.StartedAt = time.Unix(0, 0).Add(time.Duration(math.Floor(g.from*1e3)) * time.Millisecond)
		g.from = math.Floor(g.from*1e3) / 1e3
	}
	if err := out.session(in.whole(), s); err != nil {
		return err
	}
	b := guidellmBatch{g: &g, bench: -1}
	g.walk(b.take)
	b.flush()
	if g.cut.err != nil {
		out.bad(g.cut.at, "%v", g.cut.err)
	}
	return nil
}

// walk goes through the requests of all benchmarks, in the order of the file.
func (g *guidellmReader) walk(each func(bench int, group string, i int, raw json.RawMessage)) {
	dec := decoder(g.in.reader())
	at := place{}
	first := g.heads == nil
	err := eachMember(dec, func(name string) (bool, error) {
		if name != "benchmarks" {
			at = where("%s", name)
			return first, g.member(dec, g.top, name, first)
		}
		if err := delim(dec, '['); err != nil {
			return true, err
		}
		for n := 0; dec.More() && g.out.more(); n++ {
			at = where("benchmarks[%d]", n)
			if err := g.benchmark(dec, n, first, &at, each); err != nil {
				return true, err
			}
		}
		if !g.out.more() {
			return true, errFound
		}
		return true, delim(dec, ']')
	})
	if err == nil && !first {
		at, err = where("behind benchmarks"), behind(dec)
	}
	if err != nil && g.out.more() {
		g.cut = placedCut{at, err}
	}
}

// member keeps a member in o, in the first pass.
func (g *guidellmReader) member(dec *json.Decoder, o object, name string, first bool) error {
	if !first {
		return nil
	}
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return said(err)
	}
	o[name] = raw
	return nil
}

// benchmark goes through one benchmark.
func (g *guidellmReader) benchmark(dec *json.Decoder, n int, first bool, at *place, each func(int, string, int, json.RawMessage)) error {
	if first {
		g.heads, g.rows = append(g.heads, object{}), append(g.rows, 0)
	}
	return eachMember(dec, func(name string) (bool, error) {
		if name != "requests" {
			return first, g.member(dec, g.heads[n], name, first)
		}
		return true, eachMember(dec, func(group string) (bool, error) {
			*at = where("benchmarks[%d].requests.%s", n, group)
			tok, err := dec.Token()
			if err != nil || tok != json.Delim('[') {
				return true, err // a group without requests may be null
			}
			for i := 0; dec.More(); i++ {
				*at = where("benchmarks[%d].requests.%s[%d]", n, group, i)
				var raw json.RawMessage
				if err := dec.Decode(&raw); err != nil {
					return true, said(err)
				}
				each(n, group, i, raw)
			}
			return true, delim(dec, ']')
		})
	})
}

// see is the first pass over a request.
func (g *guidellmReader) see(n int, _ string, _ int, raw json.RawMessage) {
	row, err := parseObject(raw)
	if err != nil {
		return
	}
	if x := guidellmStart(row); x != nil && (g.from == 0 || *x < g.from) {
		g.from = *x
	}
	if row.number("time_to_first_token_ms") != nil {
		g.rows[n]++
	}
}

// extra is what the file says beside the requests.
func (g *guidellmReader) extra() string {
	around := withoutSecrets(g.top)
	var heads []json.RawMessage
	for _, h := range g.heads {
		heads = append(heads, json.RawMessage(cmp.Or(withoutSecrets(h).without(), "{}")))
	}
	around["benchmarks"], _ = json.Marshal(heads)
	return around.without()
}

// caseOf is the case of a benchmark.
func (g *guidellmReader) caseOf(n int) int64 {
	h := g.heads[n]
	config := h.object("config")
	strategy := config.object("strategy")
	if strategy == nil {
		strategy = h.object("args").object("strategy")
	}
	target := collect.TargetInfo{Engine: "openai"}
	if worker := h.object("worker"); worker != nil {
		target.ModelID, target.Endpoint = worker.text("backend_model"), endpoint(worker.text("backend_target"))
	}
	if backend := config.object("backend"); backend != nil {
		target.ModelID, target.Endpoint = backend.text("model"), endpoint(backend.text("target"))
	}
	c := collect.Case{
		TargetID: g.out.target(target), Concurrency: g.streams(strategy, h), CacheMode: collect.CacheServer,
		PromptKind: strategyKind(strategy), PromptSource: collect.PromptText, Streaming: g.rows[n] > 0,
	}
	return g.out.caseOf(c)
}

// strategyKind tells load levels apart that differ in no other column: a
// rate, which no column of a case has, is part of the name of the prompts' kind.
func strategyKind(strategy object) string {
	if rate := strategy.number("rate"); rate != nil {
		return fmt.Sprintf("own, %g/s", *rate)
	}
	return "own"
}

// streams is the number of requests at once that a strategy asks for; where it
// asks for a rate, what guidellm saw in the mean, rounded up.
func (g *guidellmReader) streams(strategy, head object) int64 {
	if n := strategy.count("streams"); n != nil && *n > 0 {
		return *n
	}
	if strategy.text("type_", "type") == "synchronous" {
		return 1
	}
	seen := head.object("metrics").object("request_concurrency")
	for _, group := range []string{"total", "successful"} {
		if x := seen.object(group).number("mean"); x != nil && *x > 0 {
			return int64(math.Ceil(min(*x, 1<<31)))
		}
	}
	return 1
}
