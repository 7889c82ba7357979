package exo

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// api is exo's control plane.
type api struct{ *wire.Server }

// get reads a path into v. found is false where exo knows no such thing, which
// it says with 404. The error is a *collect.Failure or the context's.
func (a api) get(ctx context.Context, path string, v any) (found bool, err error) {
	return a.read(ctx, a.At(path), v)
}

func (a api) read(ctx context.Context, u *url.URL, v any) (found bool, err error) {
	r, err := a.Get(ctx, u)
	switch {
	case err != nil:
		return false, err
	case r.Status == http.StatusNotFound:
		return false, nil
	case r.Status >= http.StatusMultipleChoices:
		return false, refused(http.MethodGet, u.Path, r)
	}
	if err := json.Unmarshal(r.Body, v); err != nil {
		return false, collect.Failf(collect.ErrProtocol, "GET %s: the answer is not what exo says there: %s", u.Path, wire.OneLine(err.Error()))
	}
	return true, nil
}

// do sends a command. Its success means that exo has queued it, no more.
func (a api) do(ctx context.Context, method, path string, body any) (wire.Reply, error) {
	r, err := a.Do(ctx, method, a.At(path), body)
	if err == nil && r.Status >= http.StatusMultipleChoices {
		err = refused(method, path, r)
	}
	return r, err
}

func refused(method, path string, r wire.Reply) *collect.Failure {
	f := r.Failure()
	f.Message = method + " " + path + ": " + f.Message
	return f
}

// status is the HTTP status that a failure bears, 0 where it bears none.
func status(err error) int64 {
	f := collect.AsFailure(err, collect.ErrProtocol)
	if f.HTTPStatus == nil {
		return 0
	}
	return *f.HTTPStatus
}

// member is one of a JSON object's.
type member struct {
	key string
	raw json.RawMessage
}

// members are those of an object in their order, which exo's clients go by;
// none of what is no object.
func members(raw json.RawMessage) []member {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out []member
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		m := member{key: key}
		if err != nil || !ok || d.Decode(&m.raw) != nil {
			return out
		}
		out = append(out, m)
	}
	return out
}

// only is the one member of a tagged union.
func only(raw json.RawMessage) member {
	if all := members(raw); len(all) == 1 {
		return all[0]
	}
	return member{}
}

// bytesOf is exo's way to write a size.
type bytesOf struct {
	N float64 `json:"inBytes"`
}

// sleep waits for d; false when ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// backoff waits 1 s, 2 s, 4 s … 60 s, as exo-bench does while a cluster
// settles, until its time is over.
type backoff struct {
	until time.Time
	next  time.Duration
}

func newBackoff(total time.Duration) *backoff {
	return &backoff{until: time.Now().Add(total), next: time.Second}
}

// wait sleeps once more; false when the time is over.
func (b *backoff) wait(ctx context.Context) bool {
	left := time.Until(b.until)
	if left <= 0 || !sleep(ctx, min(b.next, left)) {
		return false
	}
	b.next = min(2*b.next, time.Minute)
	return true
}
