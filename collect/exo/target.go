package exo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// Target is one placement of a model, or an instance that is reused.
//
// Of a reused instance TargetInfo.LoadS is nil after Open, of any other it is
// not: nothing else tells them apart.
type Target struct {
	*cluster
	model       model
	placement   placement
	reused      bool
	limits      collect.Limits
	plain       bool // through the plain endpoint, whose cache does what it does
	temperature *float64
	seed        *int64

	info   collect.TargetInfo
	posted bool // the instance is ours to delete
	seen   bool // and was in the state
}

var _ collect.Target = (*Target)(nil)

// How many requests exo's engines work on at a time; more wait in the queue.
// The batch engine's is EXO_MAX_CONCURRENT_REQUESTS where that is not set; the
// wire does not tell.
const (
	admittedBatch      int64 = 8
	admittedSequential int64 = 1
)

// How exo's two engines are called. Their figures are defined differently.
const (
	batchEngine      = "exo"
	sequentialEngine = "exo-sequential"
)

// Describe says what is to be measured on which nodes, with GETs only. It
// fails with a *collect.Failure when nothing answers. After Open it also says
// which engine answered, and how it samples.
func (t *Target) Describe(ctx context.Context) (collect.TargetInfo, error) {
	in := &t.info
	if in.Engine == "" {
		*in = collect.TargetInfo{
			Engine: batchEngine, Driver: "exo", Endpoint: t.Endpoint(),
			ModelID: t.model.ID, ServedModel: t.model.ID, ModelFormat: "mlx", Quantization: t.Redact(wire.Clip(wire.OneLine(t.model.Quantization), wire.MaxReason)),
			Sharding: t.placement.sharding, InstanceMeta: t.placement.meta, InstanceID: t.placement.id,
		}
		in.MaxStreams = new(admittedBatch)
		in.Sampling = t.sampling(nil)
	}
	if err := t.look(ctx); err != nil {
		return *in, err
	}
	if in.Nodes == nil {
		for _, node := range t.placement.nodes {
			in.Nodes = append(in.Nodes, t.name(node))
		}
		in.Cluster = t.shot()
	}
	return *in, nil
}

// sampling is what is sent of the sampling settings, and what exo says it uses.
func (t *Target) sampling(effective map[string]json.RawMessage) string {
	sent := map[string]any{}
	if t.temperature != nil {
		sent["temperature"] = *t.temperature
	}
	if t.seed != nil {
		sent["seed"] = *t.seed
	}
	all := map[string]any{"sent": sent}
	if len(effective) > 0 {
		all["effective"] = effective
	}
	raw, _ := json.Marshal(all) // numbers and what was JSON always can
	return string(raw)
}

// Open downloads the model where that is needed, creates the instance, waits
// for it, and asks it for a few tokens. Whatever fails, nothing stays behind.
func (t *Target) Open(ctx context.Context, clock *collect.Clock) (collect.Engine, error) {
	if _, err := t.Describe(ctx); err != nil {
		return nil, err
	}
	e := newEngine(t, clock)
	err := t.ready(ctx)
	if err == nil {
		err = e.probe(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close(context.WithoutCancel(ctx)))
	}
	return e, nil
}

// ready brings the instance up.
func (t *Target) ready(ctx context.Context) error {
	if t.reused {
		return t.await(ctx)
	}
	if err := t.download(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if err := t.create(ctx); err != nil {
		return err
	}
	if err := t.await(ctx); err != nil {
		return err
	}
	s := time.Since(begun).Seconds()
	t.info.LoadS = &s
	return nil
}

// How long an instance may take to go. exo-bench gives it 3 s, and loses the
// whole campaign when it takes longer. Gone is not freed: the runner's process
// ends a little later, and a hung one never does. An instance that has just
// been posted is not there yet, so that it can't be deleted for a moment.
const (
	lateLimit = 10 * time.Second
	goneLimit = 60 * time.Second
	gonePoll  = 400 * time.Millisecond
	freeWait  = 2 * time.Second
)

// Close deletes the instance, if it is one of ours, and waits until it is gone
// and its memory should be free.
func (t *Target) Close(ctx context.Context) error {
	if !t.posted {
		return nil
	}
	t.posted = false
	for end := time.Now().Add(lateLimit); ; {
		_, err := t.do(ctx, http.MethodDelete, t.path(), nil)
		late := err != nil && status(err) == http.StatusNotFound
		switch {
		case err == nil:
			return t.gone(ctx)
		case !late:
			return t.left(err)
		case t.seen || time.Now().After(end) || !sleep(ctx, gonePoll):
			return nil
		}
	}
}

func (t *Target) path() string { return "/instance/" + t.placement.id }

// gone waits until exo knows the instance no more.
func (t *Target) gone(ctx context.Context) error {
	for end := time.Now().Add(goneLimit); ; {
		var raw json.RawMessage
		found, err := t.get(ctx, t.path(), &raw)
		if err == nil && !found {
			sleep(ctx, freeWait)
			return nil
		}
		if time.Now().After(end) || !sleep(ctx, gonePoll) {
			return t.left(fmt.Errorf("it is still there after %v", goneLimit))
		}
	}
}

// left says that an instance of ours stays behind.
func (t *Target) left(err error) error {
	err = fmt.Errorf("the instance %s can't be deleted, so it goes on taking memory: %w", t.placement.id, err)
	t.opts.notify("%v", err)
	return err
}
