package report

import "tokwatt/plot"

// Page is a report before it is written. Empty parts are left out.
type Page struct {
	Title    string
	Lead     []string // lines below the title
	Sections []Section
	Footer   string
}

// Section is a part of the page with a heading of its own, in this order.
type Section struct {
	ID      string // the fragment of its address: letters and dashes, one of a kind in the page
	Title   string
	Text    []string // paragraphs
	Figures []Figure
	Tables  []Table
	Facts   []Facts
	Code    []Code
	Notes   []string // a list
}

// Table has a header, and one row a line. Its first Keys columns name the row.
type Table struct {
	Caption string
	Columns []Column
	Keys    int
	Rows    [][]string
	Notes   []string
	Folded  bool // shown when its caption is clicked
}

// Column is the head of a column.
type Column struct {
	Head   string
	Unit   string
	About  string // what it is, for who points at it
	Number bool   // to the right
}

// Facts are names with their values.
type Facts struct {
	Caption string
	List    []Fact
}

// Fact is a name with its value.
type Fact struct{ Name, Value string }

// Code is text that is shown as it stands.
type Code struct{ Caption, Text string }

// Figure is a plot, or in one sentence why there is none.
type Figure struct {
	Name    string // short, for the sentence: "energy"
	Plot    *plot.Figure
	Missing string
}
