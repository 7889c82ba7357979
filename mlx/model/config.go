package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tokwatt/mlx"
)

// Config is what a model is, in the words of its config.json.
type Config struct {
	ModelType     string // "llama", "qwen2", "qwen3" or "qwen3_moe"
	Hidden        int    // hidden_size
	Layers        int    // num_hidden_layers
	Intermediate  int    // intermediate_size
	Heads         int    // num_attention_heads
	KVHeads       int    // num_key_value_heads
	HeadDim       int    // head_dim
	Vocab         int    // vocab_size
	MaxPositions  int    // max_position_embeddings; 0: no limit is given
	NormEps       float64
	Rope          Rope
	Tied          bool // tie_word_embeddings: the output layer is the embedding
	AttentionBias bool
	MLPBias       bool
	EOS           []int32                 // token ids that end an answer
	ByteTokenizer bool                    // the vocabulary starts with that of tokenizer.go
	Experts       Experts                 // of qwen3_moe
	DType         mlx.DType               // torch_dtype, of weights that are not quantized, and of scales
	Quant         Quantization            // of weights that Except does not name; zero: none are quantized
	Except        map[string]Quantization // by the weight's name, without ".weight"; zero: not quantized
}

// Experts are the layers of a model that have experts in place of one mlp.
type Experts struct {
	Count        int   // num_experts; 0: no layer has any
	Chosen       int   // num_experts_per_tok
	Intermediate int   // moe_intermediate_size, of each
	Normalize    bool  // norm_topk_prob: the weights of those chosen sum to 1
	Step         int   // decoder_sparse_step: every so many layers
	Plain        []int // mlp_only_layers: never
}

// at says whether layer i has experts.
func (e Experts) at(i int) bool {
	return e.Count > 0 && (i+1)%e.Step == 0 && !slices.Contains(e.Plain, i)
}

// UnknownTypeError says that an architecture is not one of ours.
type UnknownTypeError struct {
	ModelType string // as config.json has it
}

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("tokwatt's own engine does not know model_type %q: it has llama, mistral, qwen2, qwen3 and qwen3_moe; measure this model through a server with --url", e.ModelType)
}

// byteTokenizerName is the value of tokwatt_tokenizer in folders that tokwatt
// wrote. Other programs ignore the key.
const byteTokenizerName = "bytes"

// configFile is config.json as far as it is read or written. A nil field is
// absent.
type configFile struct {
	Architectures []string  `json:"architectures,omitempty"`
	ModelType     string    `json:"model_type"`
	Hidden        int       `json:"hidden_size"`
	Layers        int       `json:"num_hidden_layers"`
	Intermediate  int       `json:"intermediate_size"`
	Heads         int       `json:"num_attention_heads"`
	KVHeads       *int      `json:"num_key_value_heads,omitempty"`
	HeadDim       *int      `json:"head_dim,omitempty"`
	Vocab         int       `json:"vocab_size"`
	MaxPositions  int       `json:"max_position_embeddings,omitempty"`
	NormEps       *float64  `json:"rms_norm_eps"`
	Theta         *float64  `json:"rope_theta,omitempty"`
	Traditional   bool      `json:"rope_traditional,omitempty"`
	Scaling       *ropeFile `json:"rope_scaling,omitempty"`
	Parameters    *ropeFile `json:"rope_parameters,omitempty"`
	Tied          *bool     `json:"tie_word_embeddings,omitempty"`
	AttentionBias bool      `json:"attention_bias"`
	MLPBias       bool      `json:"mlp_bias"`
	Act           string    `json:"hidden_act,omitempty"`
	LayerTypes    []string  `json:"layer_types,omitempty"`
	EOS           eosIDs    `json:"eos_token_id,omitempty"`
	DType         string    `json:"torch_dtype,omitempty"`
	NewDType      string    `json:"dtype,omitempty"` // its newer name
	SlidingWindow bool      `json:"use_sliding_window,omitempty"`
	Tokenizer     string    `json:"tokwatt_tokenizer,omitempty"`
	NumExperts    int       `json:"num_experts,omitempty"`
	PerToken      int       `json:"num_experts_per_tok,omitempty"`
	MoESize       int       `json:"moe_intermediate_size,omitempty"`
	NormTopK      bool      `json:"norm_topk_prob"`
	SparseStep    *int      `json:"decoder_sparse_step,omitempty"`
	MLPOnly       []int     `json:"mlp_only_layers"`

	Quantization       json.RawMessage `json:"quantization,omitempty"`
	QuantizationConfig json.RawMessage `json:"quantization_config,omitempty"`
}

// eosIDs is one id or a list of them.
type eosIDs []int32

func (e *eosIDs) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]int32)(e))
	}
	var one *int32
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*e = nil
	if one != nil {
		*e = []int32{*one}
	}
	return nil
}

// ParseConfig reads a config.json. Absent fields have the defaults of mlx_lm.
func ParseConfig(text []byte) (Config, error) {
	var f configFile
	if err := json.Unmarshal(text, &f); err != nil {
		return Config{}, fmt.Errorf("config.json can't be read: %w", err)
	}
	kind, ok := kinds[f.ModelType]
	if !ok {
		return Config{}, &UnknownTypeError{ModelType: f.ModelType}
	}
	rope, err := f.rope(kind.theta)
	if err != nil {
		return Config{}, err
	}
	if f.Heads < 1 {
		return Config{}, errors.New("config.json: num_attention_heads must be at least 1")
	}
	c := Config{
		ModelType: kind.name, Hidden: f.Hidden, Layers: f.Layers, Intermediate: f.Intermediate,
		Heads: f.Heads, KVHeads: or(f.KVHeads, f.Heads), HeadDim: or(f.HeadDim, f.Hidden/f.Heads),
		Vocab: f.Vocab, MaxPositions: f.MaxPositions, NormEps: or(f.NormEps, 1e-6),
		Rope: rope, Tied: or(f.Tied, true), AttentionBias: f.AttentionBias, MLPBias: f.MLPBias,
		EOS: f.EOS, ByteTokenizer: f.Tokenizer == byteTokenizerName,
	}
	if kind.name == "qwen3_moe" {
		c.Experts = Experts{Count: f.NumExperts, Chosen: f.PerToken, Intermediate: f.MoESize, Normalize: f.NormTopK,
			Step: or(f.SparseStep, 1), Plain: f.MLPOnly}
	}
	if c.DType, err = f.dtype(); err != nil {
		return Config{}, err
	}
	if err := f.quantization(&c); err != nil {
		return Config{}, err
	}
	return c, errors.Join(f.refuse(), c.validate())
}

// kind is an architecture: the name that its configs are written with here,
// that of its class, and its rope_theta where a config has none.
type kind struct {
	name, class string
	theta       float64
}

// kinds are the architectures by model_type. A mistral is a llama, as in mlx_lm;
// a qwen3 has no default of rope_theta there.
var kinds = map[string]kind{
	"llama":   {"llama", "LlamaForCausalLM", 1e4},
	"mistral": {"llama", "LlamaForCausalLM", 1e4},
	"qwen2":   {"qwen2", "Qwen2ForCausalLM", 1e6},
	"qwen3":   {"qwen3", "Qwen3ForCausalLM", 0},

	"qwen3_moe": {"qwen3_moe", "Qwen3MoeForCausalLM", 0},
}

// The types that weights come in, as config.json names them.
var dtypes = map[string]mlx.DType{"": mlx.F32, "float32": mlx.F32, "float16": mlx.F16, "bfloat16": mlx.BF16}

func (f *configFile) dtype() (mlx.DType, error) {
	name := cmp.Or(f.DType, f.NewDType)
	t, ok := dtypes[name]
	if !ok {
		return 0, fmt.Errorf("config.json: the type %q of weights is not known: it must be float32, float16 or bfloat16", name)
	}
	return t, nil
}

// qkvBias says whether queries, keys and values have biases, headNorm whether
// the heads of queries and keys are normed.
func (c Config) qkvBias() bool  { return c.AttentionBias || c.ModelType == "qwen2" }
func (c Config) headNorm() bool { return c.ModelType == "qwen3" || c.ModelType == "qwen3_moe" }

// refuse names what the file asks for and nobody here can do.
func (f *configFile) refuse() error {
	if f.SlidingWindow {
		return errors.New("config.json: use_sliding_window is set, and tokwatt's own engine attends to everything")
	}
	if f.Act != "" && f.Act != "silu" {
		return fmt.Errorf("config.json: hidden_act %q is not known: tokwatt's own engine has silu", f.Act)
	}
	for _, kind := range f.LayerTypes {
		if kind != "full_attention" {
			return fmt.Errorf("config.json: layers of type %q are not known: tokwatt's own engine has full_attention", kind)
		}
	}
	return nil
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// validate reports sizes that make no model. The bounds keep every product of
// two sizes far from overflow.
func (c Config) validate() error {
	var errs []error
	for _, f := range []struct {
		name    string
		n, most int
	}{
		{"hidden_size", c.Hidden, 1 << 20}, {"num_hidden_layers", c.Layers, 1 << 12},
		{"intermediate_size", c.Intermediate, 1 << 22}, {"num_attention_heads", c.Heads, 1 << 14},
		{"num_key_value_heads", c.KVHeads, 1 << 14}, {"head_dim", c.HeadDim, 1 << 14}, {"vocab_size", c.Vocab, 1 << 24},
	} {
		if f.n < 1 || f.n > f.most {
			errs = append(errs, fmt.Errorf("config.json: %s is %d, must be 1 to %d", f.name, f.n, f.most))
		}
	}
	if e := c.Experts; c.ModelType == "qwen3_moe" && (e.Count < 1 || e.Count > 1<<14 || e.Chosen < 1 || e.Chosen > e.Count ||
		e.Intermediate < 1 || e.Intermediate > 1<<20 || e.Step < 1) {
		errs = append(errs, fmt.Errorf("config.json: %d of %d experts of size %d, in every layer of %d, make no model", e.Chosen, e.Count, e.Intermediate, e.Step))
	}
	if errs != nil {
		return errors.Join(errs...)
	}
	if c.Heads%c.KVHeads != 0 {
		errs = append(errs, fmt.Errorf("config.json: %d heads can't share %d key-value heads evenly", c.Heads, c.KVHeads))
	}
	if c.HeadDim%2 != 0 {
		errs = append(errs, fmt.Errorf("config.json: head_dim is %d, must be even", c.HeadDim))
	}
	if !(c.NormEps >= 0 && c.NormEps < 1) {
		errs = append(errs, fmt.Errorf("config.json: rms_norm_eps is %g, must be 0 to 1", c.NormEps))
	}
	for _, id := range c.EOS {
		if id < 0 || int(id) >= c.Vocab {
			errs = append(errs, fmt.Errorf("config.json: eos_token_id %d is outside the vocabulary of %d", id, c.Vocab))
		}
	}
	if c.ByteTokenizer && c.Vocab < ByteVocab {
		errs = append(errs, fmt.Errorf("config.json: vocab_size is %d, too few for the byte tokenizer's %d", c.Vocab, ByteVocab))
	}
	return errors.Join(errs...)
}

// marshal is the config as a config.json that mlx_lm and transformers load.
func (c Config) marshal() ([]byte, error) {
	f := configFile{
		Architectures: []string{kinds[c.ModelType].class}, ModelType: c.ModelType,
		Hidden: c.Hidden, Layers: c.Layers, Intermediate: c.Intermediate,
		Heads: c.Heads, KVHeads: &c.KVHeads, HeadDim: &c.HeadDim, Vocab: c.Vocab,
		MaxPositions: c.MaxPositions, NormEps: &c.NormEps, Theta: &c.Rope.Theta, Traditional: c.Rope.Traditional,
		Scaling: c.Rope.file(), Tied: &c.Tied, AttentionBias: c.AttentionBias, MLPBias: c.MLPBias,
		Act: "silu", EOS: c.EOS, Quantization: c.marshalQuantization(),
	}
	if e := c.Experts; e.Count > 0 {
		// mlx_lm wants the list even where it is empty.
		f.NumExperts, f.PerToken, f.MoESize, f.NormTopK, f.SparseStep = e.Count, e.Chosen, e.Intermediate, e.Normalize, &e.Step
		f.MLPOnly = append([]int{}, e.Plain...)
	}
	for name, t := range dtypes {
		if t == c.DType && name != "" {
			f.DType = name
		}
	}
	if c.ByteTokenizer {
		f.Tokenizer = byteTokenizerName
	}
	return json.MarshalIndent(f, "", "  ")
}

func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}
