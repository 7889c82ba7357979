package serve

import (
	"crypto/subtle"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// methods are the handlers of a path.
type methods map[string]http.HandlerFunc

func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if h := m[method]; h != nil {
		h(w, r)
		return
	}
	w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(m)), ", "))
	plain(w, http.StatusMethodNotAllowed)
}

// Handler answers requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, m := range map[string]methods{
		"/models":                  {"GET": s.listModels},
		"/v1/models":               {"GET": s.listModels},
		"/models/add":              {"POST": s.addModel},
		"/node_id":                 {"GET": s.nodeID},
		"/version":                 {"GET": s.version},
		"/instance/previews":       {"GET": s.listPreviews},
		"/instance":                {"POST": s.postInstance},
		"/place_instance":          {"POST": s.placeInstance},
		"/instance/{id}":           {"GET": s.getInstance, "DELETE": s.deleteInstance},
		"/state":                   {"GET": s.getState},
		"/state/{path...}":         {"GET": s.getState},
		"/download/start":          {"POST": s.startDownload},
		"/bench/chat/completions":  {"POST": s.chat(true)},
		"/v1/chat/completions":     {"POST": s.chat(false)},
		"/v1/cancel/{id}":          {"POST": s.cancel},
		"/download/{node}/{model}": {"DELETE": s.deleteDownload},
		"/":                        {"GET": s.nowhere, "POST": s.nowhere, "PUT": s.nowhere, "DELETE": s.nowhere, "PATCH": s.nowhere},
	} {
		mux.Handle(path, m)
	}
	// A page in a browser on this machine is none of the clients: it may not
	// make the machine work.
	pages := http.NewCrossOriginProtection()
	pages.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, faultf(http.StatusForbidden, "pages of other origins may not use this server"))
	}))
	return s.authorised(pages.Handler(mux))
}

// authorised lets in who bears the token. Without one, only names of this
// machine are answered to, so that no page can reach it under a name of its own
// that leads here.
func (s *Server) authorised(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.opts.Token == "" && !Loopback(r.Host):
			refuse(w, faultf(http.StatusForbidden, "without a token this server answers to localhost and loopback addresses only, not to %q", clip(r.Host)))
			return
		case s.opts.Token != "" && !bears(r, s.opts.Token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, faultf(http.StatusUnauthorized, "this server needs a token: send it as Authorization: Bearer TOKEN"))
			return
		}
		w.Header().Set("Server", "tokwatt")
		next.ServeHTTP(w, r)
	})
}

func bears(r *http.Request, token string) bool {
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(got), []byte(token)) == 1
}

func (s *Server) nowhere(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusNotFound) }

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, struct {
		Object string   `json:"object"`
		Data   []listed `json:"data"`
	}{"list", []listed{s.card.listed()}})
}

func (s *Server) addModel(w http.ResponseWriter, _ *http.Request) {
	refuse(w, faultf(http.StatusBadRequest, "this server has %s and takes no other: start it with another --model", s.card.id()))
}

func (s *Server) nodeID(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, s.node) }

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, struct {
		Version string `json:"version"`
	}{s.opts.Version})
}

func (s *Server) listPreviews(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("model_id")
	switch {
	case id == "":
		f := unreadable("missing", "Field required", nil, "model_id")
		f.details[0].Loc[0] = "query"
		refuse(w, f)
	case !s.card.is(id):
		refuse(w, faultf(http.StatusBadRequest, "Failed to load model card: this server has %s, not %q", s.card.id(), clip(id)))
	default:
		send(w, http.StatusOK, struct {
			Previews []preview `json:"previews"`
		}{s.previews()})
	}
}

// command is the answer to what is done behind it.
type command struct {
	Message  string     `json:"message"`
	ID       string     `json:"command_id"`
	Instance string     `json:"instance_id,omitempty"`
	Card     *modelCard `json:"model_card,omitempty"`
}

const received = "Command received."

func (s *Server) postInstance(w http.ResponseWriter, r *http.Request) {
	body, err := readAll(w, r, maxCommand)
	var b struct {
		Instance json.RawMessage `json:"instance"`
	}
	var in *instance
	switch {
	case err != nil:
	case json.Unmarshal(body, &b) != nil:
		err = unreadable("json_invalid", "JSON decode error", json.RawMessage("{}"), 0)
	case b.Instance == nil:
		err = unreadable("missing", "Field required", nil, "instance")
	default:
		in, err = s.readInstance(b.Instance)
	}
	s.keep(w, in, err)
}

func (s *Server) placeInstance(w http.ResponseWriter, r *http.Request) {
	body, err := readAll(w, r, maxCommand)
	var b struct {
		Model string `json:"model_id"`
	}
	if err == nil && json.Unmarshal(body, &b) != nil {
		err = unreadable("json_invalid", "JSON decode error", json.RawMessage("{}"), 0)
	}
	if err == nil && b.Model != "" && !s.card.is(b.Model) {
		err = faultf(http.StatusBadRequest, "this server has %s, not %q", s.card.id(), clip(b.Model))
	}
	var in *instance
	if err == nil {
		in, err = s.readInstance(document(s.place()))
	}
	s.keep(w, in, err)
}

// keep adds an instance and loads the model for it, behind the answer.
func (s *Server) keep(w http.ResponseWriter, in *instance, err error) {
	if err == nil {
		err = s.cluster.add(in)
	}
	if err != nil {
		refuse(w, asFault(err))
		return
	}
	go func() { _, _ = s.runner.start() }() // the runner's state tells how it ends
	full := s.card.full()
	send(w, http.StatusOK, command{Message: received, ID: newID(), Card: &full})
}

func (s *Server) getInstance(w http.ResponseWriter, r *http.Request) {
	for _, in := range s.cluster.list() {
		if in.id == r.PathValue("id") {
			send(w, http.StatusOK, in.raw)
			return
		}
	}
	refuse(w, faultf(http.StatusNotFound, "Instance not found"))
}

// deleteInstance forgets an instance and ends its requests. With the last one
// the model goes, too.
func (s *Server) deleteInstance(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !s.cluster.remove(id) {
		refuse(w, faultf(http.StatusNotFound, "Instance not found"))
		return
	}
	for _, c := range s.calls() {
		if c.instance == id {
			s.runner.end(c, cancelled)
		}
	}
	if !s.cluster.needed() {
		go s.runner.stop(s.cluster.needed)
	}
	send(w, http.StatusOK, command{Message: received, ID: newID(), Instance: id})
}

func (s *Server) getState(w http.ResponseWriter, r *http.Request) {
	path := r.PathValue("path")
	doc, ok := walk(document(s.state()), path)
	if !ok {
		refuse(w, faultf(http.StatusNotFound, "unable to find path '%s' in state json", strings.ReplaceAll(strings.Trim(clip(path), "/"), "/", ".")))
		return
	}
	send(w, http.StatusOK, doc)
}

// startDownload has nothing to do: the model is here.
func (s *Server) startDownload(w http.ResponseWriter, r *http.Request) {
	if _, err := readAll(w, r, maxCommand); err != nil {
		refuse(w, asFault(err))
		return
	}
	send(w, http.StatusOK, struct {
		Command string `json:"commandId"`
	}{newID()})
}

func (s *Server) deleteDownload(w http.ResponseWriter, _ *http.Request) {
	refuse(w, faultf(http.StatusBadRequest, "the model belongs to the user: this server deletes none"))
}

func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	for _, c := range s.calls() {
		if c.id == r.PathValue("id") && !c.isOver() {
			s.runner.end(c, cancelled)
			send(w, http.StatusOK, command{Message: "Command cancelled.", ID: c.id})
			return
		}
	}
	refuse(w, faultf(http.StatusNotFound, "Command not found or already completed"))
}

// forgetAfter is how long a connection may be idle.
const forgetAfter = 2 * time.Minute
