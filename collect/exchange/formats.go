package exchange

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Format is a format of files that can be read.
type Format struct {
	Name  string // as import's --format takes it
	About string // what writes such files, for people
	// claims reports whether a file that begins with head is of this format.
	claims func(head []byte) bool
	// read reads a file into out. A row that can't be read is out.bad and not
	// an error.
	read func(in *Input, out *sink) error
}

// Formats lists the formats, in the order in which they are asked whether a
// file is theirs.
func Formats() []Format {
	return []Format{
		{"exo", "results.json of exo-bench", claimsExo, readExo},
		{"llama-bench", "llama-bench -o json, jsonl, csv, md or sql", claimsLlamaBench, readLlamaBench},
		{"asiai", "asiai bench --export", claimsAsiai, readAsiai},
		{"guidellm", "report of guidellm", claimsGuidellm, readGuidellm},
		{"aiperf", "profile_export.jsonl of aiperf", claimsAiperf, readAiperf},
		{"vllm", "result of vllm bench serve", claimsVLLM, readVLLM},
		{"sglang", "output file of SGLang's bench_serving", claimsSGLang, readSGLang},
		{"ollama-verbose", "text of ollama run --verbose", claimsOllama, readOllama},
	}
}

// headBytes is how much of a file tells its format.
const headBytes = 64 << 10

// format is the file's format: the one that was asked for, or the first that
// takes the file for its own.
func (in *Input) format() (Format, error) {
	in.skipMark()
	head, err := in.head()
	if err != nil {
		return Format{}, err
	}
	if hint := encodingOf(head); hint != "" {
		return Format{}, &UnknownFormatError{File: filepath.Base(in.Name), Hint: hint}
	}
	var names []string
	for _, f := range Formats() {
		if f.Name == in.Format {
			return f, nil
		}
		names = append(names, f.Name)
	}
	if in.Format != "" {
		return Format{}, fmt.Errorf("there is no format %q: there are %s", in.Format, strings.Join(names, ", "))
	}
	return in.told(head)
}

// told is the format that the file's head tells.
func (in *Input) told(head []byte) (Format, error) {
	if ownRows(head) {
		return Format{}, &OwnExportError{File: filepath.Base(in.Name)}
	}
	for _, f := range Formats() {
		if f.claims(head) {
			return f, nil
		}
	}
	return Format{}, &UnknownFormatError{File: filepath.Base(in.Name), Empty: len(bytes.TrimSpace(head)) == 0, Hint: companionOf(head)}
}

// head is the beginning of the file, by which its format is told.
func (in *Input) head() ([]byte, error) {
	head := make([]byte, min(headBytes, in.Size))
	n, err := in.R.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return head[:n], nil
}

// ownRows reports whether a file is what RequestRows or Benchstat gave.
func ownRows(head []byte) bool {
	if bytes.Contains(head, []byte("BenchmarkTokwatt/")) {
		return true
	}
	return bytes.Contains(head, []byte("generation_tps_source")) && bytes.Contains(head, []byte("session_id"))
}

// FormatOf names the format in which Read reads a file.
func FormatOf(in Input) (string, error) {
	f, err := in.format()
	return f.Name, err
}

// UnknownFormatError is a file whose format its content does not tell, or of
// whose content more is known than that.
type UnknownFormatError struct {
	File  string
	Empty bool   // there is nothing in it
	Hint  string // what it is, and what to do: "is gzip: gunzip it first"; may be empty
}

func (e *UnknownFormatError) Error() string {
	switch {
	case e.Empty:
		return e.File + " is empty"
	case e.Hint != "":
		return e.File + " " + e.Hint
	}
	return e.File + " is in no format that import knows by its content: name it with --format"
}

// OwnExportError is a file of figures that tokwatt itself exported: what they
// were computed of is not in it.
type OwnExportError struct{ File string }

func (e *OwnExportError) Error() string {
	return e.File + " is tokwatt's own export of figures, which lacks what they were computed of: import the store they are of, a folder of `tokwatt archive`, or a file of `tokwatt export --format exo`"
}
