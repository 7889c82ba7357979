package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"
)

// checkedWriter is stdout. It remembers that writing failed, since tables don't
// tell; and what a server sent can't steer the terminal.
type checkedWriter struct {
	w     io.Writer
	plain bool
	err   error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	out := p
	if c.plain {
		out = []byte(harmless(string(p)))
	}
	if _, err := c.w.Write(out); err != nil {
		c.err = fmt.Errorf("output lost: %w", err)
		return 0, c.err
	}
	return len(p), nil
}

// harmless is text without control characters but line ends and tabs.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// outFile is where a flag's file name leads: behind symbolic links, and not onto the store.
// regular is false for a device or a pipe, which can only be written through.
func outFile(cmd *cli.Command, flag, path string) (target string, regular bool, err error) {
	target = path
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		target = resolved
	}
	info, err := os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return target, true, nil
	case err != nil:
		return "", false, usagef("--%s %s: %w", flag, path, err)
	case info.IsDir():
		return "", false, usagef("--%s %s: it is a folder: name a file", flag, path)
	}
	db, err := storePath(cmd)
	if err != nil {
		return "", false, err
	}
	if store, err := os.Stat(db); err == nil && os.SameFile(store, info) {
		return "", false, usagef("--%s %s: that is the store itself: name another file", flag, path)
	}
	return target, info.Mode().IsRegular(), nil
}

// writeOut writes the file that a flag names: one that appears complete or not at all, or
// straight through a device or a pipe.
func writeOut(cmd *cli.Command, flag, path string, write func(io.Writer) error) error {
	target, regular, err := outFile(cmd, flag, path)
	if err != nil {
		return err
	}
	if regular {
		return whole(flag, target, write)
	}
	f, err := os.OpenFile(target, os.O_WRONLY, 0)
	if err != nil {
		return usagef("--%s %s: %w", flag, path, err)
	}
	return errors.Join(write(f), f.Close())
}

// whole writes a file that appears complete or not at all.
func whole(flag, path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".tokwatt-*")
	if err != nil {
		return usagef("--%s %s: %w", flag, path, err)
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
