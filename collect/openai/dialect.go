package openai

import (
	"regexp"
	"slices"
	"strings"

	"tokwatt/collect"
)

// dialect is what is known of an engine beyond the common API. The zero value
// is a server that nobody knows.
type dialect struct {
	engine string
	signs  []sign // any one of them tells it

	// ban are the fields that keep the model from ending, sent together.
	ban []field
	// proven: the ban was seen to hold, or the engine documents that it does.
	// Elsewhere that the field is taken proves nothing.
	proven bool
	// cold is the field that turns the prefix cache off for one request;
	// empty: there is none, so prompts need a front of their own.
	cold field
	// since is the first version that has cold: older ones drop the field
	// without a word. Empty: all have it.
	since string
	// seed: two requests with one seed give equal texts.
	seed *bool

	// What an answer tells; nil where it is not known or depends on how the
	// server was started.
	usage   *bool // token counts in a stream, when asked for
	cached  *bool // cached tokens among them
	timings *bool // durations or rates of its own
	eos     *bool // the end token is counted as a generated one

	version     []place // where it tells its version, the first that does
	fingerprint bool    // the version begins each answer's system_fingerprint
	slots       place   // how many requests it runs at once
	streams     *int64  // the same where it is a constant
	format      string  // of all its models
	catalog     string  // a model list beside the API that says more
	inMemory    place   // the names of the models that are in memory
	resident    bool    // it lists only models that are
	anonymous   string  // the id of the model it was started with, never listed

	mark  string   // what only its answers have
	never []string // what none of them has

	// Of one server, once it has answered: see weighed.
	unsure     bool // it could be another engine that looks alike
	tellsCache bool // it says how much of a prompt it had in its cache
}

// field is a field of a request that not every server takes.
type field string

const (
	ignoreEOS     field = "ignore_eos"
	minTokens     field = "min_tokens"
	logitBias     field = "logit_bias"
	cachePrompt   field = "cache_prompt"
	cacheSalt     field = "cache_salt"
	seedField     field = "seed"
	streamOptions field = "stream_options"
	temperature   field = "temperature"
)

// method is how a cold request is stored.
func (f field) method() string {
	if f == cachePrompt {
		return "cache_prompt=false"
	}
	return string(f)
}

// sign is something that a server does. All that is set must hold. The entry of
// the model that is measured decides, since a gateway lists models of several
// engines; all of the list do where there is none.
type sign struct {
	owner   string // owned_by in the model list
	sole    bool   // entries have no owned_by of another engine or of none
	noOwner bool   // entries of the model list have no owned_by
	typed   bool   // they have a compatibility_type
	permits bool   // they have permissions
	header  string // a header of the answer to GET /models,
	value   string // what it is,
	prefix  string // or how it begins
	not     string // how the header Server does not begin
	at      place  // what a GET tells,
	says    string // and how that begins
}

// place is where a GET tells something: a header of the model list, or a path
// beside the API and a key of the JSON object there; without a key, the text.
type place struct{ header, path, key string }

var (
	yes, no = true, false
	one     = int64(1)
	eight   = int64(8)
)

// dialects are the engines that are known. Facts: recorded answers of
// llama-server, llama_cpp.server 0.3.36 and mlx_lm.server 0.32.2
// (testdata/transcripts); the rest is said with each row. What was not seen
// running is from what the project publishes. nil where none of that says it.
//
// A new row needs an entry in the tests' fingerprints, which are held against
// every row.
var dialects = []dialect{
	{
		// exo's API source: owned_by of its model cards, statistics as comments
		// of a stream, eight requests at once. The plain endpoint has no ban and
		// no switch for the cache: collect/exo takes the bench endpoint.
		engine: "exo", signs: []sign{{owner: "exo"}},
		usage: &yes, cached: &yes, timings: &yes, streams: &eight, format: "mlx",
	},
	{
		// tokwatt's own server, package mlx/serve: rates are the engine's, and
		// nothing is cached unless the request asks for it.
		engine: "tokwatt", signs: []sign{{owner: "tokwatt"}},
		ban: []field{ignoreEOS}, proven: true, cold: cachePrompt, seed: &yes,
		usage: &yes, cached: &yes, timings: &yes, eos: &no, streams: &eight,
		version: []place{{path: "/version", key: "version"}},
	},
	{
		// LM Studio's documentation: /api/v0/models has compatibility_type,
		// quantization and state; stats in whole answers, not in streams
		// (lmstudio-js issue 320). logit_bias is among the documented
		// parameters, but nothing says that it can keep the end token out.
		engine: "lmstudio",
		signs:  []sign{{header: "X-Lm-Studio-Version"}, {owner: "organization_owner"}, {typed: true}},
		ban:    []field{logitBias}, timings: &yes,
		version: []place{{header: "X-Lm-Studio-Version"}, {path: "/lms/version", key: "version"}},
		catalog: "/api/v0/models",
	},
	{
		// Recorded; ignore_eos bans every end token that the model's file names,
		// and min_tokens is not taken.
		engine: "llama.cpp",
		signs:  []sign{{header: "Server", value: "llama.cpp", sole: true}, {owner: "llamacpp"}},
		ban:    []field{ignoreEOS}, proven: true, cold: cachePrompt, seed: &yes,
		usage: &yes, cached: &yes, timings: &yes, eos: &yes,
		version: []place{{path: "/props", key: "build_info"}}, slots: place{path: "/props", key: "total_slots"},
		format: "gguf", resident: true, mark: `"prompt_per_second":`,
	},
	{
		// Recorded; ignore_eos is not taken. min_tokens holds back one end
		// token, the bias all of them.
		engine: "llama_cpp.server", signs: []sign{{header: "Server", value: "uvicorn", owner: "me", permits: true}},
		ban: []field{logitBias, minTokens}, proven: true, seed: &no,
		usage: &no, cached: &no, timings: &no, eos: &no, streams: &one, format: "gguf",
		never: []string{`"system_fingerprint":"`, `"timings":`},
	},
	{
		// Recorded; neither ignore_eos nor min_tokens is taken. Many servers in
		// Python look like it until they answer: each answer has its fingerprint.
		engine: "mlx_lm",
		signs:  []sign{{header: "Server", prefix: "BaseHTTP/", noOwner: true, at: place{path: "/health", key: "status"}, says: "ok"}},
		ban:    []field{logitBias}, proven: true, seed: &yes,
		usage: &yes, cached: &yes, timings: &no, eos: &yes,
		fingerprint: true, format: "mlx", anonymous: "default_model",
	},
	{
		// Seen running, 0.6.0: the bias held, ignore_eos and min_tokens are not
		// taken, a seed changes nothing; one answer counts 8 tokens as a stream
		// and 7 whole. Older versions drop the bias, and none tells its version.
		engine: "vllm-mlx", signs: []sign{{owner: "vllm-mlx"}},
		ban: []field{logitBias}, seed: &no,
		usage: &yes, cached: &no, timings: &no, format: "mlx",
	},
	{
		// Seen running, 1.6.81: the bias held, ignore_eos and min_tokens are not
		// taken. Versions of May 2026 drop the bias (their source), and none
		// tells its version. Cached tokens where the model's cache has any. It
		// imitates Ollama, whose version it makes up.
		engine: "vmlx", signs: []sign{{owner: "vmlx-engine"}, {owner: "vmlx"}},
		ban: []field{logitBias}, seed: &yes,
		usage: &yes, timings: &no, eos: &yes, format: "mlx",
	},
	{
		// Source of jundot/omlx (api/openai_models.py, server.py): no field
		// against the end token; seed "best effort"; rates in usage, of a rule
		// that is not stated.
		engine: "omlx", signs: []sign{{owner: "omlx"}},
		usage: &yes, cached: &yes, timings: &yes,
		version: []place{{path: "/api/status", key: "version"}, {path: "/admin/info", key: "version"}},
		format:  "mlx", inMemory: place{path: "/api/status", key: "loaded_models"},
	},
	{
		// Seen running, 0.16.10: a bias is answered with 400, ignore_eos and
		// min_tokens are not taken. Its metrics are two times in milliseconds.
		engine: "rapid-mlx", signs: []sign{{owner: "rapid-mlx"}}, seed: &yes,
		usage: &yes, cached: &yes, timings: &yes, eos: &yes, format: "mlx",
	},
	{
		// vLLM's documentation of extra parameters; cache_salt came with pull
		// request 17045, in 0.9.0. Cached tokens only with
		// --enable-prompt-tokens-details.
		engine: "vllm", signs: []sign{{owner: "vllm"}},
		ban: []field{ignoreEOS}, proven: true, cold: cacheSalt, since: "0.9.0", seed: &yes,
		usage: &yes, timings: &no,
		version: []place{{path: "/version", key: "version"}}, resident: true,
	},
	{
		// Source of sgl-project/sglang (entrypoints/openai/protocol.py). It has a
		// cache_salt too, but no version says since when. Cached tokens only with
		// --enable-cache-report.
		engine: "sglang", signs: []sign{{owner: "sglang"}},
		ban: []field{ignoreEOS}, proven: true,
		usage: &yes, timings: &no,
		version: []place{{path: "/server_info", key: "version"}, {path: "/get_server_info", key: "version"}}, resident: true,
	},
	{
		// Ollama's documentation of its OpenAI compatibility lists no field
		// against the end token (issue 12065); what it tells of durations only
		// the native API does, which collect/ollama takes. Others imitate it, on
		// servers written in Python.
		engine: "ollama", signs: []sign{{at: place{path: "/"}, says: "Ollama is running", not: "uvicorn"}},
		seed: &yes, usage: &yes, timings: &no,
		version: []place{{path: "/api/version", key: "version"}},
	},
}

// Unbannable lists the engines that are known to take nothing on this API that
// keeps a model from ending.
func Unbannable() []string {
	var out []string
	for _, d := range dialects {
		if len(d.ban) == 0 {
			out = append(out, d.engine)
		}
	}
	return out
}

// unknownEngine is stored where the wire does not tell.
const unknownEngine = "openai"

// unknown is what is sent to a server that fits no row: both of the fields by
// which most servers can be kept from ending, less those that it refuses when
// probed. That it takes them proves nothing. No cold field is sent: a front
// of its own makes every prompt cold.
var unknown = dialect{engine: unknownEngine, ban: []field{ignoreEOS, logitBias}}

// weighed is the dialect with what the server's version, empty where it tells
// none, and the answer to a probe say of it. An engine that tells its version,
// and here does not, may be another one behind the same name.
func (d dialect) weighed(version, answer string) dialect {
	tells := len(d.version) > 0 || d.fingerprint
	d.unsure = tells && version == "" && (d.mark == "" || !strings.Contains(answer, d.mark))
	d.tellsCache = cachedCount.MatchString(answer)
	return d
}

// cachedCount is a count of cached tokens in an answer.
var cachedCount = regexp.MustCompile(`"(cached_tokens|cache_n)":\s*[0-9]`)

// disproved reports whether no server of this engine gives such an answer.
// What is no answer of a model proves nothing.
func (d dialect) disproved(answer string) bool {
	if !strings.Contains(answer, `"choices"`) {
		return false
	}
	return d.fingerprint && fingerprinted(answer) == "" ||
		slices.ContainsFunc(d.never, func(s string) bool { return strings.Contains(strings.ReplaceAll(answer, `": `, `":`), s) })
}

// abilities says how requests with these wishes meet the protocol's. A switch
// for the cache that an engine may not have, and that nothing would show to
// fail, is none: it is sent, and prompts get fronts of their own all the same.
func (d dialect) abilities(w wishes) collect.Abilities {
	var a collect.Abilities
	if !d.unsure || d.tellsCache {
		a.ColdMethod = w.cold.method()
	}
	for _, f := range w.ban {
		if a.EOSBan != "" {
			a.EOSBan += "+"
		}
		a.EOSBan += string(f)
	}
	if a.EOSBan != "" && (!d.proven || d.unsure) {
		a.EOSBan += "_unverified"
	}
	return a
}

// wishes are those of w that this engine has a field for, at that version.
func (d dialect) wishes(w wishes, version string) wishes {
	if !w.keepOn {
		w.ends = nil
	}
	for _, f := range d.ban {
		if w.keepOn && (f != logitBias || len(w.ends) > 0) {
			w.ban = append(w.ban, f)
		}
	}
	if w.fresh && atLeast(version, d.since) {
		w.cold = d.cold
	}
	if w.reuse && d.cold == cachePrompt {
		w.warm = cachePrompt
	}
	return w
}
