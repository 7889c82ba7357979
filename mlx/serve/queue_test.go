package serve

import (
	"strings"
	"sync"
	"testing"
)

// TestRefusals: what is refused, in which form, and that the log has it.
func TestRefusals(t *testing.T) {
	r := start(t, Options{})
	message := func(content string) string {
		return `{"model":"synthetic:tiny","max_tokens":2,"messages":[{"role":"user","content":` + content + `}]}`
	}
	cases := []struct {
		path, body string
		code       int
		says       string
	}{
		{bench, `{"a`, 422, `{"detail":[{"type":"json_invalid","loc":["body",3],"msg":"JSON decode error","input":{},"ctx":{"error":"unexpected end of JSON input"}}]}`},
		{bench, `[]`, 422, `"type":"model_attributes_type"`},
		{bench, `{"messages":[]}`, 422, `{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required","input":null}]}`},
		{bench, `{"model":"x"}`, 422, `"loc":["body","messages"],"msg":"Field required"`},
		{bench, `{"model":7,"messages":[]}`, 422, `"loc":["body","model"],"msg":"Input should be a valid string","input":7`},
		{bench, `{"model":"synthetic:tiny","messages":[],"max_tokens":"many"}`, 422, `"loc":["body","max_tokens"],"msg":"Input should be a valid integer","input":"many"`},
		{bench, `{"model":"synthetic:tiny","messages":[],"max_tokens":1e99}`, 422, `"loc":["body","max_tokens"]`},
		{bench, `{"model":"synthetic:tiny","messages":[],"stream":"yes"}`, 422, `"loc":["body","stream"]`},
		{bench, `{"model":"synthetic:tiny","messages":{}}`, 422, `"loc":["body","messages"],"msg":"Input should be a valid list"`},
		{bench, `{"model":"synthetic:tiny","messages":[{"role":"king","content":"x"}]}`, 422, `"loc":["body","messages",0,"role"]`},
		{bench, message(`7`), 422, `"loc":["body","messages",0,"content"]`},
		{bench, message(`[{"type":"image_url"}]`), 422, `"loc":["body","messages",0,"content",0,"type"]`},
		{bench, `{"model":"synthetic:tiny","messages":[],"max_tokens":2}`, 400, `{"error":{"message":"messages is empty: send at least one","type":"Bad Request","param":null,"code":400}}`},
		{bench, `{"model":"synthetic:tiny","messages":[{"role":"user","content":"x"}]}`, 400, "max_tokens is missing"},
		{bench, asked(1, 0, ""), 400, "it must be at least 1"},
		{bench, asked(1, -5, ""), 400, "it must be at least 1"},
		{bench, asked(131072, 1, ""), 400, "the model takes at most 131072"},
		{bench, asked(131000, 100, ""), 400, "make 131103 tokens, and the model takes at most 131072"},
		{bench, asked(1, 2, `,"n":2`), 400, "n: "},
		{bench, asked(1, 2, `,"stop":["x"]`), 400, "stop: "},
		{bench, asked(1, 2, `,"logprobs":true`), 400, "logprobs: "},
		{bench, asked(1, 2, `,"logit_bias":{"257":-100}`), 400, "logit_bias: "},
		{bench, asked(1, 2, `,"response_format":{"type":"json_object"}`), 400, "response_format: "},
		{plainPath, asked(1, 2, `,"tools":[{"type":"function","function":{"name":"f"}}]`), 400, "tools: "},
		{plainPath, asked(1, 2, `,"top_logprobs":3`), 400, "top_logprobs: "},
		{bench, `{"model":"other","max_tokens":2,"messages":[{"role":"user","content":"x"}]}`, 404, `{"error":{"message":"No instance found for model other","type":"Not Found","param":null,"code":404}}`},
		{plainPath, `{"model":"other","stream":true,"messages":[{"role":"user","content":"x"}]}`, 404, "No instance found"},
		{bench, message(`"` + strings.Repeat("x", MaxBody) + `"`), 413, "larger than"},
	}
	for _, c := range cases {
		code, body := r.do(t, "POST", c.path, c.body)
		if code != c.code || !strings.Contains(body, c.says) || len(body) > 1000 {
			t.Errorf("%.100s: %d %.300s, want %d %s", c.body, code, body, c.code, c.says)
		}
	}
	for i, e := range r.log.entries(t, len(cases)) {
		if e.Outcome != "refused" || *e.Status != cases[i].code || e.Error == nil || e.Power != nil {
			t.Errorf("%.100s: %+v", cases[i].body, e)
		}
	}
	// What asks for nothing is no wish.
	if code, body := r.do(t, "POST", bench, asked(1, 2, `,"n":1,"stop":[],"logprobs":false,"logit_bias":{},"presence_penalty":0.0,"unknown":7,"tools":[],"stream":null`)); code != 200 {
		t.Error(code, body)
	}
}

// TestConcurrent: requests that are alike and come together are one batch;
// others wait their turn.
func TestConcurrent(t *testing.T) {
	r := start(t, Options{})
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			body := asked(61, 40, "")
			if i >= 8 {
				body = asked(29, 20, "")
			}
			if code, answer := r.do(t, "POST", bench, body); code != 200 {
				t.Error(code, answer)
			}
		})
	}
	wg.Wait()
	sizes := map[int64]map[int]int{}
	for _, e := range r.log.entries(t, 12) {
		n := e.Stats.PromptTokens
		if sizes[n] == nil {
			sizes[n] = map[int]int{}
		}
		sizes[n][*e.Streams]++
	}
	// On a busy machine one may come late; it never runs with others unlike it.
	if sizes[64][8]+sizes[64][7]+sizes[64][6] < 6 || len(sizes) != 2 {
		t.Errorf("batch sizes by prompt length: %v", sizes)
	}
	for n, of := range sizes {
		for size := range of {
			if size > map[int64]int{64: 8, 32: 4}[n] {
				t.Errorf("%d requests of %d tokens in a batch", size, n)
			}
		}
	}
}
