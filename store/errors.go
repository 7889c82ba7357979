package store

import (
	"errors"
	"fmt"
	"strings"
)

// Why a store cannot be used; the error in hand is a *FileError.
var (
	ErrLocked  = errors.New("locked")  // another process holds it: try again
	ErrMissing = errors.New("missing") // there is no such file
	ErrForeign = errors.New("foreign") // the file is something else
	ErrNewer   = errors.New("newer")   // written in a format of the future
	ErrDamaged = errors.New("damaged")
)

// FileError is a store file that cannot be used. errors.Is finds its Reason.
type FileError struct {
	Path   string
	Reason error // one of the errors above
	Detail string
}

func (e *FileError) Error() string {
	switch e.Reason {
	case ErrLocked:
		return fmt.Sprintf("store %s is held by another process (%s): wait until it is done, or end it, and try again", e.Path, e.Detail)
	case ErrMissing:
		return fmt.Sprintf("there is no store %s: run tokwatt collect first, or name another file with --db", e.Path)
	case ErrForeign:
		return fmt.Sprintf("%s is not a tokwatt store (%s): name another file with --db", e.Path, e.Detail)
	case ErrNewer:
		return fmt.Sprintf("store %s was written by a newer tokwatt (%s): update tokwatt", e.Path, e.Detail)
	case ErrDamaged:
		return fmt.Sprintf("store %s is damaged (%s): save what can be read with tokwatt check --repair-to NEW", e.Path, e.Detail)
	}
	return fmt.Sprintf("store %s: %s", e.Path, e.Detail)
}

// Is makes errors.Is(err, ErrLocked) and its like work.
func (e *FileError) Is(target error) bool { return e.Reason == target }

// UnknownError is a session that is not in the store.
type UnknownError struct {
	ID    string
	Known []string // the newest sessions, newest first; at most maxNamed
}

func (e *UnknownError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("no session %s: the store is empty", e.ID)
	}
	return fmt.Sprintf("no session %s: the newest are %s", e.ID, strings.Join(e.Known, ", "))
}

// AmbiguousError is a prefix that several session ids have.
type AmbiguousError struct {
	Prefix     string
	Candidates []string
}

func (e *AmbiguousError) Error() string {
	named, more := e.Candidates, ""
	if len(named) > maxNamed {
		named, more = named[:maxNamed], fmt.Sprintf(" and %d more", len(named)-maxNamed)
	}
	return fmt.Sprintf("%s is the start of %d session ids: give more of %s%s", e.Prefix, len(e.Candidates), strings.Join(named, ", "), more)
}

// maxNamed is how many session ids a message names.
const maxNamed = 5

// RecordError is one place of a session that cannot be read; what follows it
// can. errors.Is(err, ErrDamaged) holds, or ErrNewer for a value whose
// version this program does not know.
type RecordError struct {
	Session string
	Seq     uint64 // the first value concerned
	Reason  error
	Detail  string
}

func (e *RecordError) Error() string {
	if e.Reason == ErrNewer {
		return fmt.Sprintf("session %s, value %d: %s: update tokwatt to read it", e.Session, e.Seq, e.Detail)
	}
	return fmt.Sprintf("session %s, value %d: %s: save the rest with tokwatt check --repair-to NEW", e.Session, e.Seq, e.Detail)
}

// Is makes errors.Is(err, ErrDamaged) work.
func (e *RecordError) Is(target error) bool { return e.Reason == target }
