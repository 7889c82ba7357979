package exchange

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// ExoResults writes the records of one session, all its segments, as exo-bench
// writes its results: the same keys in the same order, of the same types, with
// the same indentation.
//
//	{"runs":           [a request each, in the order of a run],
//	 "cluster":        the snapshot before the first placement,
//	 "system_metrics": {node id: {metric: {min, max, mean, samples}}}}
//
// What the server said of itself stands as it said it: stats and power_usage
// are its own objects. The rules of exo-bench hold where they differ from ours:
//
//   - Warm-ups and requests that failed have no entry.
//   - The requests of a concurrent batch are in the order in which they were
//     complete, and concurrent_index counts them in that order.
//   - cluster and system_metrics are left out where there is nothing in them.
//   - The metrics of a node are those of the last placement that used it; of an
//     instance that was there before the run there are none.
//
// A session of another engine has the same form. Its stats are our figures (see
// analyze.Derive), with null for what is not known, and so has its placement;
// power_usage is null, and there are no system_metrics, which are exo's own
// readings of its nodes.
//
// An error item of records ends the writing, since the file could not say what
// it lacks. Of the session only a batch, the targets and the cases are held.
func ExoResults(w io.Writer, records iter.Seq2[collect.Record, error]) error {
	x := exoWriter{
		w:         bufio.NewWriter(w),
		targets:   map[int64]*collect.TargetInfo{},
		cases:     map[int64]*collect.Case{},
		downloads: map[string]float64{},
	}
	for rec, err := range records {
		if err == nil {
			err = x.record(rec)
		}
		if err != nil {
			return fmt.Errorf("exo-bench results: %w", err)
		}
	}
	if err := x.end(); err != nil {
		return fmt.Errorf("exo-bench results: %w", err)
	}
	return nil
}

// exoWriter is one results file under way.
type exoWriter struct {
	w         *bufio.Writer // its error stays until Flush
	session   string
	targets   map[int64]*collect.TargetInfo
	cases     map[int64]*collect.Case
	downloads map[string]float64 // by model, in seconds
	runs      int64
	cluster   json.RawMessage
	nodes     exoNodes
	metrics   json.RawMessage // system_metrics of an imported file
}

func (x *exoWriter) record(rec collect.Record) error {
	switch rec := rec.(type) {
	case *collect.Session:
		x.session = rec.ID
		if o := rec.Imported; o != nil {
			extra, _ := parseObject([]byte(o.Extra))
			x.metrics = extra["system_metrics"]
		}
	case *collect.TargetInfo:
		return x.target(rec)
	case *collect.Case:
		x.cases[rec.CaseID] = rec
	case *collect.Batch:
		return x.batch(rec)
	case *collect.Samples:
		x.nodes.add(rec.Samples)
	}
	return nil
}

func (x *exoWriter) target(t *collect.TargetInfo) error {
	x.targets[t.TargetID] = t
	if t.DownloadS != nil {
		x.downloads[t.ModelID] = *t.DownloadS
	}
	if t.Cluster != "" {
		if !json.Valid([]byte(t.Cluster)) {
			return fmt.Errorf("target %d: the snapshot of its cluster is not JSON", t.TargetID)
		}
		if x.cluster == nil {
			x.cluster = json.RawMessage(t.Cluster)
		}
	}
	x.nodes.placed(t)
	return nil
}

// batch writes the entries of a batch.
func (x *exoWriter) batch(b *collect.Batch) error {
	c := x.cases[b.CaseID]
	if c == nil || x.targets[c.TargetID] == nil {
		return fmt.Errorf("batch %d belongs to case %d, which is missing or lacks its target: run check on the store", b.BatchID, b.CaseID)
	}
	t := x.targets[c.TargetID]
	x.nodes.placed(t)
	if b.Warmup {
		return nil
	}
	_, rows := analyze.Derive(analyze.Context{SessionID: x.session, Target: t, Case: c}, b, nil)
	complete := 0
	for _, i := range inOrderOfEnd(rows) {
		run := newExoRun(t, c, b, &b.Requests[i], &rows[i])
		if c.Concurrency > 1 {
			run.ConcurrentIndex = &complete
		}
		if s, ok := x.downloads[t.ModelID]; ok {
			run.DownloadS = (*exoFloat)(&s)
		}
		if err := x.run(run); err != nil {
			return fmt.Errorf("request %d: %w", rows[i].RequestID, err)
		}
		complete++
	}
	return nil
}

// run appends an entry to the runs.
func (x *exoWriter) run(run exoRun) error {
	text, err := exoJSON(run, "    ")
	if err != nil {
		return err
	}
	if x.runs == 0 {
		x.w.WriteString("{\n  \"runs\": [")
	} else {
		x.w.WriteByte(',')
	}
	x.runs++
	x.w.WriteString("\n    ")
	x.w.Write(text)
	return nil
}

// end writes what follows the runs.
func (x *exoWriter) end() error {
	if x.runs == 0 {
		x.w.WriteString("{\n  \"runs\": []")
	} else {
		x.w.WriteString("\n  ]")
	}
	if err := x.section("cluster", x.cluster); err != nil {
		return err
	}
	metrics, err := x.nodes.MarshalJSON()
	if err != nil {
		return err
	}
	if x.metrics != nil {
		metrics = x.metrics
	}
	if err := x.section("system_metrics", metrics); err != nil {
		return err
	}
	x.w.WriteString("\n}\n")
	return x.w.Flush()
}

// section writes a member of the document, unless there is nothing in it.
func (x *exoWriter) section(name string, value json.RawMessage) error {
	if s := string(bytes.TrimSpace(value)); s == "" || s == "{}" || s == "null" {
		return nil
	}
	text, err := exoJSON(value, "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(x.w, ",\n  %q: ", name)
	x.w.Write(text)
	return nil
}

// exoJSON is v as Python prints it with an indent of 2, at depth prefix.
func exoJSON(v any, prefix string) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, "  ")
	err := e.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}
