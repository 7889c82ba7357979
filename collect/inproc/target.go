package inproc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
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
	text   Text       // empty: the engine makes tokens itself
	prefix bool       // requests that are not cold use what is in the cache
	engine *reference // once open
	loaded *engine.Loaded
	loadS  *float64
}

// errNoText says that a folder can be loaded but not talked to.
var errNoText = errors.New("the reference engine reads no tokenizer.json, so it takes text only for synthetic models and folders that tokwatt wrote: measure this folder through a server with --url")

// target is a model to measure; with prefix, requests begin with what the one
// before left in the cache.
func (d Driver) target(name string, prefix bool) (*target, error) {
	t := &target{prefix: prefix, load: engine.Load{Model: d.folder(name), Backend: d.Backend, Library: d.Library}}
	var err error
	t.info, err = engine.InspectLoad(t.load)
	if t.load.Model != name { // a snapshot's folder is no name
		t.info.Name = name
	}
	if err == nil && !t.info.Text {
		err = errNoText
		if d.Text != nil {
			t.text, err = d.Text(t.load.Model)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.info.Name, err)
	}
	return t, nil
}

// folder is where a model is. What is not found stays as it is named.
func (d Driver) folder(name string) string {
	if d.Folder == nil {
		return name
	}
	folder, err := d.Folder(name)
	if err != nil {
		return name
	}
	return folder
}

// Describe says what the model is; after Open also who computes, and how long it
// took to load, the start of the worker included.
func (t *target) Describe(context.Context) (collect.TargetInfo, error) {
	info := collect.TargetInfo{
		Engine:        "reference",
		EngineVersion: version(runtime.Version()),
		Driver:        "inproc",
		ModelID:       t.info.Name,
		ServedModel:   t.info.Name,
		ModelFormat:   t.info.Format,
		Quantization:  t.info.Quantization,
		LoadS:         t.loadS,
		Sampling:      fmt.Sprintf(`{"decoding":"greedy","weights_seed":%d}`, t.load.Seed),
	}
	if t.load.Backend == engine.MLX {
		info.Engine, info.EngineVersion = "mlx", version("MLX")
	}
	if t.loaded == nil {
		return info, nil
	}
	info.ModelBytes = &t.loaded.WeightBytes
	if t.load.Backend == engine.MLX {
		info.EngineVersion = version("MLX " + t.loaded.Backend.Version)
		backend := t.loaded.Backend
		backend.Library = filepath.Base(backend.Library) // its folder may have somebody's name
		text, err := json.Marshal(sampling{"greedy", t.load.Seed, backend, t.loaded.Environment})
		if err != nil {
			return info, err
		}
		info.Sampling = string(text)
		if t.loaded.Backend.Device == "gpu" {
			info.ModelGPUBytes = info.ModelBytes
		}
	}
	return info, nil
}

// sampling is how MLX computes, besides what a folder says.
type sampling struct {
	Decoding    string            `json:"decoding"`
	WeightsSeed uint64            `json:"weights_seed"`
	Backend     any               `json:"backend"`
	Environment map[string]string `json:"environment,omitempty"`
}

// version is that of who computes, which with plain Go is the compiler, and of
// tokwatt.
func version(computes string) string {
	tokwatt := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		tokwatt = info.Main.Version
	}
	return computes + " tokwatt " + tokwatt
}

// Open starts the worker and loads the model.
func (t *target) Open(ctx context.Context, clock *collect.Clock) (collect.Engine, error) {
	e := &reference{load: t.load, model: t.info.Name, text: t.text, prefix: t.prefix, clock: clock}
	began := time.Now()
	s, err := e.session(ctx)
	if err != nil {
		return nil, err
	}
	took, loaded := time.Since(began).Seconds(), s.worker.Loaded()
	t.engine, t.loadS, t.loaded = e, &took, &loaded
	return e, nil
}

// Close ends the worker.
func (t *target) Close(context.Context) error {
	if t.engine == nil {
		return nil
	}
	return t.engine.close()
}
