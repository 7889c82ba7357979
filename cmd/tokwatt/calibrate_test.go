package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tokwatt/collect/calibrate"
	"tokwatt/store"
)

// TestCalibrate runs the program: it starts its own server, prints, and keeps
// the result for the sessions that follow.
func TestCalibrate(t *testing.T) {
	db := filepath.Join(t.TempDir(), "new", "tokwatt.db")
	r := tokwatt(t, "", "calibrate", "--db", db, "--concurrency", "1", "4", "--requests", "8", "--json")
	var res calibrate.Result
	if err := json.Unmarshal([]byte(r.out), &res); r.code != 0 || err != nil || len(res.Levels) != 2 {
		t.Fatalf("exit %d, %v: %s%s", r.code, err, r.out, r.err)
	}
	if l := res.Levels[1]; l.Streams != 4 || l.Requests != 8 || l.TTFTErrP50MS == nil || *l.TTFTErrP50MS < 0 || *l.TTFTErrP50MS > 50 {
		t.Errorf("%+v", l)
	}
	if !strings.Contains(r.err, "with 1 stream\n") || !strings.Contains(r.err, "with 4 streams\n") {
		t.Errorf("progress: %s", r.err)
	}
	ownError := regexp.MustCompile(`this client's own error: TTFT [\d.]+ ms, intervals -?[\d.]+ ms \(4 streams, `)
	collect := []string{"collect", "--db", db, "--tg", "4", "--concurrency", "2", "--repeat", "1", "--warmup", "0", "--pause", "0s", "--group-pause", "0s", "--no-system-metrics"}
	r = tokwatt(t, "", append(collect, "--url", serve(t, steady()), "--prompt", "hello")...)
	shown := tokwatt(t, "", "show", "--db", db)
	if r.code != 0 || shown.code != 0 || !ownError.MatchString(flat(r.out)) || !ownError.MatchString(flat(shown.out)) {
		t.Errorf("exit %d, %d: %s%s%s", r.code, shown.code, r.out, r.err, shown.out)
	}
	// What was measured in process has nothing to do with it.
	r = tokwatt(t, "", append(collect, "--engine", "reference", "--pp", "8")...)
	if r.code != 0 || ownError.MatchString(flat(r.out)) {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	s := store.Open(db, store.Options{})
	sessions, err := s.Sessions(t.Context())
	if err != nil || len(sessions) != 2 {
		t.Fatal(sessions, err)
	}
	var kept calibrate.Result
	if err := json.Unmarshal([]byte(sessions[0].Session.Calibration), &kept); err != nil || !kept.At.Equal(res.At) || *kept.Levels[0].ITLErrMeanMS != *res.Levels[0].ITLErrMeanMS {
		t.Errorf("the session says %s, %v", sessions[0].Session.Calibration, err)
	}
	if r := tokwatt(t, "", "calibrate", "--db", db, "--concurrency", "0"); r.code != exitUsage || !strings.Contains(r.err, "from 1 to") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := tokwatt(t, "", "calibrate", "--db", filepath.Dir(db)); r.code != exitStore {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// TestCalibrateExamples runs the examples of the help screen. What they print
// depends on the machine, so only its form is looked at.
func TestCalibrateExamples(t *testing.T) {
	t.Setenv("TOKWATT_DB", filepath.Join(t.TempDir(), "tokwatt.db"))
	lines, _ := (&app{}).calibrate().Metadata["examples"].([]string)
	table := tokwatt(t, "", words(lines[0])[1:]...)
	rows := regexp.MustCompile(`(?m)^ +[18] +1\d +\d+\.\d{3} +– +-?\d+\.\d{3} +\d+\.\d{3} +\d+\.\d{3} +\d+(\.\d+)? +\d+\.\d{3}$`).FindAllString(table.out, -1)
	if table.code != 0 || len(rows) != 2 || !strings.Contains(table.out, "arrivals are stamped") || !strings.Contains(table.out, "median TTFT error ") {
		t.Errorf("exit %d: %s%s", table.code, table.out, table.err)
	}
	for line := range strings.Lines(table.out) {
		if len([]rune(line)) > screenColumns {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
	doc := tokwatt(t, "", words(lines[1])[1:]...)
	var res map[string]any
	if err := json.Unmarshal([]byte(doc.out), &res); doc.code != 0 || err != nil || res["stamps"] == nil {
		t.Errorf("exit %d, %v: %s%s", doc.code, err, doc.out, doc.err)
	}
}

func TestOwnError(t *testing.T) {
	const three = `{"at":"2026-07-01T12:00:00Z","levels":[{"streams":8,"ttft_err_p50_ms":0.08,"itl_err_mean_ms":-0.001},{"streams":1,"ttft_err_p50_ms":0.0104},{"streams":32,"ttft_err_p50_ms":0.3}]}`
	for _, c := range []struct {
		json string
		n    int64
		want string
	}{
		{"", 1, ""},
		{"{}", 1, ""},
		{`{"levels":7}`, 1, ""},
		{three, 1, "TTFT 0.010 ms, intervals – ms (1 stream,"},
		{three, 2, "TTFT 0.080 ms, intervals -0.001 ms (8 streams,"},
		{three, 9, "TTFT 0.300 ms, intervals – ms (32 streams,"},
		{three, 99, "(32 streams,"},
	} {
		got := ownError(c.json, c.n)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%d streams: %q, want %q", c.n, got, c.want)
		}
	}
}

// TestCalibrationVerdict: the worst level decides, be it early or late.
func TestCalibrationVerdict(t *testing.T) {
	off, worse := 0.01, -0.02
	got := calibrationVerdict([]calibrate.Level{{Streams: 1, TTFTErrP50MS: &off}, {Streams: 8, TTFTErrP50MS: &worse}, {Streams: 9}})
	if want := "median TTFT error 0.0200 ms (8 streams, the worst): under 1 % of any TTFT over 2.00 ms"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := calibrationVerdict(nil); got != "" {
		t.Error(got)
	}
}
