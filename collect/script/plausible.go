package script

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// plausible is the answer to a GET: the script's own, else what servers with
// one model say.
func (s *Script) plausible(r *Request) Answer {
	for path, a := range s.Heads {
		if strings.HasSuffix(r.Path, path) {
			return a
		}
	}
	for path, body := range s.Get {
		if strings.HasSuffix(r.Path, path) {
			return small(200, body)
		}
	}
	model := cmp.Or(s.Model, "demo-model")
	ollama := `{"models":[{"name":%q,"model":%q,"modified_at":"2026-01-01T00:00:00Z","size":2000000000,"details":{"format":"gguf","family":"demo","parameter_size":"3B","quantization_level":"Q4_K_M"}}]}`
	switch {
	case strings.HasSuffix(r.Path, "/models"):
		return small(200, fmt.Appendf(nil, `{"object":"list","data":[{"id":%q,"object":"model","created":1767225600,"owned_by":"local"}]}`, model))
	case strings.HasSuffix(r.Path, "/api/tags"), strings.HasSuffix(r.Path, "/api/ps"):
		return small(200, fmt.Appendf(nil, ollama, model, model))
	case strings.HasSuffix(r.Path, "/api/show"):
		return small(200, []byte(`{"details":{"format":"gguf","family":"demo","parameter_size":"3B","quantization_level":"Q4_K_M"},"model_info":{"general.architecture":"demo"},"capabilities":["completion"]}`))
	case strings.HasSuffix(r.Path, "/health"):
		return small(200, []byte(`{"status":"ok"}`))
	case r.Path == "/":
		return small(200, []byte(`{"status":"replay"}`))
	}
	return small(404, fmt.Appendf(nil, `{"error":{"message":"%s %s is not served","code":404}}`, r.Method, r.Path))
}

// polite is a well-formed answer to a probe, at once.
func polite(r Request) Answer {
	var model string
	_ = json.Unmarshal(r.Field("model"), &model) // none: empty
	usage := fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":1,"total_tokens":%d}`, r.PromptTokens(), r.PromptTokens()+1)
	if !r.Stream() {
		return small(200, fmt.Appendf(nil, `{"id":"p","object":"chat.completion","created":1,"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"length"}],"usage":%s}`, model, usage))
	}
	head := fmt.Sprintf(`data: {"id":"p","object":"chat.completion.chunk","created":1,"model":%q,`, model)
	body := head + `"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}` + "\n\n" +
		head + `"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}` + "\n\n" +
		head + `"choices":[],"usage":` + usage + "}\n\ndata: [DONE]\n\n"
	a := small(200, []byte(body))
	a.Headers[0].Value = "text/event-stream"
	return a
}
