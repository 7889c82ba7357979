package ollama

import (
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"tokwatt/collect/wire"
)

// defaultPort is where Ollama listens.
const defaultPort = "11434"

// DefaultURL is where Ollama's own client would look: the variable OLLAMA_HOST,
// else port 11434 of this host.
func DefaultURL() string { return hostURL(os.Getenv("OLLAMA_HOST")) }

// hostURL reads an address as Ollama reads OLLAMA_HOST: all parts are optional,
// a scheme brings its own port, and a port that is none is the default one.
// The variable also tells a server what to listen on, so that an address that
// means "every interface" is read as this host.
func hostURL(raw string) string {
	raw = strings.TrimSpace(strings.Trim(strings.TrimSpace(raw), `"'`))
	scheme, rest, ok := strings.Cut(raw, "://")
	port := defaultPort
	switch {
	case !ok:
		scheme, rest = "http", raw
	case scheme == "http":
		port = "80"
	case scheme == "https":
		port = "443"
	}
	rest, path, _ := strings.Cut(rest, "/")
	host, given, err := net.SplitHostPort(rest)
	if err != nil {
		host = strings.Trim(rest, "[]")
	} else if n, err := strconv.ParseUint(given, 10, 16); err == nil {
		port = strconv.FormatUint(n, 10)
	}
	switch ip := net.ParseIP(host); {
	case host == "":
		host = "127.0.0.1"
	case ip != nil && ip.IsUnspecified() && ip.To4() != nil:
		host = "127.0.0.1"
	case ip != nil && ip.IsUnspecified():
		host = "::1"
	}
	u := url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port), Path: strings.TrimRight(path, "/")}
	if u.Path != "" {
		u.Path = "/" + u.Path
	}
	return u.String()
}

// server is one address of Ollama; paths of the API are joined to its base.
type server struct{ *wire.Server }

// newServer reads the options. A URL without a scheme is read as OLLAMA_HOST
// is, so that a bare host name leads to Ollama's port.
func newServer(o Options) (server, error) {
	raw := o.URL
	switch {
	case raw == "":
		raw = DefaultURL()
	case !strings.Contains(raw, "://") && !strings.ContainsAny(raw, "@?"):
		raw = hostURL(raw)
	}
	s, err := wire.New(wire.Options{URL: raw, APIKeyEnv: o.APIKeyEnv, Headers: o.Headers})
	if err != nil {
		return server{}, err
	}
	for _, tail := range []string{"/generate", "/chat", "/api", "/v1"} {
		s.Base.Path = strings.TrimSuffix(s.Base.Path, tail)
	}
	return server{s}, nil
}
