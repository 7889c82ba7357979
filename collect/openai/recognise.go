package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tokwatt/collect/wire"
)

// facts are what a server tells in answer to GETs, each of which is sent once.
type facts struct {
	srv  server
	list listing
	got  map[string][]byte // bodies by path; nil where there is no answer of success
}

// learn asks for the models. The error is that of server.list.
func (s server) learn(ctx context.Context) (*facts, error) {
	l, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	return &facts{srv: s, list: l, got: map[string][]byte{}}, nil
}

// recognise finds the dialect of a server by these entries of its list. The
// common wrong guess is to take anything with a model list for one engine; a
// server that fits no row stays unknown.
func (f *facts) recognise(ctx context.Context, models []model) dialect {
	models = unlike(models)
	for _, d := range dialects {
		if slices.ContainsFunc(d.signs, func(s sign) bool { return f.shows(ctx, models, d, s) }) {
			return d
		}
	}
	return unknown
}

// unlike are models of which no two are the same to a sign: some lists have
// a hundred thousand.
func unlike(models []model) (out []model) {
	type looks struct {
		owner            string
		typed, permitted bool
	}
	seen := map[looks]bool{}
	for _, m := range models {
		if k := (looks{m.OwnedBy, m.Compatibility != "", m.Permissions != nil}); !seen[k] {
			seen[k] = true
			out = append(out, m)
		}
	}
	return out
}

// recogniseFor is recognise for one model: by its own entry, or by all where it
// has none.
func (f *facts) recogniseFor(ctx context.Context, id string) dialect {
	if m, listed := find(f.list.models, id); listed {
		return f.recognise(ctx, []model{m})
	}
	return f.recognise(ctx, f.list.models)
}

// shows reports whether the server gives a sign of d. One that puts its name
// into its model list is taken at its word, whoever it imitates elsewhere.
func (f *facts) shows(ctx context.Context, models []model, d dialect, s sign) bool {
	h := f.list.header
	switch has := h.Get(s.header); {
	case s.header == "":
	case has == "", s.value != "" && has != s.value, !strings.HasPrefix(has, s.prefix):
		return false
	}
	if s.not != "" && strings.HasPrefix(h.Get("Server"), s.not) {
		return false
	}
	owned := false
	for _, m := range models {
		by := claims(m.OwnedBy)
		if by != "" && by != d.engine || !s.fits(m) || s.sole && m.OwnedBy != "" && by != d.engine {
			return false
		}
		owned = owned || m.OwnedBy == s.owner
	}
	if s.owner != "" && !owned || s.typed && len(models) == 0 {
		return false
	}
	return s.at == place{} || s.says != "" && strings.HasPrefix(f.said(ctx, s.at), s.says)
}

// fits reports whether an entry of the list is as the sign has it. Of an engine
// some are owned by a part of it, which bears its name.
func (s sign) fits(m model) bool {
	switch {
	case s.noOwner && m.OwnedBy != "", s.typed && m.Compatibility == "", s.permits && m.Permissions == nil:
		return false
	}
	return s.owner == "" || m.OwnedBy == "" || strings.HasPrefix(m.OwnedBy, s.owner)
}

// claims is the engine that a name in a model list stands for.
func claims(owner string) string {
	for _, d := range dialects {
		if slices.ContainsFunc(d.signs, func(s sign) bool { return s.owner != "" && s.owner == owner }) {
			return d.engine
		}
	}
	return ""
}

// body is the answer to GET path, nil where it is none of success.
func (f *facts) body(ctx context.Context, path string) []byte {
	if b, asked := f.got[path]; asked {
		return b
	}
	f.got[path] = nil
	if r, err := f.srv.Get(ctx, f.srv.atRoot(path)); err == nil && r.Status == http.StatusOK {
		f.got[path] = r.Body
	}
	return f.got[path]
}

// text is what stands at a place, in one line; empty where nothing does.
func (f *facts) text(ctx context.Context, p place) string { return f.srv.Redact(f.said(ctx, p)) }

func (f *facts) said(ctx context.Context, p place) string {
	switch {
	case p.header != "":
		return shownFact(f.list.header.Get(p.header))
	case p.path == "":
		return ""
	case p.key == "":
		return shownFact(string(bytes.TrimSpace(f.body(ctx, p.path))))
	}
	raw := f.value(ctx, p)
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return shownFact(s)
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// shownFact is a text of the server's as it may be shown.
func shownFact(text string) string { return wire.Clip(wire.OneLine(text), wire.MaxReason) }

func (f *facts) value(ctx context.Context, p place) json.RawMessage {
	var object map[string]json.RawMessage
	_ = json.Unmarshal(f.body(ctx, p.path), &object) // another shape tells nothing
	return object[p.key]
}

// version is the one that the server tells, empty where it tells none.
func (f *facts) version(ctx context.Context, d dialect) string {
	for _, p := range d.version {
		if v := f.text(ctx, p); v != "" {
			return v
		}
	}
	return ""
}

// streams is how many requests the server runs at once; nil where that is not
// known.
func (f *facts) streams(ctx context.Context, d dialect) *int64 {
	if n, err := strconv.ParseInt(f.text(ctx, d.slots), 10, 64); err == nil && n > 0 {
		return &n
	}
	return d.streams
}

// models are those of the API's list, with what the catalogue adds to them.
func (f *facts) models(ctx context.Context, d dialect) []model {
	models := slices.Clone(f.list.models)
	if d.catalog == "" {
		return models
	}
	for _, more := range parseModels(f.body(ctx, d.catalog)) {
		for i := range models {
			if models[i].ID == more.ID {
				models[i].Compatibility, models[i].Quantization, models[i].State = more.Compatibility, more.Quantization, more.State
			}
		}
	}
	return models
}

// loaded are the models that are in memory, as they may be shown; nil where
// the server does not tell.
func (f *facts) loaded(ctx context.Context, d dialect) []string {
	var names []string
	told := false
	for _, m := range f.models(ctx, d) {
		state := m.state()
		told = told || state != "" || d.resident
		if state == "loaded" || state == "" && d.resident {
			names = append(names, shown(m.ID))
		}
	}
	var ids []string
	if d.inMemory != (place{}) && json.Unmarshal(f.value(ctx, d.inMemory), &ids) == nil {
		told = true
		for _, id := range ids {
			names = append(names, shown(id))
		}
	}
	if !told {
		return nil
	}
	return append([]string{}, names...)
}

// atLeast compares versions by their leading numbers. A version that is not
// known is at least none.
func atLeast(version, least string) bool {
	if least == "" {
		return true
	}
	have, ok := numbers(version)
	want, _ := numbers(least)
	return ok && slices.Compare(have, want) >= 0
}

func numbers(version string) (out []int, ok bool) {
	for part := range strings.SplitSeq(strings.TrimPrefix(version, "v"), ".") {
		digits := len(part) - len(strings.TrimLeft(part, "0123456789"))
		n, err := strconv.Atoi(part[:digits])
		if err != nil {
			break
		}
		out = append(out, n)
		if digits < len(part) {
			break
		}
	}
	return out, len(out) > 0
}
