package collect

import (
	"strings"
	"testing"
	"time"
)

// TestProfiles: the rows of the protocol's table.
func TestProfiles(t *testing.T) {
	spec := func(p Profile) Spec {
		s, err := p.Spec()
		if err != nil {
			t.Fatal(err)
		}
		s.PP, s.TG = []int64{8}, []int64{4}
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		return s
	}
	type row struct {
		repeat, warmup         int
		order                  Order
		greedy, seeded         bool
		cache                  CacheMode
		free                   bool // the model may end where it likes
		single, concurrent     bool // streamed
		pause, group, betweens time.Duration
		sensors                time.Duration
		idle                   bool
	}
	for p, want := range map[Profile]row{
		ProfileDefault: {6, 1, "", true, true, CacheCold, false, true, true, time.Second, time.Second, 0, 0, true},
		ProfileExo:     {1, 0, OrderListed, false, false, CacheCold, false, false, false, 3 * time.Second, 2 * time.Second, 0, time.Second, false},
		ProfileAsiai:   {3, 1, OrderListed, true, false, CacheServer, true, true, true, 0, 0, 5 * time.Second, 0, false},
	} {
		s := spec(p)
		got := row{s.repeat(), s.warmup(), s.Order, s.Temperature != nil && *s.Temperature == 0, s.Seed != nil,
			s.cache(), s.NoEOSBan, s.Streaming.streams(1), s.Streaming.streams(2),
			orDefault(s.Pause, DefaultPause), orDefault(s.GroupPause, DefaultPause), orDefault(s.TargetPause, 0), p.SampleEvery(), !s.NoIdle}
		if got != want {
			t.Errorf("%s: %+v, want %+v", p, got, want)
		}
	}
	if w := spec(ProfileAsiai).WarmupPrompt; w == nil || w.Text != "Hello" || w.Limit != 1 {
		t.Errorf("the asiai warm-up is %+v", w)
	}
	if _, err := Profile("exobench").Spec(); err == nil || !strings.Contains(err.Error(), "exobench") {
		t.Errorf("an unknown profile: %v", err)
	}
}
