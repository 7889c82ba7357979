package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// read reads a document of the server's into v.
func (r running) read(t *testing.T, path string, v any) int {
	t.Helper()
	code, body := r.do(t, "GET", path, "")
	if err := json.Unmarshal([]byte(body), v); err != nil {
		t.Fatal(path, err, body)
	}
	return code
}

// TestLife is the life of an instance as exo's clients lead it: what was there
// is deleted, a preview is posted as it came, becomes ready, is deleted and
// gone. What asks for an instance where there is none is told so, or gets one.
func TestLife(t *testing.T) {
	r := start(t, Options{})
	var all map[string]json.RawMessage
	r.read(t, "/state/instances", &all)
	if len(all) != 1 {
		t.Fatalf("%d instances at the start", len(all))
	}
	for id := range all {
		code, body := r.do(t, "DELETE", "/instance/"+id, "")
		if code != 200 || !strings.Contains(body, `"message":"Command received."`) || !strings.Contains(body, `"instance_id":"`+id+`"`) {
			t.Error(code, body)
		}
		for _, m := range []string{"GET", "DELETE"} {
			if code, body := r.do(t, m, "/instance/"+id, ""); code != 404 || !strings.Contains(body, "Instance not found") {
				t.Error(m, code, body)
			}
		}
	}
	until(t, "the model is gone", func() bool { _, ready, _ := r.runner.condition(); return !ready })
	if code, body := r.do(t, "POST", bench, asked(5, 2, "")); code != 404 || !strings.Contains(body, "No instance found for model synthetic:tiny") {
		t.Error(code, body)
	}
	id, runner := r.post(t)
	var state map[string]json.RawMessage
	for end := time.Now().Add(20 * time.Second); state["RunnerReady"] == nil; time.Sleep(2 * time.Millisecond) {
		state = nil
		if code := r.read(t, "/state/runners/"+runner, &state); code != 200 || len(state) != 1 || time.Now().After(end) {
			t.Fatal(code, state)
		}
	}
	if code, body := r.do(t, "POST", bench, asked(5, 2, "")); code != 200 {
		t.Error(code, body)
	}
	if code, body := r.do(t, "DELETE", "/instance/"+id, ""); code != 200 {
		t.Error(code, body)
	}
	if code, body := r.do(t, "POST", plainPath, asked(5, 2, "")); code != 200 {
		t.Errorf("/v1 loads the model by itself: %d %s", code, body)
	}
	r.read(t, "/state/instances", &all)
}

// post posts the preview that exo's clients choose.
func (r running) post(t *testing.T) (id, runner string) {
	t.Helper()
	var p struct {
		Previews []struct {
			Sharding, Error string
			Meta            string `json:"instance_meta"`
			Instance        json.RawMessage
		}
	}
	if code := r.read(t, "/instance/previews?model_id=synthetic%3Atiny", &p); code != 200 || len(p.Previews) != 4 {
		t.Fatal(code, p)
	}
	for i, x := range p.Previews {
		if (x.Error == "") != (i == 0) || (string(x.Instance) == "null") != (i > 0) {
			t.Errorf("preview %d is %+v", i, x)
		}
	}
	chosen := p.Previews[0]
	var in placed
	if err := json.Unmarshal(chosen.Instance, &in); err != nil || chosen.Sharding != "Pipeline" || chosen.Meta != "MlxRing" {
		t.Fatal(err, chosen)
	}
	// As Python's clients write it.
	spaced := strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(string(chosen.Instance))
	code, body := r.do(t, "POST", "/instance", `{"instance": `+spaced+`}`)
	if code != 200 || !strings.Contains(body, `"model_card":{"modelId":"synthetic:tiny","storageSize":{"inBytes":`) {
		t.Fatal(code, body)
	}
	if _, body := r.do(t, "GET", "/instance/"+in.Ring.ID, ""); body != string(chosen.Instance) {
		t.Errorf("posted %s\nis %s", chosen.Instance, body)
	}
	for _, runner := range in.Ring.Shards.Nodes {
		return in.Ring.ID, runner
	}
	t.Fatal("no node")
	return "", ""
}

// TestDeleteEndsRequests: those of the instance end as a cancelled one does,
// those of another go on.
func TestDeleteEndsRequests(t *testing.T) {
	r := start(t, Options{})
	first := r.cluster.list()[0].id
	newest, _ := r.post(t)
	answer := make(chan string)
	go func() {
		_, body := r.do(t, "POST", bench, asked(5, 100000, `,"stream":true`))
		answer <- body
	}()
	until(t, "it runs", func() bool {
		all := r.calls()
		return len(all) == 1 && func() bool { _, f := all[0].times(); return !f.IsZero() }()
	})
	if code, body := r.do(t, "DELETE", "/instance/"+newest, ""); code != 200 {
		t.Error(code, body)
	}
	if body := <-answer; strings.Contains(body, "[DONE]") || strings.Contains(body, "error") {
		t.Error(body[max(0, len(body)-300):])
	}
	if code, body := r.do(t, "POST", bench, asked(5, 2, "")); code != 200 {
		t.Errorf("the other instance, %s: %d %s", first, code, body)
	}
}

// TestInstanceRefusals: what can't be posted.
func TestInstanceRefusals(t *testing.T) {
	r := start(t, Options{})
	own := string(document(r.place()))
	node := r.node
	for _, c := range []struct {
		body string
		code int
		says string
	}{
		{`{`, 422, "json_invalid"},
		{`{}`, 422, `"loc":["body","instance"],"msg":"Field required"`},
		{`{"instance":7}`, 422, "MlxRingInstance"},
		{`{"instance":{"MlxJacclInstance":{}}}`, 422, "MlxRingInstance"},
		{`{"instance":` + strings.ReplaceAll(own, tiny, "other") + `}`, 400, `of model \"other\"`},
		{`{"instance":` + strings.ReplaceAll(own, node, "ffff") + `}`, 400, "not for this node"},
		{`{"instance":` + strings.Replace(own, `"ephemeralPort":0`, `"x":"`+strings.Repeat("x", maxInstance)+`"`, 1) + `}`, 400, "as it is"},
	} {
		if code, body := r.do(t, "POST", "/instance", c.body); code != c.code || !strings.Contains(body, c.says) {
			t.Errorf("%.80s: %d %.300s", c.body, code, body)
		}
	}
	for i := range MaxInstances {
		if code, body := r.do(t, "POST", "/place_instance", `{"model_id":"synthetic:tiny","sharding":"Pipeline"}`); (code == 200) != (i < MaxInstances-1) {
			t.Errorf("instance %d: %d %s", i+2, code, body)
		}
	}
	if code, body := r.do(t, "POST", "/place_instance", `{"model_id":"other"}`); code != 400 {
		t.Error(code, body)
	}
}

// TestState: what exo's clients read of the node.
func TestState(t *testing.T) {
	r := start(t, Options{Node: Node{Chip: "C", RAM: 1 << 34, Available: func() int64 { return 1 << 33 }}})
	var s state
	r.read(t, "/state", &s)
	var id string
	if r.read(t, "/node_id", &id); len(id) != 32 || s.Topology.Nodes[0] != id || s.Identities[id].Name != "here" || s.Identities[id].Chip != "C" {
		t.Errorf("%s: %+v", id, s)
	}
	if *s.Memory[id].Total.Bytes != 1<<34 || *s.Memory[id].Available.Bytes != 1<<33 {
		t.Errorf("%+v", s.Memory)
	}
	for path, want := range map[string]string{
		"/state/downloads/" + id + "/0/DownloadCompleted/shardMetadata/PipelineShardMetadata/modelCard/modelId": `"synthetic:tiny"`,
		"/state/nodeSystem":        `{}`,
		"/state/nodeSystem/" + id:  `{"error":{"message":"unable to find path 'nodeSystem.` + id + `' in state json","type":"Not Found","param":null,"code":404}}`,
		"/state/instances/nope":    `{"error":{"message":"unable to find path 'instances.nope' in state json","type":"Not Found","param":null,"code":404}}`,
		"/state/topology/nodes/7":  `{"error":{"message":"unable to find path 'topology.nodes.7' in state json","type":"Not Found","param":null,"code":404}}`,
		"/state/topology/nodes/-1": `{"error":{"message":"unable to find path 'topology.nodes.-1' in state json","type":"Not Found","param":null,"code":404}}`,
		"/nosuch":                  `{"detail":"Not Found"}`,
		"/bench/chat/completions":  `{"detail":"Method Not Allowed"}`,
		"/version":                 `{"version":"1.2.3"}`,
		"/instance/previews":       `{"detail":[{"type":"missing","loc":["query","model_id"],"msg":"Field required","input":null}]}`,
	} {
		if _, body := r.do(t, "GET", path, ""); body != want {
			t.Errorf("%s: %s", path, body)
		}
	}
	if code, body := r.do(t, "GET", "/instance/previews?model_id=other", ""); code != 400 || !strings.Contains(body, "Failed to load model card") {
		t.Error(code, body)
	}
	if code, body := r.do(t, "POST", "/download/start", "{}"); code != 200 || !strings.HasPrefix(body, `{"commandId":"`) {
		t.Error(code, body)
	}
	if code, _ := r.do(t, "DELETE", "/download/"+id+"/synthetic:tiny", ""); code != 400 {
		t.Error(code)
	}
	if code, _ := r.do(t, "POST", "/models/add", `{"model_id":"a/b"}`); code != 400 {
		t.Error(code)
	}
}

// TestFingerprint: the server shows what collect takes it for.
func TestFingerprint(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/fingerprints.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Engine string
		Get    map[string]struct{ Body json.RawMessage }
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{})
	for _, fp := range all {
		if fp.Engine != Owner {
			continue
		}
		for path, want := range fp.Get {
			code, body := r.do(t, "GET", path, "")
			if code != 200 || shape(t, body) == "" || !strings.Contains(" "+shape(t, body), shape(t, string(want.Body))) && path != "/state" && !subset(t, string(want.Body), body) {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
		return
	}
	t.Error("there is no fingerprint")
}

// shape is the keys of a document, a dot where there are none.
func shape(t *testing.T, doc string) string { return strings.Join(append(keys(t, doc), "."), " ") }

// subset reports whether every key of one document is in another.
func subset(t *testing.T, part, all string) bool {
	have := fmt.Sprint(keys(t, all))
	for _, k := range keys(t, part) {
		if !strings.Contains(have, k) {
			return false
		}
	}
	return true
}

// TestAccess: who may ask.
func TestAccess(t *testing.T) {
	open, closed := start(t, Options{}), start(t, Options{Token: "secret"})
	for _, c := range []struct {
		of      running
		header  http.Header
		host    string
		want    int
		comment string
	}{
		{open, nil, "127.0.0.1:52415", 200, "loopback"},
		{open, nil, "localhost", 200, "its name"},
		{open, nil, "[::1]:52415", 200, "IPv6"},
		{open, nil, "evil.example", 403, "a name that leads here"},
		{open, nil, "127.0.0.1.evil.example:80", 403, "one that looks like loopback"},
		{open, http.Header{"Origin": {"https://evil.example"}}, "localhost", 403, "a page of another origin"},
		{open, http.Header{"Sec-Fetch-Site": {"cross-site"}}, "localhost", 403, "the same"},
		{closed, nil, "localhost", 401, "no token"},
		{closed, http.Header{"Authorization": {"Bearer wrong"}}, "localhost", 401, "a wrong one"},
		{closed, http.Header{"Authorization": {"secret"}}, "localhost", 401, "no scheme"},
		{closed, http.Header{"Authorization": {"Bearer secret"}}, "mac.local:52415", 200, "the token"},
	} {
		req := httptest.NewRequestWithContext(t.Context(), "POST", "http://"+c.host+"/download/start", strings.NewReader("{}"))
		for k, v := range c.header {
			req.Header[k] = v
		}
		w := httptest.NewRecorder()
		c.of.Handler().ServeHTTP(w, req)
		if w.Code != c.want || w.Code >= 400 && !strings.HasPrefix(w.Body.String(), `{"error":{"message":"`) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d %s", c.comment, w.Code, w.Body)
		}
	}
}
