package duck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is a fault in a user's SQL, as opposed to one of the machine or the
// dataset.
type Error struct {
	Message string // one sentence
}

// Error is the message, led by the word query.
func (e *Error) Error() string { return "query: " + e.Message }

// sqlError makes one sentence of DuckDB's message. A cancelled query keeps its
// context's error.
func sqlError(err error) error {
	if err == nil {
		return nil
	}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			return &cancelledError{cause}
		}
	}
	if errors.Is(err, errNotReading) {
		return &Error{Message: errNotReading.Error()}
	}
	if class, rest, found := strings.Cut(err.Error(), " Error: "); found && slices.Contains(notTheSQL, class) {
		return fmt.Errorf("query not answered: %s", shorten(rest))
	}
	return &Error{Message: shorten(err.Error())}
}

// notTheSQL are DuckDB's classes of errors that another text of the query
// would not help against.
var notTheSQL = []string{"IO", "Out of Memory", "INTERNAL", "Internal", "FATAL", "Interrupt"}

// mayBeDamage reports whether a message may come of a damaged file. DuckDB has
// no class of its own for that: a file may lack its end, a page, or the column
// that the statement names. What the parser and the lock say is not of a file.
func mayBeDamage(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errNotReading) {
		return false
	}
	class, _, _ := strings.Cut(err.Error(), " Error: ")
	return !slices.Contains([]string{"Parser", "Syntax", "Permission", "Interrupt"}, class)
}

type cancelledError struct{ cause error }

func (e *cancelledError) Error() string { return "query: stopped before it ended" }
func (e *cancelledError) Unwrap() error { return e.cause }

const longestMessage = 400

// shorten takes from a message of DuckDB its class, the quoted line of SQL and
// the line breaks, and keeps the names it proposes.
func shorten(msg string) string {
	for _, tail := range []string{"\n\nLINE ", "\nLINE ", "\n\tCandidate functions", "\nPossible solutions", "\n\nStack Trace", "\nStack Trace"} {
		msg, _, _ = strings.Cut(msg, tail)
	}
	if class, rest, found := strings.Cut(msg, " Error: "); found && len(strings.Fields(class)) <= 3 {
		msg = rest
	}
	if path, found := outsideFile(msg); found {
		return path + " is not part of the dataset: queries read the exported tables only"
	}
	msg = strings.NewReplacer("!\n", "; ", ".\n", "; ", "\n", "; ", "Either add", "either add", "Candidate tables:", "there is", "\t", "").Replace(strings.TrimSpace(msg))
	msg = strings.Join(strings.Fields(strings.TrimRight(msg, "!;. ")), " ")
	if utf8.RuneCountInString(msg) > longestMessage {
		msg = string([]rune(msg)[:longestMessage]) + "…"
	}
	return lowerFirst(strings.TrimSpace(msg))
}

// outsideFile recognizes the lock's refusal and gives the path.
func outsideFile(msg string) (string, bool) {
	if !strings.Contains(msg, "disabled by configuration") {
		return "", false
	}
	_, rest, found := strings.Cut(msg, `"`)
	path, _, closed := strings.Cut(rest, `"`)
	if !found || !closed {
		return "that file", true
	}
	return path, true
}

func lowerFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	next, _ := utf8.DecodeRuneInString(s[size:])
	if unicode.IsUpper(next) { // an acronym or keyword
		return s
	}
	return string(unicode.ToLower(r)) + s[size:]
}
