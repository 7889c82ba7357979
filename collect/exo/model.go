package exo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tokwatt/collect"
)

// model is an entry of GET /models: a card that exo knows, loaded or not.
type model struct {
	Name         string  `json:"name"`
	ID           string  `json:"hugging_face_id"`
	Quantization string  `json:"quantization"`
	Megabytes    float64 `json:"storage_size_megabytes"`
	unlisted     bool    // to be added
}

// models are all cards.
func (a api) models(ctx context.Context) ([]model, error) {
	var body struct {
		Data []model `json:"data"`
	}
	found, err := a.get(ctx, "/models", &body)
	if err == nil && !found {
		err = fmt.Errorf("%s lists no models: is it an exo server?", a.Endpoint())
	}
	return body.Data, err
}

// resolve finds a model as exo-bench does: by its short name in any case, then
// by its exact id.
func (a api) resolve(ctx context.Context, asked string, add bool) (model, error) {
	all, err := a.models(ctx)
	if err != nil {
		return model{}, err
	}
	for _, m := range all {
		if m.Name != "" && strings.EqualFold(m.Name, asked) {
			if m.ID == "" {
				m.ID = m.Name
			}
			return m, nil
		}
	}
	for _, m := range all {
		if m.ID != "" && m.ID == asked {
			return m, nil
		}
	}
	switch {
	case add && strings.Contains(asked, "/"):
		return model{ID: asked, unlisted: true}, nil
	case strings.Contains(asked, "/"):
		return model{}, fmt.Errorf("exo does not list %s: add it from the hub with --force-download, or name one that it lists%s", asked, similar(all, asked))
	}
	return model{}, fmt.Errorf("exo does not list %s: name one that it lists%s", asked, similar(all, asked))
}

// similar offers the models whose names have the most in common with what was
// asked for.
func similar(all []model, asked string) string {
	const most = 5
	word := strings.ToLower(asked[strings.LastIndexByte(asked, '/')+1:])
	if i := strings.IndexAny(word, "-_ "); i > 0 {
		word = word[:i]
	}
	var names []string
	for _, m := range all {
		if strings.Contains(strings.ToLower(m.ID), word) && len(names) < most {
			names = append(names, m.ID)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// add has exo add a card from the hub; a model that it has is an error too.
func (a api) add(ctx context.Context, m model) error {
	_, err := a.do(ctx, "POST", "/models/add", map[string]string{"model_id": m.ID})
	var f *collect.Failure
	if errors.As(err, &f) {
		f.Message = "exo can't add " + m.ID + " from the hub: " + f.Message
	}
	return err
}
