package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/collect/openai"
	"tokwatt/mlx/model"
)

// localPorts are where servers listen unless told otherwise: llama.cpp and
// mlx_lm 8080, vLLM and llama_cpp.server 8000, LM Studio 1234, Ollama 11434,
// SGLang 30000, exo 52415.
var localPorts = []int{8080, 8000, 1234, 11434, 30000, 52415, 8081, 10240}

// localServers are the servers that run on this host.
func localServers(ctx context.Context) []openai.Found {
	var urls []string
	for _, p := range localPorts {
		urls = append(urls, fmt.Sprintf("http://127.0.0.1:%d", p))
	}
	return slices.DeleteFunc(openai.Find(ctx, openai.Options{}, urls...), func(f openai.Found) bool { return f.Err != nil })
}

func (a *app) engines() *cli.Command {
	return &cli.Command{
		Name:  "engines",
		Usage: "what answers on this host, its models, and what it can do",
		Description: `Looks at the ports 8080, 8081, 8000, 1234, 11434, 30000, 52415 and 10240, as
collect does without --url.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "url", Usage: "`URL` ask this server only"},
			&cli.StringFlag{Name: "api-key-env", Usage: "`NAME` the variable that holds the API key"},
			&cli.BoolFlag{Name: "shapes", Usage: "the synthetic models of the embedded engine instead"},
			jsonFlag(),
		},
		Metadata: examples("tokwatt engines --shapes", "tokwatt engines --shapes --json"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArgs(cmd); err != nil {
				return err
			}
			if cmd.Bool("shapes") {
				return a.shapes(cmd)
			}
			url := cmd.String("url")
			if url == "" {
				return a.showEngines(cmd, localServers(ctx))
			}
			found := openai.Find(ctx, openai.Options{APIKeyEnv: cmd.String("api-key-env")}, url)
			if err := found[0].Err; err != nil {
				return &coded{exitNothing, err}
			}
			return a.showEngines(cmd, found)
		},
	}
}

// engineRow is an engine as --json prints it; nil is not known.
type engineRow struct {
	URL     string   `json:"url"`
	Engine  string   `json:"engine"`
	Version string   `json:"version"`
	Models  []string `json:"models"`
	Usage   *bool    `json:"usage"`
	Cached  *bool    `json:"cached_tokens"`
	Timings *bool    `json:"timings"`
	EOSBan  *bool    `json:"eos_ban"`
}

// showEngines prints the servers found, and the embedded engine, which is
// always there.
func (a *app) showEngines(cmd *cli.Command, found []openai.Found) error {
	rows := []engineRow{}
	for _, f := range found {
		rows = append(rows, engineRow{f.URL, f.Engine, f.Version, f.Models, f.Usage, f.Cached, f.Timings, f.EOSBan})
	}
	if cmd.String("url") == "" {
		var shapes []string
		for _, s := range model.Shapes() {
			shapes = append(shapes, model.SyntheticPrefix+s.Name)
		}
		rows = append(rows, engineRow{"", "reference", toolVersion(), shapes, value(true), value(true), value(true), value(true)})
	}
	if cmd.Bool("json") {
		return a.printJSON(rows)
	}
	for _, r := range rows {
		where := r.URL
		if where == "" {
			where = "in process: --engine reference"
		}
		fmt.Fprintf(a.out, "%s %s  %s\n", r.Engine, r.Version, where)
		fmt.Fprintf(a.out, "  models   %s\n", strings.Join(r.Models, ", "))
		fmt.Fprintf(a.out, "  tells    token counts: %s, cached tokens: %s, own timings: %s\n", known(r.Usage), known(r.Cached), known(r.Timings))
		fmt.Fprintf(a.out, "  EOS ban  %s\n", known(r.EOSBan))
	}
	return nil
}

func known(b *bool) string {
	switch {
	case b == nil:
		return "unknown"
	case *b:
		return "yes"
	}
	return "no"
}

// shapes lists the synthetic models and the memory that their weights take.
func (a *app) shapes(cmd *cli.Command) error {
	type row struct {
		Name   string `json:"name"`
		Params int64  `json:"parameters"`
		Bytes  int64  `json:"weight_bytes"`
	}
	var rows []row
	for _, s := range model.Shapes() {
		b := s.Config.WeightBytes()
		rows = append(rows, row{model.SyntheticPrefix + s.Name, b / 4, b})
	}
	if cmd.Bool("json") {
		return a.printJSON(rows)
	}
	t := newTable(a.out, "model", "million parameters", "MiB of weights")
	rightAligned(t, 2, 3)
	for _, r := range rows {
		t.AppendRow([]any{r.Name, sig(float64(r.Params) / 1e6), sig(float64(r.Bytes) / (1 << 20))})
	}
	t.Render()
	return nil
}
