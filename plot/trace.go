package plot

import (
	"math"

	"tokwatt/analyze"
)

const (
	// traceColumns is how many columns a panel of traces has room for: each is
	// about as wide as a line.
	traceColumns = 480
	// mostVertices of one trace are drawn as they are; a line through more of
	// them would cover itself.
	mostVertices = 3 * traceColumns
	// mostPoints of a trace can be told apart as points.
	mostPoints = 100
)

// drawTrace makes lines of the traces of one channel, one trace a segment, as
// far as they are within the window.
func drawTrace(parts []analyze.PowerTrace, c clock, window stretch) Trace {
	var t Trace
	vertices := 0
	for _, p := range parts {
		lines := linesOf(p, c, window)
		for _, l := range lines {
			vertices += len(l)
		}
		t.Lines = append(t.Lines, lines...)
		t.Points = t.Points || p.Instant
	}
	for i := 1; i < len(t.Lines); i++ {
		t.Gaps = append(t.Gaps, Gap{last(t.Lines[i-1]).T, t.Lines[i][0].T})
	}
	if vertices > mostVertices {
		t.Columns = columnsOf(t.Lines, window)
		t.Lines = nil
	}
	t.Points = t.Points && vertices <= mostPoints
	return t
}

// linesOf joins stretches that follow one another.
func linesOf(p analyze.PowerTrace, c clock, window stretch) [][]Vertex {
	var lines [][]Vertex
	end := int64(math.MinInt64)
	for _, s := range p.Stretches {
		a := Vertex{c.at(p.Segment, s.FromNS), s.FromW}
		b := Vertex{c.at(p.Segment, s.ToNS), s.ToW}
		a, b, ok := clip(a, b, window)
		if !ok {
			continue
		}
		if s.FromNS != end || len(lines) == 0 {
			lines = append(lines, nil)
		}
		line := &lines[len(lines)-1]
		if n := len(*line); n == 0 || (*line)[n-1] != a {
			*line = append(*line, a)
		}
		if b.T > a.T {
			*line = append(*line, b)
		}
		end = s.ToNS
	}
	return lines
}

// clip takes what is in the window of the straight line from a to b.
func clip(a, b Vertex, window stretch) (Vertex, Vertex, bool) {
	if b.T < window.from || a.T > window.to || a.T < b.T && (b.T == window.from || a.T == window.to) {
		return a, b, false
	}
	from, to := a, b
	if a.T < window.from {
		from = along(a, b, window.from)
	}
	if b.T > window.to {
		to = along(a, b, window.to)
	}
	return from, to, true
}

// columnsOf divides the window evenly and tells of each part the lowest and the
// highest value of the lines in it and their mean over the time that is known.
// Whatever the lines reach is inside the columns, and the area under the means
// is that under the lines.
func columnsOf(lines [][]Vertex, window stretch) [][]Column {
	b := columnBuild{window: window, width: window.length() / traceColumns, at: -1}
	for _, l := range lines {
		for i, v := range l {
			if i == 0 {
				b.touch(b.column(v.T), v)
				continue
			}
			b.segment(l[i-1], v)
		}
	}
	b.end()
	return b.runs
}

// columnBuild fills one column after the other: lines come in order of time.
type columnBuild struct {
	window stretch
	width  float64
	runs   [][]Column

	at             int // the column that is being filled; -1: none
	col            Column
	area, duration float64
}

func (b *columnBuild) column(t float64) int {
	return min(max(int((t-b.window.from)/b.width), 0), traceColumns-1)
}

func (b *columnBuild) edge(i int) float64 { return b.window.from + float64(i)*b.width }

// touch lets the column reach a vertex.
func (b *columnBuild) touch(i int, v Vertex) {
	if i != b.at {
		b.end()
		b.at = i
		b.col = Column{From: v.T, To: v.T, Lo: v.V, Hi: v.V, Mean: v.V}
		b.area, b.duration = 0, 0
	}
	b.col.From, b.col.To = math.Min(b.col.From, v.T), math.Max(b.col.To, v.T)
	b.col.Lo, b.col.Hi = math.Min(b.col.Lo, v.V), math.Max(b.col.Hi, v.V)
}

// segment adds a straight line, cut at the edges of the columns.
func (b *columnBuild) segment(from, to Vertex) {
	first, last := b.column(from.T), b.column(to.T)
	for i := first; i <= last; i++ {
		a, z := from, to
		if i > first {
			a = along(from, to, b.edge(i))
		}
		if i < last {
			z = along(from, to, b.edge(i+1))
		}
		b.touch(i, a)
		b.touch(i, z)
		b.area += (a.V + z.V) / 2 * (z.T - a.T)
		b.duration += z.T - a.T
	}
}

// along is the place at t on the straight line through a and b.
func along(a, b Vertex, t float64) Vertex {
	return Vertex{t, a.V + (b.V-a.V)*(t-a.T)/(b.T-a.T)}
}

// end closes the column. It goes on from the one before unless a whole column
// between them is empty.
func (b *columnBuild) end() {
	if b.at < 0 {
		return
	}
	if b.duration > 0 {
		b.col.Mean = b.area / b.duration
	}
	n := len(b.runs)
	if n == 0 || b.col.From-last(b.runs[n-1]).To > b.width {
		b.runs = append(b.runs, nil)
		n++
	}
	b.runs[n-1] = append(b.runs[n-1], b.col)
	b.at = -1
}

func last[T any](list []T) T { return list[len(list)-1] }
