package exchange_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"tokwatt/collect/exchange"
)

// figures are members of rows that hold a number, in real files.
var figures = []struct{ format, file, member string }{
	{"guidellm", "guidellm-0.3.1.json", `"time_to_first_token_ms": `},
	{"guidellm", "guidellm-0.6.1-warmup.json", `"output_tokens": `},
	{"guidellm", "guidellm-0.8.1.json", `"prompt_tokens": `},
	{"aiperf", "aiperf-0.4.0.jsonl", `"time_to_first_token":{"value":`},
	{"aiperf", "aiperf-0.13.0.jsonl", `"output_sequence_length":{"value":`},
	{"vllm", "vllm-0.6.0-http-errors.json", `"ttfts": [`},
	{"vllm", "vllm-0.7-goodput.json", `"input_lens": [`},
	{"sglang", "sglang-0.5.3-details.jsonl", `"output_lens": [`},
	{"asiai", "asiai-1.34.0.json", `"tok_per_sec": `},
	{"asiai", "asiai-1.34.0.json", `"total_duration_ms": `},
	{"asiai", "asiai-1.34.0-agentic.json", `"completion_tokens": `},
	{"llama-bench", "llama-bench-bde7cd3.json", `"samples_ts": [ `},
	{"llama-bench", "llama-bench-11434.jsonl", `"avg_ts": `},
	{"exo", "exo", `"generation_tps": `},
}

// TestValueThatIsNone puts something in the place of a figure that is none: the
// row is named with its place, and only that row is left out. A number that no
// machine holds, and what Python writes for none, take nothing else away.
func TestValueThatIsNone(t *testing.T) {
	for _, f := range figures {
		text := figureFile(t, f.file)
		whole := len(imported(t, text).rows)
		all := regexp.MustCompile(regexp.QuoteMeta(f.member)+`(-?[0-9][-+.eE0-9]*)`).FindAllStringSubmatchIndex(text, -1)
		at, end := all[len(all)-1][2], all[len(all)-1][3]
		for value, named := range map[string]bool{`"abc"`: true, `{}`: true, `true`: true, `null`: false, `NaN`: false, `1e400`: false} {
			got := imported(t, text[:at]+value+text[end:])
			tests := 1
			if f.format == "llama-bench" {
				tests = 3 // samples of the test
			}
			if got.unknown != nil || len(got.rows) < whole-tests || len(got.errors) > 1 {
				t.Errorf("%s: %s%s: %d rows of %d, %v %v", f.file, f.member, value, len(got.rows), whole, got.unknown, got.errors)
			}
			if named && (len(got.errors) != 1 || len(got.rows) == whole) {
				t.Errorf("%s: %s%s: %d rows of %d, %v", f.file, f.member, value, len(got.rows), whole, got.errors)
			}
			var row *exchange.RowError
			if len(got.errors) == 1 && (!errors.As(got.errors[0], &row) || row.Line == 0 && row.Where == "") {
				t.Errorf("%s: %s%s: %v has no place", f.file, f.member, value, got.errors[0])
			}
		}
	}
}

func figureFile(t *testing.T, name string) string {
	if name != "exo" {
		return peerFile(t, name)
	}
	text, err := os.ReadFile("../../testdata/transcripts/exo/results/concurrency.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestGapThatIsNone: a gap that is null is no gap of 0.
func TestGapThatIsNone(t *testing.T) {
	for file, gap := range map[string]string{"sglang-0.5.3-details.jsonl": `"itls": [[`, "vllm-0.7-goodput.json": `"itls": [[`, "aiperf-0.4.0.jsonl": `"inter_chunk_latency":{"value":[`} {
		text := peerFile(t, file)
		whole := len(imported(t, text).rows)
		for _, none := range []string{"null", `"1"`} {
			got := imported(t, strings.Replace(text, gap, gap+none+",", 1))
			if len(got.rows) != whole-1 || len(got.errors) != 1 {
				t.Errorf("%s with %s: %d rows of %d, %v", file, none, len(got.rows), whole, got.errors)
			}
		}
	}
}

// TestTableThatBreaksOff: the row of a Markdown table that was cut is named.
func TestTableThatBreaksOff(t *testing.T) {
	text := strings.TrimRight(peerFile(t, "llama-bench-11434.md"), "\n")
	text = text[:strings.LastIndex(text, "|")-3]
	if got := imported(t, text); len(got.rows) != 5 || len(got.errors) != 1 || !strings.Contains(got.errors[0].Error(), "line 8: it breaks off") {
		t.Errorf("%d rows, %v", len(got.rows), got.errors)
	}
}

// TestBenchOldNames: a build of 2023 wrote a space into the names of its tests.
func TestBenchOldNames(t *testing.T) {
	got := imported(t, peerFile(t, "llama-bench-40e07a6.md"))
	if len(got.rows) != 3 || len(got.errors) > 0 {
		t.Fatalf("%d rows, %v", len(got.rows), got.errors)
	}
	if *got.cases[0].PP != 16 || *got.rows[0].PromptTPS != 10186.83 || *got.cases[1].PP != 32 || got.cases[2].TG != 8 || got.targets[0].Quantization != "F16" || got.targets[0].EngineVersion != "b1-40e07a6" {
		t.Errorf("%+v %+v %+v", got.cases[0], got.rows[0], got.targets[0])
	}
}

// TestBehindTheEnd: what follows a document that is one by itself is named.
func TestBehindTheEnd(t *testing.T) {
	for _, f := range figures {
		text := strings.TrimRight(figureFile(t, f.file), "\n")
		whole := len(imported(t, text).rows)
		for _, more := range []string{text, "garbage", "\x00\x00"} {
			got := imported(t, text+"\n"+more)
			again := len(got.rows) == 2*whole || len(got.sessions) == 2*len(imported(t, text).sessions)
			noise := f.format == "llama-bench" && more != text // libraries print there
			if len(got.rows) < whole && got.unknown == nil || len(got.errors) == 0 && !again && !noise {
				t.Errorf("%s and %.10q: %d rows of %d, %v", f.file, more, len(got.rows), whole, got.errors)
			}
		}
	}
}

// TestPlacesOfBadRows: the place of a bad row is one that people can find.
func TestPlacesOfBadRows(t *testing.T) {
	place := regexp.MustCompile(`^file\.x, (line \d+|benchmarks\[\d+\]|runs\[\d+\]|engines\.\w+|behind )`)
	for _, f := range figures {
		text := figureFile(t, f.file)
		for _, err := range imported(t, strings.Replace(text, f.member, f.member+`"x", "y": `, 1)).errors {
			if !place.MatchString(err.Error()) && !strings.Contains(err.Error(), "no valid JSON") {
				t.Errorf("%s: %v", f.file, err)
			}
		}
	}
}
