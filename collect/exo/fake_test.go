package exo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is an exo cluster in memory, in whatever time the test runs in. Its
// schedule: an instance is in the state after 200 ms, its runners after 1 s,
// ready after 3 s, gone 300 ms after it is deleted; a prompt of any length
// takes 100 ms, each further token 50 ms.
type fake struct {
	t     *testing.T
	nodes []string // ids
	names []string // of nodes
	begun time.Time

	// Faults, each as its name says. The first eight are those of
	// scripts/exo_mock.py.
	statsNull, powerNull, noPower, noNodeSystem  bool
	runnerFailed, slowGone, streamCut            bool
	failEvery                                    int // completions that get a 500
	neverAppears, vanishes, noRunner, stuckLoad  bool
	resetPolls                                   int // polls whose connection is cut
	settleAfter                                  time.Duration
	refusePost                                   string // an instance is refused with this
	sequential, dropInput, noTasks, ownTasksLate bool
	downloadTime                                 time.Duration // 0: all is there
	downloadFails, downloadStuck, downloadMute   bool
	diskFree                                     map[string]float64
	diskAfter                                    time.Duration // when the disks are told
	unsized, unlisted                            bool
	foreign                                      map[string]any // tasks of others, as in the state
	foreignUntil                                 time.Duration
	route                                        func(chat int) string // instance that a chat goes to, probes as 0; nil or empty: the newest

	mu        sync.Mutex
	instances map[string]*fakeInstance
	asked     []string // "METHOD path", in order
	bodies    map[string][]string
	previews  int
	ids       int // of completions
	chats     int
	running   map[string]*fakeTask
	cancelled []string
	deleted   []string // models
	started   time.Time
	decoding  int       // completions under way
	busyUntil time.Time // with what was cancelled
	added     bool
}

type fakeInstance struct {
	raw    json.RawMessage
	id     string
	order  []string // runners
	since  time.Time
	goneAt time.Time
}

type fakeTask struct {
	params  map[string]any
	stop    chan struct{}
	stopped bool
	at      time.Time
}

const fakeModel = "org/Demo-3B-4bit"

func newFake(t *testing.T, names ...string) *fake {
	f := &fake{t: t, names: names, begun: time.Now(), instances: map[string]*fakeInstance{}, bodies: map[string][]string{},
		running: map[string]*fakeTask{}, diskFree: map[string]float64{}}
	for i := range names {
		f.nodes = append(f.nodes, fmt.Sprintf("%d0a1b2", i+1))
	}
	return f
}

// serve starts the cluster and returns a driver that reaches it.
func (f *fake) serve(o Options) Driver {
	ln := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: f, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		srv.Serve(ln)
	}()
	f.t.Cleanup(func() {
		srv.Close()
		<-served
		time.Sleep(time.Minute) // what nobody cancelled runs to its end
	})
	o.URL = "http://exo.test:52415"
	return Driver{Options: o, dial: ln.dial}
}

// pipes is a listener in memory, so that waiting for it is known to the fake
// clock.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
	case <-ctx.Done():
	}
	return nil, &net.OpError{Op: "dial", Net: "pipe", Err: net.ErrClosed}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "exo.test"} }

func (f *fake) age() time.Duration { return time.Since(f.begun) }

func (f *fake) log(r *http.Request, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := r.Method + " " + r.URL.Path
	f.asked = append(f.asked, line)
	f.bodies[line] = append(f.bodies[line], body)
}

// commands are the requests that change something, but for chats.
func (f *fake) commands() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, line := range f.asked {
		if !strings.HasPrefix(line, "GET") && !strings.HasSuffix(line, "/chat/completions") {
			out = append(out, line)
		}
	}
	return out
}

// sent are the bodies of the chats, without those that probe.
func (f *fake) sent() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, path := range []string{benchPath, plainPath} {
		for _, b := range f.bodies["POST "+path] {
			if !strings.Contains(b, `"tokwatt `) {
				out = append(out, b)
			}
		}
	}
	return out
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.log(r, string(body))
	path := r.URL.Path
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		f.chat(w, r, body)
	case r.Method == http.MethodGet && path == "/models":
		fmt.Fprintf(w, `{"object":"list","data":[%s]}`, f.card())
	case path == "/models/add":
		f.mu.Lock()
		f.added = true
		f.mu.Unlock()
		io.WriteString(w, `{"hugging_face_id":"`+fakeModel+`","name":"Demo-3B-4bit"}`)
	case path == "/instance/previews":
		f.preview(w)
	case r.Method == http.MethodPost && path == "/instance":
		f.create(w, body)
	case strings.HasPrefix(path, "/instance/"):
		f.instance(w, r, strings.TrimPrefix(path, "/instance/"))
	case strings.HasPrefix(path, "/state/"):
		f.state(w, strings.Split(strings.TrimPrefix(path, "/state/"), "/"))
	case path == "/download/start":
		f.mu.Lock()
		if f.started.IsZero() {
			f.started = time.Now()
		}
		f.mu.Unlock()
		io.WriteString(w, `{"commandId":"c"}`)
	case strings.HasPrefix(path, "/download/"):
		_, model, _ := strings.Cut(strings.TrimPrefix(path, "/download/"), "/")
		f.mu.Lock()
		f.deleted = append(f.deleted, model)
		f.mu.Unlock()
		io.WriteString(w, `{"commandId":"c"}`)
	case strings.HasPrefix(path, "/v1/cancel/"):
		f.cancel(w, strings.TrimPrefix(path, "/v1/cancel/"))
	default:
		http.Error(w, `{"detail":"Not Found"}`, http.StatusNotFound)
	}
}

func (f *fake) card() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unlisted && !f.added {
		return `{"id":"org/Other-1B","name":"Other-1B","hugging_face_id":"org/Other-1B","storage_size_megabytes":10}`
	}
	size := 1740
	if f.unsized {
		size = 0
	}
	return fmt.Sprintf(`{"id":%q,"object":"model","owned_by":"exo","hugging_face_id":%q,"name":"Demo-3B-4bit","storage_size_megabytes":%d,"quantization":"4bit"}`, fakeModel, fakeModel, size)
}

// preview offers what a cluster of Macs offers. The odd white space and the
// order of keys must survive.
func (f *fake) preview(w http.ResponseWriter) {
	f.mu.Lock()
	f.previews++
	call := f.previews
	f.mu.Unlock()
	var out []string
	for _, sharding := range []string{"Pipeline", "Tensor"} {
		for _, meta := range []string{"MlxRing", "MlxJaccl"} {
			if f.age() < f.settleAfter || meta == "MlxJaccl" && len(f.nodes) == 1 {
				out = append(out, fmt.Sprintf(`{"model_id":%q,"sharding":%q,"instance_meta":%q,"instance":null,"memory_delta_by_node":null,"error":"No cycles found with sufficient memory"}`, fakeModel, sharding, meta))
				continue
			}
			for n := 1; n <= len(f.nodes); n++ {
				out = append(out, fmt.Sprintf(`{"model_id":%q,"sharding":%q,"instance_meta":%q,"instance":%s,"memory_delta_by_node":{},"error":null}`, fakeModel, sharding, meta,
					f.placed(fmt.Sprintf("%s-%s-%d-%d", sharding, meta, n, call), sharding, meta, n)))
			}
		}
	}
	fmt.Fprintf(w, `{"previews":[%s]}`, strings.Join(out, ","))
}

func (f *fake) placed(id, sharding, meta string, n int) string {
	var shards, nodes []string
	for i := range n {
		// The last runner comes first, so that orders can be told apart.
		k := n - 1 - i
		shards = append(shards, fmt.Sprintf(`"r%d-%s": {"%sShardMetadata":{"modelCard":{"modelId":%q,"zeta":1,"alpha":"<&>"},"deviceRank":%d}}`, k, id, sharding, fakeModel, k))
		nodes = append(nodes, fmt.Sprintf(`%q:"r%d-%s"`, f.nodes[i], i, id))
	}
	return fmt.Sprintf(`{"%sInstance":{"instanceId":%q, "shardAssignments":{"modelId":%q,"runnerToShard":{%s},"nodeToRunner":{%s}},"ephemeralPort":1.50}}`,
		meta, id, fakeModel, strings.Join(shards, ","), strings.Join(nodes, ","))
}

// put has an instance run that is somebody else's.
func (f *fake) put(id string) {
	in, _ := readInstance(json.RawMessage(f.placed(id, "Tensor", "MlxRing", 1)))
	f.instances[id] = &fakeInstance{raw: in.raw, id: id, order: in.order, since: f.begun.Add(-time.Hour)}
}

func (f *fake) create(w http.ResponseWriter, body []byte) {
	if f.refusePost != "" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":%q,"code":400}}`, f.refusePost)
		return
	}
	var b struct{ Instance json.RawMessage }
	if json.Unmarshal(body, &b) != nil {
		http.Error(w, "bad", http.StatusUnprocessableEntity)
		return
	}
	in, ok := readInstance(b.Instance)
	if !ok {
		http.Error(w, "bad", http.StatusUnprocessableEntity)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.neverAppears {
		f.instances[in.id] = &fakeInstance{raw: in.raw, id: in.id, order: in.order, since: time.Now()}
	}
	io.WriteString(w, `{"message":"Command received.","command_id":"c"}`)
}

// alive are the instances that are in the state.
func (f *fake) alive() map[string]*fakeInstance {
	out := map[string]*fakeInstance{}
	for id, in := range f.instances {
		age := time.Since(in.since)
		switch {
		case age < 200*time.Millisecond, f.vanishes && age > 2*time.Second, !in.goneAt.IsZero() && time.Now().After(in.goneAt):
		default:
			out[id] = in
		}
	}
	return out
}

func (f *fake) instance(w http.ResponseWriter, r *http.Request, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	in := f.alive()[id]
	if in == nil {
		http.Error(w, `{"error":{"message":"Instance not found","code":404}}`, http.StatusNotFound)
		return
	}
	if r.Method == http.MethodDelete {
		in.goneAt = time.Now().Add(300 * time.Millisecond)
		if f.slowGone {
			in.goneAt = time.Now().Add(time.Hour)
		}
		fmt.Fprintf(w, `{"message":"Command received.","instance_id":%q}`, id)
		return
	}
	w.Write(in.raw)
}

func (f *fake) cancel(w http.ResponseWriter, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancelled = append(f.cancelled, id)
	t := f.running[id]
	if t == nil || t.stopped {
		http.Error(w, `{"error":{"message":"Command not found or already completed","code":404}}`, http.StatusNotFound)
		return
	}
	t.stopped = true
	close(t.stop)
	delete(f.running, id)
	fmt.Fprintf(w, `{"message":"Command cancelled.","command_id":%q}`, id)
}
