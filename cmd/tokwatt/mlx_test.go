package main

import (
	"fmt"
	"strings"
	"testing"

	"tokwatt/analyze/duck"
	"tokwatt/mlx/mlxtest"
)

// TestMLX: the engine is MLX, by its library's version, and what it makes is
// what the reference engine makes of the same model.
func TestMLX(t *testing.T) {
	needsSQL(t) // the build that has no SQL has no MLX on Linux either
	mlxtest.NeedsLibrary(t)
	db := t.TempDir() + "/t.db"
	for _, engine := range []string{"mlx", "reference"} {
		r := tokwatt(t, "", "collect", "--db", db, "--engine", engine, "--model", "synthetic:tiny", "--pp", "32", "--tg", "8", "--repeat", "2", "--concurrency", "1,2")
		if r.code != 0 {
			t.Fatalf("%s: exit %d: %s", engine, r.code, r.err)
		}
	}
	got := rows(t, db, `select count(*) as n, count(distinct output_text_preview) as answers, count(distinct engine) as engines,
		bool_and(prompt_tokens = 32 and tokens_generated = 8 and in_cold_stats) as good from runs`)
	if fmt.Sprint(got) != "[map[answers:1 engines:2 good:true n:12]]" {
		t.Errorf("%v", got)
	}
}

// TestNoMLX: without the library there is one sentence that says where it was
// looked for.
func TestNoMLX(t *testing.T) {
	t.Setenv("TOKWATT_MLX_LIB", t.TempDir()+"/none.so")
	r := tokwatt(t, "", "collect", "--db", t.TempDir()+"/t.db", "--engine", "mlx", "--pp", "8", "--tg", "4")
	want := "none.so"
	if !duck.Available { // the static build under Linux
		want = "MLX"
	}
	if r.code != 3 || !strings.Contains(r.err, want) {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}
