package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/collect"
	"tokwatt/collect/inproc"
	"tokwatt/collect/openai"
)

// choice is which engine the flags ask for.
type choice struct {
	engine string // "auto", "openai", "reference"
	server openai.Options
}

func newChoice(cmd *cli.Command) (choice, error) {
	c := choice{engine: cmd.String("engine")}
	if cmd.IsSet("url") && cmd.String("url") == "" {
		return c, usagef("--url is empty: give the server's address, such as http://127.0.0.1:8080")
	}
	c.server = openai.Options{URL: cmd.String("url"), APIKeyEnv: cmd.String("api-key-env"), Tokenizer: cmd.String("tokenizer")}
	if h := cmd.String("host"); h != "" || cmd.IsSet("port") {
		if c.server.URL != "" {
			return c, usagef("--url and --host/--port exclude each other: give one of them")
		}
		if h == "" {
			h = "127.0.0.1"
		}
		port := cmd.Int("port")
		if port < 1 || port > 65535 {
			return c, usagef("--port %d: with --host a port from 1 to 65535 is needed", port)
		}
		c.server.URL = "http://" + net.JoinHostPort(h, strconv.Itoa(port))
	}
	if name := c.server.APIKeyEnv; name != "" && os.Getenv(name) == "" {
		return c, usagef("--api-key-env %s: this variable is not set", name)
	}
	for _, h := range cmd.StringSlice("header") {
		k, v, ok := strings.Cut(h, "=")
		if !ok {
			return c, usagef("--header %s: must be NAME=VALUE", k)
		}
		if !token.MatchString(k) || strings.ContainsAny(v, "\r\n\x00") {
			return c, usagef("--header %q: no header can be named or hold that", k)
		}
		if slices.Contains(ownHeaders, http.CanonicalHeaderKey(k)) {
			return c, usagef("--header %s: tokwatt sets that itself", k)
		}
		if c.server.Headers == nil {
			c.server.Headers = map[string]string{}
		}
		c.server.Headers[k] = v
	}
	return c, c.check()
}

// token is what may name a header (RFC 9110), and ownHeaders are those that a
// request can't do without.
var (
	token      = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	ownHeaders = []string{"Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Accept-Encoding", "Connection"}
)

func (c choice) check() error {
	switch c.engine {
	case "auto":
		return nil
	case "openai":
		if c.server.URL == "" {
			return usagef("--engine openai needs --url, the server's address")
		}
		return nil
	case "reference":
		if c.server.URL != "" {
			return usagef("--engine reference runs in process: leave --url, --host and --port out")
		}
		return nil
	}
	return usagef("there is no engine %q: take auto, openai or reference", c.engine)
}

// driver is the driver for the choice. With auto it takes the URL given, else
// the one server that runs on this host, else the embedded engine; said says
// which, in one line.
func (c choice) driver(ctx context.Context) (d collect.Driver, said string, err error) {
	switch {
	case c.engine == "reference":
		return inproc.Driver{}, "", nil
	case c.server.URL != "":
		return openai.Driver{Options: c.server}, "", nil
	}
	found := localServers(ctx)
	switch len(found) {
	case 0:
		return inproc.Driver{}, "no server found on this host: measuring the embedded reference engine", nil
	case 1:
		c.server.URL = found[0].URL
		return openai.Driver{Options: c.server}, fmt.Sprintf("measuring %s at %s, the one server found on this host", found[0].Engine, found[0].URL), nil
	}
	var names []string
	for _, f := range found {
		names = append(names, fmt.Sprintf("%s at %s", f.Engine, f.URL))
	}
	return nil, "", usage(errors.New("several servers run on this host (" + strings.Join(names, ", ") + "): choose with --url"))
}

// withoutSecrets is a URL without user, password and query.
func withoutSecrets(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
