package exo

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/wire"
	"tokwatt/power"
)

// TestSensors: what a node reads, under its name; what it does not read is
// missing, and never 0.
func TestSensors(t *testing.T) {
	for _, c := range []struct{ a, b, want, err string }{
		{`{"gpuUsage":0.97,"temp":58.4,"sysPower":171.3,"pcpuUsage":0.11,"ecpuUsage":0.0}`, `{"gpuUsage":0.0,"temp":41,"sysPower":20.5,"pcpuUsage":0,"ecpuUsage":0}`,
			"studio gpu_usage 0.97 ratio, studio temperature 58.4 celsius, studio power 171.3 W system, studio pcpu_usage 0.11 ratio, studio ecpu_usage 0 ratio, " +
				"mini gpu_usage 0 ratio, mini temperature 41 celsius, mini power 20.5 W system, mini pcpu_usage 0 ratio, mini ecpu_usage 0 ratio", ""},
		{`{"sysPower":0.0,"temp":0.0,"gpuUsage":null}`, `{"sysPower":30.5}`, "mini power 30.5 W system", ""},
		{"404", `{"sysPower":30.5}`, "mini power 30.5 W system", ""},
		{"404", "{}", "", "macmon"},
		{"500", `{"sysPower":30.5}`, "mini power 30.5 W system", ""},
		{"500", "[]", "", "can't be asked"},
		{`{"sysPower":"x"}`, "404", "", "can't be asked"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := map[string]string{"/state/nodeSystem/a": c.a, "/state/nodeSystem/b": c.b}[r.URL.Path]
			switch body {
			case "404", "":
				http.Error(w, "{}", http.StatusNotFound)
			case "500":
				http.Error(w, "oh", http.StatusInternalServerError)
			default:
				fmt.Fprint(w, body)
			}
		}))
		w, err := wire.New(wire.Options{URL: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		var s power.Source = sensors{&cluster{api: api{w}, names: map[string]string{"a": "studio", "b": "mini"}}, []string{"a", "b"}}
		begun := time.Now()
		got, err := s.Read(t.Context())
		var parts []string
		for _, x := range got {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %g %s %s", x.Node, x.Metric, x.Value, x.Unit, x.Scope)))
			if x.Source != "exo" || !x.Start.IsZero() || x.End.Before(begun) || x.End.After(time.Now()) {
				t.Errorf("%+v", x)
			}
		}
		if g := strings.Join(parts, ", "); g != c.want {
			t.Errorf("%s and %s:\ngot  %s\nwant %s", c.a, c.b, g, c.want)
		}
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s and %s: %v", c.a, c.b, err)
		}
		if s.OnDemand() || s.Close() != nil {
			t.Error("readings are up to a second old, and nothing is to be ended")
		}
		missing := 0
		for _, ch := range s.Probe(t.Context()) {
			if ch.Missing != "" {
				missing++
			}
			if (ch.Missing == "") != (ch.Note == "") || ch.Refresh != time.Second || ch.Source != "exo" || ch.Unit == "" {
				t.Errorf("%+v", ch)
			}
		}
		if missing != 10-len(got) {
			t.Errorf("%s and %s: %d channels are missing, %d were read", c.a, c.b, missing, len(got))
		}
		srv.Close()
	}
}

// TestSources: the nodes of the instance, and not those of the cluster.
func TestSources(t *testing.T) {
	bubble(t, []string{"studio", "mini"}, func(t *testing.T, f *fake) {
		tg, e := opened(t, f, Options{MaxNodes: 1}, collect.Spec{})
		all := e.Sources()
		got, err := all[0].Read(t.Context())
		if len(all) != 1 || all[0].Name() != "exo" || err != nil || len(got) != 5 || got[0].Node != "studio" {
			t.Errorf("%+v, %v", got, err)
		}
		tg.Close(t.Context())
	})
}
