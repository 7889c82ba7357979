package collect

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestEveryErrorKind: each is reachable, and what belongs to it is in the row.
func TestEveryErrorKind(t *testing.T) {
	limits := Spec{Timeout: time.Hour, FirstTimeout: 10 * time.Minute, StallTimeout: time.Minute}
	status, after := int64(429), 2.5
	full := &Failure{Kind: ErrHTTP, Message: "busy", HTTPStatus: &status, RetryAfter: &after}
	dial := func(err error) func(int64) error { return func(int64) error { return err } }
	for name, c := range map[string]struct {
		answer fakeAnswer
		dial   func(int64) error
		cancel time.Duration
		want   ErrorKind
		after  time.Duration
	}{
		"connect":          {dial: dial(Failf(ErrConnect, "refused")), want: ErrConnect},
		"connect, unnamed": {dial: dial(context.DeadlineExceeded), want: ErrConnect},
		"tls":              {dial: dial(Failf(ErrTLS, "bad certificate")), want: ErrTLS},
		"timeout":          {answer: fakeAnswer{lead: progress(80)}, want: ErrTimeout, after: time.Hour},
		"first":            {answer: fakeAnswer{late: true}, want: ErrStall, after: 10 * time.Minute},
		"roles only":       {answer: fakeAnswer{lead: make([]ChunkKind, 20)}, want: ErrStall, after: 10 * time.Minute},
		"progress, then":   {answer: fakeAnswer{lead: progress(5), late: true}, want: ErrStall, after: 15 * time.Minute},
		"stall":            {answer: fakeAnswer{hang: true}, want: ErrStall, after: time.Minute + 60*time.Millisecond},
		"http":             {answer: fakeAnswer{silent: true, err: full}, want: ErrHTTP},
		"server_error":     {answer: fakeAnswer{err: Failf(ErrServer, "boom")}, want: ErrServer, after: 60 * time.Millisecond},
		"truncated":        {answer: fakeAnswer{err: Failf(ErrTruncated, "cut")}, want: ErrTruncated, after: 60 * time.Millisecond},
		"reset":            {answer: fakeAnswer{err: Failf(ErrReset, "reset")}, want: ErrReset, after: 60 * time.Millisecond},
		"protocol":         {answer: fakeAnswer{err: Failf(ErrProtocol, "html")}, want: ErrProtocol, after: 60 * time.Millisecond},
		"empty":            {answer: fakeAnswer{silent: true}, want: ErrEmpty},
		"empty, unnamed":   {answer: fakeAnswer{silent: true, report: &Report{}}, want: ErrEmpty},
		"hidden":           {answer: fakeAnswer{silent: true, report: &Report{CompletionTokens: ptr(int64(5))}}},
		"uncounted":        {answer: fakeAnswer{report: &Report{}}, after: 60 * time.Millisecond},
		"cancelled":        {cancel: 55 * time.Millisecond, want: ErrCancelled, after: 55 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				d := newFake()
				d.dial = c.dial
				d.answer = func(int64, Call) fakeAnswer { return c.answer }
				spec := limits
				spec.PP, spec.TG, spec.Repeat, spec.Warmup, spec.Pause = []int64{1}, []int64{2}, 1, ptr(0), -1
				r := runAll(ctx, d, spec).batches[0].Requests[0]
				var got ErrorKind
				if r.Failure != nil {
					got = r.Failure.Kind
				}
				if took := time.Duration(r.EndNS - r.StartNS); got != c.want || took != c.after {
					t.Errorf("%q after %v, want %q after %v", got, took, c.want, c.after)
				}
				if name == "http" && (r.HTTPStatus == nil || *r.HTTPStatus != 429 || *r.Failure.RetryAfter != after) {
					t.Errorf("request %+v", r)
				}
			})
		})
	}
}

// progress is a server that tells of its prefill n times.
func progress(n int) []ChunkKind {
	var out []ChunkKind
	for range n {
		out = append(out, KindProgress)
	}
	return out
}
