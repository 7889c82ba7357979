package inproc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"tokwatt/collect"
	"tokwatt/mlx/engine"
)

// target is one model.
type target struct {
	load   engine.Load
	info   engine.Info
	engine *reference // once open
	loadS  *float64
}

// errNoText says that a folder can be loaded but not talked to.
var errNoText = errors.New("the reference engine reads no tokenizer.json, so it takes text only for synthetic models and folders that tokwatt wrote: measure this folder through a server with --url")

func newTarget(name string) (*target, error) {
	info, err := engine.Inspect(name)
	if err == nil && !info.Text {
		err = errNoText
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", info.Name, err)
	}
	return &target{load: engine.Load{Model: name}, info: info}, nil
}

// Describe says what the model is; after Open also how long it took to load,
// the start of the worker included.
func (t *target) Describe(context.Context) (collect.TargetInfo, error) {
	return collect.TargetInfo{
		Engine:        "reference",
		EngineVersion: version(),
		Driver:        "inproc",
		ModelID:       t.info.Name,
		ServedModel:   t.info.Name,
		ModelFormat:   t.info.Format,
		Quantization:  t.info.Quantization,
		LoadS:         t.loadS,
		Sampling:      fmt.Sprintf(`{"decoding":"greedy","weights_seed":%d}`, t.load.Seed),
	}, nil
}

// version is that of Go, whose compiler makes the engine as fast as it is, and
// of tokwatt.
func version() string {
	tokwatt := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		tokwatt = info.Main.Version
	}
	return runtime.Version() + " tokwatt " + tokwatt
}

// Open starts the worker and loads the model.
func (t *target) Open(ctx context.Context, clock *collect.Clock) (collect.Engine, error) {
	e := &reference{load: t.load, model: t.info.Name, clock: clock}
	began := time.Now()
	if _, err := e.session(ctx); err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	t.engine, t.loadS = e, &took
	return e, nil
}

// Close ends the worker.
func (t *target) Close(context.Context) error {
	if t.engine == nil {
		return nil
	}
	return t.engine.close()
}
