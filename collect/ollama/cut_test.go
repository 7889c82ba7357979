package ollama_test

import (
	"strings"
	"testing"

	"tokwatt/collect"
	"tokwatt/collect/ollama"
	"tokwatt/collect/prompt"
)

// TestCutPrompts: a server that gives a model less context than it is asked for
// is named as what it is, whether it tells the context or not; lengths that fit
// are measured.
func TestCutPrompts(t *testing.T) {
	for _, c := range []struct {
		cap    int64
		silent bool
		fresh  bool
		pp     int64
		words  []string // of the error; nil: none
	}{
		{0, false, true, 5000, nil},
		{100, false, true, 64, nil},
		{100, true, true, 64, nil},
		{100, false, true, 128, []string{"context of 100 tokens", "--pp 128 with --tg 8 needs 136"}},
		{100, true, true, 128, []string{"cuts longer prompts to 100 tokens", "--pp"}},
		{100, true, false, 128, []string{"cuts longer prompts to 100 tokens"}},
		{48, true, true, 64, []string{"cuts longer prompts to 48 tokens"}},
		{2048, true, true, 5000, []string{"cuts longer prompts to 2048 tokens", "a context of 6144 was asked for"}},
		{2048, false, true, 5000, []string{"context of 2048 tokens"}},
	} {
		f := &fake{models: []string{"demo"}, context: 131072, cap: c.cap, silent: c.silent}
		cache := collect.CacheCold
		if !c.fresh {
			cache = collect.CachePrefix
		}
		spec := collect.Spec{PP: []int64{c.pp}, TG: []int64{8}, Repeat: 1, Pause: -1, GroupPause: -1, Cache: cache}
		runner := collect.Runner{Prompts: func(_ collect.TargetInfo, e collect.Engine, fresh bool) (collect.Prompter, string) {
			return prompt.New(e.(collect.Counter).Count, prompt.Options{Fresh: fresh}), ""
		}}
		var errs []string
		batches := 0
		for rec, err := range runner.Run(t.Context(), collect.Job{Driver: ollama.Driver{Options: ollama.Options{URL: f.start(t)}}, Spec: spec}) {
			if err != nil {
				errs = append(errs, err.Error())
			}
			if _, ok := rec.(*collect.Batch); ok {
				batches++
			}
		}
		text := strings.Join(errs, "; ")
		if (len(errs) > 0) != (c.words != nil) || (batches > 0) != (c.words == nil) || strings.Contains(text, "atom") {
			t.Errorf("%+v: %q, %d batches", c, text, batches)
		}
		for _, w := range c.words {
			if !strings.Contains(text, w) {
				t.Errorf("%+v: %q does not say %q", c, text, w)
			}
		}
	}
}
