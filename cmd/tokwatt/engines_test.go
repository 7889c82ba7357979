package main

import (
	"encoding/json"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"tokwatt/collect/script"
)

// TestEngines: every known server as engines tells of it, in 80 columns and as
// JSON, and filtered by its name and by its driver's.
func TestEngines(t *testing.T) {
	all, err := script.Fingerprints("../../testdata/fingerprints.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, fp := range all {
		if len(fp.Transcripts) == 0 && fp.Driver == "openai" && fp.Engine != "llama.cpp" {
			continue // the tests of package find have them all
		}
		srv := httptest.NewServer(fp)
		defer srv.Close()
		r := tokwatt(t, "", "engines", "--url", srv.URL)
		if r.code != 0 || !strings.HasPrefix(r.out, fp.Engine+"  ") {
			t.Errorf("%s: exit %d, %s%s", fp.Engine, r.code, r.out, r.err)
		}
		for _, line := range strings.Split(r.out, "\n") {
			if n := len([]rune(line)); n > screenColumns {
				t.Errorf("%s: %d columns: %s", fp.Engine, n, line)
			}
		}
		for _, name := range []string{fp.Engine, fp.Driver} {
			r = tokwatt(t, "", "engines", "--url", srv.URL, "--engine", name, "--json")
			var rows []engineRow
			if err := json.Unmarshal([]byte(r.out), &rows); err != nil || len(rows) != 1 || rows[0].Engine != fp.Engine ||
				rows[0].Driver != fp.Driver || rows[0].Version != fp.Version || rows[0].Cold == "" {
				t.Errorf("%s by %s: exit %d, %v, %s", fp.Engine, name, r.code, err, r.out)
			}
		}
		if r = tokwatt(t, "", "engines", "--url", srv.URL, "--engine", "nothing"); r.code != exitNothing || !strings.Contains(r.err, "nothing") {
			t.Errorf("exit %d, %s", r.code, r.err)
		}
	}
	if r := tokwatt(t, "", "engines", "--url", "http://127.0.0.1:1"); r.code != exitNothing || !strings.Contains(r.err, "127.0.0.1:1") {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
}

// TestEnginesOfASilentServer: one that takes a connection and says nothing is
// told of in a sentence, with its address and without what is secret in it.
func TestEnginesOfASilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := l.Addr().String()
	r := tokwatt(t, "", "engines", "--url", "user:hush@"+at)
	if r.code != exitNothing || !strings.Contains(r.err, at) || !strings.Contains(r.err, "in time: ") || strings.Contains(r.err, "hush") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// TestVersionByToken: a server that tells its version in answers only is asked
// for one token, and one that needs no asking is not.
func TestVersionByToken(t *testing.T) {
	play := func(folder string) (*script.Server, result) {
		read := func(name string) script.Answer {
			tr, err := script.ReadTranscript("../../testdata/transcripts/"+folder+"/"+name, 0)
			if err != nil {
				t.Fatal(err)
			}
			return tr.Answer
		}
		srv, err := script.Listen("127.0.0.1:0", script.Script{
			Heads:   map[string]script.Answer{"/v1/models": read("models.txt"), "/health": read("health.txt")},
			Answers: []script.Answer{read("chat_nonstream.txt")}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { srv.Close() })
		return srv, tokwatt(t, "", "engines", "--url", srv.URL())
	}
	for folder, want := range map[string]struct {
		head  string
		posts int
	}{"mlx_lm": {"mlx_lm  0.32.2  ", 1}, "llama_server": {"llama.cpp  http://", 0}} {
		srv, r := play(folder)
		posts := 0
		for _, x := range srv.Log() {
			if x.Method == "POST" {
				posts++
				if x.MaxTokens() != 1 {
					t.Errorf("%s is asked for %d tokens", folder, x.MaxTokens())
				}
			}
		}
		if !strings.HasPrefix(r.out, want.head) || posts != want.posts {
			t.Errorf("%s: %d POSTs, %s%s", folder, posts, r.out, r.err)
		}
	}
}

func TestPortList(t *testing.T) {
	for want, ports := range map[string][]int{"1, 3-5, 9,": {1, 3, 4, 5, 9}, "1-2,": {1, 2}, "7,": {7}} {
		if got := portList(ports); got != want {
			t.Errorf("%v is written %q, want %q", ports, got, want)
		}
	}
}
