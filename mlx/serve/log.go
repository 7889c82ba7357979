package serve

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// journal writes a line a request.
type journal struct {
	mu     sync.Mutex
	w      io.Writer // nil: nowhere
	notify func(string)
	broken bool
}

// entry is a line of the log. It has no prompt and no answer. What is not
// known is null.
type entry struct {
	At        time.Time   `json:"at"` // when the request arrived
	ID        *string     `json:"id"`
	Path      string      `json:"path"`
	Status    *int        `json:"status"`  // null: the client was gone before there was one
	Outcome   string      `json:"outcome"` // an ending, or "refused"
	Error     *string     `json:"error"`
	Model     string      `json:"model"`
	Instance  *string     `json:"instance_id"`
	Stream    bool        `json:"stream"`
	MaxTokens *int        `json:"max_tokens"`
	BanEOS    bool        `json:"eos_ban"`
	Warm      bool        `json:"use_prefix_cache"`
	Waited    *float64    `json:"queued_s"` // from arrival to the start of its batch
	Elapsed   *float64    `json:"elapsed_s"`
	Streams   *int        `json:"batch_streams"`
	Stats     *stats      `json:"generation_stats"`
	Power     *powerUsage `json:"power_usage"`
}

// refused writes the line of a request that never began.
func (j *journal) refused(path string, asked request, arrived time.Time, f *fault) {
	j.write(entry{
		At: arrived, Path: path, Status: &f.status, Outcome: "refused", Error: &f.message, Model: clip(asked.model), Stream: asked.stream,
		BanEOS: asked.banEOS, Warm: asked.warm,
	})
}

// call writes the line of a request that was answered with a status, 0 where
// there was nobody to answer.
func (j *journal) call(path string, c *call, o *outcome, status int) {
	elapsed := o.ended.Sub(c.arrived).Seconds()
	e := entry{
		At: c.arrived, ID: &c.id, Path: path, Outcome: string(o.ending), Model: c.model, Instance: &c.instance, Stream: c.stream,
		MaxTokens: &c.maxTokens, BanEOS: c.banEOS, Warm: c.warm, Elapsed: &elapsed, Stats: statsFrom(o.stats), Power: &o.power,
	}
	if status != 0 {
		e.Status = &status
	}
	if o.err != nil {
		said := o.err.Error()
		e.Error = &said
	}
	if begun, _ := c.times(); !begun.IsZero() {
		waited := begun.Sub(c.arrived).Seconds()
		e.Waited = &waited
	}
	if o.stats != nil {
		e.Streams = &o.stats.BatchStreams
	}
	j.write(e)
}

// clip keeps the front of what a client called its model.
func clip(model string) string { return model[:min(len(model), maxEcho)] }

// write writes a line. That the log is full ends no request: it is told once.
func (j *journal) write(e entry) {
	if j.w == nil {
		return
	}
	line := append(document(e), '\n')
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.w.Write(line); err != nil && !j.broken {
		j.broken = true
		j.notify(fmt.Sprintf("the log can't be written, so requests are missing in it: %v", err))
	}
}
