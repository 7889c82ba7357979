package collect

import "strings"

// spoken is the text of an answer, chunk by chunk. Only strings that the
// stream has made already are kept, so that it costs next to nothing while
// the answer is timed; a nil one keeps nothing.
type spoken struct {
	chunks []string
	partly bool // some of it is not here
}

func newSpoken(tokens int64) *spoken {
	return &spoken{chunks: make([]string, 0, expected(tokens))}
}

// add keeps the text of one output chunk, some of which may be hidden.
func (s *spoken) add(text string, hidden bool) {
	if s != nil {
		s.chunks = append(s.chunks, text)
		s.partly = s.partly || hidden
	}
}

// recount counts the text with the model's own tokenizer; nil where the
// text is not all there, there is none, or it can't be counted. It takes its time, so it is called when the batch is over.
func (s *spoken) recount(counter TextCounter) *Recount {
	if s == nil || s.partly {
		return nil
	}
	text := strings.Join(s.chunks, "")
	if text == "" {
		return nil
	}
	all, first := counter.CountText(text), counter.CountText(s.chunks[0])
	if all < 0 || first < 0 {
		return nil
	}
	return &Recount{Tokens: all, First: first}
}
