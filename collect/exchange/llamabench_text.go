package exchange

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// maxLine bounds a line, and a JSON object over several.
const maxLine = 64 << 20

// scanLines goes through the lines of r, numbered from 1, without their ends.
func scanLines(r io.Reader, each func(n int, text string) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	n := 0
	for lines.Scan() {
		if n++; !each(n, strings.TrimSuffix(lines.Text(), "\r")) {
			return nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d is longer than %d MiB", n+1, maxLine>>20)
	}
	return lines.Err()
}

// text goes through the file once, and takes each line for what it is: the five
// formats tell by their lines, and what else the libraries print in between
// (which devices they found, that they warm up) is passed over.
func (b *benchReader) text() error {
	builds, err := benchBuilds(b.in)
	if err != nil {
		return err
	}
	var table []string  // of Markdown: its header
	var header []string // of CSV
	js := jsonRows{take: b.object}
	rows := csvRows{}
	err = scanLines(b.in.reader(), func(n int, text string) bool {
		c := cells(text)
		switch {
		case js.line(n, text, b.out):
		case rows.line(text):
		case isBenchHeader(c):
			table = c
		case table != nil && len(c) > 0:
			b.markdown(n, table, c, builds)
		case table != nil && strings.HasPrefix(text, "|"):
			b.out.bad(line(n), "%v", errCut)
		case strings.HasPrefix(text, "build_commit,"), strings.HasPrefix(text, `"build_commit",`):
			header, _ = csv.NewReader(strings.NewReader(text)).Read()
		case header != nil && strings.TrimSpace(text) != "":
			rows.begin(n, text)
		case strings.HasPrefix(strings.ToUpper(text), "INSERT INTO "):
			b.sql(n, text)
		}
		if rows.whole() {
			b.csv(header, &rows)
		}
		return b.out.more()
	})
	js.end(b.out)
	if rows.text.Len() > 0 {
		b.csv(header, &rows)
	}
	return err
}

func (b *benchReader) object(n int, raw []byte) {
	row, err := parseObject(raw)
	if err != nil {
		b.out.bad(line(n), "%v", err)
		return
	}
	b.row(line(n), row, "")
}

// jsonRows finds the objects of JSON and of JSON lines, noise between them or
// not.
type jsonRows struct {
	take   func(line int, raw []byte)
	buf    bytes.Buffer
	from   int // line of the object in hand
	depth  int
	quoted bool
	escape bool
}

// line takes a line, unless it is none of an object.
func (j *jsonRows) line(n int, text string, out *sink) bool {
	if j.depth > 0 && strings.HasPrefix(text, "{") {
		j.end(out) // a line of its own: what is in hand was cut
	}
	if j.depth == 0 && !strings.HasPrefix(strings.TrimLeft(text, " \t[,"), "{") {
		return false
	}
	for i := range len(text) {
		j.byte(n, text[i])
	}
	if j.depth > 0 {
		j.buf.WriteByte('\n')
	}
	if j.buf.Len() > maxLine {
		j.end(out)
	}
	return true
}

func (j *jsonRows) byte(n int, c byte) {
	if j.depth == 0 {
		if c != '{' {
			return
		}
		j.from = n
	}
	j.buf.WriteByte(c)
	switch {
	case j.escape:
		j.escape = false
	case j.quoted:
		j.escape, j.quoted = c == '\\', c != '"'
	case c == '"':
		j.quoted = true
	case c == '{', c == '[':
		j.depth++
	case c == '}', c == ']':
		j.depth--
	}
	if j.depth == 0 {
		j.take(j.from, j.buf.Bytes())
		j.buf.Reset()
	}
}

// end reports an object that has no end.
func (j *jsonRows) end(out *sink) {
	if j.depth > 0 {
		out.bad(line(j.from), "%v", errCut)
	}
	*j = jsonRows{take: j.take}
}

// csvRows joins the lines of a row, since a field may have a line's end in it.
type csvRows struct {
	from   int
	text   strings.Builder // empty: no row is in hand
	quoted bool            // it breaks off inside quotes so far
}

// begin takes the first line of a row, or a line that is none: that one is whole,
// whatever quotes are in it.
func (c *csvRows) begin(n int, text string) {
	c.from = n
	c.add(text)
	c.quoted = c.quoted && benchRowHead.MatchString(text)
}

// line goes on with the row in hand, if there is one.
func (c *csvRows) line(text string) bool {
	if c.text.Len() == 0 {
		return false
	}
	c.add("\n" + text)
	return true
}

func (c *csvRows) add(text string) {
	c.text.WriteString(text)
	c.quoted = c.quoted != (strings.Count(text, `"`)%2 == 1)
}

// whole reports whether the row in hand has its end.
func (c *csvRows) whole() bool { return c.text.Len() > 0 && !c.quoted }

// benchRowHead is how a row of CSV begins: with a field in quotes, or with the
// commit of the build where a spreadsheet took the quotes away.
var benchRowHead = regexp.MustCompile(`^("|[0-9a-f]{6,40},|unknown,)`)

// csv takes a row of CSV.
func (b *benchReader) csv(header []string, c *csvRows) {
	at, text := line(c.from), c.text.String()
	*c = csvRows{}
	fields, err := csv.NewReader(strings.NewReader(text)).Read()
	switch {
	case !benchRowHead.MatchString(text) && (err != nil || len(fields) < len(header)):
		// a line of a library, among the rows
	case err != nil:
		b.out.bad(at, "%v", csvFault(err))
	case len(fields) != len(header):
		b.out.bad(at, "it has %d fields, the header %d", len(fields), len(header))
	default:
		b.row(at, tableRow(header, fields), "")
	}
}

func csvFault(err error) error {
	if errors.Is(err, csv.ErrQuote) {
		return errors.New("it breaks off inside quotes")
	}
	return err
}

// tableRow is a row of a table as an object.
func tableRow(names, fields []string) object {
	row := object{}
	for i, name := range names {
		text, _ := json.Marshal(fields[i]) // of a string it never fails
		row[name] = text
	}
	return row
}

var sqlInsert = regexp.MustCompile(`(?i)^INSERT INTO \S+ \(([^)]*)\) VALUES \((.*)\);?\s*$`)

// sql takes an INSERT; nothing is executed. llama-bench does not double the
// quotes in a text, so a field ends where the next begins.
func (b *benchReader) sql(n int, text string) {
	m := sqlInsert.FindStringSubmatch(text)
	if m == nil {
		b.out.bad(line(n), "%v", errCut)
		return
	}
	names := strings.Split(m[1], ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	values := strings.Split(strings.Trim(strings.TrimSpace(m[2]), "'"), "', '")
	if len(values) != len(names) {
		b.out.bad(line(n), "it has %d values for %d columns", len(values), len(names))
		return
	}
	for i := range values {
		values[i] = strings.ReplaceAll(values[i], "''", "'")
	}
	b.row(line(n), tableRow(names, values), "")
}

// cells are those of a line of a Markdown table; nil: it is none.
func cells(text string) []string {
	text = strings.TrimSpace(text)
	if len(text) < 2 || text[0] != '|' || text[len(text)-1] != '|' {
		return nil
	}
	out := strings.Split(text[1:len(text)-1], "|")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// isBenchHeader reports whether the cells head a table of tests.
func isBenchHeader(c []string) bool {
	n := len(c)
	return n >= 3 && c[0] == "model" && c[n-2] == "test" && c[n-1] == "t/s"
}

// markdown takes a row of a table.
func (b *benchReader) markdown(n int, header, c []string, builds []benchLine) {
	if strings.Trim(strings.Join(c, ""), "-: ") == "" {
		return
	}
	if len(c) != len(header) {
		b.out.bad(line(n), "it has %d cells, the header %d", len(c), len(header))
		return
	}
	row := tableRow(header, c)
	if row.text("model") == "" {
		b.out.bad(line(n), "it names no model")
		return
	}
	b.row(line(n), row, buildBehind(builds, n))
}

// plusMinus reads "2000.12 ± 23.40".
func plusMinus(s string) (mean float64, sd *float64, ok bool) {
	left, right, has := strings.Cut(s, "±")
	mean, err := strconv.ParseFloat(strings.TrimSpace(left), 64)
	if err != nil {
		return 0, nil, false
	}
	if x, err := strconv.ParseFloat(strings.TrimSpace(right), 64); has && err == nil && x >= 0 {
		sd = &x
	}
	return mean, sd, true
}

// benchLine is a build and the line that names it, below its table.
type benchLine struct {
	n     int
	build string
}

var benchFooter = regexp.MustCompile(`^build: ([0-9a-z]+)(?: \((\d+)\))?\s*$`)

// benchBuilds finds the builds that Markdown has below its tables.
func benchBuilds(in *Input) ([]benchLine, error) {
	var out []benchLine
	err := scanLines(in.reader(), func(n int, text string) bool {
		if m := benchFooter.FindStringSubmatch(text); m != nil {
			build := m[1]
			if m[2] != "" {
				build = "b" + m[2] + "-" + m[1]
			}
			out = append(out, benchLine{n, build})
		}
		return true
	})
	return out, err
}

func buildBehind(builds []benchLine, n int) string {
	for _, b := range builds {
		if b.n > n {
			return b.build
		}
	}
	return ""
}
