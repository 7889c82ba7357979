// Package plot turns summaries into figures and figures into files.
//
//  1. Scaling, Latency and Energy group the rows of the summary view into series
//     and choose axes, ticks, names and footnotes (keys.go, series.go,
//     ticks.go). Power puts the readings of a session's sensors on one axis of
//     time (clock.go, trace.go) before what went on meanwhile (bands.go,
//     lanes.go), ITL the arrivals of a batch. History puts summaries on an axis
//     of dates (dates.go) below the versions that changed (versions.go), Drift
//     the batches of a session on one of its time, Compare a comparison into
//     rows. Whatever cannot be drawn is refused here, in one
//     sentence.
//  2. The result, a Figure, is plain data: what a reader of the picture would
//     read off it. Tests look at it, not at pixels.
//  3. Figure.Write lays the strips of the page out (title, panels, legend,
//     footnotes: layout.go, legend.go, and draw.go, stripdraw.go, tracedraw.go,
//     itldraw.go and comparedraw.go for the panels) and encodes them as PNG at 200 dpi, SVG
//     (svg.go) or PDF (output.go, pdf.go), Figure.Inline as a part of a page. SVG
//     and pages carry the part of the font that they need (subset.go).
//     It fails only where the writer does.
//
// The same rows and options give the same bytes. Colours come from theme.go
// alone. Text is set in Liberation Sans, which every format carries with it;
// characters it lacks are left to the reader's fonts in SVG (widetext.go); elsewhere
// they are written as escapes and a footnote says so (text.go).
package plot
