package analyze_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

var update = flag.Bool("update", false, "write the golden files anew")

func path(root string, done analyze.Exported, table string) string {
	i := slices.IndexFunc(done.Files, func(f string) bool { return strings.HasPrefix(f, "table="+table+string(filepath.Separator)) })
	return filepath.Join(root, done.Files[i])
}

// read is a whole table as one record batch.
func read(t *testing.T, root string, done analyze.Exported, table string) arrow.RecordBatch {
	t.Helper()
	f, err := os.Open(path(root, done, table))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tbl, err := pqarrow.ReadTable(t.Context(), f, parquet.NewReaderProperties(nil), pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	if tbl.NumRows() == 0 {
		return array.NewRecordBatch(tbl.Schema(), emptyColumns(tbl.Schema()), 0)
	}
	rows := array.NewTableReader(tbl, tbl.NumRows())
	if !rows.Next() {
		t.Fatal("no rows")
	}
	return rows.RecordBatch()
}

func emptyColumns(s *arrow.Schema) []arrow.Array {
	var out []arrow.Array
	for _, f := range s.Fields() {
		out = append(out, array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, 0))
	}
	return out
}

// cell is a value of a file as Go has it; nil is NULL.
func cell(col arrow.Array, row int) any {
	if col.IsNull(row) {
		return nil
	}
	switch c := col.(type) {
	case *array.Int64:
		return c.Value(row)
	case *array.Float64:
		return c.Value(row)
	case *array.Boolean:
		return c.Value(row)
	case *array.String:
		return c.Value(row)
	case *array.Timestamp:
		return time.UnixMicro(int64(c.Value(row))).UTC()
	case *array.List:
		from, to := c.ValueOffsets(row)
		items := c.ListValues().(*array.String)
		list := []string{}
		for i := from; i < to; i++ {
			list = append(list, items.Value(int(i)))
		}
		return list
	}
	return fmt.Sprintf("a column of type %T", col)
}

// field is what a file must hold for a field of a row.
func field(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case time.Time:
		if x.IsZero() {
			return nil
		}
		return x.UTC().Truncate(time.Microsecond)
	case []string:
		return append([]string{}, x...)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return v.Elem().Interface()
	case reflect.String:
		if v.String() == "" {
			return nil
		}
		return v.String()
	}
	return v.Interface()
}

// sameRows holds a file against rows whose fields are in the order and under
// the names of the columns: a getter that takes the wrong field shows here.
func sameRows[R any](t *testing.T, got arrow.RecordBatch, rows []R) {
	t.Helper()
	if int(got.NumRows()) != len(rows) {
		t.Fatalf("%d rows, want %d", got.NumRows(), len(rows))
	}
	typ := reflect.TypeFor[R]()
	fields := slices.DeleteFunc(reflect.VisibleFields(typ), func(f reflect.StructField) bool { return f.Anonymous })
	if len(fields) != int(got.NumCols()) {
		t.Fatalf("%d columns for %d fields of %v", got.NumCols(), len(fields), typ)
	}
	for c, col := range got.Columns() {
		name := got.ColumnName(c)
		if f := fields[c].Name; strings.ToLower(f) != strings.ReplaceAll(name, "_", "") {
			t.Errorf("column %s stands where field %s is", name, f)
		}
		for r := range rows {
			want := field(reflect.ValueOf(rows[r]).FieldByIndex(fields[c].Index))
			if have := cell(col, r); !reflect.DeepEqual(have, want) {
				t.Fatalf("%s, row %d: %v, want %v", name, r, have, want)
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for seed := range uint64(3) {
		o := analyzetest.Options{Seed: seed, Repeats: 40, Unfinished: seed == 1, Power: seed == 2}
		root := t.TempDir()
		done := export(t, analyzetest.Records(o), root)
		var batches []analyze.BatchRow
		var requests []analyze.RequestRow
		var energy []analyze.EnergyRow
		var chunks int64
		for _, r := range derived(t, analyzetest.Records(o)) {
			energy = append(energy, r.Energy...)
			if r.Batch == nil {
				continue
			}
			batches, requests = append(batches, r.Row), append(requests, r.Requests...)
			for i := range r.Batch.Requests {
				chunks += int64(len(r.Batch.Requests[i].Chunks))
			}
		}
		sameRows(t, read(t, root, done, "batches"), batches)
		sameRows(t, read(t, root, done, "requests"), requests)
		sameRows(t, read(t, root, done, "energy"), energy)
		if done.Rows["chunks"] != chunks || read(t, root, done, "chunks").NumRows() != chunks {
			t.Errorf("%d chunks, want %d", done.Rows["chunks"], chunks)
		}
	}
}

// Each table's columns, from records whose every field is set to a value of
// its own.
func TestRoundTripOfWhatIsOnlyCopied(t *testing.T) {
	s := session("host")
	s.Calibration = `{"stamps":"kernel"}`
	s.ID, s.Profile, s.Options, s.Label, s.Tags, s.Note = "s", "exo", "{}", "label", []string{"a", "", "a"}, "note\xff"
	s.Host = collect.Host{Name: "host", Chip: "chip", Model: "model", CPUCores: ptr(int64(1)), GPUCores: ptr(int64(2)), RAMBytes: ptr(int64(3)),
		OSName: "os", OSVersion: "v", PowerMode: "low", OnBattery: ptr(true)}
	s.Imported = &collect.Origin{Format: "if", Tool: "it", ToolVersion: "iv", File: "f.json", Hash: "ih", ImportedAt: s.StartedAt.Add(time.Minute), Extra: "{2}"}
	seg := &collect.Segment{Segment: 4, StartedAt: s.StartedAt.Add(1500), ToolVersion: "tv", BootID: "boot", PID: 5, PlannedBatches: 6}
	target := &collect.TargetInfo{TargetID: 7, Engine: "e", EngineVersion: "ev", Driver: "d", Endpoint: "u", ModelID: "m", ServedModel: "sm", Unlisted: true,
		ModelFormat: "f", Quantization: "q", Sharding: "sh", InstanceMeta: "im", Nodes: []string{"n1", "n2"}, InstanceID: "i",
		DownloadS: ptr(1.5), LoadS: ptr(2.5), Sampling: "sj", Cluster: "cj",
		ContextTokens: ptr(int64(20)), ModelBytes: ptr(int64(21)), ModelGPUBytes: ptr(int64(22)), MaxStreams: ptr(int64(23)),
		StatedPowerW: ptr(28.5), StatedPowerScope: "soc"}
	cs := &collect.Case{TargetID: 7, CaseID: 8, PP: ptr(int64(9)), Depth: ptr(int64(29)), TG: 10, TGWanted: true, TemplateHeadTokens: ptr(int64(11)), Concurrency: 12,
		CacheMode: collect.CachePrefix, ColdMethod: "nonce", EOSBan: "ban", PromptKind: "sized", PromptSource: collect.PromptTokenizer, PromptHash: "ph", Streaming: true}
	batch := &collect.Batch{CaseID: 8, BatchID: 13, Segment: 4, Requests: []collect.Request{{RequestID: 14, Chunks: []collect.Chunk{
		{T: 15, Bytes: 16, Tokens: 17, Kind: collect.KindTool}, {T: 18, Bytes: 19, Tokens: collect.TokensUnknown, Kind: collect.KindUsage}}}}}
	samples := &collect.Samples{Segment: 4, Samples: []collect.Sample{
		{Node: "n1", Source: "so", Scope: "gpu", Metric: "power", Unit: "W", StartNS: ptr(int64(24)), EndNS: 25, Value: 26.5},
		{Node: "n2", Source: "so", Scope: "soc", Metric: "temperature", Unit: "°C", EndNS: 27, Value: math.NaN()}}}
	sensors := &collect.Sensors{Segment: 4, TargetID: 7, EveryNS: 30, Channels: []collect.Channel{{Node: "n1", Source: "so", Scope: "gpu", Metric: "energy", Unit: "J",
		RefreshNS: 31, Range: 32.5, Stamped: true, Devices: 33, Missing: "off", Note: "<no>"}, {Source: "s2", Range: math.Inf(1)}}}
	lost := []collect.Record{&collect.Lost{Segment: 4, Model: "m", Message: "no memory"}, &collect.Lost{Segment: 4, Message: "why"}}
	end := &collect.End{At: s.StartedAt.Add(time.Hour), Status: collect.StatusInterrupted, NotRun: 34}
	root := t.TempDir()
	done := export(t, records(append([]collect.Record{s, seg, target, cs, batch, samples, sensors, end}, lost...)...), root)

	start := s.StartedAt.UTC()
	for table, rows := range map[string][][]any{
		"sessions": {{"s", start, end.At.UTC(), "interrupted", "chip", "model", int64(1), int64(2), int64(3), "os", "v", "low", true,
			"exo", "{}", "label", []string{"a", "", "a"}, "note\uFFFD", int64(34), `{"stamps":"kernel"}`,
			"if", "it", "iv", "f.json", "ih", start.Add(time.Minute), "{2}"}},
		"segments": {{"s", int64(4), start.Add(time.Microsecond), "tv", "boot", int64(5), int64(6),
			`[{"target_id":7,"every_ns":30,"channels":[{"node":"n1","source":"so","scope":"gpu","metric":"energy","unit":"J","refresh_ns":31,"range":32.5,"stamped":true,"devices":33,"missing":"off","note":"\u003cno\u003e"},{"source":"s2"}]}]`,
			`[{"model":"m","message":"no memory"},{"message":"why"}]`}},
		"targets": {{"s", int64(7), "e", "ev", "d", "u", "m", "sm", "f", "q", "sh", "im", []string{"n1", "n2"}, "i", 1.5, 2.5, "sj", "cj",
			28.5, "soc", int64(20), int64(21), int64(22), int64(23), true, nil}},
		"cases": {{"s", int64(7), int64(8), int64(9), int64(10), int64(11), int64(12), "prefix", "nonce", "ban", "sized", "tokenizer", true, "ph", true, int64(29)}},
		"chunks": {{"s", int64(14), int64(0), int64(15), int64(16), "tool", int64(17)},
			{"s", int64(14), int64(1), int64(18), int64(19), "usage", nil}},
		"samples": {{"s", int64(4), "n1", "so", "gpu", "power", "W", int64(24), int64(25), 26.5},
			{"s", int64(4), "n2", "so", "soc", "temperature", "°C", nil, int64(27), nil}},
	} {
		got := read(t, root, done, table)
		if int(got.NumRows()) != len(rows) {
			t.Fatalf("%s: %d rows", table, got.NumRows())
		}
		for r, want := range rows {
			for c, col := range got.Columns() {
				if have := cell(col, r); !reflect.DeepEqual(have, want[c]) {
					t.Errorf("%s.%s: %v, want %v", table, got.ColumnName(c), have, want[c])
				}
			}
		}
	}
}

// The names and types are a contract: a change here is a change of the schema
// version.
func TestSchemaGolden(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "schema %d, formulas %d\n", analyze.SchemaVersion, analyze.FormulaVersion)
	for _, table := range analyze.Tables() {
		fmt.Fprintf(&b, "\n%s\n", table.Name)
		for _, c := range table.Columns {
			fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("  %-28s %-20s %s", c.Name, c.Type, c.Unit), " "))
		}
	}
	const name = "testdata/schema.txt"
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the schema has changed; if that is meant, raise its version and run with -update:\n%s", b.String())
	}
}

func TestFilesSayWhatTheyAre(t *testing.T) {
	root := t.TempDir()
	done := export(t, records(session("Mac Mini")), root)
	f, err := file.OpenParquetFile(path(root, done, "requests"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	meta := f.MetaData().KeyValueMetadata()
	for key, want := range map[string]string{
		"tokwatt.schema_version": strconv.Itoa(analyze.SchemaVersion), "tokwatt.formula_version": strconv.Itoa(analyze.FormulaVersion), "tokwatt.table": "requests",
		"tokwatt.session_id": "0198-a", "tokwatt.host": "Mac Mini", "tokwatt.date": "2026-03-02",
	} {
		if got := meta.FindValue(key); got == nil || *got != want {
			t.Errorf("%s = %v, want %s", key, got, want)
		}
	}
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := r.Schema()
	if err != nil {
		t.Fatal(err)
	}
	ttft, _ := schema.FieldsByName("ttft_ms")
	if unit, _ := ttft[0].Metadata.GetValue("unit"); unit != "ms" {
		t.Errorf("ttft_ms has unit %q", unit)
	}
}

// Encodings are limited to what every engine reads.
func TestEncodings(t *testing.T) {
	root := t.TempDir()
	done := export(t, analyzetest.Records(analyzetest.Options{}), root)
	for _, table := range analyze.Tables() {
		f, err := file.OpenParquetFile(path(root, done, table.Name), false)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for i := range f.MetaData().Schema.NumColumns() {
			col, err := f.MetaData().RowGroup(0).ColumnChunk(i)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range col.Encodings() {
				switch e {
				case parquet.Encodings.Plain, parquet.Encodings.RLE, parquet.Encodings.RLEDict, parquet.Encodings.DeltaBinaryPacked:
				default:
					t.Errorf("%s.%s is written as %v", table.Name, f.MetaData().Schema.Column(i).Path(), e)
				}
			}
		}
	}
}
