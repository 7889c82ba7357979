package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/store"
)

var kills = flag.Int("kills", 8, "how often TestKilledArchives kills a command")

// growing is a store of some sessions of one host and day that go on again and
// again.
type growing struct {
	t       *testing.T
	path    string
	batches []int64 // of each session
}

func growingStore(t *testing.T, sessions int) *growing {
	g := &growing{t: t, path: filepath.Join(t.TempDir(), "t.db"), batches: make([]int64, sessions)}
	for i := range sessions {
		recs := kindsOf(collect.TargetInfo{Engine: "e", ModelID: "m"}, func(*collect.Request) {}, []float64{10, 11, 12})
		recs[0].(*collect.Session).ID = g.id(i)
		g.batches[i] = 3
		g.put(i, recs...)
	}
	return g
}

func (g *growing) id(i int) string { return fmt.Sprintf("019bc119-0000-7000-8000-%012d", i) }

func (g *growing) put(i int, recs ...collect.Record) {
	g.t.Helper()
	db := store.Open(g.path, store.Options{})
	for _, rec := range recs {
		if err := db.Put(g.t.Context(), g.id(i), rec); err != nil {
			g.t.Fatal(err)
		}
	}
}

// grow resumes a session for a batch.
func (g *growing) grow(i int) {
	n := g.batches[i] + 1
	g.batches[i] = n
	r := answerAt(10)
	r.RequestID, r.StartNS, r.EndNS = n, n*1e12, n*1e12+r.EndNS
	at := time.Date(2026, 7, 1, 13, int(n), 0, 0, time.UTC)
	g.put(i, &collect.Segment{Segment: n, StartedAt: at},
		&collect.Batch{CaseID: 1, BatchID: n, Segment: n, StartNS: r.StartNS, EndNS: r.EndNS, Requests: []collect.Request{r}},
		&collect.End{At: at, Status: collect.StatusComplete})
}

// heldSQL says of each session what each table has of it.
const heldSQL = `
select s.session_id, count(*), any_value(r.n), any_value(r.ids), any_value(b.n), any_value(g.n), any_value(c.n)
from sessions s
left join (select session_id, count(*) n, count(distinct request_id) ids from requests group by all) r using (session_id)
left join (select session_id, count(*) n from batches group by all) b using (session_id)
left join (select session_id, count(*) n from segments group by all) g using (session_id)
left join (select session_id, count(distinct request_id) n from chunks group by all) c using (session_id)
group by all`

// held asks a dataset and returns the requests of each session. Each session is
// there once, and whole: as it was at one time.
func (g *growing) held(when, root string) map[string]int64 {
	g.t.Helper()
	r := tokwatt(g.t, "", "query", "--dataset", root, "--format", "csv", heldSQL)
	rows, err := csv.NewReader(strings.NewReader(r.out)).ReadAll()
	if r.code != 0 || r.err != "" || err != nil || len(rows) == 0 {
		g.t.Fatalf("%s: query: exit %d, %v: %s%s", when, r.code, err, r.out, r.err)
	}
	out := map[string]int64{}
	for _, row := range rows[1:] {
		n, err := strconv.ParseInt(row[2], 10, 64)
		segments := []string{fmt.Sprint(n - 2), fmt.Sprint(n - 1)} // archived between a segment and its batch
		if err != nil || row[1] != "1" || row[3] != row[2] || row[4] != row[2] || !slices.Contains(segments, row[5]) || row[6] != row[2] {
			g.t.Fatalf("%s: a session is there by halves or twice: %q", when, row)
		}
		out[row[0]] = n
	}
	return out
}

// whole holds a dataset against the store.
func (g *growing) whole(when, root string) {
	g.t.Helper()
	have := g.held(when, root)
	for i, n := range g.batches {
		if have[g.id(i)] != n || len(have) != len(g.batches) {
			g.t.Fatalf("%s: %v, want %d", when, have, g.batches)
		}
	}
}

// TestKilledArchives kills archive and compact at any instant, over sessions
// that are new, resumed, and resumed after they were merged with others: a
// reader sees each session whole and no older than before, check finds no
// damage, and the next command makes all whole.
func TestKilledArchives(t *testing.T) {
	needsSQL(t)
	g, root := growingStore(t, 5), filepath.Join(t.TempDir(), "d")
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	commands := [][]string{{"archive", "--db", g.path, "--to", root}, {"archive", "compact", root}}
	start := time.Now()
	tokwatt(t, "", commands[0]...)
	took := time.Since(start)
	seen := g.held("first", root)
	for round := range *kills {
		for range rnd.IntN(3) {
			g.grow(rnd.IntN(len(g.batches)))
		}
		args := commands[min(rnd.IntN(3), 1)]
		cmd := command(t.Context(), args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rnd.Int64N(int64(took) * 5 / 4)))
		cmd.Process.Kill()
		cmd.Wait()
		when := fmt.Sprintf("round %d, %s", round, args[1])
		now := g.held(when, root)
		for id, n := range seen {
			if now[id] < n {
				t.Fatalf("%s: session %s has %d requests and had %d", when, id, now[id], n)
			}
		}
		seen = now
		if r := tokwatt(t, "", "check", root); r.code != 0 {
			t.Fatalf("%s: check: %s%s", when, r.out, r.err)
		}
	}
	for _, args := range commands {
		if r := tokwatt(t, "", args...); r.code != 0 {
			t.Fatalf("%q: %s%s", args, r.out, r.err)
		}
	}
	g.whole("in the end", root)
	if entries, err := os.ReadDir(filepath.Join(root, "table=requests", "host=mac", "date=2026-07-01")); err != nil ||
		slices.IndexFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "compact-") }) < 0 {
		t.Errorf("nothing was merged: %v, %v", entries, err)
	}
}

// TestBesideEachOther archives, merges, checks and asks one dataset at once.
func TestBesideEachOther(t *testing.T) {
	needsSQL(t)
	root := filepath.Join(t.TempDir(), "d")
	g := growingStore(t, 4)
	tokwatt(t, "", "archive", "--db", g.path, "--to", root)
	done := make(chan struct{})
	var others sync.WaitGroup
	for _, args := range [][]string{{"archive", "--db", g.path, "--to", root}, {"archive", "--db", g.path, "--to", root}, {"archive", "compact", root}} {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				r := tokwatt(t, "", args...)
				if r.code != 0 && !strings.Contains(r.err, "all the time") {
					t.Errorf("%q: exit %d: %s%s", args, r.code, r.out, r.err)
					return
				}
			}
		})
	}
	for i := range 3 + *kills/4 {
		g.grow(i % len(g.batches))
		if have := g.held(fmt.Sprint("query ", i), root); len(have) != len(g.batches) {
			t.Errorf("query %d: %v", i, have)
		}
		if r := tokwatt(t, "", "check", root); r.code != 0 {
			t.Errorf("check %d: %s%s", i, r.out, r.err)
		}
	}
	close(done)
	others.Wait()
	tokwatt(t, "", "archive", "--db", g.path, "--to", root)
	g.whole("in the end", root)
}
