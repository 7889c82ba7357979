package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	"tokwatt/collect/exo"
	"tokwatt/collect/find"
	"tokwatt/collect/ollama"
	"tokwatt/collect/openai"
	"tokwatt/collect/prompt/source"
	"tokwatt/mlx/engine"
)

// choice is which engine the flags ask for, and where.
type choice struct {
	engine  string // "auto", "exo", "mlx", "ollama", "openai", "reference"
	library string // MLX's
	server  openai.Options
	exo     exo.Options // less what server has
}

func newChoice(cmd *cli.Command, profile collect.Profile) (choice, error) {
	c := choice{engine: cmd.String("engine"), library: cmd.String("library")}
	if profile == collect.ProfileExo && !cmd.IsSet("engine") {
		c.engine = "exo"
	}
	if cmd.IsSet("url") && cmd.String("url") == "" {
		return c, usagef("--url is empty: give the server's address, such as http://127.0.0.1:8080")
	}
	c.server = openai.Options{URL: cmd.String("url"), APIKeyEnv: cmd.String("api-key-env")}
	c.server.EndTokens = endTokens(cmd.String("tokenizer"))
	if err := c.address(cmd); err != nil {
		return c, err
	}
	if err := c.exoOptions(cmd); err != nil {
		return c, err
	}
	if err := checkKeyEnv(c.server.APIKeyEnv); err != nil {
		return c, err
	}
	if err := c.headers(cmd.StringSlice("header")); err != nil {
		return c, err
	}
	return c, c.check()
}

// checkKeyEnv refuses a variable that is not set. What can't be the name of one
// may be the key itself, so it is not said.
func checkKeyEnv(name string) error {
	switch {
	case name == "" || os.Getenv(name) != "":
		return nil
	case variable.MatchString(name):
		return usagef("--api-key-env %s: this variable is not set", name)
	}
	return usagef("--api-key-env takes the name of a variable that holds the key, such as API_KEY, and no variable of the name given is set")
}

// headers reads NAME=VALUE. No error says more than the name, and that only
// where it is one: whatever is written in another way may be secret.
func (c *choice) headers(given []string) error {
	for _, h := range given {
		k, v, ok := strings.Cut(h, "=")
		switch {
		case !ok || !token.MatchString(k):
			return usagef("--header must be NAME=VALUE, such as X-Team=bench, and one that is given is not")
		case slices.Contains(ownHeaders, http.CanonicalHeaderKey(k)):
			return usagef("--header %s: tokwatt sets that itself", k)
		case strings.ContainsAny(v, "\r\n\x00"):
			return usagef("--header: a value has a line end or a null byte, which no header can hold")
		}
		if c.server.Headers == nil {
			c.server.Headers = map[string]string{}
		}
		c.server.Headers[k] = v
	}
	return nil
}

// endTokens finds the end tokens of models: those of the files that the user
// named, else those that are on this machine under the model's id. Where there
// are none, nothing is banned by them.
func endTokens(named string) func(string) ([]int64, error) {
	if named == fromServer {
		return nil
	}
	return func(model string) ([]int64, error) {
		ref := cmp.Or(named, model)
		if m, err := source.Open(ref); err == nil {
			return m.EOS, nil
		}
		ids, err := source.EndTokens(ref) // of a model whose prompts can't be counted
		if named == "" || errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return ids, err
	}
}

// address reads --host and --port.
func (c *choice) address(cmd *cli.Command) error {
	h, port := cmd.String("host"), cmd.Int("port")
	if h == "" && !cmd.IsSet("port") {
		return nil
	}
	if c.server.URL != "" {
		return usagef("--url and --host/--port exclude each other: give one of them")
	}
	if h == "" {
		h = "127.0.0.1"
	}
	if p := defaultPort[c.engine]; p != 0 && !cmd.IsSet("port") {
		port = p
	}
	if port < 1 || port > 65535 {
		return usagef("--port %d: with --host a port from 1 to 65535 is needed", port)
	}
	c.server.URL = "http://" + net.JoinHostPort(h, strconv.Itoa(port))
	return nil
}

// defaultPort is where engines listen that are known by one port.
var defaultPort = map[string]int{"exo": 52415, "ollama": 11434}

// exoOptions reads the flags of exo's own.
func (c *choice) exoOptions(cmd *cli.Command) error {
	for _, f := range exoFlags() {
		name := f.Names()[0]
		if cmd.IsSet(name) && c.engine != "exo" {
			return usagef("--%s is about exo: it needs --engine exo, or --profile exo", name)
		}
	}
	c.exo = exo.Options{
		InstanceMeta: cmd.String("instance-meta"), Sharding: cmd.String("sharding"),
		MinNodes: cmd.Int("min-nodes"), MaxNodes: cmd.Int("max-nodes"),
		ReuseInstance: cmd.Bool("reuse-instance"), SkipPipelineJaccl: cmd.Bool("skip-pipeline-jaccl"),
		SkipTensorRing: cmd.Bool("skip-tensor-ring"), ForceDownload: cmd.Bool("force-download"),
		DangerDeleteDownloads: cmd.Bool("danger-delete-downloads"),
	}
	if cmd.IsSet("settle-timeout") {
		c.exo.SettleTimeout = cmp.Or(cmd.Duration("settle-timeout"), -1) // 0: ask once
	}
	if err := c.exo.Validate(); err != nil {
		return usage(oneSentence(err))
	}
	return nil
}

// token is what may name a header (RFC 9110), and ownHeaders are those that a
// request can't do without; variable is what an environment variable is called.
var (
	variable   = regexp.MustCompile("^[A-Z_][A-Z0-9_]{0,39}$")
	token      = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	ownHeaders = []string{"Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Accept-Encoding", "Connection"}
)

func (c choice) check() error {
	if c.library != "" && (c.engine != "mlx" && c.engine != "auto" || c.server.URL != "") {
		return usagef("--library is about MLX in process: it needs --engine mlx, and no --url")
	}
	switch c.engine {
	case "auto", "exo", "ollama":
		return nil
	case "openai":
		if c.server.URL == "" {
			return usagef("--engine openai needs --url, the server's address")
		}
		return nil
	case "mlx", "reference":
		if c.server.URL != "" {
			return usagef("--engine %s runs in process: leave --url, --host and --port out", c.engine)
		}
		return nil
	}
	return usagef("there is no engine %q: take %s", c.engine, alternatives(choices["engine"]))
}

// alternatives joins words as a sentence does: "a, b or c".
func alternatives(words []string) string {
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " or " + words[n]
}

// driver is the driver for the choice. With auto it takes the server at the
// URL given for what it says it is, else the one server that runs on this
// host, else MLX where it was named or has a GPU, else the reference engine; said
// says which, in one line. What the driver has to tell during its work goes to
// tell.
func (c choice) driver(ctx context.Context, tell func(string)) (d collect.Driver, said string, err error) {
	switch {
	case c.engine == "reference":
		return inProcess(ctx, engine.Reference, ""), "", nil
	case c.engine == "mlx":
		return inProcess(ctx, engine.MLX, c.library), "", nil
	case c.engine != "auto":
		return c.native(c.engine, tell), "", nil
	case c.server.URL != "":
		found := find.At(ctx, c.server)
		return c.native(found.Driver, tell), "", nil
	}
	all := find.Local(ctx)
	switch len(all) {
	case 0:
		backend, what, err := likelyBackend(ctx, c.library)
		return inProcess(ctx, backend, c.library), "no server found on this host: measuring " + what, err
	case 1:
		c.server.URL = all[0].URL
		return c.native(all[0].Driver, tell), fmt.Sprintf("measuring %s at %s, the one server found on this host", all[0].Engine, all[0].URL), nil
	}
	var names []string
	for _, f := range all {
		names = append(names, fmt.Sprintf("%s at %s", f.Engine, f.URL))
	}
	return nil, "", usage(errors.New("several servers run on this host (" + strings.Join(names, ", ") + "): choose with --url"))
}

// native is the driver of a server.
func (c choice) native(name string, tell func(string)) collect.Driver {
	switch name {
	case "exo":
		o := c.exo
		o.URL, o.APIKeyEnv, o.Headers, o.Notify = cmp.Or(c.server.URL, exo.DefaultURL()), c.server.APIKeyEnv, c.server.Headers, tell
		return exo.Driver{Options: o}
	case "ollama":
		return ollama.Driver{Options: ollama.Options{URL: cmp.Or(c.server.URL, ollama.DefaultURL()), APIKeyEnv: c.server.APIKeyEnv, Headers: c.server.Headers}}
	}
	return openai.Driver{Options: c.server}
}

// withoutSecrets is a server's address without user, password and query, empty
// where it is none. It is read as the drivers read it: without a scheme, what
// stands before a colon may be a user.
func withoutSecrets(raw string) string {
	// A mere host leads to its engine's own port, so it stays one.
	bare := !strings.ContainsAny(raw, "@?") && !strings.Contains(raw, "://")
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	if bare {
		return strings.TrimPrefix(u.String(), "http://")
	}
	return u.String()
}
