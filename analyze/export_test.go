package analyze_test

import (
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

func TestExportWritesEveryTable(t *testing.T) {
	root := t.TempDir()
	o := analyzetest.Options{Host: "Mac Mini"}
	done, err := analyze.Export(t.Context(), analyzetest.Records(o), root, analyze.ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(done)
}
