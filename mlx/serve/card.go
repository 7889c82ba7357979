package serve

import (
	"fmt"
	"path"
	"strings"
	"time"

	"tokwatt/mlx/engine"
	"tokwatt/mlx/model"
)

// card is what exo's clients read of a model.
type card struct {
	info    engine.Info
	config  model.Config
	backend string // who computes
}

// modelCard is a card in the state.
type modelCard struct {
	ModelID        string   `json:"modelId"`
	Storage        memory   `json:"storageSize"`
	Layers         int      `json:"nLayers"`
	Hidden         int      `json:"hiddenSize"`
	SupportsTensor bool     `json:"supportsTensor"`
	KVHeads        int      `json:"numKeyValueHeads"`
	Tasks          []string `json:"tasks"`
	Components     *string  `json:"components"`
	Family         string   `json:"family"`
	Quantization   string   `json:"quantization"`
	BaseModel      string   `json:"baseModel"`
	Capabilities   []string `json:"capabilities"`
	Backends       []string `json:"backends"`
	Reasoning      string   `json:"reasoningDialect"`
	Context        int      `json:"contextLength"`
	CFG            bool     `json:"usesCfg"`
	Trust          bool     `json:"trustRemoteCode"`
	Custom         bool     `json:"isCustom"`
	Vision         *string  `json:"vision"`
	Sampling       sampling `json:"samplingDefaults"`
}

// sampling is what is done with nothing sent, and whatever is sent.
type sampling struct {
	Temperature float64 `json:"temperature"`
}

// listed is a model in the list of models.
type listed struct {
	ID             string   `json:"id"`
	Object         string   `json:"object"`
	Created        int64    `json:"created"`
	Owner          string   `json:"owned_by"`
	HuggingFace    string   `json:"hugging_face_id"`
	Name           string   `json:"name"`
	Description    string   `json:"description"`
	Context        int      `json:"context_length"`
	Tags           []string `json:"tags"`
	Megabytes      int64    `json:"storage_size_megabytes"`
	SupportsTensor bool     `json:"supports_tensor"`
	Tasks          []string `json:"tasks"`
	Custom         bool     `json:"is_custom"`
	Family         string   `json:"family"`
	Quantization   string   `json:"quantization"`
	BaseModel      string   `json:"base_model"`
	Capabilities   []string `json:"capabilities"`
	Reasoning      string   `json:"reasoning_dialect"`
}

// Owner is who the list of models says it belongs to, by which tokwatt is
// told from other servers.
const Owner = "tokwatt"

// newCard reads what is known of a model before it is loaded. Encoded says that
// somebody makes its tokens.
func newCard(l engine.Load, name string, encoded bool) (card, error) {
	info, err := engine.InspectLoad(l)
	if name != "" {
		info.Name = name
	}
	if err != nil {
		return card{}, err
	}
	if !info.Text && !encoded {
		return card{}, fmt.Errorf("%s can't be talked to: the engine reads no tokenizer.json, so it takes text only for synthetic models and folders that tokwatt wrote", info.Name)
	}
	c := card{info: info, backend: "Reference"}
	if l.Backend == engine.MLX {
		c.backend = "MLX"
	}
	if info.Format == "synthetic" {
		shape, err := model.FindShape(l.Model)
		c.config = shape.Config
		return c, err
	}
	c.config, err = model.ReadConfig(l.Model)
	return c, err
}

func (c card) id() string   { return c.info.Name }
func (c card) name() string { return path.Base(c.info.Name) }

// is reports whether a client means this model, as exo's clients name it.
func (c card) is(asked string) bool {
	return asked == c.id() || strings.EqualFold(asked, c.name())
}

// context is how many tokens prompt and answer may have together.
func (c card) context() int {
	if c.config.MaxPositions > 0 {
		return c.config.MaxPositions
	}
	return maxTokens
}

func (c card) listed() listed {
	return listed{
		ID: c.id(), Object: "model", Created: time.Now().Unix(), Owner: Owner, HuggingFace: c.id(), Name: c.name(), Context: c.context(),
		Tags: []string{}, Megabytes: max(1, c.info.WeightBytes>>20), Tasks: tasks(), Family: c.config.ModelType,
		Quantization: c.info.Quantization, BaseModel: c.name(), Capabilities: []string{"text"}, Reasoning: "none",
	}
}

func (c card) full() modelCard {
	return modelCard{
		ModelID: c.id(), Storage: memory{Bytes: &c.info.WeightBytes}, Layers: c.config.Layers, Hidden: c.config.Hidden, KVHeads: c.config.KVHeads,
		Tasks: tasks(), Family: c.config.ModelType, Quantization: c.info.Quantization, BaseModel: c.name(), Capabilities: []string{"text"},
		Backends: []string{c.backend}, Reasoning: "none", Context: c.context(),
	}
}

func tasks() []string { return []string{"TextGeneration"} }
