package tokenizer

import (
	"fmt"
	"strings"
	"time"
)

// The bounds of a tokenizer's files. The largest that are known have a third
// of each at most; what is beyond is damaged or hostile, and would take the
// machine's memory or minutes.
const (
	MaxFile = 128 << 20 // bytes of a tokenizer.json

	maxVocabulary = 1 << 21         // tokens, or half of the merges
	maxAdded      = 1 << 20         // bytes of all added tokens
	longestAdded  = 256             // bytes of one
	maxStages     = 16              // normalizers, or pre-tokenizers
	maxGrowth     = 64              // times that normalizers may lengthen a text
	maxPattern    = 4096            // bytes
	maxGroups     = 32              // in one another
	maxTrial      = 2 * time.Second // that all patterns are tried; they need a fiftieth
	maxBacktrack  = 1 << 25         // numbers that a pattern may keep to come back to
)

// encodeTime is how long a text may take. Known tokenizers need half a
// microsecond a byte.
func encodeTime(bytes int) time.Duration {
	return 2*time.Second + time.Duration(bytes)*10*time.Microsecond
}

// SlowError is what Encode and Count panic with: a text for which a pattern is
// exponentially slow.
type SlowError struct {
	Bytes int // of the text
}

func (e *SlowError) Error() string {
	return fmt.Sprintf("a text of %d bytes takes the tokenizer more than %v: size prompts by calibration instead", e.Bytes, encodeTime(e.Bytes))
}

// clip shortens what a message repeats.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// within refuses a part of a file that is larger than any known.
func within(value []byte, most int, what string) error {
	if len(value) > most {
		return unsupported("%s of %d bytes", what, len(value))
	}
	return nil
}

// addToken adds a token that is recognised in text, to one of t's two kinds.
func (t *Tokenizer) addToken(to *addedTokens, content string, id int32) error {
	if len(content) > longestAdded {
		return unsupported("an added token of %d bytes", len(content))
	}
	if t.addedBytes += len(content); t.addedBytes > maxAdded {
		return unsupported("added tokens of more than %d bytes", maxAdded)
	}
	to.add(content, id)
	return nil
}

// lengthens notes that a normalizer makes so many bytes of so few. Of all
// together a text may become maxGrowth times as long.
func (t *Tokenizer) lengthens(from, to int) error {
	if len(t.normalize) == maxStages {
		return unsupported("more than %d normalizers", maxStages)
	}
	t.growth *= max(1, float64(to)/float64(from))
	if t.growth > maxGrowth {
		return unsupported("normalizers that make a text more than %d times as long", maxGrowth)
	}
	return nil
}
