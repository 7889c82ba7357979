package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v3"

	"tokwatt/collect/find"
	"tokwatt/collect/openai"
	"tokwatt/mlx/engine"
	"tokwatt/mlx/model"
)

// askVersion bounds the one token by which some servers tell their version.
const askVersion = 20 * time.Second

func (a *app) engines() *cli.Command {
	return &cli.Command{
		Name:  "engines",
		Usage: "what answers on this host, its models, and what it can do",
		Description: `Looks at the ports ` + portList(find.Ports()) + `
as collect does without --url, and sends nothing but GET requests; then come the
engines of this process, MLX where its library is found. With --url
it also asks for one token where only an answer tells the server's version.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "url", Usage: "`URL` ask this server only"},
			&cli.StringFlag{Name: "engine", Usage: "`NAME` show only engines of this name"},
			&cli.StringFlag{Name: "library", Usage: libraryUsage},
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
			if err := checkKeyEnv(cmd.String("api-key-env")); err != nil {
				return err
			}
			url := cmd.String("url")
			if url == "" {
				rows := rowsOf(find.Local(ctx)...)
				mlx, err := ownMLX(ctx, cmd.String("library"))
				if err != nil && (cmd.String("library") != "" || cmd.String("engine") == "mlx") {
					return &coded{exitNothing, err}
				}
				return a.showEngines(cmd, append(append(rows, mlx...), embedded()))
			}
			o := openai.Options{URL: url, APIKeyEnv: cmd.String("api-key-env")}
			found := find.At(ctx, o)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(found.Err, context.DeadlineExceeded):
				return &coded{exitNothing, fmt.Errorf("%s has not answered in time: it is busy, or no server of models; try again, or give another --url", found.URL)}
			case found.Err != nil:
				return &coded{exitNothing, found.Err}
			}
			if found.Version == "" {
				ctx, cancel := context.WithTimeout(ctx, askVersion)
				defer cancel()
				found.Version = openai.Version(ctx, o)
			}
			return a.showEngines(cmd, rowsOf(found))
		},
	}
}

// portList names ports, runs of them shortened, in lines that fit a screen.
func portList(ports []int) string {
	var words []string
	for i := 0; i < len(ports); i++ {
		last := i
		for last+1 < len(ports) && ports[last+1] == ports[last]+1 {
			last++
		}
		word := fmt.Sprint(ports[i])
		if last > i {
			word += fmt.Sprintf("-%d", ports[last])
		}
		words = append(words, word)
		i = last
	}
	return strings.Join(words, ", ") + ","
}

// engineRow is an engine as --json prints it; nil is not known.
type engineRow struct {
	URL     string   `json:"url"`
	Engine  string   `json:"engine"`
	Driver  string   `json:"driver"` // for --engine
	Version string   `json:"version"`
	Models  []string `json:"models"`
	Loaded  []string `json:"loaded"` // in memory
	Usage   *bool    `json:"usage"`
	Cached  *bool    `json:"cached_tokens"`
	Timings *bool    `json:"timings"`
	EOSBan  *bool    `json:"eos_ban"`
	EOSBy   string   `json:"eos_ban_by"`
	Counted *bool    `json:"eos_counted"` // the end token is one of completion_tokens
	Cold    string   `json:"cold_method"`
	Seed    *bool    `json:"seed"`
	Streams *int64   `json:"streams"`           // requests that run at once
	Library string   `json:"library,omitempty"` // of MLX in process
	Device  string   `json:"device,omitempty"`  // "gpu" or "cpu", of MLX in process
}

func rowsOf(found ...find.Found) []engineRow {
	rows := []engineRow{}
	for _, f := range found {
		rows = append(rows, engineRow{
			URL: f.URL, Engine: f.Engine, Driver: f.Driver, Version: f.Version, Models: f.Models, Loaded: f.Loaded,
			Usage: f.Usage, Cached: f.Cached, Timings: f.Timings, EOSBan: f.EOSBan, EOSBy: f.EOSBy, Counted: f.EOSCounted,
			Cold: f.Cold, Seed: f.Seed, Streams: f.Streams,
		})
	}
	return rows
}

// embedded is the engine that is always there.
func embedded() engineRow {
	r := engineRow{
		Engine: "reference", Driver: "reference", Version: toolVersion(), Usage: value(true), Cached: value(true), Timings: value(true),
		EOSBan: value(true), EOSBy: "engine", Cold: "engine",
	}
	for _, s := range model.Shapes() {
		r.Models = append(r.Models, model.SyntheticPrefix+s.Name)
	}
	return r
}

// ownMLX is MLX in process: what the reference engine can do, by its library.
func ownMLX(ctx context.Context, library string) ([]engineRow, error) {
	info, err := engine.Probe(ctx, library)
	if err != nil {
		return nil, err
	}
	r := embedded()
	r.Engine, r.Driver, r.Version, r.Library, r.Device = "mlx", "mlx", "MLX "+info.Version, info.Library, info.Device
	return []engineRow{r}, nil
}

// showEngines prints the engines, those of one name where --engine asks so.
func (a *app) showEngines(cmd *cli.Command, rows []engineRow) error {
	if name := cmd.String("engine"); name != "" {
		rows = slices.DeleteFunc(rows, func(r engineRow) bool { return r.Engine != name && r.Driver != name })
		if len(rows) == 0 {
			return &coded{exitNothing, fmt.Errorf("no engine %q answers: tokwatt engines shows what does", name)}
		}
	}
	if cmd.Bool("json") {
		return a.printJSON(rows)
	}
	for i, r := range rows {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		where := r.URL
		if where == "" {
			where = "in process: --engine " + r.Driver
		}
		fmt.Fprintln(a.out, strings.Join(slices.DeleteFunc([]string{r.Engine, r.Version, where}, func(s string) bool { return s == "" }), "  "))
		if r.Library != "" {
			a.about("library", r.Library+", on the "+r.Device)
		}
		a.about("models", few(r.Models))
		if r.Loaded != nil {
			a.about("in memory", few(r.Loaded))
		}
		a.about("tells", fmt.Sprintf("token counts: %s, cached tokens: %s, own timings: %s", known(r.Usage), known(r.Cached), known(r.Timings)))
		a.about("cold cache", r.Cold)
		a.about("EOS ban", banned(r))
	}
	return nil
}

// about prints one fact of an engine, in lines that fit a screen.
func (a *app) about(what, is string) {
	const indent, width = 14, 80
	for i, line := range strings.Split(text.WrapSoft(is, width-indent), "\n") {
		if i > 0 {
			what = ""
		}
		fmt.Fprintf(a.out, "  %-*s%s\n", indent-2, what, strings.TrimRight(line, " "))
	}
}

// few are the first of many names.
func few(names []string) string {
	const most = 12
	if len(names) == 0 {
		return "none"
	}
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

func banned(r engineRow) string {
	switch {
	case r.EOSBy == "":
		return known(r.EOSBan)
	case r.EOSBy == "logit_bias" || r.EOSBy == "logit_bias_unverified":
		return r.EOSBy + ", with the model's files (--tokenizer)"
	}
	return r.EOSBy
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
		rows = append(rows, row{model.SyntheticPrefix + s.Name, s.Config.Parameters(), s.Config.WeightBytes()})
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
