package exchange_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze"
	"tokwatt/collect"
	"tokwatt/collect/exchange"
)

// FuzzRead reads anything as a file of each format. Whatever is in it, reading
// ends, ids and numbers ascend, what belongs together is there, and the rows
// can be derived.
//
// Fuzz with -fuzzminimizetime 1x: by default Go tries for up to a minute to make
// each interesting file smaller, and runs nothing new meanwhile.
func FuzzRead(f *testing.F) {
	for _, c := range importCases(f) {
		for i := range exchange.Formats() {
			f.Add(c.File, uint8(i))
		}
	}
	f.Add("{\"build_commit\":1,\"n_prompt\":\"1e300\",\"n_gen\":-1,\"avg_ns\":NaN}\n[[[[", uint8(1))
	f.Fuzz(func(t *testing.T, file string, format uint8) {
		formats := exchange.Formats()
		sound(t, exchange.Input{Name: "f", Format: formats[int(format)%len(formats)].Name, Now: time.Unix(1.8e9, 0), R: strings.NewReader(file), Size: int64(len(file))})
	})
}

// sound reads a file and holds that its records make sense.
func sound(t *testing.T, in exchange.Input) {
	cases, targets := map[int64]*collect.Case{}, map[int64]*collect.TargetInfo{}
	open, requests := "", int64(0)
	for rec, err := range exchange.Read(context.Background(), in) {
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a word")
			}
			continue
		}
		switch rec := rec.(type) {
		case *collect.Session:
			if open != "" || len(rec.ID) != 36 || rec.ID[14] != '7' || rec.Imported == nil || len(rec.Imported.Hash) != 16 {
				t.Fatalf("session %+v within %q", rec, open)
			}
			open, requests = rec.ID, 0
			clear(cases)
			clear(targets)
		case *collect.TargetInfo:
			targets[rec.TargetID] = rec
		case *collect.Case:
			cases[rec.CaseID] = rec
		case *collect.Batch:
			c := cases[rec.CaseID]
			if open == "" || c == nil || targets[c.TargetID] == nil || c.Concurrency < 1 || len(rec.Requests) == 0 {
				t.Fatalf("batch %+v of case %+v", rec, c)
			}
			for _, r := range rec.Requests {
				if requests++; r.RequestID != requests || r.Stated == nil {
					t.Fatalf("request %d is %+v", requests, r)
				}
			}
			analyze.Derive(analyze.Context{SessionID: open, Target: targets[c.TargetID], Case: c}, rec, nil)
		case *collect.End:
			open = ""
		}
	}
	if open != "" {
		t.Error("a session without an end")
	}
}
