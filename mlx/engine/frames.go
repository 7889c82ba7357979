package engine

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"tokwatt/mlx"
)

// Load is what a worker loads: its first line of input.
type Load struct {
	Model   string  `json:"model"`             // "synthetic:SHAPE", or a folder; empty: nothing, see Probe
	Seed    uint64  `json:"seed"`              // of synthetic weights
	Backend Backend `json:"backend,omitempty"` // who computes
	Library string  `json:"library,omitempty"` // path of MLX's library; empty: wherever it is found
}

// Backend is who computes.
type Backend string

// The backends.
const (
	Reference Backend = ""    // plain Go in main memory
	MLX       Backend = "mlx" // MLX, on a Mac's GPU
)

// Request is one stream to generate.
type Request struct {
	ID        int64   `json:"id"`      // from 1, unique in the life of a worker
	Streams   int     `json:"streams"` // how many requests are released together, this one included
	System    string  `json:"system,omitempty"`
	User      string  `json:"user,omitempty"`
	IDs       []int32 `json:"ids,omitempty"` // tokens as they are, instead of text
	MaxTokens int     `json:"max_tokens"`
	BanEOS    bool    `json:"ban_eos"` // go on to MaxTokens, whatever the model says
	// Prefix says to begin with what the request before left in the cache, as
	// far as it is the same, and to leave the cache to the next. Only a stream
	// alone does; any other request begins with an empty cache and leaves none.
	Prefix bool `json:"prefix,omitempty"`
}

// input is a line that a worker reads; one field is set.
type input struct {
	Load   *Load    `json:"load,omitempty"`
	Run    *Request `json:"run,omitempty"`
	Cancel int64    `json:"cancel,omitempty"`
}

// Frame is a line that a worker writes. Besides Stream one field is set; a
// token has its text with it.
type Frame struct {
	Stream    int64   `json:"s"`                   // the request's ID; 0: the worker itself
	Token     *int32  `json:"t,omitempty"`         // a token
	Text      string  `json:"x,omitempty"`         // as one can print it, never empty
	Prefilled int64   `json:"prefilled,omitempty"` // prompt tokens done so far
	Done      *Stats  `json:"done,omitempty"`      // the request is complete
	Error     string  `json:"error,omitempty"`     // the request, or the load, failed: a sentence
	Loaded    *Loaded `json:"loaded,omitempty"`    // the model is ready
}

// Loaded says that a model is ready.
type Loaded struct {
	LoadS       float64           `json:"load_s"` // seconds, without the start of the process
	WeightBytes int64             `json:"weight_bytes"`
	Backend     mlx.Info          `json:"backend"`               // who computes
	Environment map[string]string `json:"environment,omitempty"` // variables that change how MLX computes, where set
}

// Stats is what the engine measured of a request, by its own clock.
type Stats struct {
	PromptTokens     int64    `json:"prompt_tokens"`
	GenerationTokens int64    `json:"generation_tokens"`  // without the end of sequence that stopped it
	PromptTPS        *float64 `json:"prompt_tps"`         // (prompt tokens − cached tokens) / PrefillS
	GenerationTPS    *float64 `json:"generation_tps"`     // (n − 1) / time from the first token to the last; null under 2
	PrefillS         float64  `json:"prefill_s"`          // from the batch's start to the first token
	FinishReason     string   `json:"finish_reason"`      // "length" or "stop"
	BatchStreams     int      `json:"batch_streams"`      // requests that were prefilled together
	CachedTokens     int64    `json:"cached_tokens"`      // of the prompt, that the cache had
	PrefixCacheHit   string   `json:"prefix_cache_hit"`   // "none", "partial" or "exact": of an exact hit the last token is computed anew
	PeakMemoryBytes  *int64   `json:"peak_memory_bytes"`  // see PeakMemoryScope
	PeakMemoryScope  string   `json:"peak_memory_scope"`  // "process": the worker's largest resident set since it started; "arrays": MLX's arrays during the batch
	Threads          int      `json:"threads"`            // cores that the operations may use; 0 where MLX decides
	PrefillChunk     int      `json:"prefill_chunk_rows"` // tokens taken through the model at once, of all streams
}

// What the cache had of a prompt.
const (
	HitNone    = "none"
	HitPartial = "partial"
	HitExact   = "exact" // all of it
)

// The finish reasons.
const (
	FinishLength = "length" // MaxTokens were generated
	FinishStop   = "stop"   // the model ended the answer
)

// prefix starts every frame; what follows is the stream's number.
const prefix = `{"s":`

// StreamOf is the request that a line belongs to, without parsing the rest. ok
// is false for a line that is no frame.
func StreamOf(line []byte) (stream int64, ok bool) {
	digits := 0
	for i := len(prefix); i < len(line) && line[i] >= '0' && line[i] <= '9' && digits < 18; i++ {
		stream = 10*stream + int64(line[i]-'0')
		digits++
	}
	if digits == 0 || !strings.HasPrefix(string(line[:len(prefix)]), prefix) {
		return 0, false
	}
	return stream, true
}

// Decode reads a frame.
func Decode(line []byte) (Frame, error) {
	var f Frame
	if err := json.Unmarshal(line, &f); err != nil {
		return f, fmt.Errorf("the engine's worker wrote a line that is no frame: %q", line[:min(len(line), 80)])
	}
	return f, nil
}

// appendToken appends the frame of a token, as Decode reads it. It is the one
// frame that is written while time counts.
func appendToken(b []byte, stream int64, token int32, text string) []byte {
	b = append(b, prefix...)
	b = strconv.AppendInt(b, stream, 10)
	b = append(b, `,"t":`...)
	b = strconv.AppendInt(b, int64(token), 10)
	b = append(b, `,"x":"`...)
	for i := range len(text) { // printable ASCII, by model.TokenText
		if text[i] == '"' || text[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return append(b, "\"}\n"...)
}

// appendFrame appends any other frame.
func appendFrame(b []byte, f Frame) []byte {
	text, err := json.Marshal(f)
	if err != nil { // a figure that JSON has no way to say
		text = fmt.Appendf(nil, `{"s":%d,"error":%q}`, f.Stream, "the statistics can't be written: "+err.Error())
	}
	return append(append(b, text...), '\n')
}
