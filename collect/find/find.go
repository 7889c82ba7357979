// Package find looks for engines that run on this host.
package find

import (
	"context"
	"fmt"
	"slices"

	"tokwatt/collect/openai"
)

// ports are where servers listen unless told otherwise: llama.cpp and mlx_lm
// 8080, vLLM and llama_cpp.server 8000, LM Studio 1234, Ollama 11434, SGLang
// 30000, exo 52415.
var ports = []int{8080, 8000, 1234, 11434, 30000, 52415, 8081, 10240}

// Found is what answers at an address.
type Found struct {
	openai.Found
	Driver string // package that measures it: "openai", "ollama", "exo"
}

// Local are the engines that run on this host, in the order of the ports.
func Local(ctx context.Context) []Found {
	var urls []string
	for _, p := range ports {
		urls = append(urls, fmt.Sprintf("http://127.0.0.1:%d", p))
	}
	var out []Found
	for _, f := range openai.Find(ctx, openai.Options{}, urls...) {
		out = append(out, Found{f, "openai"})
	}
	return slices.DeleteFunc(out, func(f Found) bool { return f.Err != nil })
}

// At is what answers at the options' URL; the OpenAI driver where nothing does.
func At(ctx context.Context, o openai.Options) Found {
	return Found{openai.Find(ctx, o, o.URL)[0], "openai"}
}
