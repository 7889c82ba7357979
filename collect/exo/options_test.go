package exo

import (
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	for _, o := range []Options{{}, {InstanceMeta: "ring", Sharding: "tensor", MinNodes: 2, MaxNodes: 2}, {InstanceMeta: "both", Sharding: "both", MinNodes: 4}} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for words, o := range map[string]Options{
		"--instance-meta MlxRing":             {InstanceMeta: "MlxRing"},
		"--sharding data":                     {Sharding: "data"},
		"--min-nodes -1":                      {MinNodes: -1},
		"--max-nodes -1":                      {MaxNodes: -1},
		"--min-nodes 5 is over --max-nodes 4": {MinNodes: 5},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v: %v, want %s", o, err, words)
		}
	}
	err := Options{InstanceMeta: "x", Sharding: "y", MinNodes: 3, MaxNodes: 2}.Validate()
	if n := strings.Count(err.Error(), "\n") + 1; n != 3 {
		t.Errorf("%d faults in %v, want all 3", n, err)
	}
}

func TestDefaultURL(t *testing.T) {
	for _, c := range []struct{ host, port, want string }{
		{"", "", "http://localhost:52415"}, {"10.0.0.5", "", "http://10.0.0.5:52415"}, {"", "99", "http://localhost:99"}, {"::1", "99", "http://[::1]:99"},
	} {
		t.Setenv("EXO_HOST", c.host)
		t.Setenv("EXO_PORT", c.port)
		if got := DefaultURL(); got != c.want {
			t.Errorf("%q %q gives %s", c.host, c.port, got)
		}
	}
}
