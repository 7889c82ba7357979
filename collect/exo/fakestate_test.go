package exo

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// state answers sub-paths of the state; 404 where a key is missing.
func (f *fake) state(w http.ResponseWriter, keys []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if (keys[0] == "instances" || keys[0] == "runners") && f.resetPolls > 0 {
		f.resetPolls--
		panic(http.ErrAbortHandler)
	}
	var v any
	switch keys[0] {
	case "instances":
		all := map[string]any{}
		for id, in := range f.alive() {
			all[id] = in.raw
		}
		v = all
	case "runners":
		v = f.runners()
	case "tasks":
		if f.noTasks {
			break
		}
		v = f.tasks()
	case "downloads":
		v = f.downloads()
	case "nodeDisk":
		disks := map[string]any{}
		for id, n := range f.diskFree {
			if f.age() >= f.diskAfter {
				disks[id] = map[string]any{"available": map[string]any{"inBytes": n}}
			}
		}
		v = disks
	case "nodeIdentities":
		ids := map[string]any{}
		for i, id := range f.nodes {
			ids[id] = map[string]any{"friendlyName": f.names[i], "chipId": "Apple M3 Ultra"}
		}
		v = ids
	case "topology":
		v = map[string]any{"nodes": f.nodes, "connections": map[string]any{}}
	case "nodeMemory":
		v = map[string]any{}
	case "nodeSystem":
		if !f.noNodeSystem {
			all := map[string]any{}
			for i, id := range f.nodes {
				all[id] = map[string]any{"gpuUsage": 0.5, "temp": 50.0, "sysPower": 100.0 + float64(i), "pcpuUsage": 0.1, "ecpuUsage": 0.0}
			}
			v = all
		}
	}
	for _, k := range keys[1:] {
		m, ok := v.(map[string]any)
		if !ok || m[k] == nil {
			v = nil
			break
		}
		v = m[k]
	}
	if v == nil {
		http.Error(w, `{"error":{"message":"unable to find path in state json","code":404}}`, http.StatusNotFound)
		return
	}
	json.NewEncoder(w).Encode(v)
}

func (f *fake) runners() map[string]any {
	out := map[string]any{}
	for _, in := range f.instances {
		age := time.Since(in.since)
		for i, r := range in.order {
			ready := 3*time.Second + time.Duration(len(in.order)-1-i)*500*time.Millisecond // the last in order is the first
			switch {
			case age < time.Second, f.noRunner && i == 0:
			case f.runnerFailed && age > 2*time.Second:
				out[r] = map[string]any{"RunnerFailed": map[string]any{"errorMessage": "out of memory in /Users/me/x.py", "diagnostics": []any{}}}
			case age < 2*time.Second || f.stuckLoad:
				out[r] = map[string]any{"RunnerLoading": map[string]any{"layersLoaded": 5, "totalLayers": 6}}
			case age < ready:
				out[r] = map[string]any{"RunnerWarmingUp": map[string]any{}}
			case f.decoding > 0 || time.Now().Before(f.busyUntil):
				out[r] = map[string]any{"RunnerRunning": map[string]any{}}
			default:
				out[r] = map[string]any{"RunnerReady": map[string]any{"prefillServerPort": nil}}
			}
		}
	}
	return out
}

func (f *fake) tasks() map[string]any {
	out := map[string]any{}
	if f.age() < f.foreignUntil {
		for id, t := range f.foreign {
			out[id] = t
		}
	}
	for id, t := range f.running {
		if f.ownTasksLate && time.Since(t.at) < 400*time.Millisecond {
			continue
		}
		status := "Running"
		if t.stopped {
			status = "Cancelled"
		}
		out["t-"+id] = map[string]any{"TextGeneration": map[string]any{"taskId": "t-" + id, "taskStatus": status, "commandId": id,
			"instanceId": t.params["instance"], "taskParams": t.params}}
	}
	return out
}

func (f *fake) downloads() map[string]any {
	out := map[string]any{}
	shard := func(model string) any {
		return map[string]any{"PipelineShardMetadata": map[string]any{"modelCard": map[string]any{"modelId": model}}}
	}
	complete := func(model string, size float64, fixed bool) any {
		return map[string]any{"DownloadCompleted": map[string]any{"shardMetadata": shard(model), "total": map[string]any{"inBytes": size}, "readOnly": fixed}}
	}
	for _, node := range f.nodes {
		all := []any{complete("org/Big", 3e9, false), complete("org/Small", 1e9, false), complete("org/Fixed", 5e8, true)}
		all = slices.DeleteFunc(all, func(x any) bool {
			raw, _ := json.Marshal(x)
			return slices.ContainsFunc(f.deleted, func(m string) bool { return strings.Contains(string(raw), m) })
		})
		since := time.Since(f.started)
		switch {
		case f.downloadTime == 0 || !f.started.IsZero() && since >= f.downloadTime && !f.downloadFails:
			all = append(all, complete(fakeModel, 1.9e9, false))
		case f.downloadMute:
		case f.started.IsZero():
			all = append(all, map[string]any{"DownloadPending": map[string]any{"shardMetadata": shard(fakeModel)}})
		case f.downloadFails && since > 2*time.Second:
			all = append(all, map[string]any{"DownloadFailed": map[string]any{"shardMetadata": shard(fakeModel), "errorMessage": "hub says no"}})
		default:
			done := 1.9e9 * since.Seconds() / f.downloadTime.Seconds()
			if f.downloadStuck {
				done = 7
			}
			all = append(all, map[string]any{"DownloadOngoing": map[string]any{"shardMetadata": shard(fakeModel), "downloadProgress": map[string]any{
				"total": map[string]any{"inBytes": 1.9e9}, "downloaded": map[string]any{"inBytes": done}, "speed": 1e8, "etaMs": 1000, "completedFiles": 1, "totalFiles": 3}}})
		}
		out[node] = all
	}
	return out
}
