package exchange

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"unicode"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// Benchstat writes the records of one session in Go's benchmark format
// (https://go.dev/design/14313-benchmark-format), for benchstat to compare:
//
//	os: macOS
//	cpu: Apple M3 Max
//	BenchmarkTokwatt/engine=exo/model=Llama-3.2-1B-4bit/pp=512/tg=128/cache=cold/c=1 1 104.2 decode-tok/s 2310 prefill-tok/s 221.4 ms/ttft
//
// A line is a batch and each figure the median over its requests, because
// requests that were released together are no samples of their own; the
// number of iterations is how many requests stand behind it. Cases are told
// apart by the name, so `benchstat -col /engine` compares engines in one file,
// and two files are compared case by case. What changes from session to
// session (the session, versions, host) stands in comments: as configuration
// it would put each session in a table of its own.
//
// The rows are those that enter statistics, as in the view summary: a batch
// without any has a comment and no line, and a figure that is not known is
// left out.
func Benchstat(w io.Writer, records iter.Seq2[collect.Record, error]) error {
	b := benchWriter{w: bufio.NewWriter(w)}
	for batch, err := range batches(records) {
		if err != nil {
			return fmt.Errorf("benchstat text: %w", err)
		}
		b.head(batch)
		b.batch(batch)
	}
	return b.w.Flush()
}

// benchFigure is a figure of a line.
type benchFigure struct {
	unit, better string
	of           func(*analyze.RequestRow) *float64 // nil where the row may not enter it
}

var benchFigures = []benchFigure{
	{"decode-tok/s", "higher", counted(func(r *analyze.RequestRow) *float64 { return r.GenerationTPS })},
	{"prefill-tok/s", "higher", func(r *analyze.RequestRow) *float64 {
		if !r.InPrefillStats {
			return nil
		}
		return r.PromptTPS
	}},
	{"ms/ttft", "lower", func(r *analyze.RequestRow) *float64 { return r.TTFTMS }},
	{"ms/itl", "lower", func(r *analyze.RequestRow) *float64 { return r.ITLP50MS }},
	{"ms/request", "lower", func(r *analyze.RequestRow) *float64 { return r.TotalDurationMS }},
}

const (
	allTokens = "all-tok/s" // of all streams together
	joules    = "J/tok"
)

// counted leaves out a rate that hangs on an estimated count.
func counted(of func(*analyze.RequestRow) *float64) func(*analyze.RequestRow) *float64 {
	return func(r *analyze.RequestRow) *float64 {
		if r.TokensSource == analyze.SourceEstimate {
			return nil
		}
		return of(r)
	}
}

// benchWriter is one file under way.
type benchWriter struct {
	w      *bufio.Writer // its error stays until Flush
	begun  bool
	target *collect.TargetInfo
}

// head writes what is said once, and once for each target.
func (b *benchWriter) head(m measured) {
	if !b.begun {
		b.begun = true
		s := m.session
		fmt.Fprintf(b.w, "# tokwatt session %s, %s, host %s, %s %s\n", s.ID, s.StartedAt.UTC().Format("2006-01-02 15:04:05Z"),
			oneLine(s.Host.Name), oneLine(s.Host.OSName), oneLine(s.Host.OSVersion))
		for _, c := range [][2]string{{"os", s.Host.OSName}, {"cpu", s.Host.Chip}} {
			if c[1] != "" {
				fmt.Fprintf(b.w, "%s: %s\n", c[0], oneLine(c[1]))
			}
		}
		for _, f := range append(benchFigures, benchFigure{unit: allTokens, better: "higher"}, benchFigure{unit: joules, better: "lower"}) {
			fmt.Fprintf(b.w, "Unit %s better=%s\n", f.unit, f.better)
		}
	}
	if b.target == nil || b.target.TargetID != m.target.TargetID {
		b.target = m.target
		fmt.Fprintf(b.w, "# target %d: %s %s\n", m.target.TargetID, oneLine(m.target.Engine), oneLine(m.target.EngineVersion))
	}
}

// batch writes a line for the rows of each kind of cache hit; of a cold case
// that is one.
func (b *benchWriter) batch(m measured) {
	groups := map[analyze.CacheHit][]*analyze.RequestRow{}
	for i := range m.Requests {
		r := &m.Requests[i]
		switch {
		case m.case_.CacheMode == collect.CacheCold && r.InColdStats:
			groups[""] = append(groups[""], r)
		case m.case_.CacheMode != collect.CacheCold && r.InStats:
			groups[r.PrefixCacheHit] = append(groups[r.PrefixCacheHit], r)
		}
	}
	if len(groups) == 0 {
		fmt.Fprintf(b.w, "# batch %d: none of %d requests enters statistics\n", m.Batch.BatchID, len(m.Requests))
	}
	for _, hit := range []analyze.CacheHit{"", analyze.HitNone, analyze.HitPartial, analyze.HitExact, analyze.HitUnknown} {
		if rows := groups[hit]; len(rows) > 0 {
			b.line(caseName(m, hit), rows, m)
		}
	}
}

func (b *benchWriter) line(name string, rows []*analyze.RequestRow, m measured) {
	var figures strings.Builder
	put := func(x *float64, unit string) {
		if x != nil && !math.IsNaN(*x) && !math.IsInf(*x, 0) {
			figures.WriteString(" " + strconv.FormatFloat(*x, 'g', -1, 64) + " " + unit)
		}
	}
	estimated := false
	for _, f := range benchFigures {
		var xs []float64
		for _, r := range rows {
			estimated = estimated || r.TokensSource == analyze.SourceEstimate
			if x := f.of(r); x != nil {
				xs = append(xs, *x)
			}
		}
		sample, _ := analyze.NewSample(xs) // what is not finite is left out
		put(sample.Median(), f.unit)
	}
	if !estimated {
		if m.case_.Concurrency > 1 {
			put(m.Row.AggWallTPS, allTokens)
		}
		put(m.Row.JPerOutputToken, joules)
	}
	if figures.Len() == 0 {
		fmt.Fprintf(b.w, "# batch %d: no figure is known\n", m.Batch.BatchID)
		return
	}
	fmt.Fprintf(b.w, "%s %d%s\n", name, len(rows), figures.String())
}

// caseName is the name of a case. It ends with the number of streams: a name
// that ends in -8 would be one of 8 processors.
func caseName(m measured, hit analyze.CacheHit) string {
	t, c := m.target, m.case_
	name := "BenchmarkTokwatt"
	put := func(key, value string) {
		if value != "" {
			name += "/" + key + "=" + benchWord(value)
		}
	}
	put("engine", t.Engine)
	put("model", shortModel(cmp.Or(t.ModelID, t.ServedModel)))
	put("quant", t.Quantization)
	put("sharding", t.Sharding)
	put("meta", t.InstanceMeta)
	if len(t.Nodes) > 0 {
		put("nodes", strconv.Itoa(len(t.Nodes)))
	}
	if c.PP != nil {
		put("pp", strconv.FormatInt(*c.PP, 10))
	} else {
		put("prompt", c.PromptKind)
	}
	put("tg", strconv.FormatInt(c.TG, 10))
	put("cache", string(c.CacheMode))
	put("hit", string(hit))
	if !c.Streaming {
		put("stream", "no")
	}
	put("c", strconv.FormatInt(c.Concurrency, 10))
	return name
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

// oneLine is text that may stand behind a colon or in a comment.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
