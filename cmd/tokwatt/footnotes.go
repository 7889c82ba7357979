package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
	"tokwatt/collect/openai"
)

// remark is a reason why rows are not in the figures, or are there with a
// caveat: the rows it holds for, what it says of them, and what to do about it
// where tokwatt measured; another tool's file is as it is.
type remark struct{ where, says, advice string }

// Conditions that several remarks have.
const (
	endedShort  = "status = 'ok' and array_contains(flags, 'short_output')"
	otherLength = "status = 'ok' and not in_stats and array_contains(flags, 'prompt_mismatch')"
)

// cannotBan holds for engines that are known to take no ban of the end token.
var cannotBan = "(driver = 'ollama' or engine in " + sqlWords(openai.Unbannable()) + ")"

var remarks = []remark{
	{"status = 'failed' and error_kind <> 'cancelled'", "failed: in no figure; `tokwatt show` has the reasons", ""},
	{"error_kind = 'cancelled'", "cancelled by you: in no figure", ""},
	{"status = 'invalid' and array_contains(flags, 'hidden_output')", "with tokens counted but none shown: in no figure", adviceHidden},
	{"status = 'invalid' and not array_contains(flags, 'hidden_output')", "with figures that contradict each other: in none", adviceServer},
	{endedShort + " and eos_ban is null and not " + cannotBan, "ended before the wanted length: in no figure", "--tokenizer DIR bans the end token where the server allows it"},
	{endedShort + " and eos_ban is null and " + cannotBan, "ended before the wanted length: in no figure", "the engine can't be kept from it: a smaller --tg, or own prompts without"},
	{endedShort + " and eos_ban is not null", "ended before the wanted length, the end token's ban in spite: in no figure", "a smaller --tg, or own prompts without"},
	{"status = 'ok' and array_contains(flags, 'implausible')", "with server figures that can't be true: in none", adviceServer},
	{otherLength + " and prompt_source = 'tokenizer'", "with another prompt length by the server's count than was made: in no figure", "--tokenizer server fits lengths to its counts"},
	{otherLength + " and prompt_source <> 'tokenizer'", "with another prompt length by the server's count than was made: in no figure; pp_tokens and prompt_tokens have both", ""},
	{"cache_mode = 'cold' and in_stats and not in_cold_stats", "hit a cache in a cold case: in no figure", adviceCache},
	{"in_stats and tokens_source = 'estimate'", "had no token count: in the times, not in the rates", "--tokenizer DIR counts"},
	{"in_stats and tokens_source = 'tokenizer'", "had no token count of the server's: counted with the model's tokenizer", ""},
	{"in_stats and array_contains(flags, 'count_mismatch')", "had another token count than the model's own tokenizer finds", ""},
	{"in_stats and array_contains(flags, 'not_streamed')", "came whole where a stream was asked: no times of ours", ""},
	{"in_stats and array_contains(flags, 'coalesced_reads') and itl_p50_ms is null", "whose tokens were read several at a time: no ITL; gen has the mean", ""},
	{"in_stats and array_contains(flags, 'multi_token_chunks')", "with several tokens a chunk: ITL is between chunks", ""},
	{"in_stats and array_contains(flags, 'model_mismatch')", "were answered by another model", ""},
	{"in_stats and array_contains(flags, 'throttled')", "while heat or a power limit slowed this host", ""},
	{"in_stats and array_contains(flags, 'queued')", "with more streams than the server admits: the wait is in their times", ""},
	{"in_stats and array_contains(flags, 'few_power_samples')", "with one or two power readings: their energy says little", ""},
	{"in_stats and array_contains(flags, 'component_above_system')", "whose parts are said to use more than the machine: a sensor is wrong", ""},
	{"in_stats and array_contains(flags, 'clock_step')", "while somebody set the clock", ""},
	{"in_stats and array_contains(flags, 'client_saturated')", "while this machine was very busy: our times may be late", ""},
}

// footnotes say, for each target of the sessions, what a reader of its figures
// must mind.
func footnotes(ctx context.Context, db *duck.DB, ids []string) (map[targetKey][]string, error) {
	out := map[targetKey][]string{}
	own := map[targetKey][]string{}
	imported := false
	err := eachTarget(ctx, db, "select session_id, target_id, max(import_tool), "+counts()+", "+firstChunksColumns+", "+ownErrorColumns+
		" from runs where "+ofSessions(ids)+" group by session_id, target_id", func(key targetKey, row []any) {
		_, theirs := row[0].(string)
		imported = imported || theirs
		row = row[1:]
		for i, r := range remarks {
			if n, _ := row[i].(int64); n > 0 {
				out[key] = append(out[key], r.text(n, theirs))
			}
		}
		row = row[len(remarks):]
		if n, _ := row[0].(int64); n > 0 {
			excess, _ := row[1].(float64)
			out[key] = append(out[key], manyInFirst(excess).text(n, theirs))
		}
		own[key] = ownErrorNotes(row[2:])
	})
	if err != nil {
		return nil, err
	}
	if err := addSettingNotes(ctx, db, ids, out); err != nil {
		return nil, err
	}
	if err := addMissing(ctx, db, ids, out); err != nil {
		return nil, err
	}
	if imported {
		if err := addOrigins(ctx, db, ids, out); err != nil {
			return nil, err
		}
	}
	err = addEnergy(ctx, db, ids, out)
	for key, notes := range own {
		out[key] = append(out[key], notes...)
	}
	return out, err
}

// counts are columns: how many rows each remark holds for.
func counts() string {
	var columns []string
	for i, r := range remarks {
		columns = append(columns, fmt.Sprintf("count(*) filter (where %s) as n%d", r.where, i))
	}
	return strings.Join(columns, ", ")
}

// text is the remark on n requests.
func (r remark) text(n int64, imported bool) string {
	text := plural(n, "request") + " " + r.says
	if r.advice != "" && !imported {
		text += "; " + r.advice
	}
	return text
}

// eachTarget runs a query of our own whose first two columns name a target, and
// hands on the others of each row.
func eachTarget(ctx context.Context, db *duck.DB, sql string, do func(targetKey, []any)) error {
	found, err := askAll(ctx, db, sql)
	if err != nil {
		return err
	}
	for _, row := range found.rows {
		session, _ := row[0].(string)
		target, _ := row[1].(int64)
		do(targetKey{session, target}, row[2:])
	}
	return nil
}

// addOrigins adds whose measurement an imported session is, and which of its
// figures follow that tool's rules instead of ours.
func addOrigins(ctx context.Context, db *duck.DB, ids []string, notes map[targetKey][]string) error {
	return eachTarget(ctx, db, `select session_id, target_id, max(import_tool), max(import_tool_version), max(import_file),
		array_to_string(list_sort(list_distinct(flatten(list(stated)))), ', '), max(stated_rule)
		from runs where `+ofSessions(ids)+` and import_format is not null group by session_id, target_id`, func(key targetKey, row []any) {
		var text [5]string
		for i := range text {
			text[i], _ = row[i].(string)
		}
		note := strings.Join(strings.Fields("imported: measured by "+text[0]+" "+text[1]), " ") + ", file " + text[2]
		if text[3] != "" {
			note += "; its own figures: " + text[3]
		}
		if text[4] != "" {
			note += ", by its rule " + text[4]
		}
		notes[key] = append(notes[key], note)
	})
}

// firstChunksColumns are of how many requests gen is too high because the first
// chunk brought several tokens and nobody knows how many, and by how much.
const (
	manyInFirstUnknown = "in_stats and array_contains(flags, 'multi_token_chunks') and decode_tps is null and generation_tps_source = 'client' and chunks > 1"
	firstChunksColumns = "count(*) filter (where " + manyInFirstUnknown + ")," +
		" max(cast(tokens_generated - chunks as double) / (cast(tokens_generated as double) * nullif(chunks - 1, 0))) filter (where " + manyInFirstUnknown + ")"
)

// manyInFirst is the remark on requests whose gen is too high by the given
// share at most, had the first chunk as many tokens as the others: (n − 1) of
// the rule should be (n − k), k = n / chunks.
func manyInFirst(excess float64) remark {
	percentage := 100 * excess
	return remark{says: fmt.Sprintf("with several tokens in the first chunk: gen is up to about %s %% too high", percent(&percentage)),
		advice: "--tokenizer DIR counts them, see decode_tps"}
}

// firstChunks is that note on n requests that tokwatt measured.
func firstChunks(n int64, excess float64) string { return manyInFirst(excess).text(n, false) }

// ownErrorColumns are what says how wrong this client's own times are, of what
// was measured over a network and hangs on our clock.
const (
	ourTimes        = "client_calibration_json is not null and driver <> 'inproc' and ttft_client_ms is not null"
	ownErrorColumns = "max(client_calibration_json) filter (where " + ourTimes + "), max(concurrency) filter (where " + ourTimes + ")," +
		" bool_or(stamp_source = 'kernel') filter (where " + ourTimes + "), bool_or(stamp_source = 'user') filter (where " + ourTimes + ")"
)

// ownErrorNotes reads these columns.
func ownErrorNotes(row []any) []string {
	calibration, _ := row[0].(string)
	streams, _ := row[1].(int64)
	kernel, _ := row[2].(bool)
	user, _ := row[3].(bool)
	if text := ownError(calibration, streams); text != "" {
		return []string{text + stamped(kernel, user)}
	}
	return nil
}

// stamped says who stamped arrivals, as the end of a sentence.
func stamped(kernel, user bool) string {
	switch {
	case kernel && user:
		return "; stamps of the kernel, and in part our own"
	case kernel:
		return "; stamps of the kernel"
	case user:
		return "; stamps of our own"
	}
	return ""
}

// ofSessions is the condition that picks sessions by their whole ids. Those of a
// dataset are names of files, whoever wrote them.
func ofSessions(ids []string) string {
	quoted := strings.ReplaceAll(strings.Join(ids, "\x00"), "'", "''") // no name has a NUL
	return "session_id in ('" + strings.ReplaceAll(quoted, "\x00", "', '") + "')"
}

// targetKey names a target of a session.
type targetKey struct {
	session string
	target  int64
}

// fewBatches says that a case has too few batches for an interval.
func fewBatches(rows []analyze.Summary) []string {
	fewest := rows[0].NBatches
	for _, s := range rows {
		fewest = min(fewest, s.NBatches)
	}
	if fewest >= 6 {
		return nil
	}
	note := fmt.Sprintf("%s in the smallest case: a median has no 95 %% interval under 6", plural(fewest, "batch"))
	if slices.ContainsFunc(rows, func(s analyze.Summary) bool { return s.CV != nil && guessed(medianCount(s)) }) {
		note += ", and the class of a CV under 4 is a guess (?)"
	}
	return []string{note}
}
