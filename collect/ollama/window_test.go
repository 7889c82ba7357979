package ollama

import (
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
)

func TestWindow(t *testing.T) {
	limit := func(n int64) *int64 { return &n }
	sized := func(pp, tg []int64) collect.Spec { return collect.Spec{PP: pp, TG: tg, AllCombinations: true} }
	own := func(bytes int, limit int64) collect.Spec {
		return collect.Spec{Prompts: []collect.Text{{Text: strings.Repeat("x", bytes), Limit: limit}}}
	}
	for name, c := range map[string]struct {
		spec   collect.Spec
		most   *int64
		system int
		want   int64
		err    string
	}{
		"small":                   {spec: sized([]int64{64}, []int64{8}), want: 4096},
		"to the margin":           {spec: sized([]int64{3584}, []int64{256}), want: 4096},
		"over the margin":         {spec: sized([]int64{3584}, []int64{257}), want: 5120},
		"the largest pair counts": {spec: sized([]int64{8192, 64}, []int64{8, 128}), want: 9216},
		"zipped pairs":            {spec: collect.Spec{PP: []int64{8192, 64}, TG: []int64{8, 8192}}, want: 9216},
		"100,000":                 {spec: sized([]int64{100_000}, []int64{128}), most: limit(131_072), want: 100_352 + 1024},
		"capped":                  {spec: sized([]int64{64}, []int64{8}), most: limit(2048), want: 2048},
		"fits to a token":         {spec: sized([]int64{1920}, []int64{128}), most: limit(2048), want: 2048},
		"does not fit":            {spec: sized([]int64{64, 1921}, []int64{128}), most: limit(2048), err: "--pp 1921 with --tg 128 needs 2049"},
		"own text":                {spec: own(16_000, 1000), want: 10_240},
		"own text, own system":    {spec: own(16_000, 1000), system: 2000, want: 11_264},
		"own text may not fit":    {spec: own(16_000, 1000), most: limit(8192), want: 8192},
		"warm-up": {spec: collect.Spec{PP: []int64{64}, TG: []int64{8}, WarmupPrompt: &collect.Text{Text: strings.Repeat("x", 16_000)}},
			want: 9216},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := window(c.spec, c.most, c.system)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q in it", err, c.err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("%d, %v; want %d", got, err, c.want)
			}
		})
	}
}

func TestKeepAlive(t *testing.T) {
	for _, c := range []struct {
		spec collect.Spec
		want int64
	}{
		{collect.Spec{}, 300},
		{collect.Spec{Pause: -1, GroupPause: -1}, 300},
		{collect.Spec{Pause: 10 * time.Minute, GroupPause: 1500 * time.Millisecond}, 902},
	} {
		if got := seconds(keepAlive(c.spec)); got != c.want {
			t.Errorf("%+v: %d s, want %d", c.spec, got, c.want)
		}
	}
	if got := seconds(-time.Nanosecond); got != -1 {
		t.Errorf("for ever is %d", got)
	}
}

// TestFoundKeep: how long a model was to stay is read from when it expires.
func TestFoundKeep(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for at, want := range map[string]time.Duration{
		"2026-01-01T12:30:00Z":                30 * time.Minute,
		"2026-01-01T14:30:00.5+02:00":         30*time.Minute + 500*time.Millisecond,
		"2026-01-01T11:00:00Z":                0,
		"2318-04-24T09:00:21.123456789-07:00": -time.Second,
		"":                                    0,
		"soon":                                0,
	} {
		tg := Target{found: &model{ExpiresAt: at}}
		if got := tg.foundKeep(now); got != want {
			t.Errorf("%q: %v, want %v", at, got, want)
		}
	}
	if got := (&Target{}).foundKeep(now); got != 0 {
		t.Errorf("not found: %v", got)
	}
}
