// Package rowio writes rows of plain values as CSV, JSON, JSON lines and
// Markdown. Rows are written as they come; none is kept.
//
// In all forms a time is RFC 3339 in UTC, a list is a list, an integer has no
// point, and NULL is null (an empty cell in CSV and Markdown). A double that
// JSON cannot hold (NaN, infinity) is null there.
package rowio

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// WriteCSV writes a header and one record a row (RFC 4180, lines end in \n).
// Lists and structs are JSON texts.
func WriteCSV(w io.Writer, names []string, rows iter.Seq2[[]any, error]) error {
	out := csv.NewWriter(w)
	if err := out.Write(names); err != nil {
		return err
	}
	record := make([]string, len(names))
	for row, err := range rows {
		if err != nil {
			return err
		}
		for i, v := range row {
			record[i] = Text(v)
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// WriteJSON writes one array of row objects, a row a line. Keys are the column
// names in order; a name that comes again gets a suffix: x, x_1.
func WriteJSON(w io.Writer, names []string, rows iter.Seq2[[]any, error]) error {
	return writeObjects(w, names, rows, "[", ",\n ", "]\n")
}

// WriteJSONL writes one row object a line.
func WriteJSONL(w io.Writer, names []string, rows iter.Seq2[[]any, error]) error {
	out := bufio.NewWriter(w)
	keys := objectKeys(names)
	for row, err := range rows {
		if err != nil {
			return err
		}
		if err := writeObject(out, keys, row); err != nil {
			return err
		}
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
	}
	return out.Flush()
}

func writeObjects(w io.Writer, names []string, rows iter.Seq2[[]any, error], open, between, end string) error {
	out := bufio.NewWriter(w)
	keys := objectKeys(names)
	lead := open
	for row, err := range rows {
		if err != nil {
			return err
		}
		if _, err := out.WriteString(lead); err != nil {
			return err
		}
		if err := writeObject(out, keys, row); err != nil {
			return err
		}
		lead = between
	}
	if lead == open {
		end = open + end
	}
	if _, err := out.WriteString(end); err != nil {
		return err
	}
	return out.Flush()
}

func writeObject(out *bufio.Writer, keys []string, row []any) error {
	lead := byte('{')
	for i, v := range row {
		text, err := encode(v)
		if err != nil {
			return fmt.Errorf("column %s has no JSON form: %w", keys[i], err)
		}
		out.WriteByte(lead)
		out.WriteString(keys[i])
		out.WriteByte(':')
		out.Write(text)
		lead = ','
	}
	if len(row) == 0 {
		out.WriteByte(lead)
	}
	return out.WriteByte('}')
}

// objectKeys are the names as JSON strings, each once.
func objectKeys(names []string) []string {
	taken := make(map[string]bool, len(names))
	keys := make([]string, len(names))
	for i, name := range names {
		key := name
		for n := 1; taken[key]; n++ {
			key = fmt.Sprintf("%s_%d", name, n)
		}
		taken[key] = true
		text, _ := encode(key) // a string always has a JSON form
		keys[i] = string(text)
	}
	return keys
}

// encode is JSON without the escapes that are for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(finite(v)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// finite replaces what JSON cannot hold by nil, at any depth.
func finite(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	case time.Time:
		return Text(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = finite(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = finite(v[k])
		}
		return out
	}
	return v
}

// WriteMarkdown writes a table of GitHub's Markdown. Line breaks in a cell
// become <br>, and | is escaped.
func WriteMarkdown(w io.Writer, names []string, rows iter.Seq2[[]any, error]) error {
	out := bufio.NewWriter(w)
	writeLine := func(cells []string) error {
		_, err := out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		return err
	}
	cells := make([]string, len(names))
	for i, name := range names {
		cells[i] = escapeMarkdown(name)
	}
	if err := writeLine(cells); err != nil {
		return err
	}
	for i := range cells {
		cells[i] = "---"
	}
	if err := writeLine(cells); err != nil {
		return err
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		for i, v := range row {
			cells[i] = escapeMarkdown(Text(v))
		}
		if err := writeLine(cells); err != nil {
			return err
		}
	}
	return out.Flush()
}

func escapeMarkdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "\r\n", "<br>", "\n", "<br>", "\r", "<br>").Replace(s)
}

// Text is a value as one cell of text: empty for NULL, lists and structs as
// JSON, a double with the digits it needs and no more.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	}
	text, err := encode(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
