package serve

import (
	"time"

	"tokwatt/mlx/engine"
)

// whole is an answer that is no stream. The bench endpoint prints what is not
// known as null, the other one leaves it out.
type whole struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"`
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []wholeChoice `json:"choices"`
	Usage   *usage        `json:"usage"`
	Tier    *string       `json:"service_tier"`
	Stats   *stats        `json:"generation_stats"`
	Power   *powerUsage   `json:"power_usage"`
}

type wholeChoice struct {
	Index    int          `json:"index"`
	Message  wholeMessage `json:"message"`
	Logprobs *string      `json:"logprobs"`
	Finish   *string      `json:"finish_reason"`
}

type wholeMessage struct {
	Role       string  `json:"role"`
	Content    string  `json:"content"`
	Reasoning  *string `json:"reasoning_content"`
	Name       *string `json:"name"`
	ToolCalls  *string `json:"tool_calls"`
	ToolCallID *string `json:"tool_call_id"`
	Function   *string `json:"function_call"`
}

// sparse is whole as /v1/chat/completions has it.
type sparse struct {
	ID      string         `json:"id"`
	Object  string         `json:"object"`
	Created int64          `json:"created"`
	Model   string         `json:"model"`
	Choices []sparseChoice `json:"choices"`
	Usage   *usage         `json:"usage,omitempty"`
	Stats   *stats         `json:"generation_stats,omitempty"`
	Power   *powerUsage    `json:"power_usage,omitempty"`
}

type sparseChoice struct {
	Index   int    `json:"index"`
	Message delta  `json:"message"`
	Finish  string `json:"finish_reason,omitempty"`
}

// chunk is an event of a stream.
type chunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"`
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []chunkChoice `json:"choices"`
	Usage   *usage        `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index  int    `json:"index"`
	Delta  delta  `json:"delta"`
	Finish string `json:"finish_reason,omitempty"`
}

type delta struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	PromptIn   struct {
		Cached int64 `json:"cached_tokens"`
		Audio  int64 `json:"audio_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionIn struct {
		Reasoning int64 `json:"reasoning_tokens"`
		Audio     int64 `json:"audio_tokens"`
		Accepted  int64 `json:"accepted_prediction_tokens"`
		Rejected  int64 `json:"rejected_prediction_tokens"`
	} `json:"completion_tokens_details"`
}

func usageFrom(s *engine.Stats) *usage {
	if s == nil {
		return nil
	}
	u := &usage{Prompt: s.PromptTokens, Completion: s.GenerationTokens, Total: s.PromptTokens + s.GenerationTokens}
	u.PromptIn.Cached = s.CachedTokens
	return u
}

// stats is exo's account of a request. Its rates are numbers always, since
// exo's clients do sums with them: 0 where the engine has none, as exo has it
// for an answer of one token.
type stats struct {
	PromptTPS        float64 `json:"prompt_tps"`
	GenerationTPS    float64 `json:"generation_tps"`
	PromptTokens     int64   `json:"prompt_tokens"`
	GenerationTokens int64   `json:"generation_tokens"`
	PeakMemory       memory  `json:"peak_memory_usage"`
	CacheHit         string  `json:"prefix_cache_hit"`
}

// memory is a size as exo writes it, in one way in documents and in another
// one in streams. Empty where the size is not known.
type memory struct {
	Bytes       *int64 `json:"inBytes,omitempty"`
	StreamBytes *int64 `json:"in_bytes,omitempty"`
}

func statsFrom(s *engine.Stats) *stats {
	if s == nil {
		return nil
	}
	out := &stats{
		PromptTokens: s.PromptTokens, GenerationTokens: s.GenerationTokens, PeakMemory: memory{Bytes: s.PeakMemoryBytes}, CacheHit: s.PrefixCacheHit,
	}
	if s.PromptTPS != nil {
		out.PromptTPS = *s.PromptTPS
	}
	if s.GenerationTPS != nil {
		out.GenerationTPS = *s.GenerationTPS
	}
	return out
}

// streamed is the account as a stream has it.
func (s stats) streamed() stats {
	s.PeakMemory = memory{StreamBytes: s.PeakMemory.Bytes}
	return s
}

// progress is the comment of a stream that says how far the prompt is.
type progress struct {
	Chunk progressChunk `json:"PrefillProgressChunk"`
}

type progressChunk struct {
	Model     string `json:"model"`
	Processed int64  `json:"processed_tokens"`
	Total     int64  `json:"total_tokens"`
}

// document is the whole answer to a call with this outcome. One that was cut
// off has no finish reason and no statistics, which is how exo says so.
func (c *call) document(o outcome) any {
	now, text := time.Now().Unix(), o.text.String()
	st := statsFrom(o.stats)
	if !c.bench {
		out := sparse{ID: c.id, Object: "chat.completion", Created: now, Model: c.model, Usage: usageFrom(o.stats), Stats: st, Power: &o.power}
		choice := sparseChoice{Message: delta{"assistant", text}}
		if o.stats != nil {
			choice.Finish = o.stats.FinishReason
		}
		out.Choices = []sparseChoice{choice}
		return out
	}
	out := whole{ID: c.id, Object: "chat.completion", Created: now, Model: c.model, Stats: st, Power: &o.power}
	choice := wholeChoice{Message: wholeMessage{Role: "assistant", Content: text}}
	if o.stats != nil {
		choice.Finish = &o.stats.FinishReason
	}
	out.Choices = []wholeChoice{choice}
	return out
}

// chunk is the event of a token, the last one with its counts.
func (c *call) chunk(text string, last *engine.Stats) chunk {
	out := chunk{ID: c.id, Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: c.model, Usage: usageFrom(last)}
	if c.bench {
		out.Object = "chat.completion" // exo calls the parts as the whole
	}
	choice := chunkChoice{Delta: delta{"assistant", text}}
	if last != nil {
		choice.Finish = last.FinishReason
	}
	out.Choices = []chunkChoice{choice}
	return out
}
