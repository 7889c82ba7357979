package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tokwatt/analyze"
)

const (
	// stallFactor times the median gap is what a stall is longer than: what a
	// reader of the answer would notice as a pause in the flow.
	stallFactor = 5
	// leastStall is the shortest gap in ms that counts as a stall: servers that
	// send several tokens at once have gaps near 0 between them.
	leastStall = 20
	// gapTail is from how many gaps on their 99th percentile is shown.
	gapTail = 100
	// maxStreams is how many streams have a lane on a page.
	maxStreams = 128
)

// ITL shows a batch as its answers arrived: a lane a stream with each arrival
// of output, and below, on the same axis of time, the gap before each. Gaps
// over 5 times the median, and over 20 ms, are stalls and stand out in both.
//
// It refuses a batch of which no answer came in two parts or more.
func ITL(b analyze.StreamBatch) (*Figure, error) {
	flow, err := newFlow(b)
	if err != nil {
		return nil, err
	}
	axis := timeAxis(flow.window())
	axis.Label = strings.Replace(axis.Label, "the session", flow.what(), 1)
	panels := []Panel{flow.arrivals(axis), flow.gapsPanel(axis)}
	fig := &Figure{
		Title:    "Arrival of output, " + flow.title(),
		Subtitle: flow.subtitle(),
		Panels:   panels,
		Legend:   []string{"output arrives"},
		Bands:    []BandKind{BandPrefill},
		Notes:    flow.notes(),
	}
	if flow.stalls > 0 {
		fig.Legend = append(fig.Legend, "stall")
	}
	return fig.finished(), nil
}

// flow is a batch with its gaps. Times are in s from the batch's start, or,
// where there is one stream alone, from the request's; gaps are in ms.
type flow struct {
	batch       analyze.StreamBatch
	origin      int64 // ns
	gaps        []float64
	median, p99 *float64
	threshold   float64 // what a stall is longer than
	stalls      int
	longest     float64
	stream      int64 // that has the longest gap
	edged       bool  // a gap is drawn at the edge of the axis
}

func newFlow(b analyze.StreamBatch) (*flow, error) {
	f := &flow{batch: b}
	if len(b.Streams) > maxStreams {
		return nil, fmt.Errorf("%d streams do not fit one figure, %d do: choose one with --where request_id=N", len(b.Streams), maxStreams)
	}
	if len(b.Streams) == 1 {
		f.origin = b.Streams[0].StartNS
	}
	for _, s := range b.Streams {
		for _, g := range gapsOf(s) {
			if f.gaps = append(f.gaps, g.V); g.V > f.longest {
				f.longest, f.stream = g.V, s.Index
			}
		}
	}
	if f.gaps == nil {
		return nil, fmt.Errorf("batch %d of session %s has no answer that came in parts, so there are no gaps to show: collect with --stream", b.BatchID, shortID(b.SessionID))
	}
	sample, _ := analyze.NewSample(f.gaps)
	f.median = sample.Quantile(0.5)
	if len(f.gaps) >= gapTail {
		f.p99 = sample.Quantile(0.99)
	}
	f.threshold = math.Max(leastStall, stallFactor**f.median)
	for _, g := range f.gaps {
		if g > f.threshold {
			f.stalls++
		}
	}
	return f, nil
}

// gapsOf are the gaps before the outputs of a stream but the first: T is when
// they ended, in ns, V how long they were, in ms.
func gapsOf(s analyze.Stream) []Vertex {
	var list []Vertex
	for i := 1; i < len(s.Arrivals); i++ {
		a, b := s.Arrivals[i-1].NS, s.Arrivals[i].NS
		list = append(list, Vertex{float64(b), math.Max(0, float64(b-a)/1e6)})
	}
	return list
}

func (f *flow) at(ns float64) float64 { return (ns - float64(f.origin)) / 1e9 }

func (f *flow) window() stretch {
	w := nothing()
	for _, s := range f.batch.Streams {
		w = w.with(stretch{f.at(float64(s.StartNS)), f.at(float64(s.EndNS))})
		for _, a := range s.Arrivals {
			w = w.with(stretch{w.from, f.at(float64(a.NS))})
		}
	}
	margin := math.Max(0.02*w.length(), 1e-4)
	return stretch{w.from - margin, w.to + margin}
}

// arrivals is the panel with a lane a stream.
func (f *flow) arrivals(axis Axis) Panel {
	p := Panel{Kind: Arrivals, X: axis}
	p.X.Label = ""
	n := len(f.batch.Streams)
	every := 1
	for n/every > 16 {
		every *= 2
	}
	for i, s := range f.batch.Streams {
		lane := Lane{From: f.at(float64(s.StartNS)), First: f.at(float64(s.EndNS)), To: f.at(float64(s.EndNS)), Failed: s.Status == "failed"}
		for k, a := range s.Arrivals {
			t := f.at(float64(a.NS))
			if k == 0 {
				lane.First = t
			} else if gap := float64(a.NS-s.Arrivals[k-1].NS) / 1e6; gap > f.threshold {
				lane.Stalls = append(lane.Stalls, Gap{last(lane.Arrivals), t})
			}
			lane.Arrivals = append(lane.Arrivals, t)
		}
		p.Streams = append(p.Streams, lane)
		if i%every == 0 {
			p.Y.Ticks = append(p.Y.Ticks, Tick{float64(i) + 0.5, fmt.Sprint(s.Index + 1)})
		}
	}
	p.Y.Max = float64(n)
	p.Y.Label = "Stream"
	if n == 1 {
		p.Y.Label, p.Y.Ticks = "", nil
	}
	return p
}

// gapsPanel is the panel of the gaps: logarithmic where a stall would press the
// others down.
func (f *flow) gapsPanel(axis Axis) Panel {
	p := Panel{Kind: Gaps, X: axis}
	least := math.Inf(1)
	for _, s := range f.batch.Streams {
		for _, g := range gapsOf(s) {
			p.Dots = append(p.Dots, Dot{f.at(g.T), g.V, g.V > f.threshold})
			if g.V > 0 {
				least = math.Min(least, g.V)
			}
		}
	}
	for _, v := range []*float64{f.median, f.p99} {
		if v != nil {
			p.Levels = append(p.Levels, *v)
		}
	}
	p.Y.Label = "Gap before output (ms)"
	if f.longest < wideRange*f.usual() {
		p.Y.Ticks, p.Y.Max = fromZero(f.longest * 1.05)
		return p
	}
	p.Y.Log = true
	p.Y.Label += logScale
	// What is far below the usual is drawn at the edge, not given decades.
	p.Y.Ticks, p.Y.Min, p.Y.Max = decades(math.Max(least, math.Max(f.usual()/10, f.longest/1e5)), f.longest*1.05)
	for i := range p.Dots {
		f.edged = f.edged || p.Dots[i].V < p.Y.Min
		p.Dots[i].V = math.Max(p.Dots[i].V, p.Y.Min)
	}
	for i := range p.Levels { // half of the outputs may have come with the one before, 0 ms apart
		p.Levels[i] = math.Max(p.Levels[i], p.Y.Min)
	}
	return p
}

// usual is the median of the gaps that are not 0: where several outputs come at
// once, the others are half of all or more.
func (f *flow) usual() float64 {
	above := slices.DeleteFunc(slices.Clone(f.gaps), func(g float64) bool { return g == 0 })
	if len(above) == 0 {
		return 1
	}
	return middle(above)
}

func (f *flow) what() string {
	if len(f.batch.Streams) == 1 {
		return "the request"
	}
	return "the batch"
}

func (f *flow) title() string {
	kind := ""
	if f.batch.Warmup {
		kind = " (warm-up)"
	}
	if n := len(f.batch.Streams); n > 1 {
		return fmt.Sprintf("%d streams of batch %d%s", n, f.batch.BatchID, kind)
	}
	return fmt.Sprintf("request %d of batch %d%s", f.batch.Streams[0].RequestID, f.batch.BatchID, kind)
}

func (f *flow) subtitle() string {
	b := f.batch
	row := &analyze.Summary{Engine: b.Engine, EngineVersion: b.EngineVersion, ModelID: b.ModelID, Quantization: b.Quantization,
		PP: b.PP, TG: b.TG, Concurrency: b.Concurrency}
	keys, _ := pick([]string{"engine", "engine_version", "model_id", "quantization", "pp", "tg", "concurrency"})
	return title(keys, row) + " · session " + shortID(b.SessionID)
}

// notes give the figures that lines and colours stand for.
func (f *flow) notes() []string {
	lines := fmt.Sprintf("Solid line: the median of %s gaps, %s ms", decimal(float64(len(f.gaps)), 1), short(*f.median))
	if len(f.gaps) == 1 {
		lines = fmt.Sprintf("Solid line: the only gap, %s ms", short(*f.median))
	}
	if f.p99 != nil {
		lines += fmt.Sprintf("; dashed: their 99th percentile, %s ms", short(*f.p99))
	}
	stalls := fmt.Sprintf("No stalls, which would be gaps over %s ms (5 times the median, at least %d ms); the longest gap is %s ms.", short(f.threshold), leastStall, short(f.longest))
	if f.stalls > 0 {
		stalls = fmt.Sprintf("Stalls are gaps over %s ms (5 times the median, at least %d ms): %d of %s, the longest %s ms", short(f.threshold), leastStall, f.stalls, decimal(float64(len(f.gaps)), 1), short(f.longest))
		if len(f.batch.Streams) > 1 {
			stalls += fmt.Sprintf(", in stream %d", f.stream+1)
		}
		stalls += "."
	}
	notes := []string{lines + ".", f.edgeNote(), stalls, f.tokensNote(), f.failuresNote()}
	if f.batch.Longest {
		notes = append(notes, "Of the chosen batches this one has the longest gap; --where batch_id=N or request_id=N shows another.")
	}
	return notes
}

func (f *flow) edgeNote() string {
	if !f.edged {
		return ""
	}
	return "What is shorter than the axis shows, as gaps of 0 between outputs that came at once, is drawn at its lower edge."
}

// tokensNote says where gaps are not between single tokens.
func (f *flow) tokensNote() string {
	tokens, chunks := int64(0), int64(0)
	for _, s := range f.batch.Streams {
		for _, a := range s.Arrivals {
			if a.Tokens != nil {
				tokens, chunks = tokens+*a.Tokens, chunks+1
			}
		}
	}
	if chunks > 0 && float64(tokens) > 1.05*float64(chunks) {
		return fmt.Sprintf("An arrival has %s tokens on average, so gaps are between chunks, not tokens.", short(float64(tokens)/float64(chunks)))
	}
	return ""
}

func (f *flow) failuresNote() string {
	var list []string
	for _, s := range f.batch.Streams {
		if s.Status == "failed" {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%d (%s)", s.Index+1, s.ErrorKind)))
		}
	}
	if list == nil {
		return ""
	}
	if len(list) > 8 {
		list = slices.Concat(list[:8], []string{"and more"})
	}
	return "Crosses: streams that failed: " + strings.Join(list, ", ") + "."
}

// short writes a figure with three digits.
func short(v float64) string {
	switch {
	case v >= 99.95:
		return decimal(math.Round(v), 1)
	case v >= 9.995:
		return decimal(v, 0.1)
	}
	return decimal(v, 0.01)
}
