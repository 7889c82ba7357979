package exchange_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tokwatt/collect/exchange"
)

// TestExoThereAndBack reads what exo-bench wrote and writes it again: the same
// document, to the nanosecond.
func TestExoThereAndBack(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("../../testdata/transcripts/exo/results", "*.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	n := 0
	for _, path := range files {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var f struct{ Runs []map[string]json.RawMessage }
		if json.Unmarshal(file, &f) != nil || len(f.Runs) == 0 {
			continue
		}
		n++
		t.Run(filepath.Base(path), func(t *testing.T) {
			in := exchange.Input{Name: path, Now: time.Unix(1.8e9, 0), R: bytes.NewReader(file), Size: int64(len(file))}
			var out bytes.Buffer
			if err := exchange.ExoResults(&out, exchange.Read(t.Context(), in)); err != nil {
				t.Fatal(err)
			}
			sameTokens(t, tokens(t, out.Bytes()), tokens(t, file))
		})
	}
	if n < 8 {
		t.Errorf("%d files with runs", n)
	}
}

// TestExoShapes takes what older versions of exo-bench wrote: a bare list, runs
// without power, and what a run that was cut off leaves.
func TestExoShapes(t *testing.T) {
	const run = `{"elapsed_s":1.5,"output_text_preview":"a","stats":{"prompt_tps":10.0,"generation_tps":20.0,"prompt_tokens":13,"generation_tokens":8,"peak_memory_usage":{"in_bytes":7}},` +
		`"model_short_id":"m","model_id":"o/m","placement_sharding":"Tensor","placement_instance_meta":"MlxRing","placement_nodes":2,"instance_id":"i","pp_tokens":12,"tg":8,"repeat_index":3}`
	for _, c := range []struct {
		name, file   string
		rows, errors int
	}{
		{"bare list", `[` + run + `,` + run + `]`, 2, 0},
		{"behind its surroundings", `{"cluster":{"nodeIdentities":{}},"runs":[` + run + `]}`, 1, 0},
		{"a bad row", `{"runs":[` + run + `,7,{"elapsed_s":1},` + run + `]}`, 2, 2},
		{"cut off", `{"runs":[` + run + `,` + run[:80], 1, 1},
		{"two documents", `{"runs":[` + run + `]}{"runs":[]}`, 1, 1},
	} {
		got := imported(t, c.file)
		if len(got.rows) != c.rows || len(got.errors) != c.errors {
			t.Errorf("%s: %d rows, want %d; %v", c.name, len(got.rows), c.rows, got.errors)
		}
		if len(got.rows) == 0 {
			continue
		}
		// One prompt token more than was sent is the sequential engine's count,
		// and its rate is n / span: the server's figure, but not generation_tps.
		r := got.rows[0]
		if *r.PromptTokens != 12 || r.GenerationTPS != nil || *r.GenerationTPSServer != 20 || *r.PeakMemoryBytes != 7 || got.batches[0].RepeatIndex != 3 {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	if got := imported(t, `{"runs":[`+run+`,`+strings.Replace(run, `"tg":8`, `"tg":-8`, 1)+`]}`); got.errors[0].Error() != "file.x, runs[1]: it lacks model_id, tg or elapsed_s" {
		t.Error(got.errors)
	}
}
