package ollama_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is an Ollama with a memory: it knows what is loaded, with which window,
// and until when.
type fake struct {
	models  []string
	version string
	context int64  // the model's longest; 0: not told
	params  string // PARAMETERs of its Modelfile
	lazy    int    // how many times a model is still listed after it was told to go
	lingers int    // how many times that is from now on
	refuse  string // why no model can be loaded
	cap     int64  // of the context, whatever is asked for; 0: none
	silent  bool   // the context is not told

	mu       sync.Mutex
	resident string
	window   int64
	expires  string
	bodies   []body
	asked    []string // method and path of all requests
}

// body is a request to /api/generate.
type body struct {
	Model, Prompt, System string
	Stream                *bool
	KeepAlive             *float64 `json:"keep_alive"`
	Raw, Context          json.RawMessage
	Options               map[string]any
}

func (f *fake) start(t *testing.T) string {
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return srv.URL
}

// sent are the requests to /api/generate so far.
func (f *fake) sent() []body {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.bodies)
}

// log is the method and path of all requests so far.
func (f *fake) log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// memory is what is loaded, and how many times a model is still listed that is
// not.
func (f *fake) memory() (resident string, lingers int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.resident, f.lingers
}

// spoil lets nothing be loaded or freed any more.
func (f *fake) spoil(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = why
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r.Method+" "+r.URL.Path)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	switch r.URL.Path {
	case "/api/version":
		fmt.Fprintf(w, `{"version":%q}`, f.version)
	case "/api/tags":
		var all []string
		for _, m := range f.models {
			all = append(all, fmt.Sprintf(`{"name":%q,"model":%q,"digest":"d1","size":1,"details":{"format":"gguf","parameter_size":"1.2B","quantization_level":"Q8_0"}}`, m, m))
		}
		fmt.Fprintf(w, `{"models":[%s]}`, strings.Join(all, ","))
	case "/api/ps":
		f.ps(w)
	case "/api/show":
		fmt.Fprintf(w, `{"license":"x","parameters":%q,"details":{"format":"gguf","quantization_level":"Q4_K_M"},"model_info":{"general.architecture":"llama","llama.context_length":%d,"tokenizer.ggml.tokens":null}}`, f.params, f.context)
	case "/api/generate":
		var b body
		raw, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(raw, &b); err != nil {
			http.Error(w, `{"error":"bad"}`, http.StatusBadRequest)
			return
		}
		f.generate(w, b)
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) ps(w io.Writer) {
	if f.resident == "" && f.lingers == 0 {
		fmt.Fprint(w, `{"models":[]}`)
		return
	}
	name := f.resident
	if name == "" {
		f.lingers--
		name = f.models[0]
	}
	told := f.window
	if f.silent {
		told = 0
	}
	fmt.Fprintf(w, `{"models":[{"name":"another:1b","size":7,"size_vram":7},{"name":%q,"size":3000,"size_vram":2000,"context_length":%d,"expires_at":%q}]}`, name, told, f.expires)
}

func (f *fake) generate(w http.ResponseWriter, b body) {
	f.bodies = append(f.bodies, b)
	if f.refuse != "" {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"error":%q}`, f.refuse)
		return
	}
	if b.Prompt == "" && b.KeepAlive != nil && *b.KeepAlive == 0 {
		f.resident, f.lingers = "", f.lazy
		fmt.Fprintf(w, `{"model":%q,"response":"","done":true,"done_reason":"unload"}`, b.Model)
		return
	}
	n, _ := b.Options["num_ctx"].(float64)
	if f.cap > 0 {
		n = min(n, float64(f.cap))
	}
	f.resident, f.window, f.expires = b.Model, int64(n), time.Now().Add(time.Duration(*b.KeepAlive)*time.Second).Format(time.RFC3339Nano)
	if b.Prompt == "" {
		fmt.Fprintf(w, `{"model":%q,"response":"","done":true,"done_reason":"load"}`, b.Model)
		return
	}
	words := len(strings.Fields(b.System)) + len(strings.Fields(b.Prompt)) + 9
	if words > int(n) {
		words = int(n)
	}
	tokens, _ := b.Options["num_predict"].(float64)
	last := fmt.Sprintf(`"done":true,"done_reason":"length","context":[1,2],"total_duration":30000000,"load_duration":1000000,"prompt_eval_count":%d,"prompt_eval_duration":10000000,"eval_count":%d,"eval_duration":9000000}`, words, int(tokens))
	if b.Stream != nil && !*b.Stream {
		fmt.Fprintf(w, `{"model":%q,"response":%q,`+last+"\n", b.Model, strings.Repeat("a ", int(tokens)))
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	for range int(tokens) {
		fmt.Fprintf(w, `{"model":%q,"response":"a ","done":false}`+"\n", b.Model)
	}
	fmt.Fprintf(w, `{"model":%q,"response":"",`+last+"\n", b.Model)
}
