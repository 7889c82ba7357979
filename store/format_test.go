package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"tokwatt/collect"
)

var update = flag.Bool("update", false, "write the golden files anew")

const goldenID = "01890a5d-ac96-774b-bcce-b302099a8057"

// goldenRecords has every kind of record, with every field set.
func goldenRecords() []collect.Record {
	at := time.Date(2026, 7, 1, 12, 0, 0, 123456789, time.UTC)
	n := int64(0)
	i := func() *int64 { n++; v := n; return &v }
	f := func() *float64 { n++; v := float64(n) + 0.25; return &v }
	batch := &collect.Batch{CaseID: 1, BatchID: 2, Segment: 1, StartNS: 3e9, EndNS: 4e9, RepeatIndex: 5, Warmup: true,
		ClientCPUPct: f(), WakeupP99NS: i(), ClockStepNS: -7, SpeedLimitPct: f(), Throttled: ptr(false)}
	batch.Requests = []collect.Request{{
		RequestID: 1, ConcurrentIndex: 0, StartNS: 3e9 + 1, EndNS: 4e9 - 1, PPTokens: i(), HTTPStatus: i(), StampSource: collect.StampKernel, Streamed: true,
		UncleanEnd: true, OutputChars: 12, Preview: "Grüße, 世界",
		Chunks: []collect.Chunk{
			{T: 50_000_000, Bytes: 210, Tokens: collect.TokensUnknown, Kind: collect.KindRole},
			{T: 61_000_000, Bytes: 231, Tokens: 1, Kind: collect.KindContent},
			{T: 72_500_000, Bytes: 229, Tokens: 1, Kind: collect.KindContent},
			{T: 72_500_000, Bytes: 480, Tokens: collect.TokensUnknown, Kind: collect.KindUsage},
		},
		Recount: &collect.Recount{Tokens: 3, First: 1},
		Report: collect.Report{Source: collect.ReportServer, Model: "m", FinishReason: "length", PromptTokens: i(), CompletionTokens: i(),
			ReasoningTokens: i(), CachedTokens: i(), PrefixCacheHit: "partial", PromptTPS: f(), GenerationTPS: f(), GenerationRule: collect.RateIntervals,
			PromptEvalNS: f(), EvalNS: f(), LoadNS: f(), TotalNS: f(), PeakMemoryBytes: i(), JSON: `{"a":1}`},
		Stated: &collect.Stated{FirstOutputNS: i(), LastOutputNS: i(), Sent: true, TTFTMS: f(), TotalDurationMS: f(), GenerationDurationMS: f(),
			PromptTPS: f(), GenerationTPS: f(), TokPerSec: f(), MixedTPS: f(), Rule: "n / t", SD: f(), N: i()},
	}, {
		RequestID: 2, ConcurrentIndex: 1, StartNS: 3e9, EndNS: 3e9 + 5,
		Failure: &collect.Failure{Kind: collect.ErrHTTP, Message: "too many requests", HTTPStatus: i(), RetryAfter: f()},
	}}
	return []collect.Record{
		&collect.Session{ID: goldenID, StartedAt: at, Profile: "default", Options: `{"pp":[512]}`, Label: "l", Tags: []string{"a", "b"}, Note: "n", Calibration: "{}",
			Host:     collect.Host{Name: "h", Chip: "c", Model: "m", CPUCores: i(), GPUCores: i(), RAMBytes: i(), OSName: "o", OSVersion: "v", PowerMode: "p", OnBattery: ptr(false)},
			Imported: &collect.Origin{Format: "f", Tool: "t", ToolVersion: "2", File: "a.json", Hash: "9f86d081884c7d65", ImportedAt: at, Extra: "{}"}},
		&collect.Segment{Segment: 1, StartedAt: at, ToolVersion: "1", BootID: "b", PID: 42, PlannedBatches: 6},
		&collect.TargetInfo{TargetID: 1, Engine: "e", EngineVersion: "2", Driver: "openai", Endpoint: "http://h", ModelID: "m", ServedModel: "s", Unlisted: true,
			ModelFormat: "gguf", Quantization: "q4", Sharding: "x", InstanceMeta: "y", Nodes: []string{"n1"}, InstanceID: "z", DownloadS: f(), LoadS: f(), Sampling: "{}", Cluster: "{}", ContextTokens: i(), ModelBytes: i(), ModelGPUBytes: i(), MaxStreams: i(),
			StatedPowerW: f(), StatedPowerScope: "gpu"},
		&collect.Case{TargetID: 1, CaseID: 1, PP: i(), Depth: i(), TG: 128, TGWanted: true, TemplateHeadTokens: i(), Concurrency: 2, CacheMode: collect.CacheCold,
			ColdMethod: "nonce", EOSBan: "engine", PromptKind: "sized", PromptSource: collect.PromptCalibrated, PromptHash: "9f86d081884c7d65", Streaming: true},
		batch,
		&collect.Samples{Segment: 1, Samples: []collect.Sample{{Node: "n1", Source: "exo", Scope: "system", Metric: "power", Unit: "W", StartNS: i(), EndNS: 9, Value: 60.5}}},
		&collect.Sensors{Segment: 1, TargetID: 2, EveryNS: 25e7, Channels: []collect.Channel{{Node: "n1", Source: "rapl", Scope: "package", Metric: "energy", Unit: "J",
			RefreshNS: 25e6, Range: 262143.5, Stamped: true, Devices: 2, Missing: "denied", Note: "not allowed"}}},
		&collect.Idle{Segment: 1, TargetID: 1, StartNS: 5, EndNS: 7},
		&collect.Lost{Segment: 1, Model: "m", Message: "no memory"},
		&collect.End{At: at, Status: collect.StatusComplete, NotRun: 3},
	}
}

// sealed is the store's content as text: each key and value in hexadecimal,
// and what a map says.
func sealed(t *testing.T, s *Store) string {
	var b strings.Builder
	for _, name := range []string{bucketMeta, bucketRecords, bucketSummaries} {
		fmt.Fprintf(&b, "%s\n", name)
		p, f, err := s.openRead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tree, err := p.Root().Bucket(name)
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range tree.From(nil) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "  %x\n    %x\n", e.Key, e.Value)
			if said, err := cbor.Diagnose(e.Value[2 : len(e.Value)-4]); err == nil {
				fmt.Fprintf(&b, "      kind %d: %s\n", e.Value[0], said)
			}
		}
		f.Close()
	}
	return b.String()
}

// TestGolden pins the format: what is written today is what is in testdata,
// and what is in testdata can be read.
func TestGolden(t *testing.T) {
	s := temp(t)
	put(t, s, goldenID, goldenRecords()...)
	if err := s.PutCalibration(t.Context(), "h", `{"levels":[]}`); err != nil {
		t.Fatal(err)
	}
	got := sealed(t, s)
	path := filepath.Join("testdata", "format1.txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the format has changed: bump a version, or run with -update if only fields were added\n%s", got)
	}
	s = fromText(t, string(want))
	if recs := read(t, s, goldenID); !reflect.DeepEqual(recs, goldenRecords()) {
		t.Errorf("the golden store reads differently: %+v", recs)
	}
	if c, err := s.Calibration(t.Context(), "h"); c != `{"levels":[]}` || err != nil {
		t.Errorf("the golden store's calibration is %q, %v", c, err)
	}
	clean(t, s)
}

// Every field of every record must be in the golden file.
func TestGoldenIsFull(t *testing.T) {
	var empty func(path string, v reflect.Value)
	empty = func(path string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			empty(path, v.Elem())
		case reflect.Slice:
			empty(path, v.Index(0))
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[time.Time]() {
				return
			}
			for i := range v.NumField() {
				name := path + "." + v.Type().Field(i).Name
				// The second request has the failure, the first all else.
				if f := v.Field(i); f.IsZero() && !strings.HasSuffix(name, "Failure") && !strings.HasSuffix(name, "ConcurrentIndex") && !strings.Contains(name, "Chunks") {
					t.Errorf("%s is not set", name)
				} else if !f.IsZero() {
					empty(name, f)
				}
			}
		}
	}
	for _, rec := range goldenRecords() {
		empty(fmt.Sprintf("%T", rec), reflect.ValueOf(rec))
	}
}

// fromText makes a store of a golden file with bbolt alone.
func fromText(t *testing.T, text string) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "golden.db")
	edit(t, path, func(tx *bolt.Tx) error {
		var b *bolt.Bucket
		var key []byte
		for line := range strings.Lines(text) {
			field := strings.TrimSpace(line)
			var err error
			switch len(line) - len(strings.TrimLeft(line, " ")) {
			case 0:
				b, err = tx.CreateBucket([]byte(field))
			case 2:
				key, err = hex.DecodeString(field)
			case 4:
				var value []byte
				if value, err = hex.DecodeString(field); err == nil {
					err = b.Put(key, value)
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return Open(path, Options{})
}

// edit changes a file with bbolt alone.
func edit(t *testing.T, path string, fn func(*bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(fn); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFuture reads what a newer program may have written: fields and kinds
// that this one does not know, versions and formats that it must refuse.
func TestFuture(t *testing.T) {
	s := temp(t)
	var notes []string
	s.opts.Note = func(n string) { notes = append(notes, n) }
	id := uuid.MustParse(goldenID)
	want := goldenRecords()
	put(t, s, goldenID, want...)
	sum := summary{}
	edit(t, s.Path(), func(tx *bolt.Tx) error {
		b, sums := tx.Bucket([]byte(bucketRecords)), tx.Bucket([]byte(bucketSummaries))
		sum, _ = s.codec.summary(id[:], sums.Get(id[:]))
		with := func(k kind, payload []byte) {
			key := keyOf(id, sum.Next)
			sum.Next++
			if err := b.Put(key[:], seal(key[:], k, payload)); err != nil {
				t.Fatal(err)
			}
		}
		// A case with one field more, a kind of the future, and a batch with
		// a value of such a kind in it.
		p, _ := s.codec.enc.Marshal(map[string]any{"target": 1, "id": 9, "tg": 2, "conc": 1, "future": []int{1, 2}})
		with(kindCase, p)
		with(200, []byte("?"))
		key := keyOf(id, sum.Next-1) // of a version of the future, too
		v := bytes.Clone(b.Get(key[:]))
		v[1] = 3
		if err := b.Put(key[:], binary.LittleEndian.AppendUint32(v[:len(v)-4], checksum(key[:], v[:len(v)-4]))); err != nil {
			return err
		}
		p, _ = s.codec.enc.Marshal(map[string]any{"case": 9, "id": 3, "values": 2, "reqs": 1})
		with(kindBatch, p)
		with(201, []byte("?"))
		p, _ = s.codec.enc.Marshal(map[string]any{"id": 77, "more": "x"})
		with(kindRequest, p)
		sum.Cases++
		sum.Batches++
		sum.Requests++
		sum.highest = highest{} // an old program's summary has none
		sealed, err := s.codec.sealSummary(id[:], sum)
		if err != nil {
			return err
		}
		return sums.Put(id[:], sealed)
	})
	want = append(want, &collect.Case{TargetID: 1, CaseID: 9, TG: 2, Concurrency: 1},
		&collect.Batch{CaseID: 9, BatchID: 3, Requests: []collect.Request{{RequestID: 77}}})
	if got := read(t, s, goldenID); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "kind 200") {
		t.Errorf("notes: %q", notes)
	}
	if r := clean(t, s); len(r.Notes) != 2 {
		t.Errorf("check's notes: %q", r.Notes)
	}
	future(t, s, id, sum.Next)
}

// future appends a value of version 2, then gives the file a format 2.
func future(t *testing.T, s *Store, id uuid.UUID, next uint64) {
	edit(t, s.Path(), func(tx *bolt.Tx) error {
		k := keyOf(id, 3)
		v := tx.Bucket([]byte(bucketRecords)).Get(k[:])
		v = bytes.Clone(v[:len(v)-4])
		v[1] = 2
		return tx.Bucket([]byte(bucketRecords)).Put(k[:], binary.LittleEndian.AppendUint32(v, checksum(k[:], v)))
	})
	errs := 0
	for _, err := range s.Records(t.Context(), id.String()) {
		if err != nil {
			if errs++; !errors.Is(err, ErrNewer) {
				t.Error(err)
			}
		}
	}
	if errs != 1 {
		t.Errorf("%d errors", errs)
	}
	edit(t, s.Path(), func(tx *bolt.Tx) error {
		p, _ := s.codec.enc.Marshal(formatValue{Version: 2, Creator: "x"})
		return tx.Bucket([]byte(bucketMeta)).Put([]byte(formatKey), seal([]byte(formatKey), kindFormat, p))
	})
	_, err := s.Sessions(t.Context())
	_, err2 := s.Check(t.Context())
	for _, err := range []error{err, err2, s.Put(t.Context(), id.String(), &collect.End{})} {
		if !errors.Is(err, ErrNewer) {
			t.Errorf("format 2: %v", err)
		}
	}
}
