package exchange

import (
	"bytes"
	"io"
)

// byteMark begins a text in UTF-8 that some programs of Windows wrote.
const byteMark = "\xef\xbb\xbf"

// skipMark makes the file begin behind its byte order mark, if it has one.
func (in *Input) skipMark() {
	var mark [len(byteMark)]byte
	if n, _ := in.R.ReadAt(mark[:], 0); n == len(mark) && string(mark[:]) == byteMark {
		in.R, in.Size = io.NewSectionReader(in.R, int64(n), in.Size-int64(n)), in.Size-int64(n)
	}
}

// encodings are files that are no text in UTF-8, by how they begin.
var encodings = []struct{ begin, hint string }{
	{"\xff\xfe", "is UTF-16: make it UTF-8 first, `iconv -f UTF-16 -t UTF-8`"},
	{"\xfe\xff", "is UTF-16: make it UTF-8 first, `iconv -f UTF-16 -t UTF-8`"},
	{"\x1f\x8b", "is gzip: gunzip it first"},
	{"\x28\xb5\x2f\xfd", "is zstd: unpack it with `zstd -d` first"},
	{"PK\x03\x04", "is a zip archive: unpack it first"},
	{"PAR1", "is a Parquet file: of a dataset, import the folder that archive --to wrote"},
	{"SQLite format 3\x00", "is a database of SQLite: of llama-bench, import the text that -o sql printed"},
}

// encodingOf says what a file is that is no text in UTF-8, empty where it is.
func encodingOf(head []byte) string {
	for _, e := range encodings {
		if bytes.HasPrefix(head, []byte(e.begin)) {
			return e.hint
		}
	}
	return ""
}

// companions are files that a tool writes beside its results, by how they begin
// or by what all of a list of words are in them.
var companions = []struct {
	begin string
	words []string
	hint  string
}{
	{"{", []string{`"aiperf_version"`, `"input_config"`}, aiperfHint},
	{"{", []string{`"request_throughput"`, `"request_latency"`, `"input_config"`}, aiperfHint},
	{"Metric,avg,min,max", nil, aiperfHint},
	{"{", []string{`"metadata"`, `"request_start_ns"`, `"responses"`}, aiperfHint},
	{"{", []string{`"data"`, `"session_id"`, `"payloads"`}, aiperfHint},
	{"Run Info,Run Info", nil, guidellmHint},
	{"Type,Run Id,Id,Name,", nil, guidellmHint},
	{"", []string{"\nbenchmarks:\n", "type_: "}, guidellmHint},
	{"benchmarks:\n", nil, guidellmHint},
	{"# ", []string{"\n*Bench type: `"}, "is asiai's report for people: export it as .json and import that"},
}

const (
	aiperfHint   = "is aiperf's, but not its rows: import the profile_export.jsonl beside it"
	guidellmHint = "is guidellm's report in a form that import does not read: write it as JSON and import that"
)

// companionOf says what to import in place of a file that a tool writes beside
// its results, empty where it is none.
func companionOf(head []byte) string {
	head = bytes.ReplaceAll(head, []byte("\r\n"), []byte("\n"))
	for _, c := range companions {
		if !bytes.HasPrefix(bytes.TrimSpace(head), []byte(c.begin)) {
			continue
		}
		all := true
		for _, word := range c.words {
			all = all && bytes.Contains(head, []byte(word))
		}
		if all {
			return c.hint
		}
	}
	return ""
}
