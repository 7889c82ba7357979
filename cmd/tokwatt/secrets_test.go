package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretsAreNeitherSaidNorKept: in whatever spelling they are given, right
// or wrong, and whatever comes of the run.
func TestSecretsAreNeitherSaidNorKept(t *testing.T) {
	const secret = "HUSH4711"
	url := serve(t, steady())
	at := strings.TrimPrefix(url, "http://")
	dead := strings.TrimPrefix(closedPort(t), "http://")
	db := filepath.Join(t.TempDir(), "t.db")
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, []string{"--url", "user:" + secret + "@" + at}},
		{0, []string{"--url", "http://user:" + secret + "@" + at + "/v1?key=" + secret + "#" + secret}},
		{0, []string{"--url", at + "?key=" + secret}},
		{exitNothing, []string{"--url", "user:" + secret + "@" + dead}},
		{exitNothing, []string{"--engine", "exo", "--url", "user:" + secret + "@" + dead}},
		{exitNothing, []string{"--engine", "ollama", "--url", "user:" + secret + "@" + dead}},
		{exitUsage, []string{"--url", "http://us er:" + secret + "@" + at}},
		{exitUsage, []string{"--url", "http://user:" + secret + "/1@" + at}},
		{exitUsage, []string{"--url", "http://user:" + secret + "@"}},
		{exitUsage, []string{"--url", "ftp://user:" + secret + "@" + at}},
		{exitUsage, []string{"--url", "user:" + secret + "@" + at + "?to=http://x"}},
		{exitUsage, []string{"--url", "http://h:x?key=" + secret}},
		{exitUsage, []string{"--url", url, "--header", "Authorization: Bearer " + secret}},
		{exitUsage, []string{"--url", url, "--header", "Authorization: Basic " + secret + "=="}},
		{exitUsage, []string{"--url", url, "--header", secret}},
		{exitUsage, []string{"--url", url, "--header", "X Y=" + secret}},
		{exitUsage, []string{"--url", url, "--header", "X=" + secret + "\nY: z"}},
		{exitUsage, []string{"--url", url, "--header", "Host=" + secret}},
		{exitUsage, []string{"--url", url, "--headers=X=" + secret}},
		{exitUsage, []string{"--url", url, "--api-key-env", "sk-" + secret}},
	} {
		r := tokwatt(t, "", append([]string{"collect", "--db", db, "--model", "demo-model", "--pp", "32", "--tg", "4", "--repeat", "1",
			"--warmup", "0", "--pause", "0", "--group-pause", "0"}, c.args...)...)
		if r.code != c.code {
			t.Errorf("%q: exit %d, want %d: %s", c.args, r.code, c.code, r.err)
		}
		if strings.Contains(r.out+r.err, secret) {
			t.Errorf("%q: said: %s%s", c.args, r.out, r.err)
		}
	}
	for _, args := range [][]string{{"--url", "http://u:" + secret + "@" + at + ":x"}, {"--api-key-env", "sk-" + secret}} {
		if r := tokwatt(t, "", append([]string{"engines"}, args...)...); r.code == 0 || strings.Contains(r.err, secret) {
			t.Errorf("engines %q: exit %d: %s", args, r.code, r.err)
		}
	}
	kept, err := os.ReadFile(db)
	if err != nil || bytes.Contains(kept, []byte(secret)) {
		t.Errorf("the store keeps a secret (%v)", err)
	}
	// What is kept leads to the same server again.
	if r := tokwatt(t, "", "collect", "--db", db, "--resume", "last"); r.code != 0 {
		t.Errorf("resume: exit %d: %s", r.code, r.err)
	}
}

// TestAddressesAreKept as far as they are no secret, in a spelling that leads
// to the same server.
func TestAddressesAreKept(t *testing.T) {
	for given, want := range map[string]string{
		"http://h:1/v1":     "http://h:1/v1",
		"https://u:p@h/?q":  "https://h/",
		"u:p@h:1":           "http://h:1",
		"u@h":               "http://h",
		"h:1?key=x":         "http://h:1",
		"h":                 "h",
		"h:1/v1#x":          "h:1/v1",
		"[::1]:8080":        "[::1]:8080",
		"http://u:p /1@h:1": "",
		"u:p@h?http://x":    "",
	} {
		for _, v := range []any{given, []any{given}} {
			if got := (options{"url": v}).kept()["url"]; got != want {
				t.Errorf("%q: %q, want %q", given, got, want)
			}
		}
	}
}
