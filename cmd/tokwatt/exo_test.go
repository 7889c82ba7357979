package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// cluster is an exo of one node that can't bring a model up.
func cluster(t *testing.T, previews string, post http.HandlerFunc, runner string) string {
	t.Helper()
	const instance = `{"MlxRingInstance":{"instanceId":"i","shardAssignments":{"modelId":"org/m","nodeToRunner":{"node":"r"},
		"runnerToShard":{"r":{"PipelineShardMetadata":{"modelCard":{"modelId":"org/m"},"deviceRank":0,"worldSize":1,"startLayer":0,"endLayer":2,"nLayers":2}}}}}}`
	var gone atomic.Bool // the instance
	mux := http.NewServeMux()
	for path, body := range map[string]string{
		"/node_id":              `"node"`,
		"/models":               `{"object":"list","data":[{"id":"org/m","hugging_face_id":"org/m","owned_by":"exo","storage_size_megabytes":1,"supports_tensor":true}]}`,
		"/state/topology":       `{"nodes":["node"],"connections":{}}`,
		"/state/nodeIdentities": `{"node":{"friendlyName":"mac"}}`,
		"/state/nodeMemory":     `{"node":{"ramTotal":{"inBytes":9000000000},"ramAvailable":{"inBytes":8000000000}}}`,
		"/state/nodeSystem":     `{"node":{"sysPower":20.5}}`,
		"/state/downloads":      `{"node":[{"DownloadCompleted":{"nodeId":"node","shardMetadata":{"PipelineShardMetadata":{"modelCard":{"modelId":"org/m"}}},"total":{"inBytes":1}}}]}`,
		"/state/downloads/node": `[{"DownloadCompleted":{"nodeId":"node","shardMetadata":{"PipelineShardMetadata":{"modelCard":{"modelId":"org/m"}}},"total":{"inBytes":1}}}]`,
		"/instance/previews":    strings.ReplaceAll(previews, "INSTANCE", instance),
		"/state/instances/i":    instance, "/instance/i": instance,
		"/state/runners/r": runner,
		"/state":           `{"instances":{"i":` + instance + `},"runners":{"r":` + runner + `}}`,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			if strings.HasSuffix(path, "/i") && gone.Load() {
				http.Error(w, `{"detail":"no such instance"}`, 404)
				return
			}
			io.WriteString(w, body)
		})
	}
	mux.HandleFunc("POST /instance", post)
	mux.HandleFunc("POST /", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") })
	mux.HandleFunc("DELETE /", func(w http.ResponseWriter, _ *http.Request) {
		gone.Store(true)
		io.WriteString(w, "{}")
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestExoExitCodes: once an instance was asked for, something was started: an
// end without figures is then 3, and the session says why.
func TestExoExitCodes(t *testing.T) {
	const fits = `{"previews":[{"model_id":"org/m","sharding":"Pipeline","instance_meta":"MlxRing","instance":INSTANCE,"memory_delta_by_node":{"node":1},"error":null}]}`
	const none = `{"previews":[{"model_id":"org/m","sharding":"Pipeline","instance_meta":"MlxRing","instance":null,"memory_delta_by_node":null,"error":"no room"}]}`
	accepts := func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"message":"Command received.","command_id":"c"}`)
	}
	refuses := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"detail":"broken"}`, 500) }
	for name, c := range map[string]struct {
		previews string
		post     http.HandlerFunc
		runner   string
		code     int
		say      string
		sessions int
	}{
		"no placement":  {none, accepts, `{}`, exitUsage, "no placement", 0},
		"refused":       {fits, refuses, `{}`, exitNothing, "broken", 1},
		"runner failed": {fits, accepts, `{"RunnerFailed":{"errorMessage":"boom"}}`, exitNothing, "boom", 1},
	} {
		t.Run(name, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "t.db")
			url := cluster(t, c.previews, c.post, c.runner)
			r := tokwatt(t, "", "collect", "--db", db, "--engine", "exo", "--url", url, "--model", "org/m", "--tokenizer", "server",
				"--pp", "32", "--tg", "8", "--settle-timeout", "0", "--pause", "0", "--group-pause", "0")
			if r.code != c.code || !strings.Contains(r.err, c.say) {
				t.Errorf("exit %d, want %d: %s", r.code, c.code, r.err)
			}
			l := tokwatt(t, "", "list", "--db", db, "--json")
			if got := strings.Count(l.out, `"status": "failed"`); got != c.sessions {
				t.Errorf("%d sessions, want %d: %s%s", got, c.sessions, l.out, l.err)
			}
		})
	}
}
