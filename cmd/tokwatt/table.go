package main

import (
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// newTable is a table for people; it fits 80 columns as long as its cells do.
func newTable(w io.Writer, header ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SuppressTrailingSpaces()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Format.Footer = text.FormatDefault
	style.Options = table.Options{SeparateHeader: true, SeparateColumns: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", ""
	style.Box.MiddleVertical, style.Box.MiddleSeparator = "  ", "──"
	t.SetStyle(style)
	t.AppendHeader(header)
	return t
}

// rightAligned sets the columns with the given numbers, from 1, to the right.
func rightAligned(t table.Writer, columns ...int) {
	var c []table.ColumnConfig
	for _, n := range columns {
		c = append(c, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(c)
}

// wrapped breaks column n, from 1, into lines of at most width characters.
func wrapped(t table.Writer, n, width int) {
	t.SetColumnConfigs([]table.ColumnConfig{{Number: n, WidthMax: width, WidthMaxEnforcer: text.WrapSoft}})
}

// figure prints a measured value with three to four significant digits, and an
// absent one as a dash.
func figure(v *float64) string {
	if v == nil {
		return "–"
	}
	return sig(*v)
}

// sig prints x with at least three significant digits, never in exponents.
func sig(x float64) string { return significant(x, 3) }

// significant prints x with at least that many significant digits, never in
// exponents.
func significant(x float64, least int) string {
	digits := decimals(x, least)
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if rounded, err := strconv.ParseFloat(text, 64); err == nil && decimals(rounded, least) < digits {
		return strconv.FormatFloat(x, 'f', decimals(rounded, least), 64) // 99.99 is 100, as 100 is
	}
	return text
}

// digitsFor is how many decimals give x three significant digits.
func digitsFor(x float64) int { return decimals(x, 3) }

func decimals(x float64, least int) int {
	if a := math.Abs(x); a > 0 && a < math.Pow10(least) {
		return max(0, min(least+3, least-1-int(math.Floor(math.Log10(a)))))
	}
	return 0
}

// percent prints a share as a measured value, with two decimals at most.
func percent(v *float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', min(2, digitsFor(*v)), 64)
}

// deviation prints a standard deviation with two significant digits.
func deviation(x float64) string {
	if x <= 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return sig(x)
	}
	return strconv.FormatFloat(x, 'f', max(0, min(6, 1-int(math.Floor(math.Log10(x))))), 64)
}

// count prints n, and nothing for none.
func count(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// plural is n with its noun.
func plural(n int64, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "ch"):
		noun += "es"
	default:
		noun += "s"
	}
	return strconv.FormatInt(n, 10) + " " + noun
}

// local is a wall time as people read it.
func local(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// shortID is the part of a session id that people type.
func shortID(id string) string {
	if len(id) > 13 {
		return id[:13]
	}
	return id
}

// clip shortens s to n characters.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// screenWidth is the columns of the narrowest terminal that people use.
const screenWidth = 80

// folded breaks the lines of a note between words, so that they fit a screen;
// what goes on of a line is indented by two more.
func folded(note string) string {
	var out []string
	for line := range strings.SplitSeq(note, "\n") {
		if len([]rune(line)) <= screenWidth {
			out = append(out, line)
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		row := indent
		for _, word := range strings.Fields(line) {
			switch {
			case strings.TrimSpace(row) == "":
				row += word
			case len([]rune(row))+1+len([]rune(word)) <= screenWidth:
				row += " " + word
			default:
				out = append(out, row)
				row = indent + "  " + word
			}
		}
		out = append(out, row)
	}
	return strings.Join(out, "\n")
}

// widest is the number of columns of the widest line.
func widest(text string) int {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n = max(n, len([]rune(line)))
	}
	return n
}
