package analyze

import "testing"

// TestMergeableSchemas: sessions are merged only where a merged file can have
// all that theirs have, and their requests know their case.
func TestMergeableSchemas(t *testing.T) {
	for schema, want := range map[int]int{1: 0, ofBatchSince - 1: 0, SchemaVersion: 1, SchemaVersion + 1: 0} {
		var two []*Manifest
		for _, id := range []string{"a", "b"} {
			two = append(two, &Manifest{SessionID: id, Schema: schema,
				Files: []ManifestFile{{Path: "table=requests/host=h/date=2026-01-01/" + id + ".parquet"}}})
		}
		if got := len(mergeable(two)); got != want {
			t.Errorf("schema %d: %d partitions to merge, want %d", schema, got, want)
		}
	}
}
