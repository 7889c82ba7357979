package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"
)

// outFile is a file that a flag names, found to be one that can be written.
type outFile struct {
	flag, path string // as the user says it
	target     string // behind all symbolic links
	mode       fs.FileMode
	// through is what can only be written as it stands: a device, a pipe, or
	// a file in a folder that is closed to us. nil: a whole new file takes
	// the place of the one that is there, if any.
	through *os.File
}

// openOut finds out, before anything is done for it, whether a file can be
// written. A pipe is held open from here on, so that its reader stays.
func openOut(cmd *cli.Command, flag, path string) (*outFile, error) {
	if err := fileHere("--"+flag, path); err != nil {
		return nil, err
	}
	if path == "-" {
		return nil, usagef("--%s -: no file is called that: leave the flag out for stdout, or write ./-", flag)
	}
	o := &outFile{flag: flag, path: path}
	err := o.find()
	if err == nil {
		err = o.notTheStore(cmd)
	}
	if err == nil {
		err = o.try()
	}
	if err != nil {
		return nil, usagef("--%s %s: %w", flag, path, err)
	}
	return o, nil
}

// find follows links, those to nothing too, and opens what is no plain file.
func (o *outFile) find() error {
	o.target = o.path
	info, err := os.Stat(o.path)
	switch {
	case err == nil && info.IsDir():
		return errors.New("it is a folder: name a file")
	case err == nil && !info.Mode().IsRegular():
		o.through, err = openThrough(o.path)
		return err
	case err == nil:
		o.mode = info.Mode().Perm()
		if o.mode&0o222 == 0 {
			return errors.New("it is read-only: make it writable, or name another file")
		}
	case !errors.Is(err, fs.ErrNotExist):
		return reason(err)
	}
	const most = 40 // links one behind the other, as Linux has it
	for range most {
		to, err := os.Readlink(o.target)
		if err != nil {
			return nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(o.target), to)
		}
		o.target = to
	}
	return errors.New("its links lead nowhere")
}

// openThrough opens a device or a pipe. A pipe without a reader is not waited
// for longer than two commands of one line start apart.
func openThrough(path string) (*os.File, error) {
	for tries := 10; ; tries-- {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, syscall.ENXIO):
			return nil, reason(err)
		case tries == 0:
			return nil, errors.New("nobody reads from this pipe: start its reader first")
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// notTheStore holds for a store that is not made yet, too.
func (o *outFile) notTheStore(cmd *cli.Command) error {
	db, err := storePath(cmd)
	if err != nil {
		return err
	}
	ours, err := os.Stat(o.target)
	theirs, missing := os.Stat(db)
	same := err == nil && missing == nil && os.SameFile(ours, theirs)
	if a, err := filepath.Abs(o.target); err == nil && missing != nil {
		b, err := filepath.Abs(db)
		same = err == nil && a == b
	}
	if same {
		return errors.New("that is the store itself: name another file")
	}
	return nil
}

// try holds that the file can be made, or else written as it stands.
func (o *outFile) try() error {
	if o.through != nil {
		return nil
	}
	dir := filepath.Dir(o.target)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s", dir)
	}
	old, err := os.OpenFile(o.target, os.O_WRONLY, 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return reason(err)
	}
	made, err := o.temporary()
	switch {
	case err == nil:
		made.Close()
		os.Remove(made.Name())
		if old != nil {
			old.Close()
		}
		return nil
	case old != nil:
		o.through = old
		return nil
	}
	return fmt.Errorf("no file can be made in the folder %s: %w", dir, reason(err))
}

// temporary is a new file beside the target, with the target's mode.
func (o *outFile) temporary() (*os.File, error) {
	name := filepath.Join(filepath.Dir(o.target), fmt.Sprintf(".tokwatt-%d-%d", os.Getpid(), time.Now().UnixNano()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, cmp.Or(o.mode, 0o666))
	if err == nil && o.mode != 0 {
		err = f.Chmod(o.mode) // which the umask may have narrowed
	}
	return f, err
}

// write writes the file: one that appears complete or not at all, or straight
// through. An error is none of usage.
func (o *outFile) write(write func(io.Writer) error) error {
	defer o.Close()
	if o.through == nil {
		return o.whole(write)
	}
	if info, err := o.through.Stat(); err == nil && info.Mode().IsRegular() {
		if err := o.through.Truncate(0); err != nil {
			return o.failed(err)
		}
	}
	buf := bufio.NewWriter(o.through)
	if err := write(buf); err != nil {
		return o.failed(err)
	}
	if err := errors.Join(buf.Flush(), o.through.Close()); err != nil {
		return o.failed(err)
	}
	return nil
}

// giveUp bounds what is still to be written to a reader that takes nothing.
func (o *outFile) giveUp() {
	if o != nil && o.through != nil {
		_ = o.through.SetWriteDeadline(time.Now().Add(time.Second)) // a device has none
	}
}

// whole writes a new file and puts it in its place.
func (o *outFile) whole(write func(io.Writer) error) (err error) {
	f, err := o.temporary()
	if err != nil {
		return o.failed(err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	buf := bufio.NewWriter(f)
	if err := write(buf); err != nil {
		return o.failed(err)
	}
	err = buf.Flush()
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), o.target)
	}
	if err != nil {
		return o.failed(err)
	}
	return nil
}

// failed says which file an error of the system is about; others say what
// they are about themselves.
func (o *outFile) failed(err error) error {
	var ours *fs.PathError
	var moved *os.LinkError
	if !errors.As(err, &ours) && !errors.As(err, &moved) {
		return err
	}
	return fmt.Errorf("--%s %s could not be written: %w", o.flag, o.path, reason(err))
}

// Close lets go of a pipe or device; write does so itself.
func (o *outFile) Close() {
	if o != nil && o.through != nil {
		o.through.Close()
	}
}

// reason is an error of the system without the path, which is said before.
func reason(err error) error {
	var path *fs.PathError
	var moved *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &moved):
		return moved.Err
	}
	return err
}

// writeOut writes the file that a flag names.
func writeOut(cmd *cli.Command, flag, path string, write func(io.Writer) error) error {
	o, err := openOut(cmd, flag, path)
	if err != nil {
		return err
	}
	return o.write(write)
}
