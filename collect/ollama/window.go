package ollama

import (
	"fmt"
	"time"

	"tokwatt/collect"
)

// How the context window is chosen, in tokens.
const (
	// leastWindow is Ollama's own default: a window below it would save memory
	// and measure what nobody runs.
	leastWindow = 4096
	// windowStep is what a window is rounded up to, so that matrices of about
	// one size are measured alike.
	windowStep = 1024
	// windowMargin is left over: prompts are looked for by sending some that
	// are a little longer, and some servers keep a few tokens of the window to
	// themselves.
	windowMargin = 256
	// templateRoom is for the chat template around a prompt of unknown length.
	templateRoom = 512
)

// window is the num_ctx for all requests of a spec: the tokens of its largest
// prompt and answer, rounded up, and no more than most, the model's own length,
// where that is known. system is the length in bytes of the system message that
// the model itself brings. A sized pair that the model is too short for is an
// error: the server would cut its prompt silently. Whether an own prompt fits
// is not known before the server counts it.
func window(spec collect.Spec, most *int64, system int) (int64, error) {
	need := int64(0)
	for _, s := range spec.Shapes() {
		if s.PP == 0 {
			need = max(need, atMost(s.Prompt.Text, system)+s.TG)
			continue
		}
		if most != nil && s.PP+s.TG > *most {
			return 0, fmt.Errorf("its context is %d tokens long, and --pp %d with --tg %d needs %d: take fewer", *most, s.PP, s.TG, s.PP+s.TG)
		}
		need = max(need, s.PP+s.TG)
	}
	if w := spec.WarmupPrompt; w != nil {
		need = max(need, atMost(w.Text, system)+max(w.Limit, 1))
	}
	n := max(leastWindow, (need+windowMargin+windowStep-1)/windowStep*windowStep)
	if most != nil {
		n = min(n, *most)
	}
	return n, nil
}

// atMost is how many tokens a text may have: in all languages and vocabularies
// that we know of, a token is two bytes and more on average, mostly four.
func atMost(text string, system int) int64 {
	return int64(len(text)+system)/2 + templateRoom
}

// leastKeepAlive is Ollama's own default of how long a model stays in memory
// after its last request.
const leastKeepAlive = 5 * time.Minute

// keepAlive is how long the model is to stay in memory after each request: over
// the longest pause of the spec, so that no measured request loads it again.
func keepAlive(spec collect.Spec) time.Duration {
	return leastKeepAlive + max(0, spec.Pause) + max(0, spec.GroupPause)
}
