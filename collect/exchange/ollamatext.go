package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tokwatt/collect"
)

var ollamaLine = regexp.MustCompile(`^(total duration|load duration|prompt eval count|prompt eval duration|prompt eval rate|eval count|eval duration|eval rate):\s+(\S+)`)

// claimsOllama takes a text with a block as ollama run --verbose ends answers.
func claimsOllama(head []byte) bool {
	for l := range bytes.Lines(head) {
		if m := ollamaLine.FindSubmatch(bytes.TrimSpace(l)); m != nil && (string(m[1]) == "total duration" || string(m[1]) == "eval count") {
			return true
		}
	}
	return false
}

// ollamaReader reads what ollama run --verbose prints: an answer's text, and
// below it the durations and counts of the server. Each block is a request. The
// figures are made of counts and durations; the rates that stand beside them
// are rounded. The text above a block is its answer, as far as can be told: the
// question may be in it, too, so it is but a preview.
type ollamaReader struct {
	in     *Input
	out    *sink
	from   int               // line of the block in hand
	block  map[string]string // its lines; empty: none is in hand
	answer strings.Builder
}

func readOllama(in *Input, out *sink) error {
	o := &ollamaReader{in: in, out: out, block: map[string]string{}}
	err := scanLines(in.reader(), func(n int, text string) bool {
		o.line(n, strings.TrimSpace(terminal.ReplaceAllString(text, "")))
		return out.more()
	})
	o.flush()
	return err
}

// terminal are the codes by which ollama run draws.
var terminal = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")

func (o *ollamaReader) line(n int, text string) {
	m := ollamaLine.FindStringSubmatch(text)
	if m == nil {
		o.flush()
		if text != "" && o.answer.Len() < 4*200 {
			if o.answer.Len() > 0 {
				o.answer.WriteByte('\n')
			}
			o.answer.WriteString(text)
		}
		return
	}
	if _, twice := o.block[m[1]]; twice {
		o.flush()
	}
	if len(o.block) == 0 {
		o.from = n
	}
	o.block[m[1]] = m[2]
}

// flush hands out the block in hand.
func (o *ollamaReader) flush() {
	if len(o.block) == 0 {
		return
	}
	block, answer := o.block, o.answer.String()
	o.block = map[string]string{}
	o.answer.Reset()
	r, err := ollamaRequest(block)
	if err != nil {
		o.out.bad(line(o.from), "%v", err)
		return
	}
	if !o.out.open {
		s := collect.Session{Imported: &collect.Origin{Tool: "ollama run"}}
		if err := o.out.session(o.in.whole(), s); err != nil {
			o.out.bad(line(o.from), "%v", err)
			return
		}
	}
	r.Preview = firstRunes(answer, 200)
	target := o.out.target(collect.TargetInfo{Engine: "ollama", Driver: "ollama"})
	id := o.out.caseOf(collect.Case{TargetID: target, Concurrency: 1, CacheMode: collect.CacheServer, PromptKind: "own", PromptSource: collect.PromptText, Streaming: true})
	o.out.batch(id, false, collect.Batch{Requests: []collect.Request{r}})
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// ollamaRequest is the request of a block.
func ollamaRequest(block map[string]string) (collect.Request, error) {
	r := collect.Request{Streamed: true, Report: collect.Report{Source: collect.ReportServer}}
	for name, to := range map[string]**float64{
		"total duration": &r.Report.TotalNS, "load duration": &r.Report.LoadNS, "prompt eval duration": &r.Report.PromptEvalNS, "eval duration": &r.Report.EvalNS,
	} {
		text, has := block[name]
		if !has {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return r, fmt.Errorf("%s %q is no duration", name, text)
		}
		ns := float64(d)
		*to = &ns
	}
	for name, to := range map[string]**int64{"prompt eval count": &r.Report.PromptTokens, "eval count": &r.Report.CompletionTokens} {
		text, has := block[name]
		if !has {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return r, fmt.Errorf("%s %q is no count", name, text)
		}
		*to = &n
	}
	if r.Report.CompletionTokens == nil && r.Report.TotalNS == nil {
		return r, fmt.Errorf("the block has neither eval count nor total duration")
	}
	text, err := json.Marshal(block)
	r.Report.JSON = string(text)
	return r, err
}
