package collect

import "strings"

// spoken is the text of an answer, chunk by chunk. Only strings that the
// stream has made already are kept, so that it costs next to nothing while
// the answer is timed; a nil one keeps nothing.
type spoken struct{ chunks []string }

func newSpoken(tokens int64) *spoken {
	return &spoken{make([]string, 0, expected(tokens))}
}

// add keeps the text of one output chunk, empty where all of it was hidden.
func (s *spoken) add(text string) {
	if s != nil {
		s.chunks = append(s.chunks, text)
	}
}

// recount counts the text with the model's own tokenizer; nil where there is
// none, or no text. It takes its time, so it is called when the batch is over.
func (s *spoken) recount(counter TextCounter) *Recount {
	if s == nil {
		return nil
	}
	text := strings.Join(s.chunks, "")
	if text == "" {
		return nil
	}
	return &Recount{Tokens: counter.CountText(text), First: counter.CountText(s.chunks[0])}
}
