package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// EndTokens are the ids of the end tokens of a model, ascending: eos_token_id,
// a number or a list, of generation_config.json and of config.json in a folder;
// of a GGUF file, those of its metadata. The error of a folder that has neither
// file wraps fs.ErrNotExist.
func EndTokens(path string) ([]int64, error) {
	if strings.EqualFold(filepath.Ext(path), ".gguf") {
		m, err := openGGUF(path)
		if m == nil {
			return nil, err
		}
		return m.EOS, nil
	}
	var ids []int64
	found := false
	for _, file := range []string{"config.json", "generation_config.json"} {
		var c struct {
			EOS  json.RawMessage `json:"eos_token_id"`
			Text struct {
				EOS json.RawMessage `json:"eos_token_id"`
			} `json:"text_config"` // models that also see or hear
		}
		err := readJSON(filepath.Join(path, file), &c)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = true
		if len(c.EOS) == 0 {
			c.EOS = c.Text.EOS
		}
		more, err := oneOrMany(c.EOS)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(path, file), err)
		}
		ids = append(ids, more...)
	}
	if !found {
		return nil, fmt.Errorf("%s has neither config.json nor generation_config.json: name the folder of a model: %w", path, fs.ErrNotExist)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func oneOrMany(raw json.RawMessage) ([]int64, error) {
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
