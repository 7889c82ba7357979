package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"tokwatt/collect"
)

// servingColumns are the lists of a run that have an entry a request and are
// read for what they say; other lists of the same length go along with the rows.
var servingColumns = []string{"input_lens", "output_lens", "ttfts", "itls", "errors", "generated_texts", "start_times"}

// servingRun is a run as vLLM's and SGLang's clients write it: settings, then
// averages, then a list for each quantity with an entry a request. The two have
// the same ancestor, and differ in what is around the lists.
//
// The gaps of itls are between arrivals, so with the time to the first token
// they give every arrival; a client that divides a chunk's gap among its tokens
// gives each a time of its own, and nothing tells. A request that failed has a
// length of 0 and a time to first token of 0, which is no time. The lengths may
// be the server's or the client's count, and the file does not say which.
//
// Without the lists a run has no rows: its averages are kept with the session,
// and a loss says so. The gaps, most of a file, are streamed; the other lists
// are held.
type servingRun struct {
	in      *Input
	out     *sink
	doc     document
	head    object // the run without its lists
	cols    map[string][]json.RawMessage
	texts   []spokenText
	n       int   // requests
	cut     error // why the run is not whole
	behind  error // what stands behind it
	starts  []int64
	started bool // every request has a start
}

// spokenText is what is kept of an answer's text.
type spokenText struct {
	preview string
	chars   int64
}

// servingHead is what a format makes of a run's head.
type servingHead struct {
	session collect.Session
	target  collect.TargetInfo
	tg      int64
	wanted  bool
	hint    string // how to get rows
}

// readServing reads a file of runs.
func readServing(in *Input, out *sink, head func(*servingRun) servingHead) error {
	docs, err := documents(in)
	if err != nil {
		return err
	}
	for _, doc := range docs {
		r := &servingRun{in: in, out: out, doc: doc}
		if err := r.read(head); err != nil {
			return err
		}
		if !out.more() {
			return nil
		}
	}
	return nil
}

func (r *servingRun) read(head func(*servingRun) servingHead) error {
	r.columns()
	if len(r.head) == 0 && r.n == 0 {
		r.out.bad(line(r.doc.line), "%v", r.cut)
		return nil
	}
	h := head(r)
	h.session.Imported.Extra = r.extra()
	if err := r.out.session(r.doc.part, h.session); err != nil {
		return err
	}
	if r.behind != nil {
		r.out.bad(place{r.doc.line, "behind the run"}, "%v", r.behind)
	}
	target := r.out.target(h.target)
	if r.n == 0 {
		if r.cut != nil {
			r.out.bad(line(r.doc.line), "%v", r.cut)
		}
		r.out.put(&collect.Lost{Segment: 1, Model: h.target.ModelID, Message: "the file has the run's averages and no single request: " + h.hint})
		return nil
	}
	id := r.out.caseOf(collect.Case{
		TargetID: target, TG: h.tg, TGWanted: h.wanted, Concurrency: r.concurrency(), CacheMode: collect.CacheServer,
		PromptKind: "own", PromptSource: collect.PromptText, Streaming: r.streamed(),
	})
	r.rows(id)
	return nil
}

// columns reads everything but the gaps. A run that breaks off keeps what
// stands before.
func (r *servingRun) columns() {
	dec := decoder(r.in.section(r.doc.part))
	r.head, r.cols = object{}, map[string][]json.RawMessage{}
	last := ""
	r.cut = eachMember(dec, func(name string) (bool, error) {
		last = name
		switch name {
		case "itls":
			return true, r.countGaps(dec)
		case "generated_texts":
			return true, r.readTexts(dec)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return true, said(err)
		}
		if list := (object{name: raw}).list(name); list != nil {
			r.cols[name] = list
		} else {
			r.head[name] = raw
		}
		return true, nil
	})
	if r.cut == nil {
		r.behind = behind(dec)
	} else if last != "" {
		r.cut = fmt.Errorf("%s: %w", last, r.cut)
	}
	r.n = max(r.n, len(r.cols["ttfts"]), len(r.cols["output_lens"]))
	for name, list := range r.cols {
		if len(list) != r.n && !slices.Contains(servingColumns, name) {
			raw, _ := json.Marshal(list)
			r.head[name] = raw
			delete(r.cols, name)
		}
	}
	r.readStarts()
}

// countGaps passes over the gaps.
func (r *servingRun) countGaps(dec *json.Decoder) error {
	return elements(dec, func(i int, _ json.RawMessage) bool {
		r.n = i + 1
		return true
	})
}

func (r *servingRun) readTexts(dec *json.Decoder) error {
	return elements(dec, func(_ int, raw json.RawMessage) bool {
		text := object{"t": raw}.text("t")
		r.texts = append(r.texts, spokenText{firstRunes(text, 200), int64(utf8.RuneCountInString(text))})
		return true
	})
}

// readStarts makes the start times, which are of some monotonic clock in
// seconds, count from the first.
func (r *servingRun) readStarts() {
	col := r.cols["start_times"]
	if r.started = r.n > 0 && len(col) >= r.n; !r.started {
		return
	}
	seconds := make([]float64, r.n)
	for i := range seconds {
		x := r.number("start_times", i)
		if x == nil || *x <= 0 {
			r.started = false
			return
		}
		seconds[i] = *x
	}
	first := slices.Min(seconds)
	for _, x := range seconds {
		ns := x - first
		at := nanos(&ns)
		if at == nil {
			r.started = false
			return
		}
		r.starts = append(r.starts, *at)
	}
}

// number is the entry of request i in a list.
func (r *servingRun) number(name string, i int) *float64 {
	if col := r.cols[name]; i < len(col) {
		return object{"x": col[i]}.number("x")
	}
	return nil
}

func (r *servingRun) count(name string, i int) *int64 {
	if col := r.cols[name]; i < len(col) {
		return object{"x": col[i]}.count("x")
	}
	return nil
}

func (r *servingRun) streamed() bool {
	for i := range r.n {
		if x := r.number("ttfts", i); x != nil && *x > 0 {
			return true
		}
	}
	return false
}

// concurrency is the limit that was set, else what the file knows of the
// requests in flight: their peak by the client's word, all where they were sent
// at once, or the mean, rounded up.
func (r *servingRun) concurrency() int64 {
	if n := r.head.count("max_concurrency"); n != nil && *n > 0 {
		return *n
	}
	if x := r.head.number("max_concurrent_requests", "concurrency"); x != nil && *x > 0 {
		return int64(math.Ceil(min(*x, 1<<31)))
	}
	if strings.Trim(strings.ToLower(string(r.head["request_rate"])), `"`) == "inf" || r.head.text("request_rate") == "Infinity" {
		return int64(max(r.n, 1))
	}
	return 1
}

// extra is the run without its lists. A peak below the average is named as
// what it can't be.
func (r *servingRun) extra() string {
	head := object(withoutSecrets(r.head))
	peak, mean := head.number("max_output_tokens_per_s"), head.number("output_throughput")
	if peak != nil && mean != nil && *peak < *mean {
		head["tokwatt_doubts"], _ = json.Marshal(fmt.Sprintf("max_output_tokens_per_s %g is below the average %g, which no peak is: it counts chunks, or whole seconds that the run did not fill", *peak, *mean))
	}
	return head.without()
}

// rows hands out the requests, by the gaps where there are some. A run of more
// than maxBatch is cut into batches of so many.
func (r *servingRun) rows(caseID int64) {
	b := collect.Batch{}
	flush := func() {
		if len(b.Requests) > 0 {
			r.put(caseID, b)
		}
		b = collect.Batch{}
	}
	take := func(i int, gaps json.RawMessage) bool {
		req, err := r.request(i, gaps)
		if err != nil {
			r.out.bad(place{r.doc.line, fmt.Sprintf("request %d", i+1)}, "%v", err)
			return r.out.more()
		}
		if b.Requests = append(b.Requests, req); len(b.Requests) == maxBatch {
			flush()
		}
		return r.out.more()
	}
	next := 0
	r.eachGaps(func(i int, gaps json.RawMessage) bool {
		next = i + 1
		return take(i, gaps)
	})
	for ; next < r.n && r.out.more() && r.cut == nil; next++ {
		take(next, nil)
	}
	flush()
	if r.cut != nil {
		r.out.bad(place{r.doc.line, fmt.Sprintf("request %d", next+1)}, "%v", r.cut)
	}
}

func (r *servingRun) put(caseID int64, b collect.Batch) {
	if d := nanos(r.head.number("duration")); d != nil && !r.started && len(b.Requests) == r.n {
		b.EndNS = *d
	}
	r.out.batch(caseID, r.started, b)
}

// eachGaps streams the list of gaps.
func (r *servingRun) eachGaps(each func(i int, gaps json.RawMessage) bool) {
	dec := decoder(r.in.section(r.doc.part))
	err := eachMember(dec, func(name string) (bool, error) {
		if name != "itls" {
			return false, nil
		}
		err := elements(dec, each)
		return true, errors.Join(err, errFound)
	})
	if err != nil && !errors.Is(err, errFound) && r.cut == nil {
		r.cut = err
	}
}

var errFound = errors.New("found")
