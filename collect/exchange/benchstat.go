package exchange

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

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
// and two files are compared case by case: no two cases of a session share a
// name, which has its targets' settings, such as n_threads, where only these
// tell them apart. What changes from session to
// session (the session, versions, host) stands in comments: as configuration
// it would put each session in a table of its own.
//
// The rows are those that enter statistics, as in the view summary: a batch
// without any has a comment and no line, and a figure that is not known is
// left out.
func Benchstat(w io.Writer, records iter.Seq2[collect.Record, error]) error {
	var b benchLines
	for batch, err := range batches(records) {
		if err != nil {
			return fmt.Errorf("benchstat text: %w", err)
		}
		b.head(batch)
		b.batch(batch)
	}
	out := bufio.NewWriter(w)
	b.write(out)
	return out.Flush()
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
	{"mixed-tok/s", "higher", counted(func(r *analyze.RequestRow) *float64 { return r.MixedTPS })}, // prefill and generation together
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

// benchLines are the lines of one file. They wait for its end, because what
// tells a case from the others is not known before.
type benchLines struct {
	lines  []namedLine
	cases  []benchCase // with a batch, each once
	target *collect.TargetInfo
}

// namedLine is a batch's figures, or a line that has no name.
type namedLine struct {
	of   benchCase
	hit  analyze.CacheHit
	text string
}

func (b *benchLines) write(w io.Writer) {
	names := newBenchNames(b.cases)
	for _, l := range b.lines {
		if l.of.target != nil {
			l.text = names.of(l.of, l.hit) + l.text
		}
		fmt.Fprintln(w, l.text)
	}
}

func (b *benchLines) known(c benchCase) bool {
	return slices.ContainsFunc(b.cases, func(other benchCase) bool { return other.id() == c.id() })
}

func (b *benchLines) say(format string, args ...any) {
	b.lines = append(b.lines, namedLine{text: fmt.Sprintf(format, args...)})
}

// head writes what is said once, and once for each target.
func (b *benchLines) head(m measured) {
	if len(b.lines) == 0 {
		s := m.session
		head := "# tokwatt session " + s.ID + ", " + s.StartedAt.UTC().Format("2006-01-02 15:04:05Z")
		for _, fact := range []string{oneLine("host " + s.Host.Name), oneLine(s.Host.OSName + " " + s.Host.OSVersion)} {
			if fact != "" && fact != "host" {
				head += ", " + fact
			}
		}
		b.say("%s", head)
		for _, c := range [][2]string{{"os", s.Host.OSName}, {"cpu", s.Host.Chip}} {
			if c[1] != "" {
				b.say("%s: %s", c[0], oneLine(c[1]))
			}
		}
		for _, f := range slices.Concat(benchFigures, []benchFigure{{unit: allTokens, better: "higher"}, {unit: joules, better: "lower"}}) {
			b.say("Unit %s better=%s", f.unit, f.better)
		}
	}
	if b.target == nil || b.target.TargetID != m.target.TargetID {
		b.target = m.target
		b.say("# target %d: %s", m.target.TargetID, oneLine(m.target.Engine+" "+m.target.EngineVersion))
	}
}

// batch writes a line for the rows of each kind of cache hit; of a cold case
// that is one.
func (b *benchLines) batch(m measured) {
	if of := (benchCase{m.target, m.case_}); !b.known(of) {
		b.cases = append(b.cases, of)
	}
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
		b.say("# batch %d: none of %d requests enters statistics", m.Batch.BatchID, len(m.Requests))
	}
	for _, hit := range []analyze.CacheHit{"", analyze.HitNone, analyze.HitPartial, analyze.HitExact, analyze.HitUnknown} {
		if rows := groups[hit]; len(rows) > 0 {
			b.line(hit, rows, m)
		}
	}
}

func (b *benchLines) line(hit analyze.CacheHit, rows []*analyze.RequestRow, m measured) {
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
		put(cmp.Or(m.Row.AggWallTPS, alone(rows, m)), allTokens)
		put(m.Row.JPerOutputToken, joules)
	}
	if figures.Len() == 0 {
		b.say("# batch %d: no figure is known", m.Batch.BatchID)
		return
	}
	b.lines = append(b.lines, namedLine{benchCase{m.target, m.case_}, hit, fmt.Sprintf(" %d%s", len(rows), figures.String())})
}

// alone is the rate of a batch of one request over its whole time, where the
// batch has none of its own, as in an imported file.
func alone(rows []*analyze.RequestRow, m measured) *float64 {
	if len(rows) == 1 && len(m.Requests) == 1 {
		return rows[0].TokPerSec
	}
	return nil
}

// oneLine is text that may stand behind a colon or in a comment.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
