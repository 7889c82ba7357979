package exo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"strings"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// Driver measures models on an exo cluster.
type Driver struct {
	Options Options

	dial func(ctx context.Context, network, addr string) (net.Conn, error) // nil: TCP
}

var _ collect.Driver = Driver{}

// Targets yields one target for each placement of each model of the spec, in
// exo-bench's order, or, with ReuseInstance, one for the instance that is
// there. It changes nothing in the cluster, and may wait for it to settle.
func (d Driver) Targets(ctx context.Context, spec collect.Spec) iter.Seq2[collect.Target, error] {
	return func(yield func(collect.Target, error) bool) {
		c, err := d.cluster(spec)
		if err == nil && len(spec.Models) == 0 {
			err = errors.New("exo knows many models: name the one to measure with --model")
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for _, asked := range spec.Models {
			targets, err := c.targets(ctx, asked, spec)
			if err != nil && !yield(nil, &collect.TargetError{Model: asked, Err: err}) {
				return
			}
			for _, t := range targets {
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

// cluster is the cluster that the options name.
func (d Driver) cluster(spec collect.Spec) (*cluster, error) {
	if err := d.Options.Validate(); err != nil {
		return nil, err
	}
	o := d.Options
	srv, err := wire.New(wire.Options{URL: cmp.Or(o.URL, DefaultURL()), APIKeyEnv: o.APIKeyEnv, Headers: o.Headers})
	if err != nil {
		return nil, err
	}
	srv.Base.Path = strings.TrimSuffix(srv.Base.Path, "/v1") // as clients of the OpenAI API write it
	srv.Dial = d.dial
	srv.Limit(spec.Limits().Answer(wire.ControlTimeout))
	return &cluster{api: api{srv}, opts: o}, nil
}

// targets are those of one model.
func (c *cluster) targets(ctx context.Context, asked string, spec collect.Spec) ([]*Target, error) {
	m, err := c.resolve(ctx, asked, c.opts.ForceDownload)
	if err != nil {
		return nil, err
	}
	if c.opts.ReuseInstance {
		in, err := c.existing(ctx, m.ID)
		if err != nil {
			return nil, err
		}
		if in != nil {
			c.opts.notify("the instance %s of %s is reused", in.id, m.ID)
			return []*Target{c.target(m, placement{in.sharding(), in.meta, in}, true, spec)}, nil
		}
		c.opts.notify("--reuse-instance: there is no instance of %s, so one is created", m.ID)
	}
	placements, err := c.placements(ctx, m.ID, c.opts)
	if err != nil {
		return nil, err
	}
	var out []*Target
	for _, p := range placements {
		out = append(out, c.target(m, p, false, spec))
	}
	return out, nil
}

func (c *cluster) target(m model, p placement, reused bool, spec collect.Spec) *Target {
	return &Target{
		cluster: c, model: m, placement: p, reused: reused, limits: spec.Limits(),
		plain: spec.Cache == collect.CacheServer, temperature: spec.Temperature, seed: spec.Seed,
	}
}

// existing is the first instance of a model that the cluster runs, nil where
// it runs none.
func (c *cluster) existing(ctx context.Context, model string) (*instance, error) {
	all, err := c.instances(ctx)
	if err != nil {
		return nil, fmt.Errorf("the instances of the cluster can't be asked for: %w", err)
	}
	for _, in := range all {
		if in.model == model {
			return in, nil
		}
	}
	return nil, nil
}
