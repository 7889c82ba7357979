package exo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

const (
	downloadPoll = time.Second
	// A failure that was there before the command may still be in the state
	// for a moment after it.
	staleFailure = 5 * time.Second
	// How long a node may say nothing at all of a download that was started:
	// exo --no-downloads never does, and may have the model all the same.
	mutedNode = 60 * time.Second
	gibibyte  = 1 << 30
)

// load is one model on one node's disk, or on its way there.
type load struct {
	state    string // "DownloadPending", "DownloadOngoing", "DownloadCompleted", "DownloadFailed"
	model    string
	size     float64 // bytes, of a complete one
	readOnly bool
	message  string // why it failed
	progress progress
}

// progress is how far a download is.
type progress struct {
	Total      bytesOf `json:"total"`
	Downloaded bytesOf `json:"downloaded"`
	Speed      float64 `json:"speed"` // bytes/s
	ETA        float64 `json:"etaMs"`
	Files      int     `json:"totalFiles"`
	Complete   int     `json:"completedFiles"`
}

// loads are the downloads of a node; none where exo knows none.
func (a api) loads(ctx context.Context, node string) ([]load, error) {
	var raw []json.RawMessage
	if _, err := a.get(ctx, "/state/downloads/"+node, &raw); err != nil {
		return nil, err
	}
	var out []load
	for _, one := range raw {
		tagged := only(one)
		var d struct {
			Shard    json.RawMessage `json:"shardMetadata"`
			Total    bytesOf         `json:"total"`
			ReadOnly bool            `json:"readOnly"`
			Message  string          `json:"errorMessage"`
			Progress progress        `json:"downloadProgress"`
		}
		if tagged.raw == nil || json.Unmarshal(tagged.raw, &d) != nil {
			continue
		}
		out = append(out, load{tagged.key, cardOf(d.Shard), d.Total.N, d.ReadOnly, wire.Tidy(d.Message), d.Progress})
	}
	return out, nil
}

// of is the download of a model, as far as it has come.
func of(loads []load, model string) load {
	best := load{}
	for _, l := range loads {
		if l.model == model && (best.state == "" || l.state == "DownloadCompleted") {
			best = l
		}
	}
	return best
}

// download sees to it that the model is on the disks of the placement's nodes,
// as exo-bench does: it makes sure that there is room, tells exo to download,
// which does nothing where all is there, and waits. How long that took is told
// only where something was missing.
func (t *Target) download(ctx context.Context) error {
	if t.model.unlisted {
		if err := t.enlist(ctx); err != nil {
			return err
		}
	}
	need := t.model.Megabytes * (1 << 20)
	if need <= 0 {
		t.opts.notify("exo does not say how large %s is, so no download is planned", t.model.ID)
		return nil
	}
	settled := time.Now().Add(t.opts.settle())
	fresh := false
	for _, node := range t.placement.nodes {
		missing, err := t.room(ctx, node, need, settled)
		if err != nil {
			return err
		}
		fresh = fresh || missing
	}
	begun := time.Now()
	for _, node := range t.placement.nodes {
		body := map[string]any{"targetNodeId": node, "shardMetadata": t.placement.shards[t.placement.runners[node]]}
		if _, err := t.do(ctx, http.MethodPost, "/download/start", body); err != nil {
			return fmt.Errorf("the download of %s to %s can't be started: %w", t.model.ID, t.name(node), err)
		}
	}
	complete, err := t.downloaded(ctx)
	if err != nil {
		return err
	}
	if fresh && complete {
		s := time.Since(begun).Seconds()
		t.info.DownloadS = &s
	}
	return nil
}

// enlist adds a model that exo did not list, and learns its size.
func (t *Target) enlist(ctx context.Context) error {
	t.opts.notify("exo does not list %s: it is added from the hub", t.model.ID)
	if err := t.add(ctx, t.model); err != nil {
		return err
	}
	m, err := t.resolve(ctx, t.model.ID, false)
	if err != nil {
		return err
	}
	t.model = m
	t.info.Quantization = m.Quantization
	return nil
}

// room makes sure that a node has the model, or room for it; missing, where it
// has not got it.
func (t *Target) room(ctx context.Context, node string, need float64, settled time.Time) (missing bool, err error) {
	loads, err := t.loads(ctx, node)
	if err != nil {
		return false, fmt.Errorf("the downloads of %s can't be asked for: %w", t.name(node), err)
	}
	if of(loads, t.model.ID).state == "DownloadCompleted" {
		return false, nil
	}
	free, known, err := t.free(ctx, node, settled)
	switch {
	case err != nil:
		return true, err
	case !known:
		t.opts.notify("exo does not tell of the disk of %s, so it is not checked for room", t.name(node))
		return true, nil
	case free >= need:
		return true, nil
	case !t.opts.DangerDeleteDownloads:
		return true, fmt.Errorf("the disk of %s has no room for %s: it needs %.1f GiB and has %.1f GiB; free some, or let other models be deleted with --danger-delete-downloads",
			t.name(node), t.model.ID, need/gibibyte, free/gibibyte)
	}
	return true, t.clear(ctx, node, loads, need, free)
}

// free is the room on a node's disk in bytes, when the cluster has settled
// enough to tell.
func (t *Target) free(ctx context.Context, node string, settled time.Time) (n float64, known bool, err error) {
	back := newBackoff(time.Until(settled))
	for {
		var disk struct {
			Available *bytesOf `json:"available"`
		}
		_, err := t.get(ctx, "/state/nodeDisk/"+node, &disk)
		switch {
		case err != nil:
			return 0, false, fmt.Errorf("the disk of %s can't be asked for: %w", t.name(node), err)
		case disk.Available != nil:
			return disk.Available.N, true, nil
		case !back.wait(ctx):
			return 0, false, ctx.Err()
		}
	}
}

// clear deletes complete models, the smallest first, until there is room.
// Read-only ones are somebody's on purpose and stay. Where all of them
// together would not make room, none is deleted.
func (t *Target) clear(ctx context.Context, node string, loads []load, need, free float64) error {
	var victims []load
	could := free
	for _, l := range loads {
		if l.state == "DownloadCompleted" && !l.readOnly && l.model != t.model.ID && l.model != "" {
			victims = append(victims, l)
			could += l.size
		}
	}
	if could < need {
		return fmt.Errorf("the disk of %s has no room for %s even without all other models: it needs %.1f GiB and could have %.1f GiB",
			t.name(node), t.model.ID, need/gibibyte, could/gibibyte)
	}
	slices.SortStableFunc(victims, func(x, y load) int { return cmp.Compare(x.size, y.size) })
	for _, l := range victims {
		if free >= need {
			break
		}
		t.opts.notify("deleting %s from %s (%.1f GiB)", l.model, t.name(node), l.size/gibibyte)
		if _, err := t.do(ctx, http.MethodDelete, "/download/"+node+"/"+l.model, nil); err != nil {
			return fmt.Errorf("%s can't be deleted from %s: %w", l.model, t.name(node), err)
		}
		free += l.size
	}
	return nil
}

// fetching is the wait for a download.
type fetching struct {
	t      *Target
	begun  time.Time
	moved  time.Time         // when a node last came on
	before map[string]string // what nodes said last
	silent map[string]bool   // nodes that say nothing
}

// downloaded waits until all nodes have the model; complete, where they say so.
// It gives up when nothing has moved for as long as a first token may take.
func (t *Target) downloaded(ctx context.Context) (complete bool, err error) {
	now := time.Now()
	w := &fetching{t, now, now, map[string]string{}, map[string]bool{}}
	for {
		done := true
		for _, node := range t.placement.nodes {
			there, err := w.node(ctx, node)
			if err != nil {
				return false, err
			}
			done = done && there
		}
		switch {
		case done:
			return len(w.silent) == 0, nil
		case t.limits.First > 0 && time.Since(w.moved) > t.limits.First:
			return false, collect.Failf(collect.ErrStall, "the download of %s has not come on for %v", t.model.ID, t.limits.First)
		case !sleep(ctx, downloadPoll):
			return false, ctx.Err()
		}
	}
}

// node asks one. That exo does not answer is no error yet.
func (w *fetching) node(ctx context.Context, node string) (there bool, err error) {
	t := w.t
	loads, err := t.loads(ctx, node)
	if err != nil {
		return false, ctx.Err()
	}
	l := of(loads, t.model.ID)
	if now := fmt.Sprint(l.state, l.progress.Downloaded.N); w.before[node] != now {
		w.before[node], w.moved = now, time.Now()
		t.tell(node, l)
	}
	waited := time.Since(w.begun)
	switch {
	case l.state == "DownloadCompleted", w.silent[node]:
		return true, nil
	case l.state == "DownloadFailed" && waited > staleFailure:
		return false, fmt.Errorf("the download of %s to %s failed: %s", t.model.ID, t.name(node), cmp.Or(t.Redact(l.message), "exo gives no reason"))
	case l.state == "" && waited > mutedNode:
		w.silent[node] = true
		t.opts.notify("%s says nothing of a download of %s; it is taken to have it", t.name(node), t.model.ID)
	}
	return false, nil
}

// tell notifies of a download that goes on.
func (t *Target) tell(node string, l load) {
	p := l.progress
	if l.state != "DownloadOngoing" || p.Total.N <= 0 {
		return
	}
	t.opts.notify("downloading %s to %s: %.1f %% at %.1f MB/s, %.0f s to go (%d of %d files)", t.model.ID, t.name(node),
		100*p.Downloaded.N/p.Total.N, p.Speed/1e6, p.ETA/1e3, p.Complete, p.Files)
}
