package collect

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// ErrNothingLeft is what Run yields where the past has every planned batch.
var ErrNothingLeft = errors.New("nothing is left to measure: every batch of this session is done")

// Past is what was done in a session so far.
type Past struct {
	Session  Session
	Segment  Segment // the newest one
	End      *End    // nil: the last run died, or is still going on
	ids      ids
	segment  int64
	measured int64
	targets  []*pastTarget
}

// pastTarget is what was done on a target.
type pastTarget struct {
	info  TargetInfo
	cases map[caseIdentity][]Case
	done  map[batchIdentity]int // how many times
}

// caseIdentity tells the cases of a target apart, in whatever order a run
// lists them.
type caseIdentity struct {
	pp, tg, concurrency int64
	wanted, streaming   bool
	cache               CacheMode
	kind, hash          string
}

type batchIdentity struct {
	of     caseIdentity
	repeat int64
}

// caseKey is one entry of a matrix; nth counts the entries that are equal.
type caseKey struct {
	caseIdentity
	nth int
}

func (c *Case) identity() caseIdentity {
	id := caseIdentity{tg: c.TG, concurrency: c.Concurrency, wanted: c.TGWanted, streaming: c.Streaming, cache: c.CacheMode, kind: c.PromptKind, hash: c.PromptHash}
	if c.PP != nil {
		id.pp = *c.PP
	}
	return id
}

// caseKeys are the keys of a spec's shapes.
func caseKeys(spec Spec) []caseKey {
	seen := map[caseIdentity]int{}
	var keys []caseKey
	for _, shape := range spec.Shapes() {
		c := spec.caseOf(shape)
		id := c.identity()
		keys = append(keys, caseKey{id, seen[id]})
		seen[id]++
	}
	return keys
}

// has reports whether a batch was done.
func (p *pastTarget) has(k caseKey, repeat int64) bool {
	return p != nil && p.done[batchIdentity{k.caseIdentity, repeat}] > k.nth
}

// caseLike is the past case that c is: then it needs no record of its own.
// What the engine makes of a case must be equal too, for its record says so.
func (p *pastTarget) caseLike(c Case, nth int) (id int64, ok bool) {
	if p == nil {
		return 0, false
	}
	for _, old := range p.cases[c.identity()] {
		if old.ColdMethod == c.ColdMethod && old.EOSBan == c.EOSBan && old.PromptSource == c.PromptSource {
			if nth == 0 {
				return old.CaseID, true
			}
			nth--
		}
	}
	return 0, false
}

// ReadPast gathers what was done from the records of a session. It keeps
// neither requests nor chunks. An error of the records ends it: what can't be
// read can't be gone on with.
func ReadPast(records iter.Seq2[Record, error]) (*Past, error) {
	p := &Past{}
	of := map[int64]*pastTarget{}     // by target
	cases := map[int64]caseIdentity{} // by case
	owners := map[int64]*pastTarget{} // by case
	for rec, err := range records {
		if err != nil {
			return nil, fmt.Errorf("the session can't be resumed: %w", err)
		}
		switch r := rec.(type) {
		case *Session:
			p.Session = *r
		case *Segment:
			p.Segment, p.End = *r, nil
			p.segment = max(p.segment, r.Segment)
		case *TargetInfo:
			if t := of[r.TargetID]; t != nil {
				t.info = *r
				continue
			}
			t := &pastTarget{info: *r, cases: map[caseIdentity][]Case{}, done: map[batchIdentity]int{}}
			of[r.TargetID] = t
			p.targets = append(p.targets, t)
			p.ids.target = max(p.ids.target, r.TargetID)
		case *Case:
			p.ids.case_ = max(p.ids.case_, r.CaseID)
			if t := of[r.TargetID]; t != nil {
				id := r.identity()
				t.cases[id] = append(t.cases[id], *r)
				cases[r.CaseID], owners[r.CaseID] = id, t
			}
		case *Batch:
			p.batch(r, owners[r.CaseID], cases[r.CaseID])
		case *End:
			p.End = r
		}
	}
	if p.Session.ID == "" {
		return nil, errors.New("the session can't be resumed: its first record is missing")
	}
	return p, nil
}

// batch notes a batch of case id of target t. One that was cut short, or without a
// good request, is not done: who goes on with a session wants what it lacks. Its
// rows stay, and the next try is a batch of its own.
func (p *Past) batch(b *Batch, t *pastTarget, id caseIdentity) {
	p.ids.batch = max(p.ids.batch, b.BatchID)
	whole := true // nobody cut it short
	good := false
	for i := range b.Requests {
		r := &b.Requests[i]
		p.ids.request = max(p.ids.request, r.RequestID)
		good = good || r.Failure == nil
		whole = whole && (r.Failure == nil || r.Failure.Kind != ErrCancelled)
	}
	if b.Warmup || t == nil {
		return
	}
	if whole && good {
		t.done[batchIdentity{id, b.RepeatIndex}]++
	}
	if good {
		p.measured++
	}
}

// promptHash tells own prompts apart.
func promptHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// A resemblance says whether a target is one of the past.
type resemblance func(now, past TargetInfo) bool

// like compares what is known of a target before it is open.
func like(now, past TargetInfo) bool {
	known := func(f fact) bool { return f.now == "" || f.now == f.past }
	return allOf(facts(now, past), known)
}

// same compares all that must be equal if runs are to be one.
func same(now, past TargetInfo) bool {
	return allOf(facts(now, past), func(f fact) bool { return f.now == f.past })
}

// kin compares what a target is by name, so that what changed can be told.
func kin(now, past TargetInfo) bool { return now.Driver == past.Driver && now.ModelID == past.ModelID }

func allOf(fs []fact, ok func(fact) bool) bool {
	return !slices.ContainsFunc(fs, func(f fact) bool { return !ok(f) })
}

// fact is one thing that a target is told by.
type fact struct{ name, past, now string }

// facts are the things that runs of one target have in common. Its instance
// may be another one.
func facts(now, past TargetInfo) []fact {
	nodes := func(t TargetInfo) string {
		if len(t.Nodes) == 0 {
			return ""
		}
		return fmt.Sprint(len(t.Nodes))
	}
	return []fact{
		{"driver", past.Driver, now.Driver},
		{"engine", past.Engine, now.Engine},
		{"engine version", past.EngineVersion, now.EngineVersion},
		{"endpoint", past.Endpoint, now.Endpoint},
		{"model", past.ModelID, now.ModelID},
		{"format", past.ModelFormat, now.ModelFormat},
		{"quantization", past.Quantization, now.Quantization},
		{"sharding", past.Sharding, now.Sharding},
		{"instance meta", past.InstanceMeta, now.InstanceMeta},
		{"number of nodes", nodes(past), nodes(now)},
	}
}

// changes says in words how a target differs from its past.
func changes(now, past TargetInfo) string {
	var out []string
	for _, f := range facts(now, past) {
		if f.now != f.past {
			out = append(out, fmt.Sprintf("%s %s → %s", f.name, cmp.Or(f.past, "unknown"), cmp.Or(f.now, "unknown")))
		}
	}
	return strings.Join(out, ", ")
}

// claim finds the past target that a target goes on with, and that no other
// target does: one that is the same, else the newest that resembles it. With
// whole, all its batches must be of the target's matrix: two jobs may be about
// one target. Nil where there is none.
func (s *run) claim(w *work, resembles resemblance, whole bool) *pastTarget {
	if s.Past == nil {
		return nil
	}
	matrix := map[caseIdentity]bool{}
	for _, k := range caseKeys(w.job.Spec) {
		matrix[k.caseIdentity] = true
	}
	free := func(p *pastTarget) bool { return !s.claimed[p] && (!whole || p.within(matrix)) }
	var found *pastTarget
	for _, p := range slices.Backward(s.Past.targets) {
		if free(p) && resembles(w.info, p.info) {
			found = p
			break
		}
	}
	for _, p := range s.Past.targets {
		if free(p) && same(w.info, p.info) {
			found = p
			break
		}
	}
	if found != nil {
		s.claimed[found] = true
	}
	return found
}

// within reports whether all that was done is in the matrix.
func (p *pastTarget) within(matrix map[caseIdentity]bool) bool {
	for b := range p.done {
		if !matrix[b.of] {
			return false
		}
	}
	return true
}
