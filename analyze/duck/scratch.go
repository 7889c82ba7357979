package duck

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Scratch is a temporary folder that does not outlive its process for long:
// where the process was killed, the next one removes it.
type Scratch struct {
	Dir  string
	held *os.File
}

// scratchName is how the folders' names begin.
const scratchName = "tokwatt-tmp-"

// settled is how old a folder is when its maker has surely locked it.
const settled = time.Minute

// NewScratch makes a temporary folder, and removes those of processes that are
// gone. A folder is locked while it is in use: unlike a process id, a lock is
// seen from other containers too, and goes with its process however that ends.
func NewScratch() (*Scratch, error) {
	sweep(os.TempDir(), time.Now().Add(-settled))
	dir, err := os.MkdirTemp("", scratchName)
	if err != nil {
		return nil, fmt.Errorf("no temporary folder for SQL: %w; set TMPDIR to a folder that can be written", err)
	}
	held, err := os.Open(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	// Without locks on that file system nobody will take it for abandoned:
	// sweep needs the lock too.
	_ = syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return &Scratch{Dir: dir, held: held}, nil
}

// Close removes the folder.
func (s *Scratch) Close() error {
	return errors.Join(os.RemoveAll(s.Dir), s.held.Close())
}

// sweep removes folders that nobody holds, of those older than a time.
func sweep(parent string, older time.Time) {
	found, _ := filepath.Glob(filepath.Join(parent, scratchName+"*"))
	for _, dir := range found {
		f, err := os.Open(dir)
		if err != nil {
			continue // another user's, or gone
		}
		info, err := f.Stat()
		if err == nil && info.ModTime().Before(older) && syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			os.RemoveAll(dir)
		}
		f.Close()
	}
}
