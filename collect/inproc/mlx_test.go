package inproc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokwatt/collect"
	"tokwatt/mlx/engine"
	"tokwatt/mlx/mlxtest"
)

// openWith opens the tiny model with a backend. It skips where there is no MLX;
// CI has it, but for the build that can't load it.
func openWith(t *testing.T, b engine.Backend) (*target, *reference) {
	t.Helper()
	if b == engine.MLX {
		mlxtest.NeedsLibrary(t)
	}
	tgt, err := Driver{Backend: b}.target("synthetic:tiny", false)
	if err != nil {
		t.Fatal(err)
	}
	e, err := tgt.Open(t.Context(), collect.NewClock())
	if err != nil {
		if strings.Contains(err.Error(), "this build of tokwatt has no MLX") {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { tgt.Close(context.Background()) })
	return tgt, e.(*reference)
}

// TestMLX measures the tiny model with MLX: the same text as with plain Go, and
// the record says who computed.
func TestMLX(t *testing.T) {
	tgt, e := openWith(t, engine.MLX)
	info, err := tgt.Describe(t.Context())
	if err != nil || info.Engine != "mlx" || !strings.HasPrefix(info.EngineVersion, "MLX 0.") || info.ModelBytes == nil || !strings.Contains(info.Sampling, `"library":"libmlxc.`) {
		t.Errorf("%+v, %v", info, err)
	}
	call := collect.Call{Prompt: collect.Prompt{User: "Hello"}, MaxTokens: 12, BanEOS: true}
	want := together(t, open(t), 1, call, nil)[0]
	for _, a := range together(t, e, 2, call, nil) {
		if a.err != nil || a.text != want.text || a.report == nil || !strings.Contains(a.report.JSON, `"peak_memory_scope":"arrays"`) {
			t.Errorf("%+v, want the text %q", a, want.text)
		}
	}
}

// numbers decodes each token as "t", and has half a character left in the end.
type numbers struct{}

func (numbers) Next(int32) string { return "t" }
func (numbers) End() string       { return "\uFFFD" }

// TestEncoder measures a folder whose tokens somebody else makes.
func TestEncoder(t *testing.T) {
	refused := errors.New("no tokenizer.json")
	config := `{"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"intermediate_size":128,"num_attention_heads":4,"vocab_size":300}`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	d := Driver{Text: func(folder string) (Text, error) { return Text{}, refused }}
	if _, err := d.target(dir, false); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}

	// The tiny model's own vocabulary, but twice every byte.
	tgt, err := Driver{}.target("synthetic:tiny", false)
	if err != nil {
		t.Fatal(err)
	}
	tgt.text.Encode = func(p collect.Prompt) ([]int32, error) {
		var ids []int32
		for _, b := range []byte(p.User) {
			ids = append(ids, int32(b), int32(b))
		}
		return ids, nil
	}
	tgt.text.Decode = func() Decoder { return numbers{} }
	e, err := tgt.Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	defer tgt.Close(t.Context())
	prompt := collect.Prompt{User: "Hello"}
	counted, err := e.(collect.Counter).Count(t.Context(), prompt)
	if err != nil || counted.PromptTokens != 10 || e.Abilities().Atom != "" {
		t.Errorf("counted %+v, %v", counted, err)
	}
	a := together(t, e, 1, collect.Call{Prompt: prompt, MaxTokens: 3, BanEOS: true}, nil)[0]
	if a.err != nil || a.report == nil || *a.report.PromptTokens != 10 || a.text != "ttt\uFFFD" || len(a.chunks) != 3 {
		t.Errorf("%+v", a)
	}
	s, err := e.Open(t.Context(), collect.Call{Prompt: prompt, MaxTokens: 3, BanEOS: true, Streams: 1})
	if err != nil {
		t.Fatal(err)
	}
	if a := pull(s, nil); a.err != nil || a.text != "ttt\uFFFD" || len(a.chunks) != 1 {
		t.Errorf("in one piece: %+v", a)
	}
}
