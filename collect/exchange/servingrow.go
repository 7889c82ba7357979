package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"tokwatt/collect"
)

// request is request i.
func (r *servingRun) request(i int, gaps json.RawMessage) (collect.Request, error) {
	q := collect.Request{ConcurrentIndex: int64(i), Stated: &collect.Stated{Sent: r.started}}
	entries := r.entries(i)
	if err := cmp.Or(entries.refuseCounts("input_lens", "output_lens", "cached_tokens"), entries.refuseTimes("ttfts", "latencies")); err != nil {
		return q, err
	}
	q.Report = collect.Report{
		JSON: entries.without(), PromptTokens: r.count("input_lens", i), CompletionTokens: r.count("output_lens", i), CachedTokens: r.count("cached_tokens", i),
	}
	if r.started {
		q.StartNS = r.starts[i]
	}
	q.EndNS = q.StartNS
	if i < len(r.texts) {
		q.Preview, q.OutputChars = r.texts[i].preview, r.texts[i].chars
	}
	seconds := object{"itls": gaps}.numbers("itls")
	if text := string(gaps); text != "" && text != "null" && seconds == nil {
		return q, fmt.Errorf("its gaps (itls) are not a list of numbers")
	}
	if ttft := r.number("ttfts", i); ttft != nil && *ttft > 0 {
		chunks, err := arrivals(*ttft, seconds)
		if err != nil {
			return q, err
		}
		q.Chunks, q.Streamed = chunks, true
		if r.started {
			q.EndNS = q.StartNS + chunks[len(chunks)-1].T
		}
	}
	if end := nanos(r.number("latencies", i)); end != nil && r.started {
		q.EndNS = max(q.EndNS, q.StartNS+*end)
	}
	q.Failure = r.failure(i)
	return q, nil
}

// arrivals are the chunks of an answer whose first came after ttft seconds, and
// each other one a gap of seconds later. Added up before they are rounded, no
// arrival is off by more than half a nanosecond.
func arrivals(ttft float64, gaps []float64) ([]collect.Chunk, error) {
	chunks := make([]collect.Chunk, 0, 1+len(gaps))
	at := ttft
	for i := -1; i < len(gaps); i++ {
		if i >= 0 {
			if gaps[i] < 0 {
				return nil, fmt.Errorf("gap %d is negative", i+1)
			}
			at += gaps[i]
		}
		ns := nanos(&at)
		if ns == nil {
			return nil, fmt.Errorf("arrival %d comes after %g s, which is no time", i+2, at)
		}
		chunks = append(chunks, collect.Chunk{T: *ns, Tokens: collect.TokensUnknown, Kind: collect.KindContent})
	}
	return chunks, nil
}

// failure is why request i failed, nil where it did not. Both clients set the
// length of one that failed to 0, and older ones have no text for some faults.
func (r *servingRun) failure(i int) *collect.Failure {
	message := ""
	if col := r.cols["errors"]; i < len(col) {
		message = object{"e": col[i]}.text("e")
	}
	n := r.count("output_lens", i)
	if message == "" && (n == nil || *n > 0) {
		return nil
	}
	if message == "" {
		return collect.Failf(collect.ErrEmpty, "the file says no more than that it has no output")
	}
	return collect.Failf(failureKind(lastLine(message)), "%s", lastLine(message))
}

// entries are what the lists say of request i, the gaps and the text left out.
func (r *servingRun) entries(i int) object {
	row := object{}
	for name, col := range r.cols {
		if i < len(col) {
			row[name] = col[i]
		}
	}
	return row
}

// lastLine is the last line of a message that has text: of a traceback, the one
// that says what happened.
func lastLine(message string) string {
	message = strings.TrimSpace(message)
	return strings.TrimSpace(message[strings.LastIndexByte(message, '\n')+1:])
}

// failureWords tell kinds of failure by the words of clients' messages, the
// more special first.
var failureWords = []struct {
	word string
	kind collect.ErrorKind
}{
	{"cancel", collect.ErrCancelled},
	{"never received a valid chunk", collect.ErrEmpty},
	{"certificate", collect.ErrTLS}, {"ssl", collect.ErrTLS},
	{"timeout", collect.ErrTimeout}, {"timed out", collect.ErrTimeout},
	{"cannot connect", collect.ErrConnect}, {"connection refused", collect.ErrConnect}, {"connecterror", collect.ErrConnect}, {"connectorerror", collect.ErrConnect},
	{"disconnected", collect.ErrReset}, {"reset", collect.ErrReset}, {"readerror", collect.ErrReset}, {"broken pipe", collect.ErrReset},
	{"payload", collect.ErrTruncated}, {"incomplete", collect.ErrTruncated}, {"incompleteread", collect.ErrTruncated},
	{"jsondecode", collect.ErrProtocol}, {"expecting value", collect.ErrProtocol}, {"decodeerror", collect.ErrProtocol},
	{"status code", collect.ErrHTTP}, {"http error", collect.ErrHTTP}, {"client error", collect.ErrHTTP}, {"server error", collect.ErrHTTP}, {"httpstatuserror", collect.ErrHTTP},
	{"bad request", collect.ErrHTTP}, {"unauthorized", collect.ErrHTTP}, {"forbidden", collect.ErrHTTP}, {"not found", collect.ErrHTTP}, {"too many requests", collect.ErrHTTP},
	{"service unavailable", collect.ErrHTTP}, {"bad gateway", collect.ErrHTTP}, {"unprocessable", collect.ErrHTTP},
}

// failureKind is the kind of failure behind another client's message.
func failureKind(message string) collect.ErrorKind {
	message = strings.ToLower(message)
	for _, w := range failureWords {
		if strings.Contains(message, w.word) {
			return w.kind
		}
	}
	return collect.ErrServer
}

// secretNames are parts of names whose values are not kept.
var secretNames = []string{"api_key", "apikey", "authorization", "password", "secret", "hf_token", "bearer"}

// withoutSecrets is o less the members, at any depth, that may hold a secret.
func withoutSecrets(o object) object {
	clean := maps.Clone(o)
	for name, raw := range o {
		for _, secret := range secretNames {
			if strings.Contains(strings.ToLower(name), secret) {
				delete(clean, name)
			}
		}
		if sub := o.object(name); sub != nil && clean[name] != nil {
			clean[name] = json.RawMessage(cmp.Or(withoutSecrets(sub).without(), "{}"))
		} else if list := o.list(name); list != nil && clean[name] != nil {
			clean[name] = listWithoutSecrets(raw, list)
		}
	}
	return clean
}

// listWithoutSecrets is withoutSecrets for a list; one without objects stays as
// it is.
func listWithoutSecrets(raw json.RawMessage, list []json.RawMessage) json.RawMessage {
	changed := false
	for i := range list {
		if o, err := parseObject(list[i]); err == nil && len(o) > 0 {
			list[i], changed = json.RawMessage(cmp.Or(withoutSecrets(o).without(), "{}")), true
		}
	}
	if !changed {
		return raw
	}
	text, err := json.Marshal(list)
	if err != nil {
		return raw
	}
	return text
}
