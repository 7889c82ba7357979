package exchange

import (
	"iter"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// RequestRows are the measured requests of one session as the view runs has
// them (see analyze.RunTable for the columns and values), in the order of its
// batches: for CSV and JSON lines where there is no SQL. A record that can't
// be read is an error, after the rows before it. The columns that follow from
// the whole session are left out.
func RequestRows(records iter.Seq2[collect.Record, error]) (names []string, rows iter.Seq2[[]any, error]) {
	table := analyze.NewRunTable()
	return table.Names(), func(yield func([]any, error) bool) {
		for b, err := range batches(records) {
			if err != nil {
				yield(nil, err)
				return
			}
			of, err := table.Rows(b.session, b.target, b.case_, b.Derived)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, row := range of {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}
