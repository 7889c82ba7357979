package rowio

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

var names = []string{"id", "x", "s", "at", "l", "x"}

func sample() iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		row := make([]any, 6) // one slice for all rows, as Rows.All has
		for _, r := range [][]any{
			{int64(1), 0.1, "a,\"b\"\n|<c>", time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), []any{"p", "q"}, true},
			{int64(9007199254740993), 1e21, "", nil, []any{}, nil},
			{nil, math.Inf(1), "é", nil, []any{int64(1), nil, math.NaN()}, map[string]any{"k": 1.5}},
		} {
			copy(row, r)
			if !yield(row, nil) {
				return
			}
		}
	}
}

type writer func(io.Writer, []string, iter.Seq2[[]any, error]) error

func write(t *testing.T, f writer, rows iter.Seq2[[]any, error]) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b, names, rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func none(func([]any, error) bool) {}

func TestJSON(t *testing.T) {
	const want = `[{"id":1,"x":0.1,"s":"a,\"b\"\n|<c>","at":"2026-01-02T03:04:05.000006Z","l":["p","q"],"x_1":true},
 {"id":9007199254740993,"x":1e+21,"s":"","at":null,"l":[],"x_1":null},
 {"id":null,"x":null,"s":"é","at":null,"l":[1,null,null],"x_1":{"k":1.5}}]
`
	got := write(t, WriteJSON, sample())
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var rows []map[string]any
	if err := json.Unmarshal([]byte(got), &rows); err != nil || len(rows) != 3 {
		t.Errorf("%d rows, error %v", len(rows), err)
	}
	if got := write(t, WriteJSON, none); got != "[]\n" {
		t.Errorf("no rows are %q", got)
	}
}

func TestJSONL(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(write(t, WriteJSONL, sample()), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3", len(lines))
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	if got := write(t, WriteJSONL, none); got != "" {
		t.Errorf("no rows are %q", got)
	}
}

func TestCSV(t *testing.T) {
	got, err := csv.NewReader(strings.NewReader(write(t, WriteCSV, sample()))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		names,
		{"1", "0.1", "a,\"b\"\n|<c>", "2026-01-02T03:04:05.000006Z", `["p","q"]`, "true"},
		{"9007199254740993", "1e+21", "", "", "[]", ""},
		{"", "+Inf", "é", "", "[1,null,null]", `{"k":1.5}`},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMarkdown(t *testing.T) {
	lines := strings.Split(write(t, WriteMarkdown, sample()), "\n")
	want := []string{"| id | x | s | at | l | x |", "| --- | --- | --- | --- | --- | --- |",
		`| 1 | 0.1 | a,"b"<br>\|<c> | 2026-01-02T03:04:05.000006Z | ["p","q"] | true |`}
	for i := range want {
		if lines[i] != want[i] {
			t.Errorf("line %d is %s, want %s", i, lines[i], want[i])
		}
	}
}

// TestFaults: an error among the rows, and each failing write, is reported.
func TestFaults(t *testing.T) {
	boom := errors.New("boom")
	broken := func(yield func([]any, error) bool) {
		for row := range sample() {
			if !yield(row, nil) {
				return
			}
		}
		yield(nil, boom)
	}
	for name, f := range map[string]writer{"csv": WriteCSV, "json": WriteJSON, "jsonl": WriteJSONL, "markdown": WriteMarkdown} {
		if err := f(io.Discard, names, broken); !errors.Is(err, boom) {
			t.Errorf("%s: error %v, want the rows'", name, err)
		}
		size := len(write(t, f, many))
		for room := 0; room < size; room += 997 {
			if err := f(&full{room}, names, many); !errors.Is(err, errFull) {
				t.Fatalf("%s: error %v after %d bytes, want the writer's", name, err, room)
			}
		}
	}
}

func many(yield func([]any, error) bool) {
	for range 200 {
		for row := range sample() {
			if !yield(row, nil) {
				return
			}
		}
	}
}

var errFull = errors.New("disk full")

type full struct{ room int }

func (w *full) Write(p []byte) (int, error) {
	if len(p) > w.room {
		return 0, errFull
	}
	w.room -= len(p)
	return len(p), nil
}
