package exo

import (
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
)

// TestRouting: what another instance of the model answers is never measured
// under the name of ours, whatever exo does with requests that fit both.
func TestRouting(t *testing.T) {
	theirs := func(int) string { return "theirs" }
	for _, c := range []struct {
		name   string
		route  func(chat int) string
		fault  func(*fake)
		spec   collect.Spec
		reuse  bool
		fails  bool // the target
		failed int  // requests, of 3 batches
		told   []string
	}{
		{name: "to ours", told: []string{"another instance of org/Demo-3B-4bit runs in the cluster (theirs)"}},
		{name: "from the first on", route: theirs, fails: true},
		{name: "with the server's cache", route: theirs, spec: collect.Spec{Cache: collect.CacheServer}, fails: true},
		{name: "whole answers", route: theirs, spec: collect.Spec{Streaming: collect.StreamNone}, fails: true},
		{name: "from the second measured one on", route: func(n int) string {
			if n < 2 {
				return ""
			}
			return "theirs"
		}, failed: 2},
		{name: "whole answers from the second on", spec: collect.Spec{Streaming: collect.StreamNone}, route: func(n int) string {
			if n < 2 {
				return ""
			}
			return "theirs"
		}, failed: 2},
		{name: "one of two in each batch", spec: collect.Spec{Concurrency: []int64{2}}, route: func(n int) string {
			if n%2 == 0 && n > 0 {
				return "theirs"
			}
			return ""
		}, failed: 6},
		{name: "two at once to ours", spec: collect.Spec{Concurrency: []int64{2}}},
		{name: "two alike at once to ours", spec: collect.Spec{Concurrency: []int64{2}, Cache: collect.CachePrefix}},
		{name: "nothing shows where", fault: func(f *fake) { f.noTasks = true }, told: []string{"does not show to which instance"}},
		{name: "tasks tell no prompt", fault: func(f *fake) { f.dropInput = true }},
		{name: "tasks tell no prompt, to theirs", route: theirs, fault: func(f *fake) { f.dropInput = true }, fails: true},
		{name: "theirs is reused", route: theirs, reuse: true},
		{name: "theirs is reused, and there is one more", route: func(int) string { return "third" }, reuse: true, fault: func(f *fake) { f.put("third") }, fails: true},
		{name: "theirs is gone", fault: func(f *fake) { delete(f.instances, "theirs") }},
	} {
		bubble(t, oneNode, func(t *testing.T, f *fake) {
			f.put("theirs")
			f.route = c.route
			if c.fault != nil {
				c.fault(f)
			}
			c.spec.Repeat, c.spec.TG = 3, []int64{20}
			got := f.measure(t.Context(), Options{ReuseInstance: c.reuse}, c.spec)
			if c.fails != (len(got.errs) > 0) || c.fails != (len(got.batches) == 0) {
				t.Fatalf("%s: %v, %d batches", c.name, got.errs, len(got.batches))
			}
			if c.fails {
				text := got.errs[0].Error()
				if !strings.Contains(text, "exo sends requests for org/Demo-3B-4bit to another instance, ") || strings.Contains(text, "--reuse-instance") == c.reuse {
					t.Errorf("%s: %s", c.name, text)
				}
			}
			failed := 0
			for _, q := range got.requests() {
				if q.Failure != nil {
					failed++
					if q.Failure.Kind != collect.ErrProtocol || !strings.Contains(q.Failure.Message, "to another instance, theirs") {
						t.Errorf("%s: %v", c.name, q.Failure)
					}
				}
			}
			if failed != c.failed {
				t.Errorf("%s: %d requests failed, want %d", c.name, failed, c.failed)
			}
			for _, words := range append(c.told, "does not show") {
				if want := len(c.told) > 0 && strings.Contains(strings.Join(c.told, " "), words); got.heard(words) != want {
					t.Errorf("%s: told %q", c.name, got.told)
				}
			}
			if strings.Contains(strings.Join(f.commands(), " "), "DELETE /instance/theirs") {
				t.Errorf("%s: %q", c.name, f.commands())
			}
			if !c.reuse && !strings.Contains(strings.Join(f.commands(), " "), "DELETE /instance/Pipeline-MlxRing-1-1") {
				t.Errorf("%s: ours is left behind: %q", c.name, f.commands())
			}
		})
	}
}

// TestRivalComesLater: an instance that somebody places while we measure is
// found before the next batch.
func TestRivalComesLater(t *testing.T) {
	bubble(t, oneNode, func(t *testing.T, f *fake) {
		f.route = func(n int) string {
			if n == 1 {
				f.put("theirs") // under the fake's lock
			}
			if n > 1 {
				return "theirs"
			}
			return ""
		}
		got := f.measure(t.Context(), Options{}, collect.Spec{Repeat: 3, TG: []int64{20}})
		if q := got.requests(); len(q) != 3 || q[0].Failure != nil || q[1].Failure == nil || q[2].Failure == nil {
			t.Errorf("%v, %d requests", got.errs, len(q))
		}
		if took := time.Duration(got.batches[2].EndNS - got.batches[2].StartNS); took > time.Second {
			t.Errorf("the third request was sent on its way, for %v", took)
		}
	})
}
