package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// cached is the folder of a model id in the hub's cache on this machine:
// models--ORG--NAME/snapshots/COMMIT, the commit being what refs/main says or
// the only one that there is.
func cached(id string) (string, error) {
	hub, err := hubFolder()
	if err != nil {
		return "", err
	}
	repo := filepath.Join(hub, "models--"+strings.ReplaceAll(id, "/", "--"))
	if _, err := os.Stat(repo); err != nil || strings.Contains(id, `\`) {
		return "", fmt.Errorf("there is no folder or file %s, nor a model of that id in %s: %w", id, hub, fs.ErrNotExist)
	}
	if ref, err := readSmall(filepath.Join(repo, "refs", "main")); err == nil {
		commit := strings.TrimSpace(string(ref))
		if commit == "" || commit != filepath.Base(commit) || !filepath.IsLocal(commit) {
			return "", fmt.Errorf("%s names no commit: download the model again", filepath.Join(repo, "refs", "main"))
		}
		folder := filepath.Join(repo, "snapshots", commit)
		if _, err := os.Stat(folder); err == nil {
			return folder, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the hub's cache can't be read: %w", err)
	}
	snapshots, _ := filepath.Glob(filepath.Join(repo, "snapshots", "*"))
	switch len(snapshots) {
	case 0:
		return "", fmt.Errorf("the model %s is in %s by name only, without files: %w", id, hub, fs.ErrNotExist)
	case 1:
		return snapshots[0], nil
	}
	return "", fmt.Errorf("%s holds %d snapshots and no refs/main that says which: name the folder", repo, len(snapshots))
}

// hubFolder is where the hub's client library keeps models.
func hubFolder() (string, error) {
	if dir := os.Getenv("HF_HUB_CACHE"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("HF_HOME"); dir != "" {
		return filepath.Join(dir, "hub"), nil
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "huggingface", "hub"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("the hub's cache can't be found: %w", err)
	}
	return filepath.Join(home, ".cache", "huggingface", "hub"), nil
}
