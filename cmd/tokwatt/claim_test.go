package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
	"tokwatt/collect/host"
	"tokwatt/store"
)

// TestOneCollectorASession: of several that go on with a session at once, one
// does; no id is given twice.
func TestOneCollectorASession(t *testing.T) {
	db, url := filepath.Join(t.TempDir(), "t.db"), serve(t, steady())
	first := start(t, "collect", "--db", db, "--url", url, "--model", "demo-model", "--pp", "32,64", "--tg", "8",
		"--repeat", "10", "--pause", "20ms", "--group-pause", "0")
	hasBatches(t, db, 2)
	if r := tokwatt(t, "", "collect", "--db", db, "--resume", "last"); r.code != exitUsage || !strings.Contains(r.err, "right now") {
		t.Errorf("beside the first: exit %d: %s", r.code, r.err)
	}
	syscall.Kill(first.Process.Pid, syscall.SIGKILL)
	<-first.done
	var racers []*started
	for range 4 {
		racers = append(racers, start(t, "collect", "--db", db, "--resume", "last"))
	}
	ends := map[int]int{}
	for _, s := range racers {
		<-s.done
		code := s.ProcessState.ExitCode()
		ends[code]++
		if code != 0 && !strings.Contains(s.err.String(), "right now") {
			t.Errorf("exit %d: %s", code, &s.err)
		}
	}
	if ends[0] == 0 || ends[0]+ends[exitUsage] != len(racers) {
		t.Errorf("ends %v", ends)
	}
	if r := tokwatt(t, "", "check", "--db", db); r.code != 0 {
		t.Errorf("check: exit %d: %s%s", r.code, r.out, r.err)
	}
	got := rows(t, db, `select (select count(*) from batches where not warmup) as n, (select count(*) = count(distinct batch_id) from batches) as batches,
		(select count(*) = count(distinct request_id) from requests) as requests`)
	if fmt.Sprint(got) != "[map[batches:true n:20 requests:true]]" {
		t.Errorf("%v", got)
	}
}

// TestPidProvesNothing: the process id that a dead collector left may be
// anybody's by now: in a container it is 1 each time.
func TestPidProvesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := store.Open(path, store.Options{})
	o := analyzetest.Options{Repeats: 1}
	for rec, err := range analyzetest.Records(o) {
		if err != nil {
			t.Fatal(err)
		}
		switch r := rec.(type) {
		case *collect.End:
			continue
		case *collect.Segment:
			r.BootID, r.PID = host.BootID(), 1
		}
		if err := db.Put(t.Context(), o.ID(), rec); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		say  string
	}{
		{[]string{"status"}, "nothing is running"},
		{[]string{"list"}, "unfinished"},
		{[]string{"archive", "--to", t.TempDir()}, "1 session written"},
		{[]string{"delete", "--yes", "last"}, "1 session deleted"},
	} {
		if r := tokwatt(t, "", append(c.args, "--db", path)...); r.code != 0 || !strings.Contains(r.out, c.say) {
			t.Errorf("%v: exit %d, want %q: %s%s", c.args, r.code, c.say, r.out, r.err)
		}
	}
}
