package ollama

import (
	"path"
	"strings"

	"tokwatt/collect/wire"
)

// What Ollama fills into a name that leaves it out.
const (
	defaultHost      = "registry.ollama.ai"
	defaultNamespace = "library"
	defaultTag       = "latest"
)

// canonical is a model's full name, host/namespace/model:tag, as Ollama
// resolves the short forms: "llama3.2" is "llama3.2:latest" and not
// "llama3.2:1b", and letters' case does not matter.
func canonical(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
	}
	base, tag := name, defaultTag
	// A colon in front of a slash is that of a registry's port.
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		base, tag = name[:i], name[i+1:]
	}
	switch strings.Count(base, "/") {
	case 0:
		base = defaultHost + "/" + defaultNamespace + "/" + base
	case 1:
		base = defaultHost + "/" + base
	}
	return base + ":" + tag
}

// same reports whether two names are one model to Ollama.
func same(a, b string) bool { return canonical(a) == canonical(b) }

// shown is a name as it may be stored: of a path, which no name of Ollama's is,
// only the last part, and nothing that can't be shown.
func shown(name string) string {
	name = wire.OneLine(name)
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || strings.HasPrefix(name, ".") {
		return path.Base(name)
	}
	return name
}
