package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/urfave/cli/v3"

	"tokwatt/collect/host"
	"tokwatt/mlx/engine"
	endpoint "tokwatt/mlx/serve"
	sensors "tokwatt/power/local"
)

// defaultListen is where exo listens, too, so that its clients need no flag.
const defaultListen = "127.0.0.1:52415"

func (a *app) serve() *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "exo's bench endpoint over the engine of this process",
		Description: `Answers exo's bench client and clients of the OpenAI API until it is ended.
Requests that are alike and come together run as one batch of 8 at most; the
others wait their turn, and from 64 on are refused with 503. The likeliest token
is taken whatever temperature is sent; caches are cold unless a request asks for
the prefix cache.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "engine", Usage: "`NAME` auto, mlx or reference (auto: MLX where it has a GPU)", Value: "auto"},
			&cli.StringFlag{Name: "model", Usage: "`ID` or a folder or synthetic:SHAPE (synthetic:tiny)", Value: engine.DefaultModel},
			&cli.StringFlag{Name: "library", Usage: libraryUsage},
			&cli.StringFlag{Name: "listen", Usage: "`HOST:PORT` (127.0.0.1:52415) what others reach needs a token", Value: defaultListen},
			&cli.StringFlag{Name: "token-env", Usage: "`NAME` the variable with the token that requests must bear"},
			&cli.StringFlag{Name: "log", Usage: "`FILE` gets a line of JSON a request"},
		},
		Metadata: examples("tokwatt serve --model synthetic:tiny --log requests.jsonl", "tokwatt serve --engine mlx --model org/model-4bit", "tokwatt serve --listen 0.0.0.0:52415 --token-env TOKWATT_TOKEN"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArgs(cmd); err != nil {
				return err
			}
			token, err := serveToken(cmd)
			if err != nil {
				return err
			}
			return a.runServer(ctx, cmd, token)
		},
	}
}

// serveToken is the token that the flags ask for. An address that others can
// reach needs one.
func serveToken(cmd *cli.Command) (string, error) {
	name, listen := cmd.String("token-env"), cmd.String("listen")
	if _, _, err := net.SplitHostPort(listen); err != nil {
		return "", usagef("--listen %s: must be HOST:PORT, such as %s", listen, defaultListen)
	}
	if name == "" && !endpoint.Loopback(listen) {
		return "", usagef("--listen %s: others can reach this address, so it needs a token: name the variable that holds one with --token-env", listen)
	}
	if name == "" {
		return "", nil
	}
	token := os.Getenv(name)
	if token == "" {
		return "", usagef("--token-env %s: this variable is not set", name)
	}
	return token, nil
}

// serveEngine fills in who computes, said is whom auto took.
func serveEngine(ctx context.Context, cmd *cli.Command, o *endpoint.Options) (said string, err error) {
	name, library := cmd.String("engine"), cmd.String("library")
	switch name {
	case "mlx":
		o.Load.Backend = engine.MLX
	case "reference":
		if library != "" {
			return "", usagef("--library is about MLX: it needs --engine mlx")
		}
	case "auto":
		backend, what, err := likelyBackend(ctx, library)
		if err != nil {
			return "", &coded{exitNothing, err}
		}
		o.Load.Backend = backend
		said = "computing with " + what
	default:
		return "", usagef("there is no engine %q to serve with: take auto, mlx or reference", name)
	}
	o.Load.Library = library
	return said, nil
}

func (a *app) runServer(ctx context.Context, cmd *cli.Command, token string) error {
	tell := func(text string) { fmt.Fprintln(a.err, harmless(text)) }
	o := endpoint.Options{Token: token, Version: toolVersion(), Node: thisNode(ctx), Notify: tell}
	said, err := serveEngine(ctx, cmd, &o)
	if err != nil {
		return err
	}
	model := cmd.String("model")
	if err := serveModel(ctx, model, &o); err != nil {
		return usagef("--model %s: %w", model, err)
	}
	if path := cmd.String("log"); path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return usagef("--log: %w", err)
		}
		defer f.Close()
		o.Log = f
	}
	ln, err := net.Listen("tcp", cmd.String("listen"))
	if err != nil {
		return usagef("--listen: %w: choose another address", err)
	}
	defer ln.Close()
	if said != "" {
		tell(said)
	}
	sources, err := openSensors(ctx, options{}, func(format string, args ...any) { tell(fmt.Sprintf(format, args...)) })
	if err != nil {
		return err
	}
	defer sensors.Close(sources)
	if meter := newServeMeter(ctx, sources); meter != nil {
		o.Meter = meter
		defer meter.close()
	} else {
		tell("no power can be read here, so power_usage has no nodes; `tokwatt power --once` says why")
	}
	return a.serveUntil(ctx, ln, o)
}

// serveUntil serves until ctx ends.
func (a *app) serveUntil(ctx context.Context, ln net.Listener, o endpoint.Options) error {
	s, err := endpoint.New(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return &coded{code: exitInterrupted}
		}
		return &coded{exitNothing, err}
	}
	fmt.Fprintf(a.out, "serving %s at http://%s\n", s.Model(), ln.Addr())
	err = s.Serve(ctx, ln)
	if ctx.Err() != nil {
		return &coded{code: exitInterrupted, err: err}
	}
	return err
}

// thisNode is what the server says of this machine.
func thisNode(ctx context.Context) endpoint.Node {
	h := host.Describe(ctx)
	n := endpoint.Node{Name: h.Name, Model: h.Model, Chip: h.Chip, OS: h.OSName, OSVersion: h.OSVersion}
	if h.RAMBytes != nil {
		n.RAM = *h.RAMBytes
	}
	return n
}
