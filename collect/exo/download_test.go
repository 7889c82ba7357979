package exo

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
)

// TestDownload: only what is missing is waited for and told, and nothing is
// deleted that need not be or must not be.
func TestDownload(t *testing.T) {
	const gb = 1e9 // the model takes 1740 MiB, 1.82e9 bytes
	for _, c := range []struct {
		name   string
		set    func(*fake)
		o      Options
		downS  float64 // 0: nothing was downloaded
		words  string  // of the error
		told   string
		delete []string
	}{
		{"all there", func(f *fake) {}, Options{}, 0, "", "", nil},
		{"missing", func(f *fake) { f.downloadTime = 12 * time.Second; f.diskFree["10a1b2"] = 2 * gb }, Options{}, 12, "", "downloading org/Demo-3B-4bit to studio: 50.0 %", nil},
		{"no room", func(f *fake) { f.downloadTime = time.Second; f.diskFree["10a1b2"] = 1 * gb }, Options{}, 0, "no room for org/Demo-3B-4bit: it needs 1.7 GiB and has 0.9 GiB; free some, or let other models be deleted with --danger-delete-downloads", "", nil},
		{"room by deleting the smallest", func(f *fake) { f.downloadTime = time.Second; f.diskFree["10a1b2"] = 1 * gb }, Options{DangerDeleteDownloads: true}, 1, "", "deleting org/Small from studio", []string{"org/Small"}},
		{"room by deleting two", func(f *fake) { f.downloadTime = time.Second; f.diskFree["10a1b2"] = 0.1 * gb }, Options{DangerDeleteDownloads: true}, 1, "", "deleting org/Big", []string{"org/Small", "org/Big"}},
		{"no room whatever is deleted", func(f *fake) { f.downloadTime = time.Second; f.diskFree["10a1b2"] = -3 * gb }, Options{DangerDeleteDownloads: true}, 0, "no room for org/Demo-3B-4bit even without all other models", "", nil},
		{"disk is told late", func(f *fake) {
			f.downloadTime = time.Second
			f.diskFree["10a1b2"] = 1 * gb
			f.diskAfter = 5 * time.Second
		}, Options{}, 0, "no room", "", nil},
		{"disk is never told", func(f *fake) { f.downloadTime = time.Second }, Options{}, 1, "", "does not tell of the disk of studio", nil},
		{"nothing is told of it", func(f *fake) { f.downloadTime = time.Hour; f.downloadMute = true }, Options{}, 0, "", "says nothing of a download", nil},
		{"fails", func(f *fake) { f.downloadTime = time.Minute; f.downloadFails = true }, Options{}, 0, "to studio failed: hub says no", "", nil},
		{"size unknown", func(f *fake) { f.unsized = true; f.downloadTime = time.Hour }, Options{}, 0, "", "does not say how large", nil},
		{"stalls", func(f *fake) { f.downloadTime = time.Hour; f.downloadStuck = true }, Options{}, 0, "has not come on for 30m0s", "", nil},
	} {
		bubble(t, oneNode, func(t *testing.T, f *fake) {
			c.set(f)
			got := f.measure(t.Context(), c.o, collect.Spec{})
			switch {
			case c.words != "":
				if len(got.errs) != 1 || !strings.Contains(got.errs[0].Error(), c.words) {
					t.Errorf("%s: %v", c.name, got.errs)
				}
				if slices.Contains(f.commands(), "POST /instance") {
					t.Errorf("%s: commands %q", c.name, f.commands())
				}
			case len(got.errs) > 0:
				t.Errorf("%s: %v", c.name, got.errs)
			default:
				s := got.targets[0].DownloadS
				if (s != nil) != (c.downS > 0) || s != nil && (*s < c.downS || *s > c.downS+1.5) {
					t.Errorf("%s: took %v s, want %v", c.name, s, c.downS)
				}
			}
			if c.told != "" && !got.heard(c.told) {
				t.Errorf("%s: told %q", c.name, got.told)
			}
			if !slices.Equal(f.deleted, c.delete) {
				t.Errorf("%s: deleted %q, want %q", c.name, f.deleted, c.delete)
			}
		})
	}
}

// TestDownloadStart: each node is told to download its own shard.
func TestDownloadStart(t *testing.T) {
	bubble(t, twoNodes, func(t *testing.T, f *fake) {
		f.measure(t.Context(), Options{Sharding: "pipeline", InstanceMeta: "ring", MinNodes: 2}, collect.Spec{})
		for i, b := range f.bodies["POST /download/start"] {
			want := fmt.Sprintf(`"deviceRank":%d}},"targetNodeId":"%s"}`, i, f.nodes[i])
			if !strings.HasSuffix(b, want) {
				t.Errorf("node %d: %s, want …%s", i, b, want)
			}
		}
	})
}
