package exo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// completion is one generation of the fake.
type completion struct {
	f      *fake
	id     string
	bench  bool
	prompt int
	req    struct {
		Model     string
		Messages  []struct{ Role, Content string }
		MaxTokens int      `json:"max_tokens"`
		Stream    bool     `json:"stream"`
		UseCache  bool     `json:"use_prefix_cache"`
		Temp      *float64 `json:"temperature"`
	}
	task *fakeTask
}

func (f *fake) chat(w http.ResponseWriter, r *http.Request, body []byte) {
	c := &completion{f: f, bench: r.URL.Path == benchPath}
	if json.Unmarshal(body, &c.req) != nil || c.req.Model != fakeModel {
		http.Error(w, `{"detail":"bad"}`, http.StatusUnprocessableEntity)
		return
	}
	probe := strings.HasPrefix(c.req.Messages[len(c.req.Messages)-1].Content, "tokwatt ")
	f.mu.Lock()
	placed := ""
	newest := time.Time{}
	for id, in := range f.alive() {
		if in.since.After(newest) {
			placed, newest = id, in.since
		}
	}
	if !probe {
		f.chats++
	}
	if f.route != nil && placed != "" {
		n := f.chats
		if probe {
			n = 0
		}
		placed = cmp.Or(f.route(n), placed)
	}
	fail := f.failEvery > 0 && !probe && f.chats%f.failEvery == 0
	f.mu.Unlock()
	switch {
	case placed == "":
		http.Error(w, `{"error":{"message":"No instance found for model `+fakeModel+`","code":404}}`, http.StatusNotFound)
		return
	case fail:
		http.Error(w, `{"error":{"message":"mock: runner crashed","code":500}}`, http.StatusInternalServerError)
		return
	}
	c.start(placed)
	defer c.end()
	for _, m := range c.req.Messages {
		c.prompt += len(strings.Fields(m.Content))
	}
	c.prompt += 9
	if c.req.Stream {
		c.stream(w, r)
	} else {
		c.whole(w)
	}
}

func (c *completion) start(instance string) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.ids++
	c.id = fmt.Sprintf("cmd-%d", c.f.ids)
	params := map[string]any{"model": c.req.Model, "max_output_tokens": c.req.MaxTokens, "bench": c.bench, "instance": instance, "stream": c.req.Stream,
		"temperature": 0.6, "top_p": 0.95, "min_p": nil}
	if c.req.Temp != nil {
		params["temperature"] = *c.req.Temp
	}
	if !c.f.dropInput {
		var input []map[string]string
		for _, m := range c.req.Messages {
			if m.Role == "system" {
				params["instructions"] = m.Content
				continue
			}
			input = append(input, map[string]string{"role": m.Role, "content": m.Content})
		}
		params["input"] = input
	}
	c.f.decoding++
	c.task = &fakeTask{params: params, stop: make(chan struct{}), at: time.Now()}
	c.f.running[c.id] = c.task
}

func (c *completion) end() {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.decoding--
	if !c.task.stopped { // a stream that was left stays in the list
		delete(c.f.running, c.id)
	}
}

// pause is false where the request is cancelled before.
func (c *completion) pause(d time.Duration, gone <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.task.stop:
	case <-gone:
		c.f.mu.Lock()
		c.task.stopped = true
		c.f.mu.Unlock()
	}
	return false
}

func (c *completion) stats(spelling string) string {
	prompt, hit := c.prompt, "none"
	if c.f.sequential {
		prompt++
	} else if c.req.UseCache {
		hit = "exact"
	}
	return fmt.Sprintf(`{"prompt_tps":1000.5,"generation_tps":20.0,"prompt_tokens":%d,"generation_tokens":%d,"peak_memory_usage":{"%s":2469606195},"prefix_cache_hit":"%s"}`,
		prompt, c.req.MaxTokens, spelling, hit)
}

func (c *completion) usage() string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, c.prompt, c.req.MaxTokens, c.prompt+c.req.MaxTokens)
}

func (c *completion) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	say := func(format string, args ...any) {
		fmt.Fprintf(w, format+"\n\n", args...)
		w.(http.Flusher).Flush()
	}
	gone := r.Context().Done()
	say(": keep-alive")
	say(`: prefill_progress {"PrefillProgressChunk":{"model":%q,"processed_tokens":0,"total_tokens":%d}}`, c.req.Model, c.prompt-1)
	if !c.pause(100*time.Millisecond, gone) {
		return
	}
	for i := range c.req.MaxTokens {
		if i > 0 && !c.pause(50*time.Millisecond, gone) || c.f.streamCut && i >= c.req.MaxTokens/2 {
			return
		}
		last := ""
		if i == c.req.MaxTokens-1 {
			last = `,"finish_reason":"length"`
		}
		usage := ""
		if last != "" {
			usage = `,"usage":` + c.usage()
		}
		say(`data: {"id":%q,"object":"chat.completion","created":1,"model":%q,"choices":[{"index":0,"delta":{"role":"assistant","content":"w%d "}%s}]%s}`, c.id, c.req.Model, i, last, usage)
	}
	if !c.f.statsNull {
		say(": generation_stats %s", c.stats("in_bytes"))
	}
	say("data: [DONE]")
}

func (c *completion) whole(w http.ResponseWriter) {
	stats, power, finish, text := c.stats("inBytes"), c.power(), `"length"`, strings.Repeat("w ", c.req.MaxTokens)
	// A client that leaves stops nothing.
	takes := 100*time.Millisecond + time.Duration(c.req.MaxTokens-1)*50*time.Millisecond
	if !c.pause(takes, nil) {
		c.f.mu.Lock()
		c.f.busyUntil = c.task.at.Add(takes) // the runner is not told
		c.f.mu.Unlock()
		stats, finish, text = "null", "null", "w "
	}
	if c.f.statsNull {
		stats = "null"
	}
	w.Header().Set("Content-Type", "application/json")
	head := fmt.Sprintf(`{"id":%q,"object":"chat.completion","created":1,"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":%s}]`, c.id, c.req.Model, text, finish)
	if !c.bench {
		fmt.Fprintf(w, `%s,"usage":%s}`, head, c.usage())
		return
	}
	io.WriteString(w, head+`,"usage":null,"service_tier":null,"generation_stats":`+stats+`,"power_usage":`+power+`}`)
}

func (c *completion) power() string {
	switch {
	case c.f.powerNull:
		return "null"
	case c.f.noPower, c.f.noNodeSystem:
		return `{"elapsed_seconds":1.0,"nodes":[],"total_energy_joules":0.0}`
	}
	return fmt.Sprintf(`{"elapsed_seconds":1.0,"nodes":[{"node_id":%q,"samples":3,"avg_sys_power":100.0}],"total_energy_joules":100.0}`, c.f.nodes[0])
}
