package collect

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestResumeOfChangedTargets cuts runs at random while the engine's version
// changes, and lists the matrix in another order each time: what one version
// has done is never done again, and the version that stays has it all.
func TestResumeOfChangedTargets(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		synctest.Test(t, func(t *testing.T) {
			d, job := plan18()
			versions := map[string]string{"a": "1", "b": "1"}
			d.says = func(m string) TargetInfo {
				return TargetInfo{Engine: "fake", ModelID: m, EngineVersion: versions[m], InstanceID: fmt.Sprint(r.IntN(9))}
			}
			h := &history{}
			resumed := 0
			for range 1 + r.IntN(6) {
				h.run(t.Context(), t, 2+r.IntN(30), job)
				h.check(t)
				versions[d.models[r.IntN(2)]] = fmt.Sprint(1 + r.IntN(2))
				d.models = []string{d.models[1], d.models[0]}
				job.Spec.PP = append(job.Spec.PP[1:], job.Spec.PP[0])
				job.Spec.TG = append(job.Spec.TG[1:], job.Spec.TG[0])
				resumed++
			}
			h.run(t.Context(), t, never, job)
			h.check(t)
			got := h.doneBatches()
			for b, n := range got {
				if n != 1 {
					t.Errorf("%s was done %d times", b, n)
				}
			}
			for m, v := range versions {
				for b := range plan18Batches(v) {
					if strings.HasPrefix(b, m) && got[b] != 1 {
						t.Errorf("%s is missing", b)
					}
				}
			}
			if t.Failed() {
				t.Fatalf("seed %d, resumed %d times", seed, resumed)
			}
		})
	}
}

func TestChangeIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, job := plan18()
		said := TargetInfo{Driver: "fake", Engine: "fake", EngineVersion: "b100", Quantization: "Q4", Nodes: []string{"x", "y"}, InstanceID: "1"}
		d.says = func(m string) TargetInfo { said.ModelID = m; return said }
		h := &history{}
		h.run(t.Context(), t, 15, job) // within a
		said.EngineVersion, said.InstanceID, said.Nodes = "b200", "2", []string{"z"}
		h.run(t.Context(), t, never, job)
		h.check(t)
		want := "a is not what was measured before (engine version b100 → b200, number of nodes 2 → 1), so it is measured from the start, as target 2"
		if len(h.warnings) != 1 || h.warnings[0] != want {
			t.Errorf("warnings %q", h.warnings)
		}
		if end := h.records[len(h.records)-1].(*End); end.NotRun != 0 {
			t.Errorf("end %+v", end)
		}
	})
}

// TestSameTargetOtherInstance: what a target is not told by is kept as it is
// now, under the same id; where nothing has changed, nothing is said again.
func TestSameTargetOtherInstance(t *testing.T) {
	first := TargetInfo{Driver: "fake", ModelID: "a", InstanceID: "1", LoadS: ptr(12.5), DownloadS: ptr(3.0), Sampling: "{}"}
	with := func(change func(*TargetInfo)) TargetInfo { i := first; change(&i); return i }
	for name, c := range map[string]struct {
		now  TargetInfo
		want *TargetInfo // of the second segment
	}{
		"the same":       {first, nil},
		"no nodes":       {with(func(i *TargetInfo) { i.Nodes = []string{} }), nil},
		"found loaded":   {with(func(i *TargetInfo) { i.LoadS, i.DownloadS = nil, nil }), nil},
		"other instance": {with(func(i *TargetInfo) { i.InstanceID, i.LoadS, i.DownloadS = "2", ptr(9.0), nil }), &TargetInfo{TargetID: 1, Driver: "fake", ModelID: "a", InstanceID: "2", LoadS: ptr(9.0), Sampling: "{}"}},
		"sampling":       {with(func(i *TargetInfo) { i.Sampling, i.LoadS = `{"seed":1}`, nil }), &TargetInfo{TargetID: 1, Driver: "fake", ModelID: "a", InstanceID: "1", LoadS: ptr(12.5), DownloadS: ptr(3.0), Sampling: `{"seed":1}`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFake()
				d.models = []string{"a"}
				said := first
				d.says = func(string) TargetInfo { return said }
				job := Job{Driver: d, Spec: Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 6, Warmup: ptr(0)}}
				h := &history{}
				h.run(t.Context(), t, 6, job)
				said = c.now
				n := len(h.records)
				h.run(t.Context(), t, 4, job)
				h.check(t)
				var got *TargetInfo
				for _, r := range h.records[n:] {
					if i, ok := r.(*TargetInfo); ok {
						got = i
					}
				}
				if !reflect.DeepEqual(got, c.want) {
					t.Errorf("%+v, want %+v", got, c.want)
				}
				h.run(t.Context(), t, never, job) // what it is now is past, with all that was done before
				h.check(t)
				batches, targets := 0, 0
				for _, r := range h.records {
					switch r.(type) {
					case *Batch:
						batches++
					case *TargetInfo:
						targets++
					}
				}
				if want := map[bool]int{true: 1, false: 2}[c.want == nil]; batches != 6 || targets != want || len(h.warnings) != 0 {
					t.Errorf("%d batches, %d records of the target, warnings %q", batches, targets, h.warnings)
				}
			})
		})
	}
}

// TestTargetsThatChangeWhenOpened: some facts are known only then.
func TestTargetsThatChangeWhenOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, job := plan18()
		version := "1"
		d.says = func(m string) TargetInfo {
			info := TargetInfo{Engine: "fake", ModelID: m}
			if slices.Contains(d.opened, m) {
				info.EngineVersion = version
			}
			return info
		}
		h := &history{vague: true}
		fresh := func(n int) {
			d.opened = nil
			h.run(t.Context(), t, n, job)
			h.check(t)
		}
		fresh(10)
		version = "2"
		fresh(12)
		version = "1"
		fresh(14)
		version = "2"
		fresh(never)
		for b, n := range h.doneBatches() {
			if n != 1 {
				t.Errorf("%s was done %d times", b, n)
			}
		}
		if end := h.records[len(h.records)-1].(*End); end.NotRun != 0 {
			t.Errorf("end %+v", end)
		}
		fresh(never) // the newest past is the one that the unopened targets are taken for
		if len(d.opened) != 0 || !errors.Is(h.errs[len(h.errs)-1], ErrNothingLeft) {
			t.Errorf("opened %v, errors %v", d.opened, h.errs)
		}
	})
}

// TestJobsOnOneTarget: two jobs on one target keep apart, equal cases too.
func TestJobsOnOneTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake()
		jobs := []Job{
			{Driver: d, Spec: Spec{PP: []int64{1, 1}, TG: []int64{2, 2}, Repeat: 2, Warmup: ptr(0)}},
			{Driver: d, Spec: Spec{PP: []int64{2}, TG: []int64{2}, Repeat: 2, WarmupPrompt: &Text{Text: "Hello", Limit: 1}, TargetPause: 5 * time.Second}},
			{Driver: d, Spec: Spec{PP: []int64{1, 1}, TG: []int64{2, 2}, Repeat: 2, Warmup: ptr(0)}},
		}
		whole := &history{}
		all := whole.run(t.Context(), t, never, jobs...)
		for n := 1; n < all; n++ {
			h := &history{}
			h.run(t.Context(), t, n, jobs...)
			h.run(t.Context(), t, never, jobs...)
			h.check(t)
			byCase := map[string]int{}
			batches := 0
			for _, rec := range h.records {
				switch r := rec.(type) {
				case *TargetInfo:
					byCase["targets"]++
				case *Case:
					byCase["cases"]++
				case *Batch:
					if !r.Warmup {
						byCase[fmt.Sprint(r.CaseID, "/", r.RepeatIndex)]++
						batches++
					}
				}
			}
			if byCase["targets"] != 3 || byCase["cases"] != 6 || batches != 10 || len(byCase) != 12 {
				t.Errorf("cut behind record %d: %v", n, byCase)
			}
		}
	})
}

// TestSecondJobAlone: the target of the first job could not be opened, so what
// is stored is the second job's, of the same target.
func TestSecondJobAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, broken := newFake(), newFake()
		broken.openErr = errors.New("no memory")
		spec := func(pp int64) Spec {
			return Spec{PP: []int64{pp}, TG: []int64{2}, Repeat: 2, Warmup: ptr(0)}
		}
		h := &history{}
		h.run(t.Context(), t, never, Job{Driver: broken, Spec: spec(1)}, Job{Driver: d, Spec: spec(2)})
		broken.openErr = nil
		h.run(t.Context(), t, never, Job{Driver: broken, Spec: spec(1)}, Job{Driver: d, Spec: spec(2)})
		h.check(t)
		if len(broken.calls) != 2 || len(d.calls) != 2 {
			t.Errorf("%d and %d requests, want 2 each", len(broken.calls), len(d.calls))
		}
	})
}

// TestWhatIsDoneStaysClosed: of two targets the first is done, so it is not
// opened; and the segment is stored before anything is sent.
func TestWhatIsDoneStaysClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, job := plan18()
		h := &history{}
		h.run(t.Context(), t, 20, job) // within b
		d.opened, d.calls, d.sent = nil, nil, nil
		past, err := ReadPast(h.all())
		if err != nil {
			t.Fatal(err)
		}
		r := fakeRunner()
		r.Past = past
		for rec, err := range r.Run(t.Context(), job) {
			if err != nil {
				t.Error(err)
			}
			if s, ok := rec.(*Segment); ok && (len(d.calls) != 0 || s.Segment != 2) {
				t.Errorf("segment %+v after %d requests", s, len(d.calls))
			}
		}
		if len(d.opened) != 1 || d.opened[0] != "b" || d.closed != 3 {
			t.Errorf("opened %v, closed %d in all", d.opened, d.closed)
		}
	})
}

// TestOtherCasesAreMeasured: whatever tells two cases apart does so when a
// session is resumed; and where the engine now makes something else of a
// case, what is left of it has a record that says so.
func TestOtherCasesAreMeasured(t *testing.T) {
	base := Spec{PP: []int64{8}, TG: []int64{4}, Concurrency: []int64{1}, Repeat: 3, Warmup: ptr(0)}
	with := func(change func(*Spec)) Spec { s := base; change(&s); return s }
	for name, c := range map[string]struct {
		spec    Spec
		cold    string
		batches int // in the second segment
		cases   int // in all
	}{
		"same":        {base, "", 2, 1},
		"repeat":      {with(func(s *Spec) { s.Repeat = 5 }), "", 4, 1},
		"pp":          {with(func(s *Spec) { s.PP = []int64{9} }), "", 3, 2},
		"tg":          {with(func(s *Spec) { s.TG = []int64{5} }), "", 3, 2},
		"concurrency": {with(func(s *Spec) { s.Concurrency = []int64{2} }), "", 3, 2},
		"cache":       {with(func(s *Spec) { s.Cache = CacheServer }), "", 3, 2},
		"streaming":   {with(func(s *Spec) { s.Streaming = StreamNone }), "", 3, 2},
		"own":         {with(func(s *Spec) { s.PP, s.Prompts = nil, []Text{{Text: "x"}} }), "", 3, 2},
		"cold method": {base, "engine", 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFake()
				h := &history{}
				h.run(t.Context(), t, 5, Job{Driver: d, Spec: base}) // one batch
				d.cold = c.cold
				h.run(t.Context(), t, never, Job{Driver: d, Spec: c.spec})
				h.check(t)
				batches, cases, targets := 0, 0, 0
				for _, rec := range h.records {
					switch r := rec.(type) {
					case *Batch:
						if r.Segment == 2 {
							batches++
						}
					case *Case:
						cases++
					case *TargetInfo:
						targets++
					}
				}
				if batches != c.batches || cases != c.cases || targets != 1 {
					t.Errorf("%d batches, %d cases, %d targets", batches, cases, targets)
				}
			})
		})
	}
}

func TestPastThatCantBeRead(t *testing.T) {
	if _, err := ReadPast(func(func(Record, error) bool) {}); err == nil {
		t.Error("a session without a record")
	}
	damage := errors.New("damaged")
	_, err := ReadPast(func(yield func(Record, error) bool) {
		_ = yield(&Session{ID: "s"}, nil) && yield(nil, damage)
	})
	if !errors.Is(err, damage) {
		t.Errorf("error %v", err)
	}
}

// TestOwnPromptsResume: own prompts are told apart by their text.
func TestOwnPromptsResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake()
		job := Job{Driver: d, Spec: Spec{Prompts: []Text{{Text: "x"}, {Text: "y"}}, TG: []int64{2}, Repeat: 2, Warmup: ptr(0)}}
		h := &history{}
		h.run(t.Context(), t, 6, job) // session, segment, target, two cases, one batch
		job.Spec.Prompts = []Text{{Text: "z"}, {Text: "y"}, {Text: "x"}}
		h.run(t.Context(), t, never, job)
		h.check(t)
		hashes := map[string]int{}
		cases := map[int64]*Case{}
		for _, rec := range h.records {
			switch r := rec.(type) {
			case *Case:
				cases[r.CaseID] = r
			case *Batch:
				hashes[cases[r.CaseID].PromptHash]++
			}
		}
		want := map[string]int{promptHash("x"): 2, promptHash("y"): 2, promptHash("z"): 2}
		if !maps.Equal(hashes, want) || len(cases) != 3 {
			t.Errorf("%v, %d cases", hashes, len(cases))
		}
	})
}
