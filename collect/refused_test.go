package collect

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// TestRefusedRequestsAreNotRepeated: what a server refuses for what it asks is
// one row and not asked again; what it may take the next time is.
func TestRefusedRequestsAreNotRepeated(t *testing.T) {
	status := func(code int64) func(n int64, c Call) fakeAnswer {
		f := &Failure{Kind: ErrHTTP, Message: "no", HTTPStatus: &code}
		return func(int64, Call) fakeAnswer { return fakeAnswer{silent: true, err: f} }
	}
	second := func(code int64) func(n int64, c Call) fakeAnswer {
		no := status(code)
		return func(n int64, c Call) fakeAnswer {
			if n == 1 {
				return fakeAnswer{}
			}
			return no(n, c)
		}
	}
	for name, c := range map[string]struct {
		answer  func(n int64, c Call) fakeAnswer
		batches int
		says    []string
	}{
		"400":            {status(400), 2, []string{"its other batches (2) were not run", "its other batches (2) were not run"}},
		"422":            {status(422), 2, []string{"its other batches (2)", "its other batches (2)"}},
		"404":            {status(404), 1, []string{"the rest of this target was not run"}},
		"408":            {status(408), 6, nil},
		"429":            {status(429), 6, nil},
		"500":            {status(500), 6, nil},
		"404 at second":  {second(404), 6, nil},
		"400 at another": {second(400), 4, []string{"case 2: no, so its other batches (2)"}},
		"good":           {nil, 6, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFake()
				if c.answer != nil {
					d.answer = c.answer
				}
				h := runAllJobs(t, Job{Driver: d, Spec: Spec{PP: []int64{1, 2}, TG: []int64{2}, Repeat: 3, Warmup: ptr(0)}})
				batches, notRun := 0, int64(-1)
				for _, r := range h.records {
					switch r := r.(type) {
					case *Batch:
						batches++
					case *End:
						notRun = r.NotRun
					}
				}
				if batches != c.batches || notRun != int64(6-batches) {
					t.Errorf("%d batches, %d not run; want %d of 6", batches, notRun, c.batches)
				}
				all := errors.Join(h.errs...)
				if len(h.errs) != len(c.says) {
					t.Errorf("said %v", all)
				}
				for i := range min(len(h.errs), len(c.says)) {
					if !strings.Contains(h.errs[i].Error(), c.says[i]) {
						t.Errorf("said %q, want %q", h.errs[i], c.says[i])
					}
				}
			})
		})
	}
}
