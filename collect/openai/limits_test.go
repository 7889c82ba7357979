package openai_test

import (
	"errors"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/openai"
	"tokwatt/collect/prompt"
	"tokwatt/collect/script"
)

// TestBoundedSizing: a server that hangs at any point of its answers to tiny
// requests costs the user's own limit, not for ever; its model list and the
// probe are waited for no longer; and the request is measured all the same.
func TestBoundedSizing(t *testing.T) {
	word := []byte(`data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n")
	var trickle []script.Piece
	for i := range 100 {
		trickle = append(trickle, script.Piece{At: time.Duration(i) * 50 * time.Millisecond, Data: word})
	}
	hang := script.Answer{HeadAt: time.Minute}
	for name, play := range map[string]script.Script{
		"head":    {Answers: []script.Answer{hang}},
		"body":    {Answers: []script.Answer{{Pieces: []script.Piece{{Data: []byte(`{"choices":`)}}, End: script.EndHang}}},
		"trickle": {Answers: []script.Answer{{Pieces: trickle, End: script.EndHang}}},
		"all":     {Answers: []script.Answer{hang}, Heads: map[string]script.Answer{"/health": hang}},
	} {
		for _, limits := range []collect.Spec{{FirstTimeout: 150 * time.Millisecond, Timeout: time.Second}, {Timeout: 150 * time.Millisecond}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				srv := listen(t, play)
				none := 0
				spec := limits
				spec.Models, spec.PP, spec.TG = []string{"demo-model"}, []int64{64, 128}, []int64{4}
				spec.Repeat, spec.Warmup, spec.Pause, spec.GroupPause, spec.StallTimeout = 1, &none, -1, -1, 150*time.Millisecond
				runner := collect.Runner{Prompts: func(_ collect.TargetInfo, e collect.Engine, fresh bool) (collect.Prompter, string) {
					return prompt.New(e.(collect.Counter).Count, prompt.Options{Fresh: fresh}), ""
				}}
				job := collect.Job{Driver: openai.Driver{Options: openai.Options{URL: srv.URL()}}, Spec: spec}
				rows := 0
				for rec, err := range runner.Run(t.Context(), job) {
					if err != nil {
						t.Fatal(err)
					}
					if b, ok := rec.(*collect.Batch); ok {
						rows++
						if f := b.Requests[0].Failure; f == nil || f.Kind != collect.ErrStall && f.Kind != collect.ErrTimeout {
							t.Errorf("failure %v", f)
						}
					}
				}
				if rows != 2 {
					t.Errorf("%d rows", rows)
				}
			})
		}
	}
}

// TestCountStalls: the failure is one of the server, not of the context, so
// that the caller knows that it may go on.
func TestCountStalls(t *testing.T) {
	srv := listen(t, script.Script{Answers: []script.Answer{{HeadAt: time.Minute}}})
	for tg, err := range (openai.Driver{Options: openai.Options{URL: srv.URL()}}).Targets(t.Context(), collect.Spec{Models: []string{"m"}, FirstTimeout: 100 * time.Millisecond}) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := tg.Open(t.Context(), collect.NewClock())
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.(collect.Counter).Count(t.Context(), collect.Prompt{User: "a"})
		var f *collect.Failure
		if !errors.As(err, &f) || f.Kind != collect.ErrStall {
			t.Errorf("%v", err)
		}
	}
}
