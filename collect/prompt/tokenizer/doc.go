// Package tokenizer counts tokens exactly as a model's own tokenizer does,
// from its tokenizer.json (Parse) or from a GGUF's vocabulary
// (FromVocabulary). It knows byte pair encoding alone, the kind that today's
// language models use; whatever it cannot count exactly it refuses with an
// UnsupportedError, never guesses.
//
// A tokenizer.json is a pipeline. Text passes it in this order:
//
//  1. Added tokens ("<|im_end|>") that are not normalized are found in the raw
//     text, the leftmost first, of several there the longest (added.go).
//  2. What lies between is normalized: NFC, one string replaced by another or
//     put before the rest, or nothing (normalize.go).
//  3. Added tokens that are normalized are found in the result.
//  4. What lies between is split into words, by patterns applied one after the
//     other to the pieces of the one before (split.go, pattern.go).
//  5. Each word becomes symbols: its bytes (ByteLevel), or its characters,
//     with <0xNN> for the bytes of characters that the vocabulary lacks
//     (byte_fallback), else the unknown token (bpe.go).
//  6. Neighbouring symbols are merged while some pair of neighbours is in the
//     list of merges: always the pair whose rank, its place in that list, is
//     lowest; of equal ranks the leftmost. With ignore_merges a word that is
//     itself in the vocabulary is one token without merging.
//
// What is supported:
//
//	model          BPE, without dropout, prefix or suffix
//	normalizer     none, Sequence, NFC, Prepend, Replace of a string
//	pre_tokenizer  none, Sequence, Split (Isolated, Removed,
//	               MergedWithPrevious), Digits, ByteLevel
//	pattern        a string, or a regular expression of the constructs that
//	               mean the same to every engine (pattern.go)
//	added_tokens   all but single_word, lstrip and rstrip
//
// The post_processor, which adds the likes of a BOS token around a text, is
// left out: chat templates write those tokens themselves. Truncation and
// padding are left out too.
//
// The way back, from tokens to text, is a Decoder's (decode.go): byte level, or
// a sequence of Replace, ByteFallback, Fuse and Strip of what is in front.
//
// Unicode: the reference library splits by Oniguruma's tables, Unicode 16,
// and normalizes by tables of Unicode 9. Go 1.26 has 15; unicode.go and
// normalize.go bridge the two gaps. A Go with tables newer than 16 takes
// characters added after 16 for what they are, the reference for unassigned.
//
// A Tokenizer is immutable and safe for concurrent use.
package tokenizer
