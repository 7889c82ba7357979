package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tokwatt/collect"
	"tokwatt/collect/calibrate"
	"tokwatt/collect/host"
	"tokwatt/store"
)

// fakeSMI puts a program that prints what nvidia-smi does on the path. It notes
// its process ids in the folder that is returned.
func fakeSMI(t *testing.T) string {
	dir := t.TempDir()
	const smi = "#!/bin/sh\necho $$ >> \"$(dirname \"$0\")/pids\"\n" +
		"while :; do printf '0, 213.31, 220.02, 97, 61, 1980, 2520\\n'; sleep 0.1; done\n"
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(smi), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}

// TestCollectReadsSensors runs collect beside a program that prints what
// nvidia-smi does: the store then has what it can read and what it read, over
// all batches; and nothing of it runs on.
func TestCollectReadsSensors(t *testing.T) {
	dir := fakeSMI(t)
	db := filepath.Join(dir, "tokwatt.db")
	r := tokwatt(t, "", "collect", "--db", db, "--engine", "reference", "--pp", "8", "--tg", "8", "--repeat", "2", "--power", "nvidia", "--no-idle")
	if r.code != 0 || strings.Contains(r.err, "warning") {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	name, batches, sensors, watts := sampled(t, db)
	if len(batches) != 3 || len(sensors) != 1 || sensors[0].Channels[0].Source != "nvidia:0" || sensors[0].Channels[0].Node != name || len(watts) < 2 {
		t.Fatalf("%d batches, %+v, %d readings", len(batches), sensors, len(watts))
	}
	last := watts[len(watts)-1]
	if *watts[0].StartNS > batches[0].StartNS || last.EndNS < batches[2].EndNS || last.Value != 213.31 || last.Unit != "W" || last.Node != name {
		t.Errorf("read from %d to %d, batches from %d to %d: %+v", *watts[0].StartNS, last.EndNS, batches[0].StartNS, batches[2].EndNS, last)
	}
	r = tokwatt(t, "", "power", "nvidia", "--once", "--json")
	var doc powerDocument
	if err := json.Unmarshal([]byte(r.out), &doc); r.code != 0 || err != nil || len(doc.Channels) != 5 || doc.Channels[0].PowerW == nil || *doc.Channels[0].PowerW != 213.31 {
		t.Errorf("exit %d, %v: %s%s", r.code, err, r.out, r.err)
	}
	pids, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil {
		t.Fatal(err)
	}
	runs := strings.Fields(string(pids))
	if i := slices.IndexFunc(runs, func(pid string) bool { _, err := os.Stat("/proc/" + pid); return err == nil }); len(runs) != 2 || i >= 0 {
		t.Errorf("of %v, number %d still runs", runs, i)
	}
}

// sampled are what the newest session says of power, and its machine's name.
func sampled(t *testing.T, db string) (name string, batches []*collect.Batch, sensors []*collect.Sensors, watts []collect.Sample) {
	s := store.Open(db, store.Options{})
	id, err := s.Find(t.Context(), "last")
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range s.Records(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		switch rec := rec.(type) {
		case *collect.Session:
			name = rec.Host.Name
		case *collect.Batch:
			batches = append(batches, rec)
		case *collect.Sensors:
			sensors = append(sensors, rec)
		case *collect.Samples:
			for _, one := range rec.Samples {
				if one.Metric == "power" {
					watts = append(watts, one)
				}
			}
		case *collect.Idle:
			t.Error("a quiet window that nobody wanted")
		}
	}
	return name, batches, sensors, watts
}

// TestCalibratePower: what sampling costs is printed, and kept.
func TestCalibratePower(t *testing.T) {
	db := filepath.Join(fakeSMI(t), "tokwatt.db")
	r := tokwatt(t, "", "calibrate", "--db", db, "--concurrency", "1", "--requests", "2", "--power")
	if r.code != 0 || !strings.Contains(r.out, "the same while sensors are read: nvidia, rapl, amdgpu\n") || !strings.Contains(r.out, " % of a core: ") || strings.Count(r.out, "streams") != 2 {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	kept, err := store.Open(db, store.Options{}).Calibration(t.Context(), host.Describe(t.Context()).Name)
	var res calibrate.Result
	if err != nil || json.Unmarshal([]byte(kept), &res) != nil || res.Power == nil || len(res.Power.Levels) != 1 || res.Power.Samples < 3 {
		t.Errorf("%s, %v", kept, err)
	}
}
