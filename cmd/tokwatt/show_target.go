package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// peakMemory is the highest that an engine stated for a target.
type peakMemory struct {
	TargetID int64  `json:"target_id"`
	Bytes    int64  `json:"bytes"`
	Mark     string `json:"mark"` // what to mind of it; empty: nothing
}

// batch takes note of what is said of requests, warm-ups too.
func (s *shown) batch(targetID int64, b *collect.Batch) {
	for i := range b.Requests {
		r := &b.Requests[i]
		if r.StampSource != "" {
			s.Stamps = count1(s.Stamps, string(r.StampSource))
		}
		if n := r.Report.PeakMemoryBytes; n != nil {
			s.peak(targetID, *n)
		}
	}
}

func (s *shown) peak(targetID, bytes int64) {
	i := slices.IndexFunc(s.Memory, func(p *peakMemory) bool { return p.TargetID == targetID })
	if i < 0 {
		p := &peakMemory{TargetID: targetID}
		for _, t := range s.Targets {
			if t.TargetID == targetID {
				p.Mark = analyze.MarkOf("peak_memory_bytes", t.Driver)
			}
		}
		i, s.Memory = len(s.Memory), append(s.Memory, p)
	}
	s.Memory[i].Bytes = max(s.Memory[i].Bytes, bytes)
}

// capacity is what is known of a target's size.
func capacity(t *collect.TargetInfo) string {
	var parts []string
	add := func(n *int64, text func(int64) string) {
		if n != nil {
			parts = append(parts, text(*n))
		}
	}
	add(t.ContextTokens, func(n int64) string { return fmt.Sprintf("context of %d tokens", n) })
	add(t.ModelBytes, func(n int64) string { return byteSize(n) + " loaded" })
	add(t.ModelGPUBytes, func(n int64) string { return byteSize(n) + " on the GPU" })
	add(t.MaxStreams, func(n int64) string { return "the server runs " + plural(n, "request") + " at once" })
	return strings.Join(parts, ", ")
}

// memory is the peak of a target, with its mark.
func (s *shown) memory(targetID int64) string {
	i := slices.IndexFunc(s.Memory, func(p *peakMemory) bool { return p.TargetID == targetID })
	if i < 0 {
		return ""
	}
	text := "at most " + byteSize(s.Memory[i].Bytes)
	if mark := s.Memory[i].Mark; mark != "" {
		text += ": " + mark
	}
	return text
}

// byteSize is a size of memory in the unit that suits it.
func byteSize(n int64) string {
	if n < 1<<30 {
		return sig(float64(n)/(1<<20)) + " MiB"
	}
	return sig(float64(n)/(1<<30)) + " GiB"
}

// stampers says who stamped the arrivals of how many requests.
func stampers(list []tally) string {
	who := map[string]string{
		string(collect.StampKernel): "the kernel",
		string(collect.StampUser):   "this process, as its reads returned",
	}
	var parts []string
	for _, t := range list {
		parts = append(parts, plural(t.N, "request")+" by "+cmp.Or(who[t.What], t.What))
	}
	return strings.Join(parts, ", ")
}
