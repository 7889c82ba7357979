package inproc

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/collecttest"
	"tokwatt/mlx/engine"
)

// A scripted worker speaks the engine's protocol and does what a plan says, so
// that the conformance suite knows the right answers. It stands in for the real
// one where these variables are set in the process that starts it.
const (
	planVar = "TOKWATT_TEST_PLAN" // the plan as JSON
	logVar  = "TOKWATT_TEST_LOG"  // file for one line a request, and one a token
	// what makes this program a worker; the real one would be run by it
	workerVar = "TOKWATT_ENGINE_WORKER"
)

func TestMain(m *testing.M) {
	if os.Getenv(planVar) != "" && os.Getenv(workerVar) != "" {
		scripted()
	}
	engine.RunIfWorker()
	os.Exit(m.Run())
}

type script struct {
	plan collecttest.Plan
	mu   sync.Mutex // of stdout, the log, and cancelled
	log  *os.File
	off  map[int64]chan struct{} // closed when a request is cancelled
}

func scripted() {
	s := &script{off: map[int64]chan struct{}{}}
	err := json.Unmarshal([]byte(os.Getenv(planVar)), &s.plan)
	if err == nil {
		s.log, err = os.OpenFile(os.Getenv(logVar), os.O_APPEND|os.O_WRONLY, 0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Scan()
	s.say(`{"s":0,"loaded":{}}`)
	for lines.Scan() {
		var in struct {
			Run    *engine.Request
			Cancel int64
		}
		json.Unmarshal(lines.Bytes(), &in)
		s.mu.Lock()
		if in.Run != nil {
			s.off[in.Run.ID] = make(chan struct{})
			fmt.Fprintf(s.log, "request %d\n", in.Run.ID)
			go s.play(in.Run.ID, s.off[in.Run.ID])
		} else if off := s.off[in.Cancel]; off != nil {
			close(off)
			delete(s.off, in.Cancel)
		}
		s.mu.Unlock()
	}
	os.Exit(0)
}

func (s *script) say(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
}

// play is one request.
func (s *script) play(id int64, off chan struct{}) {
	switch s.plan.Fault {
	case collecttest.FaultRefused:
		s.say(`{"s":%d,"error":"the prompt is too long"}`, id)
		return
	case collecttest.FaultNonsense:
		s.say("<html>")
		return
	}
	next := time.Now().Add(s.plan.Prefill)
	for range s.plan.Tokens {
		select {
		case <-off:
			return
		case <-time.After(time.Until(next)):
		}
		next = next.Add(s.plan.Step)
		s.mu.Lock()
		at := time.Now().UnixNano()
		s.say(`{"s":%d,"t":65,"x":"A"}`, id)
		fmt.Fprintf(s.log, "token %d %d\n", id, at)
		s.mu.Unlock()
	}
	switch s.plan.Fault {
	case collecttest.FaultError:
		s.say(`{"s":%d,"error":"the engine broke"}`, id)
	case collecttest.FaultCut:
		os.Exit(0)
	case collecttest.FaultReset:
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case collecttest.FaultStall:
	default:
		s.say(`{"s":%d,"done":{"prompt_tokens":%d,"generation_tokens":%d,"finish_reason":"length"}}`, id, s.plan.PromptTokens, s.plan.Tokens)
	}
}

// uncounted is a target whose engine counts no prompts: the scripted worker's
// counts are the plan's, not those of the tokenizer.
type uncounted struct{ collect.Target }

func (u uncounted) Open(ctx context.Context, clock *collect.Clock) (collect.Engine, error) {
	e, err := u.Target.Open(ctx, clock)
	return struct{ collect.Engine }{e}, err
}

func TestConformance(t *testing.T) {
	collecttest.Run(t, collecttest.Harness{
		Start: startScript,
		Faults: []collecttest.Fault{collecttest.FaultRefused, collecttest.FaultError, collecttest.FaultCut,
			collecttest.FaultReset, collecttest.FaultStall, collecttest.FaultNonsense},
		Whole: true,
	})
}

func startScript(t *testing.T, p collecttest.Plan) collecttest.Server {
	plan, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv(planVar, string(plan))
	t.Setenv(logVar, log)
	tgt, err := Driver{}.target(engine.DefaultModel, false)
	if err != nil {
		t.Fatal(err)
	}
	read := func() []string {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	return collecttest.Server{
		Target: uncounted{tgt},
		Requests: func() int {
			n := 0
			for _, l := range read() {
				if strings.HasPrefix(l, "request ") {
					n++
				}
			}
			return n
		},
		Sent: func() [][]time.Time { return sent(t, read()) },
	}
}

// sent reads the instants of each request's tokens from the log.
func sent(t *testing.T, log []string) [][]time.Time {
	var out [][]time.Time
	order := map[string]int{}
	for _, l := range log {
		f := strings.Fields(l)
		if f[0] == "request" {
			order[f[1]] = len(out)
			out = append(out, nil)
			continue
		}
		ns, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		i := order[f[1]]
		out[i] = append(out[i], time.Unix(0, ns))
	}
	return out
}
