package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// fault is an answer that is an error. One with details has FastAPI's form,
// which exo uses for what it can't read; the others have exo's own.
type fault struct {
	status  int
	message string
	details []detail
	wait    time.Duration // for Retry-After
}

func (f *fault) Error() string { return f.message }

func faultf(status int, format string, args ...any) *fault {
	return &fault{status: status, message: fmt.Sprintf(format, args...)}
}

// detail is one thing that is wrong with a body.
type detail struct {
	Type  string          `json:"type"`
	Loc   []any           `json:"loc"`
	Msg   string          `json:"msg"`
	Input json.RawMessage `json:"input"`
	Ctx   map[string]any  `json:"ctx,omitempty"`
}

// maxEcho bounds what is sent back of an input, in bytes.
const maxEcho = 200

// unreadable is the fault of a field, or of the whole body.
func unreadable(kind, msg string, input json.RawMessage, loc ...any) *fault {
	if len(input) > maxEcho || !json.Valid(input) {
		input = json.RawMessage("null")
	}
	loc = append([]any{"body"}, loc...)
	said := "the body can't be read"
	if len(loc) > 1 {
		said = fmt.Sprint(loc[1])
	}
	return &fault{
		status: http.StatusUnprocessableEntity, message: said + ": " + msg,
		details: []detail{{Type: kind, Loc: loc, Msg: msg, Input: input}},
	}
}

// errorBody is exo's form of an error.
type errorBody struct {
	Error errorObject `json:"error"`
}

type errorObject struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`
}

func (f *fault) body() any {
	if f.details != nil {
		return struct {
			Detail []detail `json:"detail"`
		}{f.details}
	}
	return errorBody{errorObject{Message: f.message, Type: http.StatusText(f.status), Code: f.status}}
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, f *fault) {
	if f.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int((f.wait+time.Second-1)/time.Second))))
	}
	send(w, f.status, f.body())
}

// plain is the error of what no route is for.
func plain(w http.ResponseWriter, status int) {
	send(w, status, struct {
		Detail string `json:"detail"`
	}{http.StatusText(status)})
}

// send answers with a JSON document.
func send(w http.ResponseWriter, status int, v any) {
	body := document(v)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // whoever went away needs no answer
}

// document is v as JSON in one line, without the escapes that HTML needs.
func document(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // a type of ours that is none for JSON
		panic("serve: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
