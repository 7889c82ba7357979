package exo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// placement is one way to place a model, as exo previews it.
type placement struct {
	sharding string // "Pipeline", "Tensor"
	meta     string // "MlxRing", "MlxJaccl"
	*instance
}

// preview is an entry of GET /instance/previews.
type preview struct {
	Sharding string          `json:"sharding"`
	Meta     string          `json:"instance_meta"`
	Instance json.RawMessage `json:"instance"`
	Error    *string         `json:"error"`
}

// previews asks for every way to place a model. Each call makes new instance
// ids and ports, so the very preview that was chosen has to be posted.
func (a api) previews(ctx context.Context, model string) ([]preview, error) {
	u := a.At("/instance/previews")
	q := u.Query()
	q.Set("model_id", model)
	u.RawQuery = q.Encode()
	var body struct {
		Previews []preview `json:"previews"`
	}
	if found, err := a.read(ctx, u, &body); err != nil {
		return nil, err
	} else if !found {
		return nil, fmt.Errorf("%s knows no placements: is it an exo server?", a.Endpoint())
	}
	return body.Previews, nil
}

// placements are those of a model that the options want, in exo-bench's order.
// A cluster that has just started offers none for a while, so it is asked
// again until it has had time to settle.
func (a api) placements(ctx context.Context, model string, o Options) ([]placement, error) {
	back := newBackoff(o.settle())
	for {
		all, err := a.previews(ctx, model)
		if err != nil {
			return nil, fmt.Errorf("no placements of %s: %w", model, err)
		}
		if chosen := o.choose(all); len(chosen) > 0 {
			return chosen, nil
		}
		o.notify("no placement of %s yet%s; the cluster may still be settling", model, why(all))
		if !back.wait(ctx) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			lo, hi := o.nodes()
			return nil, fmt.Errorf("no placement of %s fits (--instance-meta %s, --sharding %s, %d to %d nodes)%s",
				model, o.wantsMeta(), o.wantsSharding(), lo, hi, why(all))
		}
	}
}

// choose filters and sorts previews as exo-bench does: by meta, sharding and
// number of nodes, as strings are ordered, the last first.
func (o Options) choose(all []preview) []placement {
	var out []placement
	for _, p := range all {
		in, ok := readInstance(p.Instance)
		if ok && p.Error == nil && o.wants(p, len(in.nodes)) {
			out = append(out, placement{p.Sharding, p.Meta, in})
		}
	}
	slices.SortStableFunc(out, func(x, y placement) int {
		return -cmp.Or(strings.Compare(x.meta, y.meta), strings.Compare(x.sharding, y.sharding), cmp.Compare(len(x.nodes), len(y.nodes)))
	})
	return out
}

// wants is exo-bench's filter. On one node tensor sharding and RDMA are
// nothing but a pipeline over a ring, so they are left out where they were
// not asked for by name.
func (o Options) wants(p preview, nodes int) bool {
	meta, sharding := o.wantsMeta(), o.wantsSharding()
	if !kindIs(p.Meta, meta, "ring", "jaccl") || !kindIs(p.Sharding, sharding, "pipeline", "tensor") {
		return false
	}
	anyJaccl := meta == both && kindIs(p.Meta, "jaccl")
	anyRing := meta == both && kindIs(p.Meta, "ring")
	anyTensor := sharding == both && kindIs(p.Sharding, "tensor")
	anyPipeline := sharding == both && kindIs(p.Sharding, "pipeline")
	switch {
	case nodes == 1 && (anyTensor || anyJaccl):
		return false
	case o.SkipPipelineJaccl && anyPipeline && anyJaccl, o.SkipTensorRing && anyTensor && anyRing:
		return false
	}
	lo, hi := o.nodes()
	return lo <= nodes && nodes <= hi
}

// why are exo's own reasons against placements, each once.
func why(all []preview) string {
	var reasons []string
	for _, p := range all {
		if p.Error != nil && !slices.Contains(reasons, *p.Error) {
			reasons = append(reasons, *p.Error)
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	return ": exo says " + strings.Join(reasons, "; ")
}
