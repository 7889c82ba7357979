package model

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"tokwatt/mlx"
)

const minimal = `{"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"intermediate_size":128,"num_attention_heads":4,"vocab_size":300,"rms_norm_eps":1e-5`

func TestParseConfig(t *testing.T) {
	got, err := ParseConfig([]byte(minimal + `,"rope_scaling":null,"eos_token_id":2}`))
	want := Config{ModelType: "llama", Hidden: 64, Layers: 2, Intermediate: 128, Heads: 4, KVHeads: 4, HeadDim: 16, Vocab: 300,
		NormEps: 1e-5, Rope: Rope{Theta: 10000, Scaling: RopeDefault}, Tied: true, EOS: []int32{2}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	got, err = ParseConfig([]byte(minimal + `,"num_key_value_heads":2,"head_dim":32,"tie_word_embeddings":false,"eos_token_id":[2,7],` +
		`"rope_parameters":{"rope_type":"llama3","rope_theta":500000,"factor":8,"low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":8192}}`))
	want.KVHeads, want.HeadDim, want.Tied, want.EOS = 2, 32, false, []int32{2, 7}
	want.Rope = Rope{Theta: 500000, Scaling: RopeLlama3, Factor: 8, LowFreq: 1, HighFreq: 4, OldPosition: 8192}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestConfigRefusals(t *testing.T) {
	var unknown *UnknownTypeError
	if _, err := ParseConfig([]byte(`{"model_type":"qwen9_vl"}`)); !errors.As(err, &unknown) || unknown.ModelType != "qwen9_vl" || !strings.Contains(err.Error(), "qwen9_vl") {
		t.Errorf("unknown type: %v", err)
	}
	for tail, want := range map[string]string{
		`,`: "can't be read",
		`,"quantization":{"group_size":64,"bits":3}}`:                      "3 bits",
		`,"quantization":{"group_size":16,"bits":4}}`:                      "groups of 16",
		`,"quantization":{"group_size":32,"bits":4,"mode":"mxfp4"}}`:       "mxfp4",
		`,"quantization_config":{"quant_method":"gptq","bits":4}}`:         "gptq",
		`,"quantization":{"group_size":64,"bits":4,"lm_head":{"bits":8}}}`: "groups of 0",
		`,"quantization":7}`:                              "can't be read",
		`,"torch_dtype":"float8"}`:                        "float8",
		`,"use_sliding_window":true}`:                     "use_sliding_window",
		`,"hidden_act":"gelu"}`:                           "gelu",
		`,"layer_types":["sliding_attention"]}`:           "sliding_attention",
		`,"rope_scaling":{"rope_type":"yarn"}}`:           "yarn",
		`,"rope_scaling":{"type":"linear","factor":0}}`:   "factor",
		`,"rope_theta":-1}`:                               "rope_theta",
		`,"rope_parameters":{"partial_rotary_factor":2}}`: "partial_rotary_factor",
		`,"num_key_value_heads":3}`:                       "evenly",
		`,"head_dim":7}`:                                  "even",
		`,"vocab_size":0}`:                                "vocab_size",
		`,"hidden_size":9999999999}`:                      "hidden_size",
		`,"num_attention_heads":0}`:                       "num_attention_heads",
		`,"eos_token_id":300}`:                            "eos_token_id 300",
		`,"rms_norm_eps":2}`:                              "rms_norm_eps",
		`,"vocab_size":260,"tokwatt_tokenizer":"bytes"}`:  "byte tokenizer",
	} {
		if _, err := ParseConfig([]byte(minimal + tail)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", tail, err, want)
		}
	}
}

// TestLlama3Frequencies checks the scaling at its three regimes, for Llama 3.1
// (θ 500000, dim 128, factor 8).
func TestLlama3Frequencies(t *testing.T) {
	r := Rope{Theta: 500000, Scaling: RopeLlama3, Factor: 8, LowFreq: 1, HighFreq: 4, OldPosition: 8192}
	plain, scaled := Rope{Theta: 500000}.frequencies(128), r.frequencies(128)
	for i, f := range plain {
		wavelength := 2 * math.Pi / f
		switch ratio := scaled[i] / f; {
		case wavelength < 8192/4 && math.Abs(ratio-1) > 1e-12:
			t.Errorf("pair %d is fast, and was scaled by %g", i, ratio)
		case wavelength > 8192 && math.Abs(ratio-0.125) > 1e-12:
			t.Errorf("pair %d is slow, and was scaled by %g", i, ratio)
		case ratio < 0.125-1e-12 || ratio > 1+1e-12:
			t.Errorf("pair %d was scaled by %g", i, ratio)
		}
	}
}

func TestShapes(t *testing.T) {
	// The parameter counts that the models' cards state.
	cards := map[string]int64{"smollm2-135m": 134515008, "smollm2-360m": 361821120, "llama-3.2-1b": 1235814400,
		"qwen3-0.6b-4bit": 596049920, "llama-3.2-3b-4bit": 3212749824, "qwen3-4b-4bit": 4022468096, "qwen2.5-7b-4bit": 7615616512,
		"llama-3.1-8b-4bit": 8030261248, "qwen3-8b-4bit": 8190735360, "qwen3-30b-a3b-4bit": 30532122624}
	for _, s := range Shapes() {
		if err := s.Config.validate(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if n, ok := cards[s.Name]; ok && s.Config.Parameters() != n {
			t.Errorf("%s has %d parameters, want %d", s.Name, s.Config.Parameters(), n)
		}
	}
	tiny, err := FindShape("synthetic:tiny")
	if err != nil || tiny.Config.Layers < 4 || tiny.Config.KVHeads >= tiny.Config.Heads {
		t.Errorf("tiny: %+v, %v", tiny, err)
	}
	if _, err := FindShape("synthetic:huge"); err == nil || !strings.Contains(err.Error(), "synthetic:tiny") {
		t.Errorf("an unknown shape: %v", err)
	}
}

func TestMemoryIsRefusedWithSizes(t *testing.T) {
	if availableMemory() <= 0 {
		t.Fatal("the machine does not say what memory it has")
	}
	var short *MemoryError
	err := CheckMemory("synthetic:x", 1<<60)
	if !errors.As(err, &short) || !strings.Contains(err.Error(), "1073741824.0 GiB") || short.Have <= 0 {
		t.Errorf("got %v", err)
	}
	if err := CheckMemory("synthetic:x", 1); err != nil {
		t.Error(err)
	}
	vast := Shape{"vast", Shapes()[0].Config}
	vast.Config.Vocab = 1 << 40
	if _, err := Synthetic(mlx.NewStream(), vast, 0); !errors.As(err, &short) {
		t.Errorf("a vast model: %v", err)
	}
}
