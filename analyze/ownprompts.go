package analyze

import "fmt"

// OwnPrompts names the prompts of one's own that rows are of, by row: "own", or
// where the rows are of several texts "own #2", with the number of the first
// case that has the text. Where two sessions number theirs alike a text is named
// by its hash. Rows of prompts with a set length or of a kind have none, and of
// texts that nobody recorded all are "own".
func OwnPrompts(rows []*Summary) map[*Summary]string {
	first := map[string]int64{} // case by text
	for _, s := range rows {
		if text := s.Keys["prompt_hash"]; s.own() {
			if id, ok := first[text]; !ok || s.CaseID < id {
				first[text] = s.CaseID
			}
		}
	}
	of := map[int64]int{} // texts by case
	for text, id := range first {
		if text != "" {
			of[id]++
		}
	}
	names := map[*Summary]string{}
	for _, s := range rows {
		text := s.Keys["prompt_hash"]
		switch {
		case !s.own():
		case text == "" || len(first) == 1:
			names[s] = "own"
		case of[first[text]] > 1:
			names[s] = "own " + text[:min(8, len(text))]
		default:
			names[s] = fmt.Sprintf("own #%d", first[text])
		}
	}
	return names
}

// own tells whether the row is of a prompt that somebody wrote.
func (s *Summary) own() bool { return s.PP == nil && (s.PromptKind == "" || s.PromptKind == "own") }
