package exchange

import (
	"cmp"
	"errors"
	"net/url"
	"path"
	"strings"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// facts reads the small tables, and of the large ones what a case or a target
// is only told by. The end is nil of a session whose process died.
func (d *datasetReader) facts() (*collect.End, error) {
	var end *collect.End
	running := false
	err := errors.Join(
		d.each("sessions", func(r row) {
			d.session = sessionOf(r, d.host())
			switch at := r.time("ended_at"); {
			case r.text("status") == "":
				running = true
			case !at.IsZero() || r.text("status") != string(collect.StatusInterrupted) || d.session.Imported != nil:
				end = &collect.End{At: at, Status: collect.SessionStatus(r.text("status")), NotRun: r.whole("not_run")}
			}
		}),
		d.each("segments", d.segment),
		d.each("targets", d.target),
		d.each("cases", func(r row) {
			c := caseOf(r)
			d.cases[c.CaseID] = c
			d.caseList = append(d.caseList, c)
			d.older = d.older || !r.has("tg_wanted")
		}),
		d.each("energy", d.quiet, "window_kind", "target_id", "segment", "start_ns", "end_ns"),
	)
	if err == nil && d.older && d.session != nil {
		err = d.olderFacts()
	}
	switch err = cmp.Or(err, d.fault); {
	case err != nil:
		return nil, err
	case d.session == nil || len(d.segments) == 0:
		return nil, errors.New("its row in table sessions or segments is missing")
	case running:
		return nil, errors.New("it was still being measured when it was archived: archive it again when it has ended")
	}
	return end, nil
}

// host is the host that the session's files are under.
func (d *datasetReader) host() string {
	for _, f := range d.files {
		if f.Table == "sessions" {
			escaped, _ := strings.CutPrefix(path.Base(path.Dir(path.Dir(f.Path))), "host=")
			if name, err := url.PathUnescape(escaped); err == nil {
				return name
			}
		}
	}
	return ""
}

func sessionOf(r row, host string) *collect.Session {
	s := &collect.Session{
		ID: r.text("session_id"), StartedAt: r.time("started_at"), Profile: r.text("profile"), Options: r.text("options_json"),
		Label: r.text("label"), Tags: r.list("tags"), Note: r.text("note"), Calibration: r.text("client_calibration_json"),
		Host: collect.Host{
			Name: host, Chip: r.text("hw_chip"), Model: r.text("hw_model"), CPUCores: r.count("cpu_cores"), GPUCores: r.count("gpu_cores"),
			RAMBytes: r.count("ram_bytes"), OSName: r.text("os_name"), OSVersion: r.text("os_version"), PowerMode: r.text("power_mode"),
			OnBattery: r.truth("on_battery"),
		},
	}
	if format := r.text("import_format"); format != "" {
		s.Imported = &collect.Origin{
			Format: format, Tool: r.text("import_tool"), ToolVersion: r.text("import_tool_version"), File: r.text("import_file"),
			Hash: r.text("import_hash"), ImportedAt: r.time("imported_at"), Extra: r.text("import_extra_json"),
		}
	}
	return s
}

// datasetSegment is a segment with what came to be known in it.
type datasetSegment struct {
	*collect.Segment
	sensors []*collect.Sensors
	lost    []*collect.Lost
}

// segment takes a segment.
func (d *datasetReader) segment(r row) {
	s := datasetSegment{Segment: &collect.Segment{
		Segment: r.whole("segment"), StartedAt: r.time("started_at"), ToolVersion: r.text("tool_version"), BootID: r.text("boot_id"),
		PID: r.whole("pid"), PlannedBatches: r.whole("planned_batches"),
	}}
	var sensors, lost error
	s.sensors, sensors = analyze.SensorsOf(s.Segment.Segment, r.text("sensors_json"))
	s.lost, lost = analyze.LostOf(s.Segment.Segment, r.text("lost_json"))
	d.fault = cmp.Or(d.fault, sensors, lost)
	d.segments = append(d.segments, s)
}

// target takes a target. Its power is a figure of the readings, but for that of
// an imported session, which has none.
func (d *datasetReader) target(r row) {
	t := &collect.TargetInfo{
		TargetID: r.whole("target_id"), Engine: r.text("engine"), EngineVersion: r.text("engine_version"), Driver: r.text("driver"),
		Endpoint: r.text("endpoint"), ModelID: r.text("model_id"), ServedModel: r.text("served_model"), ModelFormat: r.text("model_format"),
		Quantization: r.text("model_quantization"), Sharding: r.text("placement_sharding"), InstanceMeta: r.text("placement_instance_meta"),
		Nodes: r.list("placement_nodes"), InstanceID: r.text("instance_id"), DownloadS: r.number("download_duration_s"),
		LoadS: r.number("load_duration_s"), Sampling: r.text("sampling_json"), Cluster: r.text("cluster_json"),
		ContextTokens: r.count("context_tokens"), ModelBytes: r.count("model_size_bytes"), ModelGPUBytes: r.count("model_gpu_bytes"),
		MaxStreams: r.count("max_streams"), Unlisted: r.is("model_unlisted"),
	}
	if d.session != nil && d.session.Imported != nil {
		t.StatedPowerW, t.StatedPowerScope = r.number("power_watts"), r.text("power_scope")
	}
	d.targets[t.TargetID] = t
	d.order = append(d.order, t)
}

func caseOf(r row) *collect.Case {
	return &collect.Case{
		TargetID: r.whole("target_id"), CaseID: r.whole("case_id"), PP: r.count("pp"), Depth: r.count("depth"), TG: r.whole("tg"),
		TGWanted: r.is("tg_wanted"), TemplateHeadTokens: r.count("template_head_tokens"), Concurrency: r.whole("concurrency"),
		CacheMode: collect.CacheMode(r.text("cache_mode")), ColdMethod: r.text("cold_method"), EOSBan: r.text("eos_ban"),
		PromptKind: r.text("prompt_kind"), PromptSource: collect.PromptSource(r.text("prompt_source")), PromptHash: r.text("prompt_hash"),
		Streaming: r.is("streaming"),
	}
}
