package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
	"tokwatt/store"
)

var emitReports = flag.String("emit-reports", "", "write the reports of the tests into this folder, for scripts/report_check.py")

// hostile is text that means something to a page, a style sheet or a screen.
const hostile = `</title><script>alert(1)</script><img src=x onerror=alert(2)> "'&{{.}}` + "\x00\x1b[31m\u202e]]></style>`" + ` javascript:alert(3)`

// reportStores are sessions of all kinds, each in a store of its own.
func reportStores(t *testing.T) map[string]string {
	plain := func(*collect.Request) {}
	target := collect.TargetInfo{Engine: "e", Driver: "openai", ModelID: "m"}
	refuse := func(r *collect.Request) {
		*r = collect.Request{RequestID: r.RequestID, StartNS: r.StartNS, EndNS: r.EndNS, HTTPStatus: new(int64(503)),
			Failure: &collect.Failure{Kind: "http", Message: "HTTP 503: busy <b>now</b>"}}
	}
	return map[string]string{
		"fleet":   fixture(t),
		"one-row": storeOf(t, kindsOf(target, plain, []float64{10})...),
		"failed":  storeOf(t, kindsOf(target, refuse, []float64{10, 11, 12})...),
		"hostile": storeOf(t, hostileSession()...),
		"many":    manySeries(t),
		"imported": func() string {
			t.Chdir(t.TempDir())
			importable(t)
			db := filepath.Join(t.TempDir(), "imported.db")
			if r := tokwatt(t, "", "import", "--db", db, "results.json"); r.code != 0 {
				t.Fatalf("import: exit %d: %s", r.code, r.err)
			}
			return db
		}(),
	}
}

// manySeries is a session with more targets and concurrencies than a figure can
// tell apart.
func manySeries(t *testing.T) string {
	return fixtureOf(t, analyzetest.Options{Seed: 3, Targets: 5, PP: []int64{128, 512}, Concurrency: []int64{1, 2, 4, 8}, Repeats: 2})
}

// hostileSession has the text wherever a session has room for text.
func hostileSession() []collect.Record {
	recs := kindsOf(collect.TargetInfo{Engine: hostile, EngineVersion: hostile, Driver: hostile, Endpoint: hostile, ModelID: hostile, ServedModel: hostile,
		ModelFormat: hostile, Quantization: hostile, Sharding: hostile, InstanceMeta: hostile, Nodes: []string{hostile}, Sampling: hostile, Cluster: hostile},
		func(r *collect.Request) {
			r.Preview, r.Report.FinishReason = hostile, hostile
			if r.RequestID == 2 {
				r.Failure = &collect.Failure{Kind: "http", Message: hostile}
			}
		}, []float64{10, 11, 12})
	for _, rec := range recs {
		switch rec := rec.(type) {
		case *collect.Session:
			rec.Host = collect.Host{Name: strings.ReplaceAll(hostile, "\x00", ""), Chip: hostile, Model: hostile, OSName: hostile, OSVersion: hostile}
			rec.Label, rec.Note, rec.Tags, rec.Options = hostile, hostile, []string{hostile}, fmt.Sprintf(`{"note":%q}`, "<script>'")
		case *collect.Segment:
			rec.ToolVersion = hostile
		case *collect.Case:
			rec.PromptKind, rec.ColdMethod, rec.EOSBan = hostile, hostile, hostile
		}
	}
	return recs
}

// pageOf is the report of a store's newest session.
func pageOf(t *testing.T, name, db string) *element {
	t.Helper()
	r := tokwatt(t, "", "report", "--db", db, "--out", "-")
	if r.code != 0 || r.err != "" {
		t.Fatalf("%s: exit %d: %s", name, r.code, r.err)
	}
	if *emitReports != "" {
		if err := os.WriteFile(filepath.Join(*emitReports, name+".html"), []byte(r.out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := parsePage(r.out)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return page
}

// element is a part of a page, read strictly.
type element struct {
	name  string
	attrs map[string]string
	text  string // of it and all below
	below []*element

	said strings.Builder
}

func parsePage(text string) (*element, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	root := &element{}
	open := []*element{root}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			root.text = root.said.String()
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			e := &element{name: tok.Name.Local, attrs: map[string]string{}}
			for _, a := range tok.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			last := open[len(open)-1]
			last.below = append(last.below, e)
			open = append(open, e)
		case xml.EndElement:
			done := open[len(open)-1]
			done.text = done.said.String()
			open = open[:len(open)-1]
			open[len(open)-1].said.WriteString(done.text)
		case xml.CharData:
			open[len(open)-1].said.Write(tok)
		}
	}
}

// all are the elements below with one of the names, in the order of the page.
func (e *element) all(names ...string) []*element {
	var out []*element
	for _, b := range e.below {
		if slices.Contains(names, b.name) {
			out = append(out, b)
		}
		out = append(out, b.all(names...)...)
	}
	return out
}

// table is the one whose caption begins so: its rows by the names of columns.
func (e *element) table(t *testing.T, caption string) []map[string]string {
	t.Helper()
	for _, table := range e.all("table") {
		if c := table.all("caption"); len(c) == 0 || !strings.HasPrefix(c[0].text, caption) {
			continue
		}
		var out []map[string]string
		heads := table.all("thead")[0].all("th")
		for _, tr := range table.all("tbody")[0].all("tr") {
			row := map[string]string{}
			cells := tr.all("th", "td")
			if len(cells) != len(heads) {
				t.Fatalf("%s: a row of %d cells under %d heads", caption, len(cells), len(heads))
			}
			for i, c := range cells {
				name, _, _ := strings.Cut(heads[i].text, " ")
				row[name] = c.text
			}
			out = append(out, row)
		}
		return out
	}
	t.Fatalf("there is no table %s", caption)
	return nil
}

// TestReportPages: pages of all kinds of sessions are well-formed, hold nothing
// that runs or asks for something, and say of each part what it is.
func TestReportPages(t *testing.T) {
	needsSQL(t)
	stores := reportStores(t)
	known := []string{"html", "head", "meta", "link", "title", "style", "body", "header", "h1", "h2", "p", "nav", "ul", "li", "a", "main", "section",
		"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "span", "details", "summary", "figure", "pre", "code", "footer",
		"wbr", "svg", "g", "path", "text", "defs"}
	attrs := []string{"lang", "charset", "http-equiv", "content", "name", "rel", "href", "id", "class", "title", "scope", "tabindex", "role", "aria-label", "label",
		"labelledby", "aria-labelledby", "style", "d", "x", "y", "transform", "width", "height", "viewBox", "xmlns", "xlink"}
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		page := pageOf(t, name, stores[name])
		for _, w := range reportSays[name] {
			if !strings.Contains(flat(page.text), w) {
				t.Errorf("%s: %q is missing", name, w)
			}
		}
		ids := map[string]bool{}
		for _, e := range page.all(append(slices.Clone(known), "script")...) {
			for k, v := range e.attrs {
				if !slices.Contains(attrs, k) || k == "href" && !strings.HasPrefix(v, "#") && v != "data:," {
					t.Errorf("%s: <%s %s=%q>", name, e.name, k, v)
				}
			}
			if id := e.attrs["id"]; id != "" && ids[id] {
				t.Errorf("%s: two elements are %s", name, id)
			}
			ids[e.attrs["id"]] = true
			for _, b := range e.below {
				if !slices.Contains(known, b.name) {
					t.Errorf("%s: <%s> in <%s>", name, b.name, e.name)
				}
			}
		}
		for _, th := range page.all("th") {
			if th.attrs["scope"] == "" {
				t.Errorf("%s: the head %q has no scope", name, th.text)
			}
		}
		for _, a := range page.all("a") {
			if !ids[strings.TrimPrefix(a.attrs["href"], "#")] {
				t.Errorf("%s: nothing is at %s", name, a.attrs["href"])
			}
		}
		plots := page.all("section")[1]
		want := 6
		if name == "many" {
			want += 4 // scaling: a figure a target
		}
		if n := len(plots.all("figure")) + strings.Count(plots.text, "No plot of "); n != want {
			t.Errorf("%s: %d plots are drawn or said to be missing, want %d", name, n, want)
		}
		if strings.ContainsAny(page.text, "\x00\x1b\u202e") {
			t.Errorf("%s: characters that steer a screen", name)
		}
	}
}

// reportSays is what is special about each of the sessions.
var reportSays = map[string][]string{
	"fleet":    {"indicative: power was read at instants", "rapl: no package energy (denied): the counters belong to root", "Whether the machine slowed down", "rank test p = "},
	"one-row":  {"No request failed", "1 batch in the smallest case", "No plot of power: ", "Too few batches", "error of our own times", "TTFT 0.021 ms"},
	"failed":   {"HTTP 503: busy <b>now</b>", "503", "No plot of scaling: ", "No plot of a typical answer: no good answer was streamed in three pieces or more."},
	"hostile":  {"<script>alert(1)</script>", "tokwatt collect '--note=<script>'\\'''"},
	"imported": {"Origin: an imported file", "results.json", "exo-bench"},
}

// TestReportFigures: every figure of the page is the views' own.
func TestReportFigures(t *testing.T) {
	needsSQL(t)
	db := fixture(t)
	page := pageOf(t, "fleet", db)
	ask := func(args ...string) (rows []map[string]any) {
		t.Helper()
		r := tokwatt(t, "", append(args, "--db", db)...)
		if err := json.Unmarshal([]byte(r.out), &rows); err != nil {
			t.Fatalf("%v: %v %s", args, err, r.err)
		}
		return rows
	}
	summary := ask("summary", "--json")
	checked := 0
	is := func(what string, got string, want any) {
		t.Helper()
		checked++
		w := "–"
		if v, ok := want.(float64); ok {
			w = sig(v)
		}
		if got != w {
			t.Errorf("%s: the page has %q, the view %q (%v)", what, got, w, want)
		}
	}
	at := 0
	for target := int64(1); target <= 3; target++ {
		all := page.table(t, "Every metric of every case of "+caption(t, page, int(target-1)))
		heads := page.table(t, caption(t, page, int(target-1)))
		for _, row := range heads {
			of := summary[at]
			at++
			for head, metric := range map[string]string{"prefill": "prompt_tps", "gen": "generation_tps", "TTFT": "ttft_ms", "all": "agg_wall_tps", "energy": "j_per_output_token"} {
				median, _, _ := strings.Cut(row[head], "\n")
				is(head, median, of[metric+"_median"])
			}
			all = sameStats(t, all, of, is)
		}
		if len(all) > 0 {
			t.Errorf("target %d: %d rows of no case, first %v", target, len(all), all[0])
		}
	}
	if at != len(summary) {
		t.Errorf("%d of %d rows of the view are on the page", at, len(summary))
	}
	sameRows(t, page.table(t, "One by one"), ask("query", "--format", "json", "select * from requests where session_id = (select max(session_id) from sessions) order by request_id limit 200"), is)
	sameRows(t, page.table(t, "The batches in order of time"), ask("query", "--format", "json", "select * from batches where session_id = (select max(session_id) from sessions) order by segment, start_ns, batch_id limit 200"), is)
	if checked < 3000 {
		t.Errorf("only %d figures were compared", checked)
	}
}

// sameStats compares the first rows of a table of all figures with the row of the
// view summary whose case they are of, and returns the rest.
func sameStats(t *testing.T, all []map[string]string, of map[string]any, is func(string, string, any)) []map[string]string {
	t.Helper()
	hit, _ := of["prefix_cache_hit"].(string)
	name := strings.TrimSpace(fmt.Sprintf("pp %v tg %v ×%v %s", of["pp"], of["tg"], of["concurrency"], hit))
	for ; len(all) > 0 && all[0]["case"] == name; all = all[1:] {
		r, m := all[0], all[0]["metric"]
		if got := r["n"]; got != fmt.Sprint(of[m+"_n"]) {
			t.Errorf("%s: n is %s, not %v", m, got, of[m+"_n"])
		}
		for column, suffix := range map[string]string{"median": "_median", "mean": "_mean", "sd": "_sd", "p90": "_p90", "p99": "_p99"} {
			is(m+suffix, r[column], of[m+suffix])
		}
	}
	return all
}

// caption is that of the headline table of a target.
func caption(t *testing.T, page *element, target int) string {
	t.Helper()
	return page.all("section")[0].all("caption")[target].text
}

// sameRows compares the numbers of rows whose columns have the view's names.
func sameRows(t *testing.T, page []map[string]string, view []map[string]any, is func(string, string, any)) {
	t.Helper()
	if len(page) != len(view) {
		t.Fatalf("%d rows on the page, %d in the view", len(page), len(view))
	}
	for i, row := range page {
		for name, got := range row {
			v, there := view[i][name]
			if n, ok := v.(float64); ok && got == fmt.Sprint(int64(n)) && n == float64(int64(n)) {
				continue // a count
			}
			switch v.(type) {
			case string, []any, bool:
				continue
			}
			if there {
				is(fmt.Sprintf("row %d, %s", i, name), got, v)
			}
		}
	}
}

// TestReportOutline pins the order of the page, its tables with their columns,
// and its plots.
func TestReportOutline(t *testing.T) {
	needsSQL(t)
	page := pageOf(t, "fleet", fixture(t))
	var b strings.Builder
	for _, e := range page.all("h1", "h2", "caption", "thead", "figure", "p", "li") {
		if strings.HasPrefix(e.text, "Written by tokwatt ") {
			continue // whose version is the build's
		}
		switch e.name {
		case "h1", "h2":
			fmt.Fprintf(&b, "\n%s %s\n", e.name, e.text)
		case "thead":
			var heads []string
			for _, th := range e.all("th") {
				heads = append(heads, th.text)
			}
			fmt.Fprintf(&b, "    %s\n", strings.Join(heads, " | "))
		case "figure":
			fmt.Fprintf(&b, "  figure: %s\n", e.all("div")[0].attrs["aria-label"])
		default:
			fmt.Fprintf(&b, "  %s: %s\n", e.name, e.text)
		}
	}
	golden(t, "report/outline.txt", b.String())
}

// TestReportOfWhatWasLost: the reasons stand before everything else, and a
// session without requests is not one without failures.
func TestReportOfWhatWasLost(t *testing.T) {
	needsSQL(t)
	recs := kindsOf(collect.TargetInfo{Engine: "e", Driver: "openai", ModelID: "m"}, func(*collect.Request) {}, []float64{10})
	lost := &collect.Lost{Segment: 1, Model: "m", Message: "no prompt of 32 tokens"}
	none := slices.DeleteFunc(slices.Clone(recs), func(rec collect.Record) bool { _, ok := rec.(*collect.Batch); return ok })
	for _, c := range []struct {
		recs     []collect.Record
		failures string
	}{{recs, "No request failed, and none is invalid."}, {none, "No request was made."}} {
		db := storeOf(t, append(slices.Clone(c.recs), lost)...)
		r := tokwatt(t, "", "report", "--db", db, "--out", "-")
		reason, figures, failures := strings.Index(r.out, lost.Message), strings.Index(r.out, "<table"), strings.Index(r.out, c.failures)
		if r.code != 0 || reason < 0 || failures < 0 || figures >= 0 && figures < reason {
			t.Errorf("exit %d, the reason at %d, the first table at %d, %q at %d: %s", r.code, reason, figures, c.failures, failures, r.err)
		}
		sameOfArchive(t, db, "report", "--out", "-")
	}
}

// sameOfArchive holds that a command gives of an archive what it gives of the
// store.
func sameOfArchive(t *testing.T, db string, command ...string) {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "archive")
	if r := tokwatt(t, "", "archive", "--db", db, "--to", archive); r.code != 0 {
		t.Fatal(r.err)
	}
	here, of := tokwatt(t, "", append(slices.Clone(command), "--db", db)...), tokwatt(t, "", append(slices.Clone(command), "--dataset", archive)...)
	here.out, of.out = toNineDigits(here.out), toNineDigits(of.out)
	if here != of || here.out == "" {
		t.Errorf("%q: of the store exit %d, %d bytes, of its archive exit %d, %d bytes: %s%s", command, here.code, len(here.out), of.code, len(of.out), here.err, of.err)
	}
}

// toNineDigits shortens fractions: a mean's last digits hang on which thread was
// first.
func toNineDigits(text string) string {
	return fraction.ReplaceAllStringFunc(text, func(s string) string {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return s
		}
		return strconv.FormatFloat(x, 'g', 9, 64)
	})
}

var fraction = regexp.MustCompile(`\d+\.\d+(?:[eE][-+]?\d+)?`)

// TestAnArchiveTellsAllThatAStoreDoes: of sensors that wrap, that give nothing
// and that are another machine's, of what was lost and what was not run.
func TestAnArchiveTellsAllThatAStoreDoes(t *testing.T) {
	needsSQL(t)
	o := analyzetest.Options{Seed: 3, Targets: 2, PP: []int64{128}, Repeats: 4, Power: true}
	var recs []collect.Record
	for rec := range analyzetest.Records(o) {
		switch r := rec.(type) {
		case *collect.Sensors:
			r.Channels[0].Range = 200
			recs = append(recs, &collect.Lost{Segment: 1, Model: "gone", Message: "no memory"})
		case *collect.Samples:
			for i := range r.Samples {
				if s := &r.Samples[i]; s.Metric == "energy" {
					s.Value = math.Mod(s.Value, 200)
				}
			}
		case *collect.End:
			r.Status, r.NotRun = collect.StatusInterrupted, 17
		}
		recs = append(recs, rec)
	}
	db := filepath.Join(t.TempDir(), "t.db")
	if err := store.Open(db, store.Options{}).PutAll(t.Context(), o.ID(), recs); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"report", "--out", "-"}, {"summary"}, {"summary", "--format", "json"}, {"show"},
	} {
		sameOfArchive(t, db, command...)
	}
	archive, picture := filepath.Join(t.TempDir(), "archive"), filepath.Join(t.TempDir(), "power.svg")
	var pictures []string
	for _, command := range [][]string{{"archive", "--db", db, "--to", archive}, {"plot", "power", "--db", db, "--out", picture}, {"plot", "power", "--dataset", archive, "--out", picture}} {
		if r := tokwatt(t, "", command...); r.code != 0 {
			t.Fatal(r.err)
		}
		if command[0] == "plot" {
			svg, err := os.ReadFile(picture)
			if err != nil {
				t.Fatal(err)
			}
			pictures = append(pictures, string(svg))
		}
	}
	if pictures[0] != pictures[1] {
		t.Error("the power of the store and of its archive are two pictures")
	}
	page := tokwatt(t, "", "report", "--db", db, "--out", "-").out
	for _, want := range []string{"gone: no memory", "the counters belong to root", "not_run"} {
		if !strings.Contains(page, want) {
			t.Errorf("the report has no word of %q", want)
		}
	}
}

// TestReportIsWritten: where to, and what is said where it can't be.
func TestReportIsWritten(t *testing.T) {
	needsSQL(t)
	db, dir := fixture(t), t.TempDir()
	t.Chdir(dir)
	if r := tokwatt(t, "", "archive", "--db", db, "--to", "data"); r.code != 0 {
		t.Fatal(r.err)
	}
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--db", db}, 0, "report.html\n"},
		{[]string{"--db", db, "--out", "x.html", "last"}, 0, "x.html\n"},
		{[]string{"--dataset", "data", "--out", "archived.html"}, 0, "archived.html\n"},
		{[]string{"--db", db, "last", "last"}, exitUsage, "report is of one session, and here are 2"},
		{[]string{"--db", db, "fffff"}, exitUsage, "fffff"},
		{[]string{"--db", db, "--out", "folder"}, exitUsage, "it is a folder"},
		{[]string{"--db", db, "--out", "x.HTM"}, 0, "x.HTM\n"},
		{[]string{"--db", db, "--out", "x.pdf"}, exitUsage, "a report is HTML"},
		{[]string{"--db", db, "--out", "x.md"}, exitUsage, "a report is HTML"},
		{[]string{"--db", db, "--out", "none/x.html"}, exitUsage, "there is no folder"},
		{[]string{"--db", db, "--out", db}, exitUsage, "that is the store itself"},
		{[]string{"--dataset", "none"}, exitUsage, "there is no such folder"},
	} {
		r := tokwatt(t, "", append([]string{"report"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.out+r.err, c.want) {
			t.Errorf("%v: exit %d, want %d and %q: %s%s", c.args, r.code, c.code, c.want, r.out, r.err)
		}
	}
	a, _ := os.ReadFile("report.html")
	b, _ := os.ReadFile("x.html")
	if len(a) == 0 || string(a) != string(b) {
		t.Error("two reports of one session differ")
	}
	left, _ := filepath.Glob(".tokwatt-*")
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
