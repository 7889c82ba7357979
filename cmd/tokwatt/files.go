package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// whole writes a file that appears complete or not at all.
func whole(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".tokwatt-*")
	if err != nil {
		return usagef("--out %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	buf := bufio.NewWriter(f)
	if err = write(buf); err != nil {
		return err
	}
	if err = buf.Flush(); err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("%s not written: %w", path, err)
	}
	return nil
}
