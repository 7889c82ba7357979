package exchange_test

import (
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect/exchange"
)

// schema1 is a dataset as tokwatt wrote it when tables had figures alone.
const schema1 = "../../analyze/duck/testdata/schema1/dataset"

// TestOlderDatasetSession: every cell of an older dataset is in the one that is
// made of its records.
func TestOlderDatasetSession(t *testing.T) {
	ids, err := analyze.SessionsIn(schema1)
	if err != nil || len(ids) != 2 {
		t.Fatal(ids, err)
	}
	for _, id := range ids {
		lacks := columnsNotIn(t, schema1, id)
		if len(lacks) < 20 {
			t.Fatalf("the older dataset lacks %q alone", lacks)
		}
		root := t.TempDir()
		exported(t, exchange.DatasetSession(t.Context(), schema1, id), root)
		for _, d := range different(t, id, schema1, root) {
			if column, _, _ := strings.Cut(d, ":"); !slices.Contains(lacks, column) {
				t.Error(d)
			}
		}
	}
}

// columnsNotIn are the columns that the files of a session do not have.
func columnsNotIn(t *testing.T, root, id string) (out []string) {
	t.Helper()
	files, _, err := analyze.DatasetFiles(root, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for page, err := range analyze.SessionRows(root, f, id) {
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range analyze.Tables() {
				for _, c := range table.Columns {
					if table.Name == f.Table && page.Column(c.Name) == nil {
						out = append(out, table.Name+"."+c.Name)
					}
				}
			}
		}
	}
	return out
}
