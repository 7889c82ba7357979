package plot

import "tokwatt/analyze"

// Options choose what a figure shows. The zero value is the default.
type Options struct {
	X   string   // Scaling, Energy: "pp", "concurrency" or "nodes"; empty: the first of them that varies
	Y   []string // metrics by name, a panel each; empty: those of the kind of figure
	By  []string // keys that tell the series apart, see Keys; empty: those that vary
	Log string   // logarithmic axes: "x", "y", "xy" or "none"; empty: the axes that need it
}

// Figure is a picture before it is drawn.
type Figure struct {
	Title    string
	Subtitle string // what all the cases have in common
	Panels   []Panel
	Legend   []string          // names of the series by Series.Style, empty for a style that is not drawn; none where there is only one series
	Bands    []BandKind        // those that the legend tells
	Verdicts []analyze.Verdict // likewise
	Notes    []string          // footnotes, a sentence each
	Theme    Theme             // the colours; empty: Light
}

// Panel is one pair of axes with its series.
type Panel struct {
	Title  string
	Kind   PanelKind
	X, Y   Axis
	Series []Series
	Edges  []float64 // Strips: where one block of lanes ends and the next begins

	// Of Traces, whose x axis is in seconds:
	Traces []Trace
	Bands  []Band    // behind them
	Lanes  [][]Label // above them, from top to bottom; above Times as well
	Cuts   []float64 // where time was left out

	Changes []float64 // Times: where a version changed

	Streams []Lane   // Arrivals: from top to bottom
	Dots    []Dot    // Gaps
	Heads   []string // Changes: of the columns beside the rows
	Rows    []Row    // Changes

	Levels []float64 // Gaps: the median of the dots, and their 99th percentile where there are enough
}

// PanelKind says how the points of a panel are drawn.
type PanelKind int

// The kinds of panel.
const (
	Curves   PanelKind = iota // medians joined by lines, over a number on the x axis
	Strips                    // a lane per case from top to bottom, its distribution along the x axis
	Traces                    // a quantity over time
	Times                     // as Curves, over time: seconds since 1970, or the time of a session
	Arrivals                  // a lane a stream, its outputs over time in seconds
	Gaps                      // dots over time in seconds
	Changes                   // a row per comparison, the ratio of B to A along the x axis
)

// Axis is the range of an axis and what is written along it.
type Axis struct {
	Label    string
	Min, Max float64 // the edges of the panel; both > 0 where Log is set
	Log      bool
	Ticks    []Tick
}

// Tick is one mark on an axis; without a label it is a minor one.
type Tick struct {
	Value float64
	Label string
}

// Series is what shares one colour, dash and glyph.
type Series struct {
	Name   string
	Style  int // index of colour, dash and glyph, the same in all panels
	Points []Point
}

// Tail is a quantile far from the median.
type Tail struct {
	Percent int // 90 or 99
	Value   float64
}

// Point is one case. All its figures are finite and not negative.
type Point struct {
	X      float64 // Curves, Times: place on the x axis; Strips: the lane, counted downwards
	Median float64
	Lo, Hi *float64  // the interval of the median, nil where n is too small for one; Energy: its bounds
	Tails  []Tail    // Strips: far quantiles of the requests, where there are enough of them
	N      int       // batches
	Raw    []float64 // the batch medians
	Hollow bool      // Energy: indicative
}

// Trace is one quantity over time. Where there are more readings than the
// panel has room for it has Columns, else Lines.
type Trace struct {
	Name    string
	Style   int        // index of the colour, the same in all panels
	Lines   [][]Vertex // each unbroken
	Columns [][]Column // each unbroken
	Gaps    []Gap      // between them
	Points  bool       // the vertices are readings, far enough apart to be seen
}

// Lane is a stream over time.
type Lane struct {
	From, First, To float64 // sent, first output (where there is none: the end), end
	Arrivals        []float64
	Stalls          []Gap // between arrivals
	Failed          bool
}

// Row is a comparison.
type Row struct {
	Name          string
	Y             float64  // place of its middle, counted downwards
	Ratio, Lo, Hi *float64 // B to A, and its interval; nil: not enough runs
	Verdict       analyze.Verdict
	Cells         []string // as Panel.Heads
}

// Dot is the gap in ms before an output at an instant.
type Dot struct {
	T, V  float64
	Stall bool
}

// Gap is a time of which nothing is known.
type Gap struct{ From, To float64 }

// Vertex is a value at an instant.
type Vertex struct{ T, V float64 }

// Column is what a trace did between two instants.
type Column struct{ From, To, Lo, Hi, Mean float64 }

// Band is a stretch of time in which something went on.
type Band struct {
	From, To float64
	Kind     BandKind
	Warmup   bool
}

// BandKind is what went on. Warm-ups have a legend of their own.
type BandKind int

// The kinds of bands.
const (
	BandIdle       BandKind = iota // the quiet window before a target's first request
	BandPrefill                    // until the first output of any stream
	BandMixed                      // until the first output of every stream
	BandGeneration                 // after that
	BandBatch                      // a batch whose phases are not shown
	BandWarmup
)

// Label is a name for a stretch of time.
type Label struct {
	From, To float64
	Text     string
}
