package find

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"tokwatt/collect/ollama"
	"tokwatt/collect/openai"
)

// Found is what answers at an address.
type Found struct {
	openai.Found
	Driver string // package that measures it: "openai", "ollama", "exo"
}

// Ports are where servers listen unless told otherwise, ascending: LM Studio
// 1234; oMLX, vLLM, vllm-mlx, vMLX, Rapid-MLX and llama_cpp.server from 8000
// on; llama.cpp and mlx_lm from 8080 on; mlx-omni-server 10240; Ollama 11434;
// SGLang 30000; exo 52415.
func Ports() []int {
	return []int{1234, 8000, 8001, 8002, 8003, 8004, 8005, 8006, 8007, 8008, 8009, 8080, 8081, 8082, 10240, 11434, 30000, 52415}
}

// knock bounds the wait for a connection on this host, where one stands within
// microseconds unless the other side is out of room.
const knock = 150 * time.Millisecond

// Local are the engines that run on this host, in the order of the ports. Each
// server is found once, under the driver that knows it best.
func Local(ctx context.Context) []Found { return at(ctx, Ports()) }

func at(ctx context.Context, ports []int) []Found {
	all := make([]Found, len(ports))
	var wg sync.WaitGroup
	for i, p := range ports {
		wg.Go(func() {
			addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(p))
			if err := reach(ctx, addr); err != nil {
				all[i].Err = err
				return
			}
			all[i] = At(ctx, openai.Options{URL: "http://" + addr})
		})
	}
	wg.Wait()
	return slices.DeleteFunc(all, func(f Found) bool { return f.Err != nil })
}

func reach(ctx context.Context, addr string) error {
	conn, err := (&net.Dialer{Timeout: knock}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}

// At is what answers at the options' URL. Where nothing does, or nothing that
// is known, the driver is "openai"; Err says what is wrong.
func At(ctx context.Context, o openai.Options) Found {
	var (
		plain   openai.Found
		native  ollama.Found
		cluster cluster
	)
	var wg sync.WaitGroup
	wg.Go(func() { plain = openai.Find(ctx, o, o.URL)[0] })
	wg.Go(func() {
		native = ollama.Find(ctx, ollama.Options{APIKeyEnv: o.APIKeyEnv, Headers: o.Headers}, o.URL)[0]
	})
	wg.Go(func() { cluster = askExo(ctx, o) })
	wg.Wait()
	return weigh(cluster, native, plain)
}

// weigh says what a server is that was looked at in three ways. exo imitates
// the other two; whoever else answers as Ollama does must also be taken for it
// by its OpenAI side, since engines of that family imitate it.
func weigh(c cluster, native ollama.Found, plain openai.Found) Found {
	switch {
	case c.found:
		return Found{c.as(plain), engineExo}
	case native.Err == nil && plain.Engine == engineOllama:
		return Found{asOllama(native, plain), engineOllama}
	}
	return Found{plain, "openai"}
}

// Engines that have a driver of their own name.
const (
	engineExo    = "exo"
	engineOllama = "ollama"
)

var yes, no = true, false

// asOllama is an Ollama by its native API: durations and counts of its own,
// cached ones among them since a version that does not say so, and nothing
// that keeps the model from ending.
func asOllama(f ollama.Found, plain openai.Found) openai.Found {
	loaded := append([]string{}, f.Loaded...)
	return openai.Found{
		URL: f.URL, Engine: engineOllama, Version: f.Version, Models: f.Models, Loaded: loaded,
		Usage: &yes, Timings: &yes, EOSBan: &no, Cold: "nonce", Seed: plain.Seed,
	}
}
