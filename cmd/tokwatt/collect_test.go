package main

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tokwatt/collect/script"
)

// serve plays a script for the length of a test.
func serve(t *testing.T, s script.Script) string {
	t.Helper()
	srv, err := script.Listen("127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	return srv.URL()
}

// steady is a server that takes 30 ms to the first token and 2 ms for each
// that follows, and counts a token a word.
func steady() script.Script {
	return script.Script{PoliteProbes: true, Model: "demo-model", Answer: steadyAnswer}
}

func steadyAnswer(r script.Request) script.Answer {
	tokens := script.Tokens{N: r.MaxTokens(), Prefill: 30 * time.Millisecond, Step: 2 * time.Millisecond,
		Model: "demo-model", Prompt: r.PromptTokens()}
	if r.Stream() {
		return tokens.Stream()
	}
	return tokens.Body()
}

// status is an answer that refuses.
func status(code int, body string) script.Answer {
	return script.Answer{Status: code, Pieces: []script.Piece{{Data: []byte(body)}}}
}

// collected runs a short bench against a server, into a store of its own.
func collected(t *testing.T, url string, more ...string) (db string, r result) {
	t.Helper()
	db = filepath.Join(t.TempDir(), "t.db")
	args := append([]string{"collect", "--db", db, "--url", url, "--model", "demo-model",
		"--pp", "32", "--tg", "8", "--pause", "0", "--group-pause", "0", "--repeat", "2"}, more...)
	return db, tokwatt(t, "", args...)
}

// rows asks the store with SQL.
func rows(t *testing.T, db, sql string) []map[string]any {
	t.Helper()
	needsSQL(t)
	r := tokwatt(t, "", "query", "--db", db, "--json", sql)
	var out []map[string]any
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		t.Fatalf("query: exit %d, %v: %s%s", r.code, err, r.out, r.err)
	}
	return out
}

func TestCollectAsksAndAnswers(t *testing.T) {
	db, r := collected(t, serve(t, steady()), "--concurrency", "1,3", "--label", "x", "--tag", "a", "--tag", "b")
	if r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	got := rows(t, db, `select concurrency, count(*) as n, min(prompt_tokens) as prompt, min(tokens_generated) as tokens,
		count(*) filter (where in_cold_stats) as good from runs group by concurrency order by concurrency`)
	want := `[map[concurrency:1 good:2 n:2 prompt:32 tokens:8] map[concurrency:3 good:6 n:6 prompt:32 tokens:8]]`
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	session := rows(t, db, "select label, tags, status, profile from sessions")[0]
	if fmt.Sprint(session) != "map[label:x profile:default status:complete tags:[a b]]" {
		t.Errorf("session %v", session)
	}
}

func TestExitCodes(t *testing.T) {
	url := serve(t, steady())
	gone := closedPort(t)
	broken := serve(t, script.Script{PoliteProbes: true, Answers: []script.Answer{status(500, `{"error":"out of memory"}`)}})
	mixed := serve(t, script.Script{PoliteProbes: true, Answer: func(r script.Request) script.Answer {
		if r.N%2 == 1 {
			return status(503, `{"error":"busy"}`)
		}
		return steadyAnswer(r)
	}})
	noCounts := serve(t, script.Script{Answer: func(r script.Request) script.Answer {
		tokens := script.Tokens{N: r.MaxTokens()}
		if r.Stream() {
			return tokens.Stream()
		}
		return tokens.Body()
	}})
	for name, c := range map[string]struct {
		args []string
		code int
		say  string
	}{
		"good":             {[]string{"collect", "--url", url, "--model", "m", "--pp", "32", "--tg", "8"}, 0, ""},
		"some failed":      {[]string{"collect", "--url", mixed, "--model", "m", "--pp", "32", "--tg", "8", "--warmup", "0"}, 1, "1 of 2 requests failed"},
		"all failed":       {[]string{"collect", "--url", broken, "--model", "m", "--pp", "32", "--tg", "8"}, 3, "every request failed"},
		"dead server":      {[]string{"collect", "--url", gone, "--model", "m", "--pp", "32", "--tg", "8"}, 3, "no connection to 127.0.0.1"},
		"no counts":        {[]string{"collect", "--url", noCounts, "--model", "m", "--pp", "32", "--tg", "8"}, 3, "--prompt"},
		"too short":        {[]string{"collect", "--url", url, "--model", "m", "--pp", "3", "--tg", "8"}, 3, "--pp"},
		"no matrix":        {[]string{"collect", "--url", url}, 2, "--prompt"},
		"tg 1":             {[]string{"collect", "--url", url, "--pp", "9", "--tg", "1"}, 2, "no interval"},
		"both":             {[]string{"collect", "--url", url, "--pp", "9", "--prompt", "x"}, 2, "exclude"},
		"bad flag":         {[]string{"collect", "--repeats", "3"}, 2, "did you mean --repeat"},
		"bad value":        {[]string{"collect", "--repeat", "three"}, 2, "--repeat three: must be a whole number of at least 1"},
		"too few":          {[]string{"collect", "--repeat", "0"}, 2, "at least 1"},
		"bad list":         {[]string{"collect", "--pp", "64,x"}, 2, "whole numbers with commas"},
		"bad time":         {[]string{"collect", "--timeout", "abc"}, 2, "500ms"},
		"far flag":         {[]string{"list", "--percentiles", "9"}, 2, "list has no flag --percentiles: `tokwatt list --help` lists them"},
		"far command":      {[]string{"foo", "--bar"}, 2, "there is no command \"foo\": `tokwatt --help` lists them"},
		"none of the last": {[]string{"list", "--last", "-1"}, 2, "--last -1: must be a whole number of at least 1"},
		"no such dialect":  {[]string{"archive", "sql", "--dialect", "mysql", "d"}, 2, "take duckdb, spark, trino or clickhouse"},
		"bad command":      {[]string{"sumary"}, 2, "did you mean summary?"},
		"bad engine":       {[]string{"collect", "--engine", "vroom", "--pp", "9", "--tg", "8"}, 2, "ollama, openai or reference"},
		"leftover":         {[]string{"collect", "--repeat", "3", "4", "--pp", "9", "--tg", "8"}, 2, "takes no argument"},
		"unset key":        {[]string{"collect", "--url", url, "--api-key-env", "NO_SUCH_VARIABLE", "--pp", "9", "--tg", "8"}, 2, "not set"},
		"bad header":       {[]string{"collect", "--url", url, "--header", "x", "--pp", "9", "--tg", "8"}, 2, "NAME=VALUE"},
		"own header":       {[]string{"collect", "--url", url, "--header", "host=x", "--pp", "9", "--tg", "8"}, 2, "host: tokwatt sets that"},
		"no tokenizer":     {[]string{"collect", "--url", url, "--model", "m", "--pp", "32", "--tg", "8", "--tokenizer", "no/such/folder"}, 2, "no/such/folder"},
		"server's counts":  {[]string{"collect", "--url", url, "--model", "m", "--pp", "32", "--tg", "8", "--tokenizer", "server"}, 0, ""},
		"exo flag":         {[]string{"collect", "--url", url, "--pp", "9", "--tg", "8", "--sharding", "tensor"}, 2, "--engine exo"},
		"bad sharding":     {[]string{"collect", "--engine", "exo", "--pp", "9", "--tg", "8", "--sharding", "ring"}, 2, "pipeline"},
		"bad profile":      {[]string{"collect", "--profile", "exobench", "--pp", "9", "--tg", "8"}, 2, "exo or asiai"},
		"bad kind":         {[]string{"collect", "--url", url, "--prompt-kind", "poetry"}, 2, "code, tool_call"},
		"kinds and sizes":  {[]string{"collect", "--url", url, "--prompt-kind", "code", "--pp", "9", "--tg", "8"}, 2, "exclude"},
		"context, no fill": {[]string{"collect", "--url", url, "--pp", "9", "--tg", "8", "--context-size", "4096"}, 2, "context_fill"},
		"no suite":         {[]string{"collect", "--suite", "none.toml"}, 2, "none.toml"},
		"bad url":          {[]string{"collect", "--url", "http://", "--model", "m", "--pp", "9", "--tg", "8"}, 2, "no URL"},
		"no store":         {[]string{"summary"}, 4, "there is no store"},
		"unknown id":       {[]string{"show", "--db", "FIXTURE", "ffff"}, 2, "no session ffff"},
		"bad sql":          {[]string{"query", "--db", "FIXTURE", "selec 1"}, 2, ""},
		"writing sql":      {[]string{"query", "--db", "FIXTURE", "drop table runs"}, 2, ""},
		"unknown column":   {[]string{"query", "--db", "FIXTURE", "select ttft from runs"}, 2, "ttft_ms"},
		"bad plot":         {[]string{"plot", "--db", "FIXTURE", "pie"}, 2, "take scaling, latency, itl, energy, power, compare or history"},
		"bad format":       {[]string{"plot", "--db", "FIXTURE", "scaling", "--out", "x.gif"}, 2, ".png"},
		"nothing deleted":  {[]string{"delete", "--db", "FIXTURE"}, 2, "--older-than"},
	} {
		t.Run(name, func(t *testing.T) {
			if slices.Contains([]string{"summary", "query", "plot"}, c.args[0]) {
				needsSQL(t)
			}
			t.Setenv("TOKWATT_DB", filepath.Join(t.TempDir(), "t.db"))
			args := c.args
			for i, a := range args {
				if a == "FIXTURE" {
					args[i] = fixture(t)
				}
			}
			if args[0] == "collect" {
				args = append(args, "--pause", "0", "--group-pause", "0")
				if !strings.Contains(strings.Join(args, " "), "--repeat") {
					args = append(args, "--repeat", "2")
				}
			}
			r := tokwatt(t, "", args...)
			if r.code != c.code || !strings.Contains(r.err, c.say) {
				t.Errorf("exit %d, want %d, with %q in: %s%s", r.code, c.code, c.say, r.err, r.out)
			}
			last := strings.TrimSpace(r.err[strings.LastIndex(strings.TrimSpace(r.err), "\n")+1:])
			if c.code != 0 && (!strings.HasPrefix(last, "tokwatt: ") || len(last) < 20) {
				t.Errorf("no sentence at the end of: %q", r.err)
			}
		})
	}
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func TestUnknownModelIsWarnedOf(t *testing.T) {
	s := steady()
	s.Get = map[string]json.RawMessage{"/v1/models": json.RawMessage(`{"data":[{"id":"resident:1b"}]}`)}
	_, r := collected(t, serve(t, s))
	if r.code != 0 || !strings.Contains(r.err, "resident:1b") {
		t.Errorf("exit %d; the listed models are not named: %s", r.code, r.err)
	}
}

func TestKeyIsSentAndNotKept(t *testing.T) {
	const key = "sk-very-secret-0815"
	t.Setenv("TOKWATT_TEST_KEY", key)
	s := steady()
	s.RequireAuth = "Bearer " + key
	url := serve(t, s)
	db, r := collected(t, strings.Replace(url, "http://", "http://user:pass@", 1), "--api-key-env", "TOKWATT_TEST_KEY", "--header", "X-Key="+key)
	if r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	kept := tokwatt(t, "", "show", "--db", db, "--json").out + fmt.Sprint(rows(t, db, "select * from sessions"), rows(t, db, "select * from targets"), rows(t, db, "select * from requests"))
	for _, secret := range []string{key, "user:pass"} {
		if strings.Contains(kept+r.out+r.err, secret) {
			t.Errorf("%s is kept or printed", secret)
		}
	}
}

func TestDryRunSendsNoPost(t *testing.T) {
	srv, err := script.Listen("127.0.0.1:0", steady())
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	db, r := collected(t, srv.URL(), "--dry-run")
	if r.code != 0 || !strings.Contains(r.out, "2 batches") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	for _, x := range srv.Log() {
		if x.Request.Method != "GET" {
			t.Errorf("%s %s was sent", x.Request.Method, x.Request.Path)
		}
	}
	if l := tokwatt(t, "", "list", "--db", db); !strings.Contains(l.err, "no store") {
		t.Errorf("a dry run left a store: %s", l.out)
	}
}

func TestNothingToResume(t *testing.T) {
	if r := tokwatt(t, "", "collect", "--db", t.TempDir()+"/t.db", "--resume", "last"); r.code != 4 || !strings.Contains(r.err, "no store") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := tokwatt(t, "", "collect", "--db", copied(t, fixture(t)), "--resume", "ffff"); r.code != 2 || !strings.Contains(r.err, "no session ffff") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}
