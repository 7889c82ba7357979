package ollama

import "testing"

// TestSame: names are one model only where Ollama resolves them to one.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"llama3.2:1b", "llama3.2:1b", true},
		{"llama3.2:1b", "llama3.2:3b", false},
		{"llama3.2", "llama3.2:latest", true},
		{"llama3.2", "llama3.2:1b", false},
		{"llama3", "llama3.2", false},
		{"qwen3:4b", "qwen3:14b", false},
		{"qwen3:4b", "qwen3:4b-q8_0", false},
		{"qwen2.5", "qwen2.5-coder", false},
		{"gemma3:4b", "gemma3:4b-it-qat", false},
		{"Llama3.2:1B", "llama3.2:1b", true},
		{"library/llama3.2", "llama3.2", true},
		{"registry.ollama.ai/library/llama3.2:latest", "llama3.2", true},
		{"https://registry.ollama.ai/library/llama3.2", "llama3.2", true},
		{"me/llama3.2", "llama3.2", false},
		{"me/llama3.2", "me/llama3.2:latest", true},
		{"hf.co/org/repo-GGUF:Q4_K_M", "hf.co/org/repo-gguf:q4_k_m", true},
		{"hf.co/org/repo:Q4_K_M", "hf.co/org/repo:Q8_0", false},
		{"localhost:5000/me/m", "localhost:5000/me/m:latest", true},
		{"localhost:5000/me/m", "localhost:5001/me/m", false},
		{"", "llama3.2", false},
	} {
		if got := same(c.a, c.b); got != c.same {
			t.Errorf("%q and %q: same %v, want %v (%s, %s)", c.a, c.b, got, c.same, canonical(c.a), canonical(c.b))
		}
	}
}
