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
	flagCountMismatch
	flagMultiTokenChunks
	flagCoalescedReads
	flagEstimatedTokens
	flagImplausible
	flagTTFTExceedsTotal
	flagBadFigure
	flagPromptMismatch
	flagModelMismatch
	flagModelUnlisted
	flagFewPowerSamples
	flagComponentAbove
	flagThrottled
	flagClientSaturated
	flagClockStep
	flagQueued
	numFlags
)

// Flag documents a flag.
type Flag struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

// Flags lists the flags of requests and batches with what they mean.
func Flags() []Flag { return flags[:] }

var flags = [numFlags]Flag{
	flagCacheHitInCold:   {"cache_hit_in_cold", "the server reused an earlier prompt where it was not to: in no cold figure"},
	flagShortOutput:      {"short_output", "fewer tokens than asked for: in no figure; --tokenizer DIR bans the end token"},
	flagLongOutput:       {"long_output", "more tokens than asked for"},
	flagHiddenOutput:     {"hidden_output", "tokens were counted, but none was shown: in no figure"},
	flagNotStreamed:      {"not_streamed", "a stream was asked for, a single answer came: no times of ours"},
	flagUncleanEnd:       {"unclean_end", "complete, but the end mark or the end of the transfer was missing"},
	flagCountMismatch:    {"count_mismatch", "the server's token count and our recount differ by more than max(2, 2 %)"},
	flagMultiTokenChunks: {"multi_token_chunks", "several tokens a chunk: gaps are between chunks"},
	flagCoalescedReads:   {"coalesced_reads", "chunks that were read together bear one time: itl_p50_ms and itl_p99_ms are NULL where over a quarter of the gaps are lost"},
	flagEstimatedTokens:  {"estimated_tokens", "the server gave no count, so it is characters / 4: in no rate"},
	flagImplausible:      {"implausible", "a server's figure that can't be true: in no figure"},
	flagTTFTExceedsTotal: {"ttft_exceeds_total", "the first token is said to come after the last: in no figure"},
	flagBadFigure:        {"bad_figure", "a server's figure that is negative or not finite: in no figure"},
	flagPromptMismatch:   {"prompt_mismatch", "the server counted another prompt length than was made, or none"},
	flagModelMismatch:    {"model_mismatch", "another model answered than was asked"},
	flagModelUnlisted:    {"model_unlisted", "the server does not list the model"},
	flagFewPowerSamples:  {"few_power_samples", "one or two power readings in the batch's time: its energy says little"},
	flagComponentAbove:   {"component_above_system", "a part of a machine is said to use over a fifth more than the machine"},
	flagThrottled:        {"throttled", "heat or a power limit slowed the host down"},
	flagClientSaturated:  {"client_saturated", "this machine was so busy that our own times may be late"},
	flagClockStep:        {"clock_step", "somebody set the clock during the batch"},
	flagQueued:           {"queued", "more requests at once than the server is known to admit"},
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
			out = append(out, flags[f].Name)
		}
	}
	return out
}
