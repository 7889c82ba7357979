package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tokwatt/mlx/model"
)

const abandon = "TOKWATT_TEST_ABANDON"

func TestMain(m *testing.M) {
	RunIfWorker()
	if os.Getenv(abandon) != "" {
		abandonWorker()
	}
	os.Exit(m.Run())
}

// abandonWorker is a parent that tells its worker's process id and then dies
// without closing anything.
func abandonWorker() {
	w, err := Start(context.Background(), Load{Model: DefaultModel})
	if err == nil {
		err = w.Send(Request{ID: 1, Streams: 1, User: "x", MaxTokens: 20000, BanEOS: true})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(w.PID())
	bufio.NewReader(w.Stdout()).ReadString('\n') // it works now
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

func start(t *testing.T, l Load) (*Worker, *bufio.Scanner) {
	t.Helper()
	w, err := Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w, bufio.NewScanner(w.Stdout())
}

// answers sends requests and returns the tokens of each, or its error.
func answers(t *testing.T, w *Worker, lines *bufio.Scanner, requests ...Request) map[int64]string {
	t.Helper()
	for _, r := range requests {
		if err := w.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	out := map[int64]string{}
	for open := len(requests); open > 0 && lines.Scan(); {
		f, err := Decode(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case f.Token != nil:
			out[f.Stream] += fmt.Sprint(*f.Token, " ")
		case f.Done != nil:
			out[f.Stream] += fmt.Sprintf("%s in a batch of %d", f.Done.FinishReason, f.Done.BatchStreams)
			open--
		case f.Error != "":
			out[f.Stream] += f.Error
			open--
		}
	}
	return out
}

func TestSameSeedSameTokens(t *testing.T) {
	ask := func(seed uint64) map[int64]string {
		w, lines := start(t, Load{Model: DefaultModel, Seed: seed})
		return answers(t, w, lines, Request{ID: 1, Streams: 1, User: "Hello", MaxTokens: 20, BanEOS: true})
	}
	first, second, other := ask(5), ask(5), ask(6)
	if first[1] == "" || first[1] != second[1] {
		t.Errorf("two processes:\n%s\n%s", first[1], second[1])
	}
	if first[1] == other[1] {
		t.Errorf("another seed gave the same: %s", other[1])
	}
}

func TestGathering(t *testing.T) {
	w, lines := start(t, Load{Model: DefaultModel})
	r := func(id int64, streams int, user string) Request {
		return Request{ID: id, Streams: streams, User: user, MaxTokens: 5, BanEOS: true}
	}
	alone := answers(t, w, lines, r(1, 1, "one"), r(2, 1, "two"))
	both := answers(t, w, lines, r(3, 2, "one"), r(4, 2, "two"))
	for i, id := range []int64{1, 2} {
		want := strings.Replace(alone[id], "batch of 1", "batch of 2", 1)
		if !strings.HasSuffix(alone[id], "batch of 1") || both[int64(i+3)] != want {
			t.Errorf("stream %d: alone %q, together %q", id, alone[id], both[int64(i+3)])
		}
	}
	unequal := answers(t, w, lines, r(5, 2, "one"), r(6, 2, "three"))
	if unequal[5] != alone[1] || !strings.HasSuffix(unequal[6], "batch of 1") {
		t.Errorf("unequal lengths: %v", unequal)
	}
	began := time.Now()
	if short := answers(t, w, lines, r(7, 2, "one")); short[7] != alone[1] {
		t.Errorf("whose fellow never came: %v", short)
	}
	if took := time.Since(began); took < gatherFor {
		t.Errorf("it waited %v for its fellow", took)
	}
}

func TestWorkerRefusesRequests(t *testing.T) {
	w, lines := start(t, Load{Model: DefaultModel})
	got := answers(t, w, lines,
		Request{ID: 1, Streams: 1, User: "x"},
		Request{ID: 2, Streams: 1, IDs: []int32{1, 5000}, MaxTokens: 1},
		Request{ID: 3, Streams: 1, IDs: []int32{}, MaxTokens: 1},
		Request{ID: 4, Streams: 1, IDs: []int32{1, 2}, MaxTokens: 1})
	for id, want := range map[int64]string{1: "at least 1", 2: "token 5000", 4: "length in a batch of 1"} {
		if !strings.Contains(got[id], want) {
			t.Errorf("request %d: %q, want %q", id, got[id], want)
		}
	}
}

func TestCancelFreesTheWorker(t *testing.T) {
	w, lines := start(t, Load{Model: DefaultModel})
	if err := w.Send(Request{ID: 1, Streams: 1, User: "x", MaxTokens: 20000, BanEOS: true}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		lines.Scan()
	}
	if err := w.Cancel(1); err != nil {
		t.Fatal(err)
	}
	if got := answers(t, w, lines, Request{ID: 2, Streams: 1, User: "x", MaxTokens: 2, BanEOS: true}); !strings.HasSuffix(got[2], "length in a batch of 1") {
		t.Errorf("after a cancel: %v", got)
	}
}

func TestFolderInAWorker(t *testing.T) {
	c := model.Shapes()[0].Config
	c.Layers = 1
	dir := t.TempDir()
	if err := model.WriteSynthetic(dir, c, 3); err != nil {
		t.Fatal(err)
	}
	ids := model.EncodeChat("", "Hello")
	w, lines := start(t, Load{Model: dir})
	got := answers(t, w, lines, Request{ID: 1, Streams: 1, User: "Hello", MaxTokens: 9}, Request{ID: 2, Streams: 1, IDs: ids, MaxTokens: 9})
	if got[1] != got[2] || got[1] == "" {
		t.Errorf("text %q, ids %q", got[1], got[2])
	}
	info, err := Inspect(dir)
	if err != nil || info.Name != filepath.Base(dir) || info.Format != "safetensors" || !info.Text {
		t.Errorf("%+v, %v", info, err)
	}

	// A folder of somebody else takes ids, but no text.
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	foreign := strings.Replace(string(config), "tokwatt_tokenizer", "another", 1)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(foreign), 0o666); err != nil {
		t.Fatal(err)
	}
	w, lines = start(t, Load{Model: dir})
	foreigner := answers(t, w, lines, Request{ID: 1, Streams: 1, User: "Hello", MaxTokens: 9}, Request{ID: 2, Streams: 1, IDs: ids, MaxTokens: 9})
	if foreigner[2] != got[2] || !strings.Contains(foreigner[1], "no tokenizer") {
		t.Errorf("a foreign folder: %v", foreigner)
	}
}

func TestStartSaysWhyNot(t *testing.T) {
	for name, want := range map[string]string{"synthetic:none": "synthetic:tiny", filepath.Join(t.TempDir(), "none"): "no config.json"} {
		if _, err := Start(t.Context(), Load{Model: name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Load{Model: DefaultModel}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestWorkersEnd(t *testing.T) {
	for name, c := range map[string]struct {
		signal os.Signal
		want   string
	}{
		"killed":  {syscall.SIGKILL, "signal killed"},
		"crashed": {syscall.SIGQUIT, "SIGQUIT"},
	} {
		t.Run(name, func(t *testing.T) {
			w, lines := start(t, Load{Model: DefaultModel})
			if err := w.Send(Request{ID: 1, Streams: 1, User: "x", MaxTokens: 20000, BanEOS: true}); err != nil {
				t.Fatal(err)
			}
			lines.Scan()
			w.cmd.Process.Signal(c.signal)
			for lines.Scan() {
			}
			var end *ExitError
			if err := w.Wait(); !errors.As(err, &end) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
			if strings.Contains(end.Error(), "\n") {
				t.Errorf("more than one line: %q", end.Error())
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		w, lines := start(t, Load{Model: DefaultModel})
		w.cmd.Process.Signal(os.Interrupt)
		if got := answers(t, w, lines, Request{ID: 1, Streams: 1, User: "x", MaxTokens: 2}); len(got) != 1 {
			t.Errorf("Ctrl-C ended the worker: %v", got)
		}
	})
	t.Run("closed", func(t *testing.T) {
		w, _ := start(t, Load{Model: DefaultModel})
		if err := w.Send(Request{ID: 1, Streams: 1, User: strings.Repeat("x", 20000), MaxTokens: 2}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		w.Close()
		if err := w.Wait(); err != nil {
			t.Errorf("after Close: %v", err)
		}
		if code := w.cmd.ProcessState.ExitCode(); code != 0 || time.Since(began) > 1500*time.Millisecond {
			t.Errorf("exit code %d after %v", code, time.Since(began))
		}
	})
}

// TestParentsDeath: nobody is left who could close the worker's input, yet it
// ends.
func TestParentsDeath(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), abandon+"=1")
	out, err := cmd.Output()
	if err == nil {
		t.Fatal("the parent did not die")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatalf("the parent said %q", out)
	}
	for end := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil && !zombie(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the worker %d still runs", pid)
		}
	}
}

// zombie reports a process that has ended but that nobody has waited for, as
// where process 1 does not.
func zombie(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.HasPrefix(string(out), "Z")
}

func TestShapesAreListed(t *testing.T) {
	shapes := Shapes()
	if !slices.ContainsFunc(shapes, func(i Info) bool { return i.Name == DefaultModel && i.WeightBytes > 1<<20 && i.Text }) {
		t.Errorf("%+v", shapes)
	}
}

// BenchmarkWorker gives the rates that the worker reports: prefill of 512 tokens
// and decode after them, each over all runs.
func BenchmarkWorker(b *testing.B) {
	w, err := Start(b.Context(), Load{Model: DefaultModel})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	lines := bufio.NewScanner(w.Stdout())
	const generated = 64
	var prefillS, decodeS float64
	id := int64(0)
	for b.Loop() {
		id++
		user := strings.Repeat("x", 512-PromptHead-PromptTail)
		if err := w.Send(Request{ID: id, Streams: 1, User: user, MaxTokens: generated, BanEOS: true}); err != nil {
			b.Fatal(err)
		}
		for lines.Scan() {
			f, err := Decode(lines.Bytes())
			if err != nil || f.Error != "" {
				b.Fatal(err, f.Error)
			}
			if f.Done != nil {
				prefillS += f.Done.PrefillS
				decodeS += (generated - 1) / *f.Done.GenerationTPS
				break
			}
		}
	}
	prefill, decode := 512*float64(b.N)/prefillS, (generated-1)*float64(b.N)/decodeS
	b.ReportMetric(prefill, "prefill-tok/s")
	b.ReportMetric(decode, "decode-tok/s")
	b.ReportMetric(prefill/decode, "prefill/decode")
}
