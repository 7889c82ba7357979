package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"tokwatt/collect"
)

// benchReader takes the rows of llama-bench, in whichever of its five formats
// they were written (llamabench_text.go has the formats).
//
// A sample is a request, and a batch of its own: llama-bench runs one sequence
// at a time, over an emptied cache. Where a file has no samples, the one request
// is their mean, with their standard deviation. The rates are llama-bench's own,
// tokens / time: of a generation that is n / t, where our rule is (n − 1) / span.
// A test of prefill and generation together has one rate for both, which fits
// the column of neither.
type benchReader struct {
	in    *Input
	out   *sink
	start time.Time
}

// benchResults are the members that a test's results are in; benchIdentity those
// of its model, its build and itself. The others are settings.
var (
	benchResults  = []string{"avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts", "t/s"}
	benchIdentity = []string{"build_commit", "build_number", "model_filename", "model_type", "model_size", "n_prompt", "n_gen", "n_depth", "test_time", "model", "size", "params", "test"}
)

// claimsLlamaBench takes what has llama-bench's own names of columns.
func claimsLlamaBench(head []byte) bool {
	has := func(s string) bool { return bytes.Contains(head, []byte(s)) }
	if has("n_prompt") && has("n_gen") && (has("avg_ts") || has("avg_ns") || has("stddev_ts")) {
		return true
	}
	return bytes.IndexByte(head, '|') >= 0 && benchHeader(string(head))
}

// benchHeader reports whether one of the lines heads a Markdown table of tests.
func benchHeader(text string) bool {
	for l := range strings.Lines(text) {
		if isBenchHeader(cells(l)) {
			return true
		}
	}
	return false
}

func readLlamaBench(in *Input, out *sink) error {
	b := &benchReader{in: in, out: out}
	return b.text()
}

// row takes one test; build is the version where the row itself has none.
func (b *benchReader) row(at place, row object, build string) {
	test, err := benchTest(row)
	if err != nil {
		b.out.bad(at, "%v", err)
		return
	}
	if !b.out.open {
		if err := b.begin(row, build); err != nil {
			b.out.bad(at, "%v", err)
			return
		}
	}
	kind := "sized"
	if test.pp == nil {
		kind = "none"
	}
	test.id = b.out.caseOf(collect.Case{
		TargetID: b.out.target(benchTarget(row, build)), PP: test.pp, TG: deref(test.tg), TGWanted: test.tg != nil, Depth: test.depth, Concurrency: 1,
		CacheMode: collect.CacheCold, ColdMethod: "engine", PromptKind: kind, PromptSource: collect.PromptTokenizer,
	})
	at0, placed := b.offset(row)
	for i := range test.ts {
		r := test.request(i)
		r.Report.JSON = row.without("samples_ns", "samples_ts")
		r.StartNS = at0
		r.EndNS = at0 + test.ns[i]
		b.out.batch(test.id, placed, collect.Batch{Requests: []collect.Request{r}})
		if placed {
			at0 = r.EndNS
		}
	}
}

// begin opens the session: a file is one.
func (b *benchReader) begin(row object, build string) error {
	b.start, _ = time.Parse(time.RFC3339, row.text("test_time"))
	return b.out.session(b.in.whole(), collect.Session{
		StartedAt: b.start, Host: collect.Host{Chip: row.text("cpu_info")},
		Imported: &collect.Origin{Tool: "llama-bench", ToolVersion: benchBuild(row, build)},
	})
}

// offset is when the test began, from the session's start.
func (b *benchReader) offset(row object) (int64, bool) {
	t, err := time.Parse(time.RFC3339, row.text("test_time"))
	if err != nil || b.start.IsZero() || t.Before(b.start) || t.Sub(b.start) > 365*24*time.Hour {
		return 0, false
	}
	return int64(t.Sub(b.start)), true
}

// benchBuild is a build as llama.cpp's server names it: "b6264-abc1234".
func benchBuild(row object, build string) string {
	commit, number := row.text("build_commit"), row.count("build_number")
	switch {
	case commit == "":
		return build
	case number == nil:
		return commit
	}
	return fmt.Sprintf("b%d-%s", *number, commit)
}

func benchTarget(row object, build string) collect.TargetInfo {
	kind := row.text("model_type", "model")
	return collect.TargetInfo{
		Engine: "llama.cpp", EngineVersion: benchBuild(row, build), Driver: "import", ModelFormat: "gguf",
		ModelID:      cmp.Or(benchFile(row.text("model_filename")), kind),
		Quantization: benchQuantization(kind), ModelBytes: row.count("model_size"),
		Sampling: row.without(append(benchResults, benchIdentity...)...),
	}
}

// benchFile is the base name of a model's file.
func benchFile(name string) string {
	return name[strings.LastIndexAny(name, `/\\`)+1:]
}

var benchFileType = regexp.MustCompile(`(?:^| )((?:I?Q\d|TQ\d|BF16|F16|F32|MXFP4|NVFP4)\S*)(?: - (?:(\d\S* bpw)|(Small|Medium|Large)))?`)

// benchQuantization is the file type in a model's type, "llama 1B Q4_K -
// Medium", as files are named: "Q4_K_M".
func benchQuantization(kind string) string {
	m := benchFileType.FindStringSubmatch(kind)
	switch {
	case m == nil:
		return ""
	case m[3] != "":
		return m[1] + "_" + m[3][:1]
	}
	return m[1]
}

// benchRow is what a row says of its test.
type benchRow struct {
	id            int64
	pp, tg, depth *int64
	ts            []float64 // tokens/s of each sample, or their mean
	ns            []int64   // how long each took; 0: not known
	sd            *float64  // of the mean
}

// benchName is the name of a test; builds of 2023 wrote "pp 512".
var benchName = regexp.MustCompile(`^(?:pp ?(\d+))?\+?(?:tg ?(\d+))?(?: ?@ ?d(\d+))?$`)

// benchTest reads a row's test: "pp512+tg128 @ d4096", or columns.
func benchTest(row object) (benchRow, error) {
	var t benchRow
	if name := row.text("test"); name != "" {
		m := benchName.FindStringSubmatch(strings.TrimSpace(name))
		if m == nil {
			return t, fmt.Errorf("the test %q is not known", name)
		}
		row = object{"n_prompt": quoted(m[1]), "n_gen": quoted(m[2]), "n_depth": quoted(m[3]), "t/s": row["t/s"]}
	}
	t.pp, t.tg, t.depth = some(row.count("n_prompt")), some(row.count("n_gen")), some(row.count("n_depth"))
	if t.pp == nil && t.tg == nil {
		return t, fmt.Errorf("it says neither how many tokens were read nor how many generated")
	}
	return t, t.results(row)
}

func quoted(s string) json.RawMessage {
	if s == "" {
		s = "0"
	}
	return json.RawMessage(`"` + s + `"`)
}

// some is n, nil where it is 0.
func some(n *int64) *int64 {
	if n == nil || *n == 0 {
		return nil
	}
	return n
}

// results reads the samples, or else their mean.
func (t *benchRow) results(row object) error {
	tokens := float64(deref(t.pp) + deref(t.tg))
	ns, ts := row.numbers("samples_ns"), row.numbers("samples_ts")
	if row.list("samples_ns") != nil && ns == nil || row.list("samples_ts") != nil && ts == nil {
		return fmt.Errorf("its samples_ns or samples_ts is not a list of numbers")
	}
	if err := cmp.Or(row.refuseTimes("avg_ns", "avg_ts", "stddev_ns", "stddev_ts"), row.refuseCounts("n_prompt", "n_gen", "n_depth")); err != nil {
		return err
	}
	if len(ns) == 0 && len(ts) == 0 {
		if mean := row.number("avg_ns"); mean != nil {
			ns = []float64{*mean}
		}
		if mean := row.number("avg_ts"); mean != nil {
			ts = []float64{*mean}
		}
		t.sd = row.number("stddev_ts")
		if mean, sd, ok := plusMinus(row.text("t/s")); ok {
			ts, t.sd = []float64{mean}, sd
		}
	}
	for i := range max(len(ns), len(ts)) {
		took, rate := 0.0, 0.0
		if i < len(ns) {
			took = ns[i]
		}
		if i < len(ts) {
			rate = ts[i]
		} else if took > 0 {
			rate = tokens / took * 1e9
		}
		if !(rate > 0) || took < 0 || took > 1e18 {
			return fmt.Errorf("a sample of %v tok/s in %v ns is none", rate, took)
		}
		t.ts, t.ns = append(t.ts, rate), append(t.ns, int64(math.Round(took)))
	}
	if len(t.ts) == 0 {
		return fmt.Errorf("it has no result")
	}
	return nil
}

// request is one sample.
func (t *benchRow) request(i int) collect.Request {
	s := &collect.Stated{SD: t.sd, Rule: "n / t"}
	rate := &t.ts[i]
	switch {
	case t.tg == nil:
		s.PromptTPS = rate
	case t.pp == nil:
		s.GenerationTPS = rate
		if t.ns[i] > 0 {
			ms := float64(t.ns[i]) / 1e6
			s.GenerationDurationMS = &ms
		}
	default:
		s.MixedTPS = rate
	}
	return collect.Request{Stated: s, Report: collect.Report{PromptTokens: t.pp, CompletionTokens: t.tg}}
}
