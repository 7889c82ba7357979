package script

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
)

// Fingerprint is what a server answers to GETs, and what it must be taken for.
type Fingerprint struct {
	Engine  string
	Driver  string
	Version string
	Loaded  []string // the models in memory; nil where it does not tell
	Facts   string   // where that is known from
	Get     map[string]struct {
		Status  int
		Headers map[string]string
		Body    json.RawMessage // a string is sent as the text that it holds
	}
	Transcripts map[string]string // files of recorded answers, by path
	folder      string
}

// Fingerprints reads a file of them; transcripts are in a folder beside it.
func Fingerprints(file string) ([]Fingerprint, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []Fingerprint
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err = d.Decode(&out)
	for i := range out {
		out[i].folder = filepath.Join(filepath.Dir(file), "transcripts")
	}
	return out, err
}

// ServeHTTP answers GETs; whatever is not in the fingerprint is not found.
func (f Fingerprint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if file, ok := f.Transcripts[r.URL.Path]; ok && r.Method == http.MethodGet {
		t, err := ReadTranscript(filepath.Join(f.folder, file), 0)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		for _, h := range t.Answer.Headers {
			w.Header().Set(h.Name, h.Value)
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(t.Answer.Status)
		for _, p := range t.Answer.Pieces {
			w.Write(p.Data)
		}
		return
	}
	a, ok := f.Get[r.URL.Path]
	if !ok || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	for k, v := range a.Headers {
		w.Header().Set(k, v)
	}
	w.WriteHeader(max(a.Status, http.StatusOK))
	var text string
	if json.Unmarshal(a.Body, &text) == nil {
		w.Write([]byte(text))
		return
	}
	w.Write(a.Body)
}
