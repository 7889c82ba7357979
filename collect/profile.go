package collect

import (
	"fmt"
	"time"
)

// Profile is a set of defaults that make a run comparable with published ones.
type Profile string

// The profiles.
const (
	ProfileDefault Profile = "default"
	ProfileExo     Profile = "exo"   // as exo-bench measures
	ProfileAsiai   Profile = "asiai" // as the asiai metric specification 0.4.0 measures
)

// Spec is the profile's spec, less the matrix: whoever runs it sets PP and TG
// or Prompts, and may set anything else.
func (p Profile) Spec() (Spec, error) {
	switch p {
	case "", ProfileDefault:
		return Spec{Temperature: value(0.0), Seed: value(int64(42))}, nil
	case ProfileExo:
		// exo-bench sends no sampling settings: the model card's are in force.
		return Spec{Repeat: 1, Warmup: value(0), Order: OrderListed, Streaming: StreamNone,
			NoIdle: true, Pause: 3 * time.Second, GroupPause: 2 * time.Second}, nil
	case ProfileAsiai:
		return Spec{Repeat: 3, Warmup: value(1), WarmupPrompt: &Text{Text: "Hello", Limit: 1},
			Order: OrderListed, Temperature: value(0.0), Cache: CacheServer, NoEOSBan: true, NoIdle: true, Unload: true,
			Pause: -1, GroupPause: -1, TargetPause: 5 * time.Second}, nil
	}
	return Spec{}, fmt.Errorf("there is no profile %q: take %s or %s, or none", string(p), ProfileExo, ProfileAsiai)
}

// Atom is what the profile makes sized prompts of; empty: the prompter's own
// choice.
func (p Profile) Atom() string {
	if p == ProfileExo {
		return "a "
	}
	return ""
}

// Kinds are the prompt kinds of the profile where neither sizes nor prompts
// are given.
func (p Profile) Kinds() bool { return p == ProfileAsiai }

// SampleEvery is how often sensors are read in the profile; 0: as often as each
// gives cheaply.
func (p Profile) SampleEvery() time.Duration {
	if p == ProfileExo {
		return time.Second
	}
	return 0
}

func value[T any](v T) *T { return &v }
