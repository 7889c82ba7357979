package find

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"tokwatt/collect/openai"
	"tokwatt/collect/script"
)

func fingerprints(t testing.TB) []script.Fingerprint {
	t.Helper()
	all, err := script.Fingerprints("../../testdata/fingerprints.json")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestAt: each server is known by what it answers to GETs, under the driver
// that knows it best, whatever the form of its address.
func TestAt(t *testing.T) {
	for _, fp := range fingerprints(t) {
		t.Run(fp.Engine, func(t *testing.T) {
			var mu sync.Mutex
			var methods []string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				methods = append(methods, r.Method)
				mu.Unlock()
				http.StripPrefix("/gate", fp).ServeHTTP(w, r)
			}))
			defer srv.Close()
			for _, form := range []string{"/gate", "/gate/", "/gate/v1", "/gate/v1/"} {
				got := At(t.Context(), openai.Options{URL: srv.URL + form})
				if got.Engine != fp.Engine || got.Driver != fp.Driver || got.Version != fp.Version || got.Err != nil {
					t.Errorf("%s (%s): %s %q by %s, %v; want %s %q by %s", form, fp.Facts, got.Engine, got.Version, got.Driver, got.Err, fp.Engine, fp.Version, fp.Driver)
				}
				if fp.Engine != engineExo && (!slices.Equal(got.Loaded, fp.Loaded) || (got.Loaded == nil) != (fp.Loaded == nil)) {
					t.Errorf("%s (%s): in memory %q, want %q", form, fp.Facts, got.Loaded, fp.Loaded)
				}
				if got.Cold == "" {
					t.Errorf("%s: no way to a cold request", form)
				}
			}
			if len(methods) == 0 || slices.ContainsFunc(methods, func(m string) bool { return m != http.MethodGet }) {
				t.Errorf("requests: %q", methods)
			}
		})
	}
}

// TestExo: what it has on its nodes and in instances, not all that it could
// download.
func TestExo(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const one, two = `{"id":"org/a","owned_by":"exo"}`, `{"id":"org/b","owned_by":"exo"}`
		switch r.URL.String() {
		case "/node_id":
			w.Write([]byte(`"12D3KooWDemo"`))
		case "/models", "/v1/models":
			w.Write([]byte(`{"data":[` + one + `,` + two + `]}`))
		case "/models?status=downloaded":
			w.Write([]byte(`{"data":[` + one + `]}`))
		case "/state/instances":
			w.Write([]byte(`{"i1":{"MlxRingInstance":{"instanceId":"i1","shardAssignments":{"modelId":"org/a"}}},"i2":{"MlxJacclInstance":{"shardAssignments":{"modelId":"org/a"}}}}`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	got := At(t.Context(), openai.Options{URL: srv.URL})
	if got.Driver != "exo" || !slices.Equal(got.Models, []string{"org/a"}) || !slices.Equal(got.Loaded, []string{"org/a"}) ||
		got.Streams == nil || *got.Streams != 8 || got.Cold != "use_prefix_cache=false" || got.URL != srv.URL {
		t.Errorf("%+v", got)
	}
}

// TestNotExo: neither a server that tells its node's id nor one that has exo's
// name in a list is exo by that alone; the second is its plain endpoint. Nor is
// a server Ollama that speaks as it does and is written in Python.
func TestNotExo(t *testing.T) {
	for name, gets := range map[string]map[string]string{
		"a node's id":      {"/node_id": `"x"`},
		"another's models": {"/node_id": `"x"`, "/models": `{"data":[{"id":"a","owned_by":"acme"}]}`, "/v1/models": `{"data":[{"id":"a","owned_by":"acme"}]}`},
		"no models":        {"/node_id": `"x"`, "/models": `{"data":[]}`},
		"the list alone":   {"/v1/models": `{"data":[{"id":"org/a","owned_by":"exo"}]}`},
		"a page":           {"/node_id": `<html>`, "/models": `{"data":[{"id":"org/a","owned_by":"exo"}]}`},
		"as Ollama": {"/": "Ollama is running\n", "/v1/models": `{"object":"list","data":[]}`, "/api/version": `{"version":"0.12.6"}`,
			"/api/tags": `{"models":[]}`, "/api/ps": `{"models":[]}`},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Server", "uvicorn")
			body, ok := gets[r.URL.Path]
			if !ok {
				http.NotFound(w, r)
				return
			}
			w.Write([]byte(body))
		}))
		if got := At(t.Context(), openai.Options{URL: srv.URL}); got.Driver != "openai" {
			t.Errorf("%s: %+v", name, got)
		}
		srv.Close()
	}
}

func TestNobody(t *testing.T) {
	for _, u := range []string{"http://127.0.0.1:1", "127.0.0.1:1", "http://", "ftp://x"} {
		if got := At(t.Context(), openai.Options{URL: u}); got.Driver != "openai" || got.Err == nil {
			t.Errorf("%s: %+v", u, got)
		}
	}
}

// silent listens and never says a word.
func silent(t testing.TB) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			c.Close()
		}
	})
	return ln.Addr().(*net.TCPAddr).Port
}

func portOf(t testing.TB, raw string) int {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLocal: all servers at once, in the order of the ports, each once, beside
// ports that are silent or shut.
func TestLocal(t *testing.T) {
	var ports []int
	var want []string
	for _, fp := range fingerprints(t) {
		if len(fp.Transcripts) == 0 && fp.Driver == "openai" && fp.Engine != "vmlx" {
			continue // TestAt has them all; here they share the time of one look
		}
		srv := httptest.NewServer(fp)
		defer srv.Close()
		ports = append(ports, portOf(t, srv.URL), silent(t), 1)
		want = append(want, fp.Driver+" "+fp.Engine)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var got []string
	for _, f := range at(ctx, ports) {
		got = append(got, f.Driver+" "+f.Engine)
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestPorts(t *testing.T) {
	if p := Ports(); !slices.IsSorted(p) || len(slices.Compact(p)) != 18 {
		t.Errorf("%v", p)
	}
}

// BenchmarkLocal looks at as many ports as Local does: all shut, all silent,
// and one server among silent ones.
func BenchmarkLocal(b *testing.B) {
	srv := httptest.NewServer(fingerprints(b)[0])
	defer srv.Close()
	shut, mute := make([]int, len(Ports())), make([]int, len(Ports()))
	for i := range mute {
		shut[i], mute[i] = 1+i, silent(b)
	}
	mixed := append([]int{portOf(b, srv.URL)}, mute[1:]...)
	for _, c := range []struct {
		name  string
		ports []int
		want  int
	}{{"shut", shut, 0}, {"silent", mute, 0}, {"one among silent", mixed, 1}, {"this host", Ports(), -1}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if n := len(at(b.Context(), c.ports)); c.want >= 0 && n != c.want {
					b.Fatalf("%d found", n)
				}
			}
		})
	}
}
