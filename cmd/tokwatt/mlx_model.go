package main

import (
	"context"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/inproc"
	"tokwatt/collect/prompt"
	"tokwatt/collect/prompt/source"
	"tokwatt/mlx/engine"
	endpoint "tokwatt/mlx/serve"
)

// libraryUsage is the help of --library.
const libraryUsage = "`FILE` MLX's library (else $TOKWATT_MLX_LIB, else found)"

// likelyBackend is who computes in process where nobody says: MLX where its
// library was named or has a GPU, else plain Go. The error is that of a library
// that was named and can't be used.
func likelyBackend(ctx context.Context, library string) (engine.Backend, string, error) {
	info, err := engine.Probe(ctx, library)
	switch {
	case err != nil && library != "":
		return "", "", err
	case err == nil && (library != "" || info.Device == "gpu"):
		return engine.MLX, "MLX in process", nil
	}
	return engine.Reference, "the embedded reference engine", nil
}

// inProcess is the driver of tokwatt's own engine. Models in folders bring
// their own tokenizer.
func inProcess(ctx context.Context, b engine.Backend, library string) collect.Driver {
	return inproc.Driver{Backend: b, Library: library, Folder: source.Path, Text: func(folder string) (inproc.Text, error) {
		m, err := prompt.Open(ctx, folder, time.Now())
		if err != nil {
			return inproc.Text{}, err
		}
		return inproc.Text{Encode: m.Encode, Decode: func() inproc.Decoder { return m.Decoder() }}, nil
	}}
}

// serveModel fills in which model is served, and who makes tokens of text and
// text of tokens, where that is not the engine.
func serveModel(ctx context.Context, name string, o *endpoint.Options) error {
	o.Load.Model = name
	if folder, err := source.Path(name); err == nil && folder != name {
		o.Load.Model, o.Name = folder, name
	}
	info, err := engine.InspectLoad(o.Load)
	if err != nil || info.Text {
		return err
	}
	m, err := prompt.Open(ctx, o.Load.Model, time.Now())
	if err != nil {
		return err
	}
	o.Decode = func() endpoint.Decoder { return m.Decoder() }
	o.Encode = func(all []endpoint.Message) ([]int32, error) {
		turns := make([]prompt.Turn, len(all))
		for i, t := range all {
			turns[i] = prompt.Turn{Role: t.Role, Content: t.Text}
		}
		return m.EncodeTurns(turns)
	}
	return nil
}
