package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// endTokens reads the ids of the end tokens of a model folder: eos_token_id, a
// number or a list, of generation_config.json and of config.json. An empty
// folder name gives none.
func endTokens(folder string) ([]int64, error) {
	if folder == "" {
		return nil, nil
	}
	var ids []int64
	found := false
	for _, name := range []string{"config.json", "generation_config.json"} {
		raw, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the tokenizer folder can't be read: %w", err)
		}
		found = true
		more, err := endTokensOf(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(folder, name), err)
		}
		ids = append(ids, more...)
	}
	if !found {
		return nil, fmt.Errorf("%s has neither config.json nor generation_config.json: give --tokenizer the folder of a model", folder)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func endTokensOf(config []byte) ([]int64, error) {
	var c struct {
		EOS  json.RawMessage `json:"eos_token_id"`
		Text struct {
			EOS json.RawMessage `json:"eos_token_id"`
		} `json:"text_config"` // models that also see or hear
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, fmt.Errorf("is no JSON object: %w", err)
	}
	raw := c.EOS
	if len(raw) == 0 {
		raw = c.Text.EOS
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var one int64
	if json.Unmarshal(raw, &one) == nil {
		return []int64{one}, nil
	}
	var many []int64
	if err := json.Unmarshal(raw, &many); err != nil {
		return nil, errors.New("eos_token_id is neither a number nor a list of numbers")
	}
	return many, nil
}
