package analyze

// A flag is a mark on a row: something that a reader of its figures should
// know. Flags never change a figure.
type flag uint

// The flags, in the order in which a row lists them.
const (
	flagCacheHitInCold flag = iota
	flagShortOutput
	flagLongOutput
	flagHiddenOutput
	flagNotStreamed
	flagUncleanEnd
	flagMultiTokenChunks
	flagEstimatedTokens
	flagImplausible
	flagTTFTExceedsTotal
	flagBadFigure
	flagPromptMismatch
	flagModelMismatch
	flagModelUnlisted
	flagClientSaturated
	flagClockStep
	flagQueued
	numFlags
)

var flagNames = [numFlags]string{
	flagCacheHitInCold:   "cache_hit_in_cold",
	flagShortOutput:      "short_output",
	flagLongOutput:       "long_output",
	flagHiddenOutput:     "hidden_output",
	flagNotStreamed:      "not_streamed",
	flagUncleanEnd:       "unclean_end",
	flagMultiTokenChunks: "multi_token_chunks",
	flagEstimatedTokens:  "estimated_tokens",
	flagImplausible:      "implausible",
	flagTTFTExceedsTotal: "ttft_exceeds_total",
	flagBadFigure:        "bad_figure",
	flagPromptMismatch:   "prompt_mismatch",
	flagModelMismatch:    "model_mismatch",
	flagModelUnlisted:    "model_unlisted",
	flagClientSaturated:  "client_saturated",
	flagClockStep:        "clock_step",
	flagQueued:           "queued",
}

// flagSet is a set of flags.
type flagSet uint32

func (s *flagSet) set(f flag, on bool) {
	if on {
		*s |= 1 << f
	}
}

func (s flagSet) has(f flag) bool { return s&(1<<f) != 0 }

// list names the flags; nil where there are none.
func (s flagSet) list() []string {
	var out []string
	for f := range numFlags {
		if s.has(f) {
			out = append(out, flagNames[f])
		}
	}
	return out
}
