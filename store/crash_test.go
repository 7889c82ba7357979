package store

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
)

var kills = flag.Int("kills", 10, "how often TestKill kills a writer")

// childEnv makes the test binary a process of its own that works on a store:
// the way to be killed, to be a second process, and to meet a full disk.
const childEnv = "TOKWATT_STORE_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childEnv); job != "" {
		os.Exit(child(job, os.Getenv("TOKWATT_STORE_PATH"), os.Getenv("TOKWATT_STORE_SESSION")))
	}
	os.Exit(m.Run())
}

// child does one job and prints what it did, a line each, unbuffered.
func child(job, path, session string) int {
	s := Open(path, Options{LockTimeout: 20 * time.Second})
	ctx := context.Background()
	switch job {
	case "write": // batches for ever: "+N" before a Put, "=N" after it
		for n := int64(1); ; n++ {
			batch := killBatch(n)
			time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
			fmt.Printf("+%d\n", n)
			if err := s.Put(ctx, session, batch); err != nil {
				fmt.Println("!", err)
				return 1
			}
			fmt.Printf("=%d\n", n)
		}
	case "fifty":
		for n := int64(1); n <= 50; n++ {
			if err := s.Put(ctx, session, killBatch(n)); err != nil {
				fmt.Println("!", err)
				return 1
			}
		}
	case "compact": // for ever, with something to give back each time
		for {
			fmt.Println("+")
			if err := s.Compact(ctx); err != nil {
				fmt.Println("!", err)
				return 1
			}
			fmt.Println("=")
		}
	case "hold":
		f, err := s.lock(ctx, os.O_RDWR)
		if err != nil {
			return 1
		}
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin)
		f.Close()
	case "claim":
		release, err := s.Claim(ctx, session)
		if err != nil {
			return 1
		}
		fmt.Println("claimed")
		io.Copy(io.Discard, os.Stdin)
		release()
	}
	return 0
}

// killBatch is batch n of a child: a commit of some milliseconds.
func killBatch(n int64) *collect.Batch { return typicalBatch(n, 8+int(n%5), 100+int(n*37%400)) }

// start starts a child; its lines come from the reader.
func start(t *testing.T, job, path, session string) (*exec.Cmd, *bufio.Reader, io.WriteCloser) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), childEnv+"="+job, "TOKWATT_STORE_PATH="+path, "TOKWATT_STORE_SESSION="+session)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return c, bufio.NewReader(out), in
}

// killed lets a writer run for a random time and kills it. It returns the
// last batch begun and the last one acknowledged.
func killed(t *testing.T, r *rand.Rand, path, session string) (begun, acked int64) {
	t.Helper()
	c, out, _ := start(t, "write", path, session)
	stop := time.AfterFunc(time.Hour, func() { c.Process.Kill() })
	defer stop.Stop()
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			break
		}
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "!") {
			t.Fatalf("the child: %s", line)
		}
		if begun == 0 {
			// The clock starts with the first batch, not with the process.
			stop.Reset(time.Duration(r.IntN(80_000)) * time.Microsecond)
		}
		n, err := strconv.ParseInt(line[1:], 10, 64)
		if err != nil {
			break // cut in the middle
		}
		if line[0] == '+' {
			begun = n
		} else {
			acked = n
		}
	}
	c.Wait()
	return begun, acked
}

// TestKill kills a writer at random instants. Every batch that was
// acknowledged is there and as it was; beyond them is at most the one in
// flight; every invariant holds. It goes on until two fifths of the kills that
// were asked for were inside a commit.
func TestKill(t *testing.T) {
	r := seeded(t)
	s := temp(t)
	inside, n := 0, 0
	for ; n < *kills || inside < *kills*2/5 && n < 4**kills; n++ {
		id := newID(t)
		put(t, s, id, typicalSession(id))
		begun, acked := killed(t, r, s.Path(), id)
		if begun > acked {
			inside++
		}
		got := read(t, s, id)[1:]
		if there := int64(len(got)); there != acked && there != begun {
			t.Fatalf("kill %d: %d batches are there, %d were acknowledged, %d begun", n, there, acked, begun)
		}
		for j, rec := range got {
			if !reflect.DeepEqual(rec, collect.Record(killBatch(int64(j+1)))) {
				t.Fatalf("kill %d: batch %d came back changed", n, j+1)
			}
		}
		clean(t, s)
	}
	t.Logf("%d of %d kills inside a commit", inside, n)
	if inside < *kills*2/5 {
		t.Errorf("%d of %d kills were inside a commit: too few to say anything", inside, n)
	}
}

// clean checks every invariant.
func clean(t *testing.T, s *Store) Report {
	t.Helper()
	report, err := s.Check(t.Context())
	if err != nil || !report.OK() {
		t.Fatalf("check: %v %v", err, report.Problems)
	}
	return report
}

// TestKillCompact kills a process that compacts: nothing is lost, and the
// next Compact removes what was left.
func TestKillCompact(t *testing.T) {
	r := seeded(t)
	s := temp(t)
	id := fill(t, s, 300, 8, 128)
	want := clean(t, s)
	for range min(*kills, 10) {
		c, out, _ := start(t, "compact", s.Path(), id)
		if _, err := out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
		c.Process.Kill()
		c.Wait()
		if got := clean(t, s); got.Requests != want.Requests || got.Chunks != want.Chunks {
			t.Fatalf("%d requests, %d chunks are left", got.Requests, got.Chunks)
		}
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Dir(s.Path()))
	if err != nil || len(files) != 1 {
		t.Errorf("left beside the store: %v, %v", files, err)
	}
}

// TestTwoWriters has two processes write two sessions of one store while a
// reader reads both.
func TestTwoWriters(t *testing.T) {
	s := temp(t)
	s.opts.LockTimeout = 20 * time.Second
	var ids []string
	var cs []*exec.Cmd
	for range 2 {
		id := newID(t)
		put(t, s, id, typicalSession(id))
		c, _, _ := start(t, "fifty", s.Path(), id)
		ids, cs = append(ids, id), append(cs, c)
	}
	done := make(chan error, 2)
	for _, c := range cs {
		go func() { done <- c.Wait() }()
	}
	for running := 2; running > 0; {
		for _, id := range ids {
			for i, rec := range read(t, s, id)[1:] {
				if b := rec.(*collect.Batch); b.BatchID != int64(i+1) || len(b.Requests) == 0 {
					t.Fatalf("batch %d in place %d", b.BatchID, i+1)
				}
			}
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running--
		default:
		}
	}
	if r := clean(t, s); r.Batches != 100 || r.Sessions != 2 {
		t.Errorf("%d batches in %d sessions", r.Batches, r.Sessions)
	}
}

// TestLocked meets a file that another process does not let go of.
func TestLocked(t *testing.T) {
	s := temp(t)
	s.opts.LockTimeout = 50 * time.Millisecond
	id := newID(t)
	put(t, s, id, typicalSession(id))
	_, out, in := start(t, "hold", s.Path(), id)
	if line, err := out.ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	ctx := t.Context()
	_, sessions := s.Sessions(ctx)
	_, find := s.Find(ctx, Last)
	_, check := s.Check(ctx)
	var records error
	for _, err := range s.Records(ctx, id) {
		records = err
	}
	for what, err := range map[string]error{
		"put": s.Put(ctx, id, typicalBatch(1, 1, 1)), "sessions": sessions, "find": find, "check": check, "records": records,
		"compact": s.Compact(ctx), "delete": s.Delete(ctx, id),
	} {
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), s.Path()) {
			t.Errorf("%s: %v", what, err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	s.opts.LockTimeout = time.Hour
	if err := s.Put(cancelled, id, typicalBatch(1, 1, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	in.Close()
	put(t, s, id, typicalBatch(1, 1, 1)) // as soon as the other is done
}
